//! Messages and deliveries in SQLite. Hints and purging are in [`super::maintenance`].

use rusqlite::{OptionalExtension, params};

use super::queries::message_columns;
use super::writer::{Fault, Writer};
use crate::model::order::Position;
use crate::model::{AgentName, DeliveryState, HandedOut, Kind, MessageId, Millis, Priority, SessionId};
use crate::store::Arrival;
use crate::store::change::{BeginHint, Claim, EndHint, HintVerdict, Purge, Purged, Recipient};
use crate::store::message::NewMessage;
use crate::store::rules::{Candidate, DeliveryRow, LeasedRow, Mailbox, MessageRows};

type Delivery = DeliveryRow<i64, i64>;

/// The columns that [`delivery`] reads.
macro_rules! delivery_columns {
    () => {
        "d.agent, d.seq, d.message, d.priority, d.attempts, d.bytes, d.state, d.token, \
         d.fetched_at"
    };
}

impl MessageRows for Writer {
    type Message = i64;

    async fn mailbox(&mut self, agent: &i64) -> Result<Mailbox<i64>, Fault> {
        Ok(self.load_mailbox(*agent)?)
    }

    async fn save(&mut self, mailbox: &Mailbox<i64>) -> Result<(), Fault> {
        self.keep_mailbox(mailbox);
        Ok(())
    }

    fn note_arrival(&mut self, agent: &AgentName, priority: Priority) {
        self.arrivals.push(Arrival { agent: agent.clone(), priority });
    }

    async fn is_known(&mut self, id: &MessageId) -> Result<bool, Fault> {
        let sql = "SELECT 1 FROM message WHERE public = ?1 UNION ALL SELECT 1 FROM tomb WHERE public = ?1";
        Ok(self.db.prepare_cached(sql)?.exists([id.as_str()])?)
    }

    async fn with_key(&mut self, sender: &AgentName, key: &str) -> Result<Option<(MessageId, Vec<u8>)>, Fault> {
        let sql = "SELECT public, hash FROM message WHERE space = ?1 AND sender = ?2 AND key = ?3 \
                   UNION ALL SELECT public, hash FROM tomb WHERE space = ?1 AND sender = ?2 AND key = ?3";
        let row = |row: &rusqlite::Row<'_>| Ok((MessageId::stored(row.get::<_, String>(0)?), row.get(1)?));
        Ok(self.db.prepare_cached(sql)?.query_row(params![self.space, sender.as_str(), key], row).optional()?)
    }

    async fn thread_of(&mut self, id: &MessageId, agent: &AgentName) -> Result<Option<MessageId>, Fault> {
        let sql = "SELECT coalesce(m.thread, m.public) FROM message m WHERE m.public = ?1 AND m.space = ?2 AND (m.sender = ?3 OR EXISTS \
                   (SELECT 1 FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.message = m.id AND a.name = ?3))";
        let values = params![id.as_str(), self.space, agent.as_str()];
        let row = |row: &rusqlite::Row<'_>| Ok(MessageId::stored(row.get::<_, String>(0)?));
        Ok(self.db.prepare_cached(sql)?.query_row(values, row).optional()?)
    }

    async fn thread_and_time(&mut self, id: &MessageId) -> Result<Option<(MessageId, Millis)>, Fault> {
        let sql = "SELECT coalesce(thread, public), at FROM message WHERE public = ?1";
        let row = |row: &rusqlite::Row<'_>| Ok((MessageId::stored(row.get::<_, String>(0)?), row.get(1)?));
        Ok(self.db.prepare_cached(sql)?.query_row([id.as_str()], row).optional()?)
    }

    async fn origin(&mut self, message: &i64) -> Result<(MessageId, AgentName, MessageId), Fault> {
        let sql = "SELECT public, sender, coalesce(thread, public) FROM message WHERE id = ?1";
        Ok(self.db.prepare_cached(sql)?.query_row([message], |row| {
            let (id, thread) =
                (MessageId::stored(row.get::<_, String>(0)?), MessageId::stored(row.get::<_, String>(2)?));
            Ok((id, AgentName::stored(row.get::<_, String>(1)?), thread))
        })?)
    }

    async fn recipients(&mut self, id: &MessageId) -> Result<Vec<Recipient>, Fault> {
        let sql = "SELECT a.name, d.seq, a.seen_at FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = ?1 ORDER BY a.name";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([id.as_str()], |row| {
            let agent = AgentName::stored(row.get::<_, String>(0)?);
            Ok(Recipient { agent, seq: row.get(1)?, seen_at: row.get(2)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn insert_message(&mut self, message: &NewMessage<'_>) -> Result<i64, Fault> {
        let sql = "INSERT INTO message (public, space, kind, sender, addresses, content, priority, at, thread, \
                   reply_to, metadata, key, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        let addresses = serde_json::to_string(&message.to).unwrap_or_default();
        self.db.prepare_cached(sql)?.execute(params![
            message.id.as_str(),
            self.space,
            u8::from(message.kind == Kind::Report),
            message.sender.as_str(),
            addresses,
            &*message.content,
            message.priority.level(),
            message.at,
            (*message.thread != message.id).then(|| message.thread.as_str()),
            message.reply_to.map(|id| id.as_str()),
            message.metadata,
            message.key.map(|(key, _)| key),
            message.key.map(|(_, hash)| hash),
        ])?;
        Ok(self.db.last_insert_rowid())
    }

    async fn insert_delivery(
        &mut self,
        mailbox: &Mailbox<i64>,
        number: &i64,
        message: &NewMessage<'_>,
    ) -> Result<(), Fault> {
        let sql = "INSERT INTO delivery (agent, seq, message, priority, at, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let level = message.priority.level();
        let values = params![mailbox.agent, mailbox.seq, number, level, message.at, message.size()];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    async fn delivery(&mut self, agent: &i64, id: &MessageId) -> Result<Option<Delivery>, Fault> {
        let sql = concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM message m JOIN delivery d ON d.message = m.id WHERE m.public = ?1 AND d.agent = ?2"
        );
        Ok(self.db.prepare_cached(sql)?.query_row(params![id.as_str(), agent], delivery).optional()?)
    }

    async fn leased_to(&mut self, session: &SessionId, agent: Option<&i64>) -> Result<Vec<Delivery>, Fault> {
        let sql = concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM delivery d INDEXED BY delivery_open \
             WHERE d.session = ?1 AND (?2 IS NULL OR d.agent = ?2) AND d.state < 3 \
             ORDER BY d.agent, d.seq"
        );
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params![session.as_str(), agent], delivery)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn leased_from(&mut self, agent: &i64) -> Result<Vec<Delivery>, Fault> {
        let sql = concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM delivery d INDEXED BY delivery_open WHERE d.session IS NOT NULL \
             AND d.state < 3 AND d.agent = ?1 ORDER BY d.seq"
        );
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([agent], delivery)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn candidates(&mut self, agent: &i64, priority: Priority, max: usize) -> Result<Vec<Candidate<i64>>, Fault> {
        let sql = "SELECT seq, at, bytes, message, attempts FROM delivery INDEXED BY delivery_open WHERE session IS NULL \
                   AND agent = ?1 AND priority = ?2 AND state < 3 ORDER BY seq LIMIT ?3";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params![agent, priority.level(), max], |row| {
            let position = Position { priority, seq: row.get(0)?, at: row.get(1)? };
            let taken = LeasedRow { seq: position.seq, message: row.get(3)?, attempt: row.get::<_, u32>(4)? + 1 };
            Ok(Candidate { position, bytes: row.get(2)?, taken })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn lease(&mut self, agent: &i64, taken: &[LeasedRow<i64>], claim: &Claim) -> Result<(), Fault> {
        let sql = "UPDATE delivery SET session = ?3, token = ?4, attempts = attempts + 1, state = 2, \
                   fetched_at = ?5, fetched_by = ?3 WHERE agent = ?1 AND seq = ?2";
        let mut update = self.db.prepare_cached(sql)?;
        let (session, now) = (claim.session.id.as_str(), self.clock.now());
        for one in taken {
            update.execute(params![agent, one.seq, session, claim.token, now])?;
        }
        Ok(())
    }

    async fn read(&mut self, _: &i64, taken: Vec<LeasedRow<i64>>) -> Result<Vec<HandedOut>, Fault> {
        let sql = concat!("SELECT ", message_columns!(), ", ?2 FROM message m WHERE m.id = ?1");
        let mut read = self.db.prepare_cached(sql)?;
        let mut messages = Vec::with_capacity(taken.len());
        for one in taken {
            let message = read.query_row(params![one.message, one.seq], super::queries::message)?;
            messages.push(HandedOut { message, attempt: one.attempt });
        }
        Ok(messages)
    }

    async fn finish(&mut self, one: &Delivery, state: DeliveryState, note: Option<&str>) -> Result<(), Fault> {
        let sql = "UPDATE delivery SET state = ?3, session = NULL, token = NULL, \
                   read_at = CASE WHEN ?4 THEN ?5 ELSE read_at END, \
                   settled_at = CASE WHEN ?4 THEN settled_at ELSE ?5 END, note = coalesce(?6, note) \
                   WHERE agent = ?1 AND seq = ?2";
        let is_read = state == DeliveryState::Read;
        let values = params![one.agent, one.seq, state as u8, is_read, self.clock.now(), note];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    async fn set_token(&mut self, one: &Delivery, token: u64, is_handed: bool) -> Result<(), Fault> {
        let sql = "UPDATE delivery SET token = ?3, fetched_at = coalesce(?4, fetched_at) WHERE agent = ?1 AND seq = ?2";
        let handed_at = is_handed.then(|| self.clock.now());
        self.db.prepare_cached(sql)?.execute(params![one.agent, one.seq, token, handed_at])?;
        Ok(())
    }

    async fn put_back(&mut self, one: &Delivery, attempts: u32) -> Result<(), Fault> {
        let sql = "UPDATE delivery SET session = NULL, token = NULL, attempts = ?3 WHERE agent = ?1 AND seq = ?2";
        self.db.prepare_cached(sql)?.execute(params![one.agent, one.seq, attempts])?;
        Ok(())
    }

    async fn begin_hint(&mut self, hint: &BeginHint) -> Result<HintVerdict, Fault> {
        self.record_hint(hint)
    }

    async fn end_hint(&mut self, hint: &EndHint) -> Result<(), Fault> {
        self.record_outcome(hint)
    }

    async fn purge(&mut self, purge: &Purge) -> Result<Purged, Fault> {
        self.purge_old(purge)
    }
}

/// Reads the columns of [`delivery_columns`].
fn delivery(row: &rusqlite::Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(DeliveryRow {
        agent: row.get(0)?,
        seq: row.get(1)?,
        message: row.get(2)?,
        priority: Priority::from_level(row.get(3)?),
        attempts: row.get(4)?,
        bytes: row.get(5)?,
        state: DeliveryState::from_level(row.get(6)?),
        token: row.get(7)?,
        fetched_at: row.get(8)?,
    })
}
