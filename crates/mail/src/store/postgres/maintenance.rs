//! Recording hints and purging, in PostgreSQL.

use sqlx::Row;

use super::rows::run;
use super::transaction::{Fault, Transaction};
use crate::store::change::{BeginHint, EndHint, HintVerdict, Purge, Purged};
use crate::store::rules::millis;

impl Transaction<'_> {
    pub(super) async fn record_hint(&mut self, hint: &BeginHint) -> Result<HintVerdict, Fault> {
        let sql = "SELECT d.agent, d.seq, d.message FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = $1 AND a.space = $2 AND a.name = $3 \
                   AND d.state < 3 AND d.session IS NULL";
        let query = sqlx::query(sql).bind(hint.message.as_str()).bind(self.space).bind(hint.agent.as_str());
        let Some(row) = query.fetch_optional(&mut *self.direct().await?).await? else { return Ok(HintVerdict::Moot) };
        let (agent, seq, message): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let sql = "INSERT INTO hint (message, agent, rung, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        let query = sqlx::query(sql).bind(message).bind(agent).bind(&hint.rung).bind(self.now as i64);
        if query.execute(&mut *self.direct().await?).await?.rows_affected() == 0 {
            return Ok(HintVerdict::Tried);
        }
        let sql = "UPDATE delivery SET state = greatest(state, 1::smallint), hinted_at = coalesce(hinted_at, $3) \
                   WHERE agent = $1 AND seq = $2";
        let query = sqlx::query(sql).bind(agent).bind(seq).bind(self.now as i64);
        run(self.direct().await?, query).await?;
        Ok(HintVerdict::Go)
    }

    pub(super) async fn record_outcome(&mut self, hint: &EndHint) -> Result<(), Fault> {
        let sql = "UPDATE hint SET outcome = $5 WHERE rung = $4 AND message = (SELECT id FROM message WHERE \
                   public = $1) AND agent = (SELECT id FROM agent WHERE space = $2 AND name = $3)";
        let query = sqlx::query(sql).bind(hint.message.as_str()).bind(self.space).bind(hint.agent.as_str());
        run(self.direct().await?, query.bind(&hint.rung).bind(&hint.outcome)).await?;
        Ok(())
    }

    pub(super) async fn purge_old(&mut self, purge: &Purge) -> Result<Purged, Fault> {
        // The limit only moves forward, even if the clock is set back.
        let query = sqlx::query("SELECT coalesce(max(before), 0) FROM purge WHERE space = $1").bind(self.space);
        let last: i64 = query.fetch_one(&mut *self.direct().await?).await?.try_get(0)?;
        let before = last.max(self.now.saturating_sub(millis(self.limits.keep)) as i64);
        let sql = "SELECT m.id, m.at < $3 AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id \
                   AND (d.state < 3 OR coalesce(d.settled_at, d.read_at) >= $3)) FROM message m WHERE m.id > $1 AND m.space = $2 \
                   ORDER BY m.id LIMIT $4";
        let query = sqlx::query(sql).bind(*self.purged_to).bind(self.space).bind(before).bind(purge.max as i64);
        let rows = query.fetch_all(&mut *self.direct().await?).await?;
        let (mut old, mut last) = (Vec::new(), 0);
        for row in &rows {
            last = row.try_get::<i64, _>(0)?;
            if row.try_get(1)? {
                old.push(last);
            }
        }
        let more = rows.len() == purge.max;
        // After the last message, the next purge starts from the beginning.
        *self.purged_to = if more { last } else { 0 };
        if !old.is_empty() {
            for sql in [
                "INSERT INTO tomb SELECT public, space, sender, key, hash FROM message WHERE id = ANY($1) \
                 ON CONFLICT DO NOTHING",
                "DELETE FROM hint WHERE message = ANY($1)",
                "DELETE FROM delivery WHERE message = ANY($1)",
                "DELETE FROM message WHERE id = ANY($1)",
            ] {
                run(self.direct().await?, sqlx::query(sql).bind(&old)).await?;
            }
            let sql = "INSERT INTO purge (space, at, before, messages) VALUES ($1, $2, $3, $4)";
            let query = sqlx::query(sql).bind(self.space).bind(self.now as i64).bind(before);
            run(self.direct().await?, query.bind(old.len() as i64)).await?;
        }
        Ok(Purged { messages: old.len() as u64, before: before as u64, more })
    }
}
