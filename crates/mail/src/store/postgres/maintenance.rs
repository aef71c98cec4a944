//! What is done on the side in PostgreSQL: attempts to make agents look, deleting what was handled, taking over from
//! another system.

use std::collections::BTreeSet;

use sqlx::Row;

use super::deliver::Held;
use super::rows::{run, unknown};
use super::writer::{Act, Fault};
use crate::model::{AgentName, DeliveryState, MessageId};
use crate::store::change::{BeginHint, EndHint, HintVerdict, Import, Imported, Purge, Purged};
use crate::store::message::NewMessage;
use crate::store::plan;

impl Act<'_> {
    pub(super) async fn begin_hint(&mut self, hint: &BeginHint) -> Result<HintVerdict, Fault> {
        let sql = "SELECT d.agent, d.seq, d.message FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = $1 AND a.space = $2 AND a.name = $3 \
                   AND d.state < 3 AND d.session IS NULL";
        let query = sqlx::query(sql).bind(hint.message.as_str()).bind(self.space).bind(hint.agent.as_str());
        let Some(row) = query.fetch_optional(&mut *self.db).await? else { return Ok(HintVerdict::Moot) };
        let (agent, seq, message): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let sql = "INSERT INTO hint (message, agent, rung, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        let query = sqlx::query(sql).bind(message).bind(agent).bind(&hint.rung).bind(self.now as i64);
        if query.execute(&mut *self.db).await?.rows_affected() == 0 {
            return Ok(HintVerdict::Tried);
        }
        let sql = "UPDATE delivery SET state = greatest(state, 1::smallint), hinted_at = coalesce(hinted_at, $3) \
                   WHERE agent = $1 AND seq = $2";
        run(self.db, sqlx::query(sql).bind(agent).bind(seq).bind(self.now as i64)).await?;
        Ok(HintVerdict::Go)
    }

    pub(super) async fn end_hint(&mut self, hint: &EndHint) -> Result<(), Fault> {
        let sql = "UPDATE hint SET outcome = $5 WHERE rung = $4 AND message = (SELECT id FROM message WHERE \
                   public = $1) AND agent = (SELECT id FROM agent WHERE space = $2 AND name = $3)";
        let query = sqlx::query(sql).bind(hint.message.as_str()).bind(self.space).bind(hint.agent.as_str());
        run(self.db, query.bind(&hint.rung).bind(&hint.outcome)).await?;
        Ok(())
    }

    pub(super) async fn purge(&mut self, purge: &Purge) -> Result<Purged, Fault> {
        // The line only moves forward, even when the clock does not.
        let query = sqlx::query("SELECT coalesce(max(before), 0) FROM purge WHERE space = $1").bind(self.space);
        let last: i64 = query.fetch_one(&mut *self.db).await?.try_get(0)?;
        let before = last.max(self.now.saturating_sub(plan::millis(self.limits.keep)) as i64);
        let sql = "SELECT m.id, NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND (d.state < 3 \
                   OR coalesce(d.settled_at, d.read_at) >= $3)) FROM message m WHERE m.id > $1 AND m.space = $2 \
                   ORDER BY m.id LIMIT $4";
        let query = sqlx::query(sql).bind(*self.purged_to).bind(self.space).bind(before).bind(purge.max as i64);
        let rows = query.fetch_all(&mut *self.db).await?;
        let (mut old, mut last) = (Vec::new(), 0);
        for row in &rows {
            last = row.try_get::<i64, _>(0)?;
            if row.try_get(1)? {
                old.push(last);
            }
        }
        let more = rows.len() == purge.max;
        // At the end it begins anew, the next time.
        *self.purged_to = if more { last } else { 0 };
        if !old.is_empty() {
            for sql in [
                "INSERT INTO tomb SELECT public, space, sender, key, hash FROM message WHERE id = ANY($1) \
                 ON CONFLICT DO NOTHING",
                "DELETE FROM hint WHERE message = ANY($1)",
                "DELETE FROM delivery WHERE message = ANY($1)",
                "DELETE FROM message WHERE id = ANY($1)",
            ] {
                run(self.db, sqlx::query(sql).bind(&old)).await?;
            }
            let sql = "INSERT INTO purge (space, at, before, messages) VALUES ($1, $2, $3, $4)";
            let query = sqlx::query(sql).bind(self.space).bind(self.now as i64).bind(before);
            run(self.db, query.bind(old.len() as i64)).await?;
        }
        Ok(Purged { messages: old.len() as u64, before: before as u64, more })
    }

    pub(super) async fn import(&mut self, import: &Import) -> Result<Imported, Fault> {
        plan::check_size(&import.content, &import.metadata, self.limits)?;
        if self.is_known(&import.id).await? {
            return Ok(Imported { is_new: false, stored: Vec::new(), full: Vec::new() });
        }
        let bytes = plan::size(&import.content, &import.metadata);
        let (mut open, mut full, mut read) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (agent, is_read) in &import.recipients {
            let row = self.find_agent(agent.as_str()).await?.ok_or_else(|| unknown(agent.as_str()))?;
            if !*is_read && !self.has_room(row.id, bytes).await? {
                full.push(agent.clone());
                continue;
            }
            if *is_read {
                read.insert(agent.clone());
            }
            open.push(row);
        }
        let mut thread = import.id.clone();
        if let Some(id) = &import.reply_to {
            let query = sqlx::query("SELECT thread FROM message WHERE public = $1").bind(id.as_str());
            if let Some(row) = query.fetch_optional(&mut *self.db).await? {
                thread = MessageId::stored(row.try_get::<String, _>(0)?);
            }
        }
        let stored: Vec<AgentName> = open.iter().map(|row| row.name.clone()).collect();
        let message = NewMessage::imported(import, &thread);
        let priority = i16::from(import.priority.level());
        let sent = self.deliver(&message, open).await?;
        for recipient in sent.into_iter().filter(|to| read.contains(&to.agent)) {
            let row = self.find_agent(recipient.agent.as_str()).await?;
            let agent = row.ok_or_else(|| unknown(recipient.agent.as_str()))?.id;
            let mut mailbox = self.mailbox(agent).await?;
            *mailbox.free(priority) -= 1;
            let (seq, bytes) = (recipient.seq as i64, bytes as i64);
            let one = Held { agent, seq, message: 0, priority, attempts: 0, bytes, state: 0 };
            self.finish(&mut mailbox, &one, DeliveryState::Read, None).await?;
            self.save(&mailbox).await?;
        }
        Ok(Imported { is_new: true, stored, full })
    }
}
