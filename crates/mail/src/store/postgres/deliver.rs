//! Messages and deliveries in PostgreSQL: from the working set, else by a statement each. Hints and purging are in
//! [`super::maintenance`].

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::queries::message_columns;
use super::rows::run;
use super::transaction::{Fault, Transaction};
use crate::model::order::Position;
use crate::model::search_words::split_words;
use crate::model::{AgentName, DeliveryState, HandedOut, Kind, MessageId, Millis, Priority, SessionId};
use crate::store::change::{BeginHint, Claim, EndHint, HintVerdict, Purge, Purged, Recipient};
use crate::store::message::NewMessage;
use crate::store::rules::{Candidate, DeliveryRow, LeasedRow, Mailbox, MessageRows};

type Delivery = DeliveryRow<i64, i64>;

/// The columns that [`delivery`] reads.
const DELIVERY: &str = "d.agent, d.seq, d.message, d.priority, d.attempts, d.bytes, d.state, d.token, d.fetched_at";

impl MessageRows for Transaction<'_> {
    type Message = i64;

    async fn mailbox(&mut self, agent: &i64) -> Result<Mailbox<i64>, Fault> {
        if let Some(mailbox) = self.set.mailbox(*agent) {
            return Ok(mailbox);
        }
        let sql = "SELECT seq, tip, bytes, free, leased FROM mailbox WHERE agent = $1 FOR UPDATE";
        let row = sqlx::query(sql).bind(agent).fetch_one(&mut *self.direct().await?).await?;
        let number = |column| row.try_get::<i64, _>(column).map(|number| number as u64);
        let mut free = [0; 4];
        for (level, count) in free.iter_mut().zip(row.try_get::<Vec<i64>, _>(3)?) {
            *level = count as u64;
        }
        Ok(Mailbox { agent: *agent, seq: number(0)?, version: number(1)?, bytes: number(2)?, free, leased: number(4)? })
    }

    async fn save(&mut self, it: &Mailbox<i64>) -> Result<(), Fault> {
        if self.set.save(it) {
            return Ok(());
        }
        let sql = "UPDATE mailbox SET seq = $2, tip = $3, bytes = $4, free = $5, leased = $6 WHERE agent = $1";
        let query = sqlx::query(sql).bind(it.agent).bind(it.seq as i64).bind(it.version as i64).bind(it.bytes as i64);
        let query = query.bind(it.free.map(|count| count as i64).to_vec()).bind(it.leased as i64);
        Ok(run(self.direct().await?, query).await?)
    }

    fn note_arrival(&mut self, _: &AgentName, _: Priority) {
        self.has_news = true;
    }

    async fn is_known(&mut self, id: &MessageId) -> Result<bool, Fault> {
        if let Some(is_known) = self.set.is_known(id) {
            return Ok(is_known);
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM message WHERE public = $1) OR \
                   EXISTS (SELECT 1 FROM tomb WHERE public = $1)";
        Ok(sqlx::query(sql).bind(id.as_str()).fetch_one(&mut *self.direct().await?).await?.try_get(0)?)
    }

    async fn with_key(&mut self, sender: &AgentName, key: &str) -> Result<Option<(MessageId, Vec<u8>)>, Fault> {
        if let Some(found) = self.set.with_key(sender, key) {
            return Ok(found);
        }
        let sql = "SELECT public, hash FROM message WHERE space = $1 AND sender = $2 AND key = $3 \
                   UNION ALL SELECT public, hash FROM tomb WHERE space = $1 AND sender = $2 AND key = $3";
        let query = sqlx::query(sql).bind(self.space).bind(sender.as_str()).bind(key);
        let Some(row) = query.fetch_optional(&mut *self.direct().await?).await? else { return Ok(None) };
        Ok(Some((MessageId::stored(row.try_get::<String, _>(0)?), row.try_get(1)?)))
    }

    async fn thread_of(&mut self, id: &MessageId, agent: &AgentName) -> Result<Option<MessageId>, Fault> {
        if let Some(thread) = self.set.thread_of(id, agent) {
            return Ok(thread);
        }
        let sql = "SELECT m.thread FROM message m WHERE m.public = $1 AND m.space = $2 AND (m.sender = $3 OR EXISTS \
                   (SELECT 1 FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.message = m.id AND a.name = $3))";
        let query = sqlx::query(sql).bind(id.as_str()).bind(self.space).bind(agent.as_str());
        let row = query.fetch_optional(&mut *self.direct().await?).await?;
        Ok(row.map(|row| row.try_get::<String, _>(0).map(MessageId::stored)).transpose()?)
    }

    async fn thread_and_time(&mut self, id: &MessageId) -> Result<Option<(MessageId, Millis)>, Fault> {
        let query = sqlx::query("SELECT thread, at FROM message WHERE public = $1").bind(id.as_str());
        let Some(row) = query.fetch_optional(&mut *self.direct().await?).await? else { return Ok(None) };
        Ok(Some((MessageId::stored(row.try_get::<String, _>(0)?), row.try_get::<i64, _>(1)? as u64)))
    }

    async fn origin(&mut self, message: &i64) -> Result<(MessageId, AgentName, MessageId), Fault> {
        let query = sqlx::query("SELECT public, sender, thread FROM message WHERE id = $1").bind(message);
        let row = query.fetch_one(&mut *self.direct().await?).await?;
        let (id, thread) = (MessageId::stored(row.try_get::<String, _>(0)?), row.try_get::<String, _>(2)?);
        Ok((id, AgentName::stored(row.try_get::<String, _>(1)?), MessageId::stored(thread)))
    }

    async fn recipients(&mut self, id: &MessageId) -> Result<Vec<Recipient>, Fault> {
        let sql = "SELECT a.name, d.seq, a.seen_at FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = $1 ORDER BY a.name";
        let mut found = Vec::new();
        for row in sqlx::query(sql).bind(id.as_str()).fetch_all(&mut *self.direct().await?).await? {
            let agent = AgentName::stored(row.try_get::<String, _>(0)?);
            let (seq, seen_at): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
            found.push(Recipient { agent, seq: seq as u64, seen_at: seen_at as u64 });
        }
        Ok(found)
    }

    async fn insert_message(&mut self, message: &NewMessage<'_>) -> Result<i64, Fault> {
        if let Some(number) = self.set.insert_message(message) {
            return Ok(number);
        }
        let sql = "INSERT INTO message (public, space, kind, sender, addresses, content, words, priority, at, thread, \
                   reply_to, metadata, key, hash) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id";
        let found: Vec<String> = split_words(&message.content).into_iter().collect();
        let addresses = serde_json::to_string(&message.to).unwrap_or_default();
        let level = i16::from(message.priority.level());
        let query = sqlx::query(sql).bind(message.id.as_str()).bind(self.space);
        let query = query.bind(i16::from(message.kind == Kind::Report)).bind(message.sender.as_str());
        let query = query.bind(addresses).bind(message.content.as_bytes()).bind(found).bind(level);
        let query = query.bind(message.at as i64).bind(message.thread.as_str());
        let query = query.bind(message.reply_to.map(|id| id.as_str())).bind(message.metadata);
        let query = query.bind(message.key.map(|(key, _)| key)).bind(message.key.map(|(_, hash)| hash));
        Ok(query.fetch_one(&mut *self.direct().await?).await?.try_get(0)?)
    }

    async fn insert_delivery(
        &mut self,
        mailbox: &Mailbox<i64>,
        number: &i64,
        message: &NewMessage<'_>,
    ) -> Result<(), Fault> {
        if self.set.insert_delivery(mailbox, *number, message) {
            return Ok(());
        }
        let sql = "INSERT INTO delivery (agent, seq, message, priority, at, bytes) VALUES ($1, $2, $3, $4, $5, $6)";
        let query = sqlx::query(sql).bind(mailbox.agent).bind(mailbox.seq as i64).bind(number);
        let query = query.bind(i16::from(message.priority.level())).bind(message.at as i64).bind(message.size() as i64);
        Ok(run(self.direct().await?, query).await?)
    }

    async fn delivery(&mut self, agent: &i64, id: &MessageId) -> Result<Option<Delivery>, Fault> {
        if let Some(found) = self.set.delivery(*agent, id) {
            return Ok(found);
        }
        let sql = format!(
            "SELECT {DELIVERY} FROM message m JOIN delivery d ON d.message = m.id WHERE m.public = $1 AND d.agent = $2"
        );
        let row = sqlx::query(&sql).bind(id.as_str()).bind(agent).fetch_optional(&mut *self.direct().await?).await?;
        Ok(row.as_ref().map(delivery).transpose()?)
    }

    async fn leased_to(&mut self, session: &SessionId, agent: Option<&i64>) -> Result<Vec<Delivery>, Fault> {
        if let Some(held) = self.set.leased_to(session, agent.copied()) {
            return Ok(held);
        }
        let sql = format!(
            "SELECT {DELIVERY} FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.session = $1 \
             AND a.space = $3 AND ($2::bigint IS NULL OR d.agent = $2) ORDER BY d.agent, d.seq"
        );
        let query = sqlx::query(&sql).bind(session.as_str()).bind(agent).bind(self.space);
        Ok(query.fetch_all(&mut *self.direct().await?).await?.iter().map(delivery).collect::<Result<_, _>>()?)
    }

    async fn leased_from(&mut self, agent: &i64) -> Result<Vec<Delivery>, Fault> {
        let sql =
            format!("SELECT {DELIVERY} FROM delivery d WHERE d.agent = $1 AND d.session IS NOT NULL ORDER BY d.seq");
        let query = sqlx::query(&sql).bind(agent);
        Ok(query.fetch_all(&mut *self.direct().await?).await?.iter().map(delivery).collect::<Result<_, _>>()?)
    }

    async fn candidates(&mut self, agent: &i64, priority: Priority, max: usize) -> Result<Vec<Candidate<i64>>, Fault> {
        if let Some(found) = self.set.candidates(*agent, priority, max) {
            return Ok(found);
        }
        let sql = "SELECT seq, at, bytes, message, attempts FROM delivery WHERE agent = $1 AND priority = $2 \
                   AND state < 3 AND session IS NULL ORDER BY seq LIMIT $3";
        let query = sqlx::query(sql).bind(agent).bind(i16::from(priority.level())).bind(max as i64);
        let mut found = Vec::new();
        for row in query.fetch_all(&mut *self.direct().await?).await? {
            let number = |column| row.try_get::<i64, _>(column).map(|number| number as u64);
            let position = Position { priority, seq: number(0)?, at: number(1)? };
            let attempt = row.try_get::<i32, _>(4)? as u32 + 1;
            let taken = LeasedRow { seq: position.seq, message: row.try_get(3)?, attempt };
            found.push(Candidate { position, bytes: number(2)?, taken });
        }
        Ok(found)
    }

    async fn lease(&mut self, agent: &i64, taken: &[LeasedRow<i64>], claim: &Claim) -> Result<(), Fault> {
        if self.set.lease(*agent, taken, claim) {
            return Ok(());
        }
        let sql = "UPDATE delivery SET session = $3, token = $4, owner = $5, attempts = attempts + 1, state = 2, \
                   fetched_at = $6, fetched_by = $3 WHERE agent = $1 AND seq = ANY($2)";
        let query = sqlx::query(sql).bind(agent).bind(seqs(taken)).bind(claim.session.id.as_str());
        let query = query.bind(claim.token as i64).bind(self.owner).bind(self.now as i64);
        Ok(run(self.direct().await?, query).await?)
    }

    async fn read(&mut self, agent: &i64, taken: Vec<LeasedRow<i64>>) -> Result<Vec<HandedOut>, Fault> {
        let mut found = self.set.read(*agent, &taken);
        let stored: Vec<i64> =
            taken.iter().filter(|one| !found.contains_key(&one.seq)).map(|one| one.seq as i64).collect();
        if !stored.is_empty() {
            let sql = concat!(
                "SELECT ",
                message_columns!(),
                ", d.seq FROM delivery d JOIN message m ON m.id = d.message WHERE d.agent = $1 AND d.seq = ANY($2)"
            );
            // Which message a delivery brings never changes, and its text neither.
            for row in sqlx::query(sql).bind(agent).bind(stored).fetch_all(&mut *self.db).await? {
                let message = super::queries::message(&row)?;
                found.insert(message.seq, message);
            }
        }
        let messages = taken.into_iter();
        let messages =
            messages.filter_map(|one| Some(HandedOut { message: found.remove(&one.seq)?, attempt: one.attempt }));
        Ok(messages.collect())
    }

    async fn finish(&mut self, one: &Delivery, state: DeliveryState, note: Option<&str>) -> Result<(), Fault> {
        if self.set.finish(one.agent, one.seq, state, note) {
            return Ok(());
        }
        let sql = "UPDATE delivery SET state = $3, session = NULL, token = NULL, owner = NULL, \
                   read_at = CASE WHEN $4 THEN $5 ELSE read_at END, \
                   settled_at = CASE WHEN $4 THEN settled_at ELSE $5 END, note = coalesce($6, note) \
                   WHERE agent = $1 AND seq = $2";
        let query = sqlx::query(sql).bind(one.agent).bind(one.seq as i64).bind(state as i16);
        let query = query.bind(state == DeliveryState::Read).bind(self.now as i64).bind(note.map(str::as_bytes));
        Ok(run(self.direct().await?, query).await?)
    }

    async fn set_token(&mut self, one: &Delivery, token: u64, is_handed: bool) -> Result<(), Fault> {
        if self.set.set_token(one.agent, one.seq, token, is_handed) {
            return Ok(());
        }
        let sql = "UPDATE delivery SET token = $3, fetched_at = coalesce($4, fetched_at) WHERE agent = $1 AND seq = $2";
        let handed_at = is_handed.then_some(self.now as i64);
        let query = sqlx::query(sql).bind(one.agent).bind(one.seq as i64).bind(token as i64).bind(handed_at);
        Ok(run(self.direct().await?, query).await?)
    }

    async fn put_back(&mut self, one: &Delivery, attempts: u32) -> Result<(), Fault> {
        if self.set.put_back(one.agent, one.seq, attempts) {
            return Ok(());
        }
        let sql = "UPDATE delivery SET session = NULL, token = NULL, owner = NULL, attempts = $3 \
                   WHERE agent = $1 AND seq = $2";
        Ok(run(self.direct().await?, sqlx::query(sql).bind(one.agent).bind(one.seq as i64).bind(attempts as i32))
            .await?)
    }

    async fn begin_hint(&mut self, hint: &BeginHint) -> Result<HintVerdict, Fault> {
        self.record_hint(hint).await
    }

    async fn end_hint(&mut self, hint: &EndHint) -> Result<(), Fault> {
        self.record_outcome(hint).await
    }

    async fn purge(&mut self, purge: &Purge) -> Result<Purged, Fault> {
        self.purge_old(purge).await
    }
}

fn seqs(taken: &[LeasedRow<i64>]) -> Vec<i64> {
    taken.iter().map(|one| one.seq as i64).collect()
}

/// Reads the columns of [`DELIVERY`].
fn delivery(row: &PgRow) -> Result<Delivery, sqlx::Error> {
    let (seq, bytes): (i64, i64) = (row.try_get(1)?, row.try_get(5)?);
    let (priority, attempts, state): (i16, i32, i16) = (row.try_get(3)?, row.try_get(4)?, row.try_get(6)?);
    Ok(DeliveryRow {
        agent: row.try_get(0)?,
        seq: seq as u64,
        message: row.try_get(2)?,
        priority: Priority::from_level(priority as u8),
        attempts: attempts as u32,
        bytes: bytes as u64,
        state: DeliveryState::from_level(state as u8),
        token: row.try_get::<Option<i64>, _>(7)?.map(|token| token as u64),
        fetched_at: row.try_get::<Option<i64>, _>(8)?.map(|at| at as u64),
    })
}
