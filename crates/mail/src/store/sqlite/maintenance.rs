//! Recording hints and purging, in SQLite.

use rusqlite::{OptionalExtension, params};

use super::writer::{Fault, Writer};
use crate::model::Millis;
use crate::store::change::{BeginHint, EndHint, HintVerdict, Purge, Purged};
use crate::store::rules::millis;

impl Writer {
    pub(super) fn record_hint(&mut self, hint: &BeginHint) -> Result<HintVerdict, Fault> {
        let now = self.clock.now();
        let sql = "SELECT d.agent, d.seq, d.message FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = ?1 AND a.space = ?2 AND a.name = ?3 \
                   AND d.state < 3 AND d.session IS NULL";
        let values = params![hint.message.as_str(), self.space, hint.agent.as_str()];
        let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(i64, u64, i64)> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        };
        let Some((agent, seq, message)) = self.db.prepare_cached(sql)?.query_row(values, row).optional()? else {
            return Ok(HintVerdict::Moot);
        };
        let sql = "INSERT OR IGNORE INTO hint (message, agent, rung, at) VALUES (?1, ?2, ?3, ?4)";
        if self.db.prepare_cached(sql)?.execute(params![message, agent, hint.rung, now])? == 0 {
            return Ok(HintVerdict::Tried);
        }
        let sql = "UPDATE delivery SET state = max(state, 1), hinted_at = coalesce(hinted_at, ?3) \
                   WHERE agent = ?1 AND seq = ?2";
        self.db.prepare_cached(sql)?.execute(params![agent, seq, now])?;
        Ok(HintVerdict::Go)
    }

    pub(super) fn record_outcome(&mut self, hint: &EndHint) -> Result<(), Fault> {
        let sql = "UPDATE hint SET outcome = ?5 WHERE rung = ?4 AND message = (SELECT id FROM message WHERE \
                   public = ?1) AND agent = (SELECT id FROM agent WHERE space = ?2 AND name = ?3)";
        let values = params![hint.message.as_str(), self.space, hint.agent.as_str(), hint.rung, hint.outcome];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    pub(super) fn purge_old(&mut self, purge: &Purge) -> Result<Purged, Fault> {
        let now = self.clock.now();
        // The limit only moves forward, even if the clock is set back.
        let sql = "SELECT coalesce(max(before), 0) FROM purge WHERE space = ?1";
        let last: Millis = self.db.prepare_cached(sql)?.query_row([self.space], |row| row.get(0))?;
        let before = last.max(now.saturating_sub(millis(self.limits.keep)));
        let sql = "SELECT m.id, m.at < ?3 AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id \
                   AND (d.state < 3 OR coalesce(d.settled_at, d.read_at) >= ?3)) FROM message m WHERE m.id > ?1 AND m.space = ?2 \
                   ORDER BY m.id LIMIT ?4";
        let examined: Vec<(i64, bool)> = {
            let mut statement = self.db.prepare_cached(sql)?;
            let rows = statement.query_map(params![self.purged_to, self.space, before, purge.max], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let more = examined.len() == purge.max;
        // After the last message, the next purge starts from the beginning.
        self.purged_to = examined.last().filter(|_| more).map_or(0, |(id, _)| *id);
        let old: Vec<i64> = examined.into_iter().filter(|(_, is_old)| *is_old).map(|(id, _)| id).collect();
        for id in &old {
            let sql = "INSERT OR IGNORE INTO tomb SELECT public, space, sender, key, hash FROM message WHERE id = ?1";
            for sql in [
                sql,
                "DELETE FROM hint WHERE message = ?1",
                "DELETE FROM delivery WHERE message = ?1",
                "DELETE FROM words WHERE rowid = ?1",
                "DELETE FROM message WHERE id = ?1",
            ] {
                self.db.prepare_cached(sql)?.execute([id])?;
            }
        }
        if !old.is_empty() {
            let sql = "INSERT INTO purge (space, at, before, messages) VALUES (?1, ?2, ?3, ?4)";
            self.db.prepare_cached(sql)?.execute(params![self.space, now, before, old.len()])?;
            // SQLite reuses the numbers of the newest messages once those are deleted; the search index lacks the new
            // ones.
            let sql = "UPDATE indexed SET message = min(message, (SELECT coalesce(max(id), 0) FROM message))";
            self.db.prepare_cached(sql)?.execute([])?;
        }
        Ok(Purged { messages: old.len() as u64, before, more })
    }
}
