//! What happens to messages in PostgreSQL: appended, handed out, confirmed, settled, freed. Every change checks all it
//! has to check before it writes. What is done on the side is in [`super::keep`].

use std::collections::BTreeSet;

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::look::message_columns;
use super::rows::{AgentRow, Mailbox, run, unknown};
use super::writer::{Act, Fault};
use crate::error::Refusal;
use crate::model::order::{Place, pick};
use crate::model::words::words;
use crate::model::{AgentName, DeliveryState, HandedOut, Kind, MessageId, Priority, Session, SessionId, Settled};
use crate::store::change::{Append, Appended, Claim, Claimed, HandBack, Recipient, Release, Released, Settle};
use crate::store::message::NewMessage;
use crate::store::plan;

/// A delivery, as far as changes need it.
pub(super) struct Held {
    pub(super) agent: i64,
    pub(super) seq: i64,
    pub(super) message: i64,
    pub(super) priority: i16,
    pub(super) attempts: i32,
    pub(super) bytes: i64,
    pub(super) state: i16,
}

/// The columns that [`held`] reads.
const HELD: &str = "d.agent, d.seq, d.message, d.priority, d.attempts, d.bytes, d.state";

impl Act<'_> {
    pub(super) async fn append(&mut self, append: &Append) -> Result<Appended, Fault> {
        plan::check_size(&append.content, &append.metadata, self.limits)?;
        // First: its id is nobody else's, and whoever asks again after a lost answer may have lost the name since.
        if self.is_known(&append.id).await? {
            return Ok(self.replay(&append.id).await?);
        }
        self.caller(&append.sender).await?;
        let sender = &append.sender.agent;
        if let Some(key) = &append.key
            && let Some((public, hash)) = self.find_key(sender, key).await?
        {
            if hash != append.hash {
                return Err(Refusal::KeyConflict { key: key.clone(), message: public }.into());
            }
            return Ok(self.replay(&public).await?);
        }
        let thread = match &append.reply_to {
            None => append.id.clone(),
            Some(id) => self.thread_of(id, sender).await?,
        };
        let directory = self.directory(append).await?;
        let (resolved, whom) = plan::recipients(append, &directory, self.limits)?;
        let bytes = plan::size(&append.content, &append.metadata);
        let (open, full) = self.targets(whom, bytes).await?;
        if open.is_empty() {
            return Err(Refusal::MailboxFull { agents: full }.into());
        }
        let message = NewMessage::sent(append, &thread, self.now);
        let sent = self.deliver(&message, open).await?;
        Ok(Appended { id: append.id.clone(), thread, at: self.now, resolved, sent, full, is_replay: false })
    }

    /// Whether there is or was a message of that id.
    pub(super) async fn is_known(&mut self, id: &MessageId) -> Result<bool, sqlx::Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM message WHERE public = $1) OR \
                   EXISTS (SELECT 1 FROM tomb WHERE public = $1)";
        sqlx::query(sql).bind(id.as_str()).fetch_one(&mut *self.db).await?.try_get(0)
    }

    async fn find_key(&mut self, sender: &AgentName, key: &str) -> Result<Option<(MessageId, Vec<u8>)>, sqlx::Error> {
        let sql = "SELECT public, hash FROM message WHERE space = $1 AND sender = $2 AND key = $3 \
                   UNION ALL SELECT public, hash FROM tomb WHERE space = $1 AND sender = $2 AND key = $3";
        let query = sqlx::query(sql).bind(self.space).bind(sender.as_str()).bind(key);
        let row = query.fetch_optional(&mut *self.db).await?;
        row.map(|row| Ok((MessageId::stored(row.try_get::<String, _>(0)?), row.try_get(1)?))).transpose()
    }

    /// The conversation of a message that the agent wrote or received.
    async fn thread_of(&mut self, id: &MessageId, agent: &AgentName) -> Result<MessageId, Fault> {
        let sql = "SELECT m.thread FROM message m WHERE m.public = $1 AND m.space = $2 AND (m.sender = $3 OR EXISTS \
                   (SELECT 1 FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.message = m.id AND a.name = $3))";
        let query = sqlx::query(sql).bind(id.as_str()).bind(self.space).bind(agent.as_str());
        let row = query.fetch_optional(&mut *self.db).await?;
        let row = row.ok_or_else(|| Refusal::UnknownMessage { id: id.clone(), agent: agent.clone() })?;
        Ok(MessageId::stored(row.try_get::<String, _>(0)?))
    }

    /// Those whose mailboxes have room for a message of that size, and those whose have not.
    async fn targets(
        &mut self,
        whom: BTreeSet<AgentName>,
        bytes: u64,
    ) -> Result<(Vec<AgentRow>, Vec<AgentName>), Fault> {
        let (mut open, mut full) = (Vec::with_capacity(whom.len()), Vec::new());
        for name in whom {
            let row = self.find_agent(name.as_str()).await?.ok_or_else(|| unknown(name.as_str()))?;
            if self.has_room(row.id, bytes).await? {
                open.push(row);
            } else {
                full.push(name);
            }
        }
        Ok((open, full))
    }

    pub(super) async fn has_room(&mut self, agent: i64, bytes: u64) -> Result<bool, sqlx::Error> {
        let mailbox = self.mailbox(agent).await?;
        Ok((mailbox.waiting() as u64) < self.limits.mailbox_messages
            && mailbox.bytes as u64 + bytes <= self.limits.mailbox_bytes)
    }

    /// Puts a message into mailboxes. Everything was checked.
    pub(super) async fn deliver(
        &mut self,
        message: &NewMessage<'_>,
        to: Vec<AgentRow>,
    ) -> Result<Vec<Recipient>, Fault> {
        let sql = "INSERT INTO message (public, space, kind, sender, addresses, content, words, priority, at, thread, \
                   reply_to, metadata, key, hash) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id";
        let found: Vec<String> = words(&message.content).into_iter().collect();
        let addresses = serde_json::to_string(&message.to).unwrap_or_default();
        let level = i16::from(message.priority.level());
        let query = sqlx::query(sql).bind(message.id.as_str()).bind(self.space);
        let query = query.bind(i16::from(message.kind == Kind::Report)).bind(message.sender.as_str());
        let query = query.bind(addresses).bind(message.content.as_bytes()).bind(found).bind(level);
        let query = query.bind(message.at as i64).bind(message.thread.as_str());
        let query = query.bind(message.reply_to.map(|id| id.as_str())).bind(message.metadata);
        let query = query.bind(message.key.map(|(key, _)| key)).bind(message.key.map(|(_, hash)| hash));
        let number: i64 = query.fetch_one(&mut *self.db).await?.try_get(0)?;
        let bytes = plan::size(&message.content, message.metadata) as i64;
        let mut sent = Vec::with_capacity(to.len());
        for target in to {
            let mut mailbox = self.mailbox(target.id).await?;
            mailbox.seq += 1;
            mailbox.bytes += bytes;
            *mailbox.free(level) += 1;
            self.arrive(&mut mailbox);
            let sql = "INSERT INTO delivery (agent, seq, message, priority, at, bytes) VALUES ($1, $2, $3, $4, $5, $6)";
            let query = sqlx::query(sql).bind(target.id).bind(mailbox.seq).bind(number).bind(level);
            run(self.db, query.bind(message.at as i64).bind(bytes)).await?;
            self.save(&mailbox).await?;
            sent.push(Recipient { agent: target.name, seq: mailbox.seq as u64, seen_at: target.seen_at as u64 });
        }
        Ok(sent)
    }

    /// What an append of this message answered. One that was purged since has no recipients any more.
    async fn replay(&mut self, id: &MessageId) -> Result<Appended, sqlx::Error> {
        let sql = "SELECT thread, at FROM message WHERE public = $1";
        let row = sqlx::query(sql).bind(id.as_str()).fetch_optional(&mut *self.db).await?;
        let (thread, at) = match row {
            Some(row) => (MessageId::stored(row.try_get::<String, _>(0)?), row.try_get::<i64, _>(1)? as u64),
            None => (id.clone(), 0),
        };
        let sql = "SELECT a.name, d.seq, a.seen_at FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = $1 ORDER BY a.name";
        let mut sent = Vec::new();
        for row in sqlx::query(sql).bind(id.as_str()).fetch_all(&mut *self.db).await? {
            let agent = AgentName::stored(row.try_get::<String, _>(0)?);
            let (seq, seen_at): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
            sent.push(Recipient { agent, seq: seq as u64, seen_at: seen_at as u64 });
        }
        let (resolved, full) = (Vec::new(), Vec::new());
        Ok(Appended { id: id.clone(), thread, at, resolved, sent, full, is_replay: true })
    }

    pub(super) async fn claim(&mut self, claim: &Claim) -> Result<Claimed, Fault> {
        let confirmed =
            if claim.confirm { self.confirm(&claim.session, &claim.unseen, Some(claim.token)).await? } else { 0 };
        let caller = self.caller(&claim.session).await?;
        let mut mailbox = self.mailbox(caller.id).await?;
        // The call may have claimed before and never heard the answer.
        let sql = "SELECT seq, attempts FROM delivery WHERE session = $1 AND agent = $2 AND token = $3 AND state < 3 \
                   ORDER BY seq";
        let query = sqlx::query(sql).bind(claim.session.id.as_str()).bind(caller.id).bind(claim.token as i64);
        let mut taken: Vec<(i64, i32)> = Vec::new();
        for row in query.fetch_all(&mut *self.db).await? {
            taken.push((row.try_get(0)?, row.try_get(1)?));
        }
        if taken.is_empty() {
            taken = self.take(claim, &mut mailbox).await?;
        }
        let sql = concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM delivery d JOIN message m ON m.id = d.message WHERE d.agent = $1 AND d.seq = ANY($2)"
        );
        let seqs: Vec<i64> = taken.iter().map(|(seq, _)| *seq).collect();
        let mut found = std::collections::HashMap::new();
        if !seqs.is_empty() {
            for row in sqlx::query(sql).bind(caller.id).bind(seqs).fetch_all(&mut *self.db).await? {
                let message = super::look::message(&row)?;
                found.insert(message.seq, message);
            }
        }
        let messages = taken.into_iter().filter_map(|(seq, attempt)| {
            Some(HandedOut { message: found.remove(&(seq as u64))?, attempt: attempt as u32 })
        });
        let below = usize::from(claim.floor.least().level());
        Ok(Claimed {
            messages: messages.collect(),
            remaining: mailbox.free.iter().sum::<i64>() as u64,
            below_floor: mailbox.free[..below].iter().sum::<i64>() as u64,
            confirmed,
        })
    }

    /// Leases the next messages.
    async fn take(&mut self, claim: &Claim, mailbox: &mut Mailbox) -> Result<Vec<(i64, i32)>, Fault> {
        let mut candidates: Vec<(Place, i64, i32)> = Vec::new();
        for priority in Priority::ALL {
            let level = i16::from(priority.level());
            if !claim.floor.passes(priority) || *mailbox.free(level) == 0 {
                continue;
            }
            let sql = "SELECT seq, at, bytes, attempts FROM delivery WHERE agent = $1 AND priority = $2 \
                       AND state < 3 AND session IS NULL ORDER BY seq LIMIT $3";
            let query = sqlx::query(sql).bind(mailbox.agent).bind(level).bind(claim.max as i64);
            for row in query.fetch_all(&mut *self.db).await? {
                let (seq, at): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
                let place = Place { priority, seq: seq as u64, at: at as u64 };
                candidates.push((place, row.try_get(2)?, row.try_get(3)?));
            }
        }
        let aging = plan::millis(self.limits.aging);
        let (mut bytes, mut taken) = (0, Vec::new());
        for (place, size, attempts) in pick(candidates, |one| one.0, self.now, aging, claim.max) {
            bytes += size as u64;
            if !taken.is_empty() && bytes > claim.max_bytes {
                break;
            }
            *mailbox.free(i16::from(place.priority.level())) -= 1;
            mailbox.leased += 1;
            taken.push((place.seq as i64, attempts + 1));
        }
        if !taken.is_empty() {
            let sql = "UPDATE delivery SET session = $3, token = $4, owner = $5, attempts = attempts + 1, state = 2, \
                       fetched_at = $6, fetched_by = $3 WHERE agent = $1 AND seq = ANY($2)";
            let seqs: Vec<i64> = taken.iter().map(|(seq, _)| *seq).collect();
            let query = sqlx::query(sql).bind(mailbox.agent).bind(seqs).bind(claim.session.id.as_str());
            let query = query.bind(claim.token as i64).bind(self.owner).bind(self.now as i64);
            run(self.db, query).await?;
            self.save(mailbox).await?;
        }
        Ok(taken)
    }

    /// What the session has in hand is read, but for what these tokens name.
    pub(super) async fn confirm(&mut self, session: &Session, unseen: &[u64], own: Option<u64>) -> Result<u64, Fault> {
        let caller = self.caller(session).await?;
        let held =
            self.in_hand(&session.id, Some(caller.id), |token| Some(token) != own && !unseen.contains(&token)).await?;
        if held.is_empty() {
            return Ok(0);
        }
        let mut mailbox = self.mailbox(caller.id).await?;
        for one in &held {
            mailbox.leased -= 1;
            self.finish(&mut mailbox, one, DeliveryState::Read, None).await?;
        }
        self.save(&mailbox).await?;
        Ok(held.len() as u64)
    }

    /// What a session has in hand, in one mailbox or in any.
    async fn in_hand(
        &mut self,
        session: &SessionId,
        agent: Option<i64>,
        which: impl Fn(u64) -> bool,
    ) -> Result<Vec<Held>, sqlx::Error> {
        let sql = format!(
            "SELECT {HELD}, d.token FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.session = $1 \
             AND a.space = $3 AND ($2::bigint IS NULL OR d.agent = $2) ORDER BY d.agent, d.seq"
        );
        let query = sqlx::query(&sql).bind(session.as_str()).bind(agent).bind(self.space);
        let mut found = Vec::new();
        for row in query.fetch_all(&mut *self.db).await? {
            let token: i64 = row.try_get(7)?;
            if which(token as u64) {
                found.push(held(&row)?);
            }
        }
        Ok(found)
    }

    /// Moves a delivery forward to a state in which it no longer waits. The mailbox is saved by the caller.
    pub(super) async fn finish(
        &mut self,
        mailbox: &mut Mailbox,
        one: &Held,
        state: DeliveryState,
        note: Option<&str>,
    ) -> Result<(), sqlx::Error> {
        let sql = "UPDATE delivery SET state = $3, session = NULL, token = NULL, owner = NULL, \
                   read_at = CASE WHEN $4 THEN $5 ELSE read_at END, \
                   settled_at = CASE WHEN $4 THEN settled_at ELSE $5 END, note = coalesce($6, note) \
                   WHERE agent = $1 AND seq = $2";
        let query = sqlx::query(sql).bind(one.agent).bind(one.seq).bind(state as i16);
        let query = query.bind(state == DeliveryState::Read).bind(self.now as i64).bind(note.map(str::as_bytes));
        run(self.db, query).await?;
        if DeliveryState::from_level(one.state as u8).is_waiting() {
            mailbox.bytes -= one.bytes;
        }
        Ok(())
    }

    pub(super) async fn settle(&mut self, settle: &Settle) -> Result<Vec<Settled>, Fault> {
        self.confirm(&settle.session, &settle.unseen, None).await?;
        let caller = self.caller(&settle.session).await?;
        let mut mailbox = self.mailbox(caller.id).await?;
        let mut settled = Vec::with_capacity(settle.ids.len());
        let sql = format!(
            "SELECT {HELD}, d.session IS NOT NULL FROM message m JOIN delivery d ON d.message = m.id \
             WHERE m.public = $1 AND d.agent = $2"
        );
        for id in &settle.ids {
            let query = sqlx::query(&sql).bind(id.as_str()).bind(caller.id);
            let Some(row) = query.fetch_optional(&mut *self.db).await? else {
                settled.push(Settled { id: id.clone(), state: None });
                continue;
            };
            let (one, is_leased): (Held, bool) = (held(&row)?, row.try_get(7)?);
            let mut state = DeliveryState::from_level(one.state as u8);
            if state <= DeliveryState::Read {
                if state.is_waiting() {
                    // Somebody else of this agent may have it in hand, or nobody.
                    *(if is_leased { &mut mailbox.leased } else { mailbox.free(one.priority) }) -= 1;
                }
                state = settle.outcome.state();
                self.finish(&mut mailbox, &one, state, settle.note.as_deref()).await?;
            }
            settled.push(Settled { id: id.clone(), state: Some(state) });
        }
        self.save(&mailbox).await?;
        Ok(settled)
    }

    pub(super) async fn release(&mut self, release: &Release) -> Result<Released, Fault> {
        let mut released = Released::default();
        let wanted = |token| release.token.is_none_or(|only| token == only);
        for session in &release.sessions {
            let held = self.in_hand(session, None, wanted).await?;
            for agent in held.iter().map(|one| one.agent).collect::<BTreeSet<i64>>() {
                let row = sqlx::query("SELECT name FROM agent WHERE id = $1").bind(agent);
                let name = AgentName::stored(row.fetch_one(&mut *self.db).await?.try_get::<String, _>(0)?);
                let one = self.free_leases(agent, &name, Some(session), release.token).await?;
                released.freed += one.freed;
                released.dead.extend(one.dead);
            }
        }
        Ok(released)
    }

    /// Frees what a session, or whoever, has in hand of a mailbox, or of one call, or declares it dead.
    pub(super) async fn free_leases(
        &mut self,
        agent: i64,
        name: &AgentName,
        session: Option<&SessionId>,
        token: Option<u64>,
    ) -> Result<Released, Fault> {
        let mut mailbox = self.mailbox(agent).await?;
        let sql = format!(
            "SELECT {HELD} FROM delivery d WHERE d.agent = $1 AND d.session IS NOT NULL \
             AND ($2::text IS NULL OR d.session = $2) AND ($3::bigint IS NULL OR d.token = $3) ORDER BY d.seq"
        );
        let query = sqlx::query(&sql).bind(agent).bind(session.map(|id| id.as_str()));
        let query = query.bind(token.map(|token| token as i64));
        let rows = query.fetch_all(&mut *self.db).await?;
        let mut released = Released::default();
        let mut dead = Vec::new();
        for row in rows {
            let one = held(&row)?;
            mailbox.leased -= 1;
            if one.attempts as u32 >= self.limits.attempts {
                self.finish(&mut mailbox, &one, DeliveryState::Dead, None).await?;
                dead.push(one);
            } else {
                self.put_back(&mut mailbox, &one, one.attempts).await?;
                released.freed += 1;
            }
        }
        if released.freed > 0 {
            self.arrive(&mut mailbox);
        }
        self.save(&mailbox).await?;
        for one in dead {
            released.dead.push((self.report(&one, name).await?, name.clone()));
        }
        Ok(released)
    }

    /// Takes a delivery out of hand. The mailbox is saved by the caller.
    async fn put_back(&mut self, mailbox: &mut Mailbox, one: &Held, attempts: i32) -> Result<(), sqlx::Error> {
        let sql = "UPDATE delivery SET session = NULL, token = NULL, owner = NULL, attempts = $3 \
                   WHERE agent = $1 AND seq = $2";
        run(self.db, sqlx::query(sql).bind(one.agent).bind(one.seq).bind(attempts)).await?;
        *mailbox.free(one.priority) += 1;
        Ok(())
    }

    /// Tells a sender that a message is dead. A report goes into a full mailbox too: it is worth more than its room.
    async fn report(&mut self, one: &Held, recipient: &AgentName) -> Result<MessageId, Fault> {
        let query = sqlx::query("SELECT public, sender, thread FROM message WHERE id = $1").bind(one.message);
        let row = query.fetch_one(&mut *self.db).await?;
        let public = MessageId::stored(row.try_get::<String, _>(0)?);
        let sender = AgentName::stored(row.try_get::<String, _>(1)?);
        let thread = MessageId::stored(row.try_get::<String, _>(2)?);
        let Some(to) = self.find_agent(sender.as_str()).await? else { return Ok(public) };
        let message = NewMessage::report(&public, &thread, (&sender, recipient), one.attempts as u32, self.now);
        self.deliver(&message, vec![to]).await?;
        Ok(public)
    }

    pub(super) async fn hand_back(&mut self, back: &HandBack) -> Result<(), Fault> {
        for one in self.in_hand(&back.session, None, |token| token == back.token).await? {
            let mut mailbox = self.mailbox(one.agent).await?;
            mailbox.leased -= 1;
            self.put_back(&mut mailbox, &one, (one.attempts - 1).max(0)).await?;
            self.arrive(&mut mailbox);
            self.save(&mailbox).await?;
        }
        Ok(())
    }
}

/// Reads what [`HELD`] selects.
fn held(row: &PgRow) -> Result<Held, sqlx::Error> {
    Ok(Held {
        agent: row.try_get(0)?,
        seq: row.try_get(1)?,
        message: row.try_get(2)?,
        priority: row.try_get(3)?,
        attempts: row.try_get(4)?,
        bytes: row.try_get(5)?,
        state: row.try_get(6)?,
    })
}
