//! What happens to messages in SQLite: appended, handed out, confirmed, settled, freed. Every change checks all it has
//! to check before it writes. What is done on the side is in [`super::keep`].

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, params};

use super::look::message_columns;
use super::rows::{Mailbox, unknown};
use super::writer::{Fault, Writer};
use crate::error::Refusal;
use crate::model::order::{Place, pick};
use crate::model::{
    AgentName, DeliveryState, HandedOut, Kind, MessageId, Millis, Priority, Session, SessionId, Settled,
};
use crate::store::change::{Append, Appended, Claim, Claimed, HandBack, Recipient, Release, Released, Settle};
use crate::store::message::NewMessage;
use crate::store::plan;

/// A mailbox that a message goes into.
pub(super) struct Target {
    pub(super) agent: AgentName,
    pub(super) seen_at: Millis,
    pub(super) mailbox: Mailbox,
}

/// A delivery that a claim has leased.
struct Taken {
    seq: u64,
    message: i64,
    attempt: u32,
}

/// A delivery that a session has in hand.
pub(super) struct Held {
    pub(super) agent: i64,
    pub(super) seq: u64,
    pub(super) message: i64,
    pub(super) priority: u8,
    pub(super) attempts: u32,
    pub(super) bytes: u64,
    pub(super) state: u8,
}

impl Writer {
    pub(super) fn append(&mut self, append: &Append) -> Result<Appended, Fault> {
        let now = self.clock.now();
        plan::check_size(&append.content, &append.metadata, &self.limits)?;
        if let [to] = &append.to[..] {
            self.look_up(append.sender.agent.as_str(), &to.name)?;
        }
        // First: its id is nobody else's, and whoever asks again after a lost answer may have lost the name since.
        if self.is_known(&append.id)? {
            return Ok(self.replay(&append.id)?);
        }
        self.caller(&append.sender)?;
        let sender = &append.sender.agent;
        if let Some(key) = &append.key
            && let Some((public, hash)) = self.find_key(sender, key)?
        {
            if hash != append.hash {
                return Err(Refusal::KeyConflict { key: key.clone(), message: public }.into());
            }
            return Ok(self.replay(&public)?);
        }
        let thread = match &append.reply_to {
            None => append.id.clone(),
            Some(id) => self.thread_of(id, sender)?,
        };
        let directory = self.directory(append)?;
        let (resolved, whom) = plan::recipients(append, &directory, &self.limits)?;
        let bytes = plan::size(&append.content, &append.metadata);
        let (open, full) = self.targets(whom, bytes)?;
        if open.is_empty() {
            return Err(Refusal::MailboxFull { agents: full }.into());
        }
        let message = NewMessage::sent(append, &thread, now);
        let sent = self.deliver(&message, open)?;
        Ok(Appended { id: append.id.clone(), thread, at: now, resolved, sent, full, is_replay: false })
    }

    /// Whether there is or was a message of that id.
    pub(super) fn is_known(&self, id: &MessageId) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM message WHERE public = ?1 UNION ALL SELECT 1 FROM tomb WHERE public = ?1";
        self.db.prepare_cached(sql)?.exists([id.as_str()])
    }

    fn find_key(&self, sender: &AgentName, key: &str) -> rusqlite::Result<Option<(MessageId, Vec<u8>)>> {
        let sql = "SELECT public, hash FROM message WHERE space = ?1 AND sender = ?2 AND key = ?3 \
                   UNION ALL SELECT public, hash FROM tomb WHERE space = ?1 AND sender = ?2 AND key = ?3";
        let row = |row: &rusqlite::Row<'_>| Ok((MessageId::stored(row.get::<_, String>(0)?), row.get(1)?));
        self.db.prepare_cached(sql)?.query_row(params![self.space, sender.as_str(), key], row).optional()
    }

    /// The conversation of a message that the agent wrote or received.
    fn thread_of(&self, id: &MessageId, agent: &AgentName) -> Result<MessageId, Fault> {
        let sql = "SELECT coalesce(m.thread, m.public) FROM message m WHERE m.public = ?1 AND m.space = ?2 AND (m.sender = ?3 OR EXISTS \
                   (SELECT 1 FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.message = m.id AND a.name = ?3))";
        let values = params![id.as_str(), self.space, agent.as_str()];
        let found: Option<String> = self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
        let unknown = || Refusal::UnknownMessage { id: id.clone(), agent: agent.clone() };
        Ok(MessageId::stored(found.ok_or_else(unknown)?))
    }

    /// The mailboxes that have room for a message of that size, and those that have not.
    fn targets(&self, whom: BTreeSet<AgentName>, bytes: u64) -> Result<(Vec<Target>, Vec<AgentName>), Fault> {
        let (mut open, mut full) = (Vec::with_capacity(whom.len()), Vec::new());
        for agent in whom {
            let row = self.find_agent(agent.as_str())?.ok_or_else(|| unknown(agent.as_str()))?;
            let mailbox = self.mailbox(row.id)?;
            let has_room =
                mailbox.waiting() < self.limits.mailbox_messages && mailbox.bytes + bytes <= self.limits.mailbox_bytes;
            if has_room {
                open.push(Target { agent, seen_at: row.seen_at, mailbox });
            } else {
                full.push(agent);
            }
        }
        Ok((open, full))
    }

    /// Puts a message into mailboxes. Everything was checked.
    pub(super) fn deliver(&mut self, message: &NewMessage<'_>, to: Vec<Target>) -> Result<Vec<Recipient>, Fault> {
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
        let number = self.db.last_insert_rowid();
        let bytes = plan::size(&message.content, message.metadata);
        let level = message.priority.level();
        let mut sent = Vec::with_capacity(to.len());
        for mut target in to {
            let mailbox = &mut target.mailbox;
            mailbox.seq += 1;
            mailbox.bytes += bytes;
            *mailbox.free(level) += 1;
            self.arrive(mailbox, &target.agent, message.priority);
            let sql = "INSERT INTO delivery (agent, seq, message, priority, at, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let values = params![mailbox.agent, mailbox.seq, number, level, message.at, bytes];
            self.db.prepare_cached(sql)?.execute(values)?;
            self.save(mailbox);
            sent.push(Recipient { agent: target.agent, seq: mailbox.seq, seen_at: target.seen_at });
        }
        Ok(sent)
    }

    /// What an append of this message answered. One that was purged since has no recipients any more.
    fn replay(&self, id: &MessageId) -> rusqlite::Result<Appended> {
        let sql = "SELECT coalesce(thread, public), at FROM message WHERE public = ?1";
        let found: Option<(String, Millis)> =
            self.db.prepare_cached(sql)?.query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let sql = "SELECT a.name, d.seq, a.seen_at FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = ?1 ORDER BY a.name";
        let mut statement = self.db.prepare_cached(sql)?;
        let sent = statement.query_map([id.as_str()], |row| {
            let agent = AgentName::stored(row.get::<_, String>(0)?);
            Ok(Recipient { agent, seq: row.get(1)?, seen_at: row.get(2)? })
        })?;
        let sent = sent.collect::<rusqlite::Result<Vec<_>>>()?;
        let (thread, at) = found.unwrap_or_else(|| (id.to_string(), 0));
        let (thread, resolved, full) = (MessageId::stored(thread), Vec::new(), Vec::new());
        Ok(Appended { id: id.clone(), thread, at, resolved, sent, full, is_replay: true })
    }

    pub(super) fn claim(&mut self, claim: &Claim) -> Result<Claimed, Fault> {
        let now = self.clock.now();
        let confirmed = if claim.confirm { self.confirm(&claim.session, &claim.unseen, Some(claim.token))? } else { 0 };
        let caller = self.caller(&claim.session)?;
        let mut mailbox = self.mailbox(caller.id)?;
        let mut taken = self.taken_before(claim, &mailbox)?;
        if taken.is_empty() {
            taken = self.take(claim, &mut mailbox, now)?;
        }
        let sql = concat!("SELECT ", message_columns!(), ", ?2 FROM message m WHERE m.id = ?1");
        let mut read = self.db.prepare_cached(sql)?;
        let mut messages = Vec::with_capacity(taken.len());
        for one in taken {
            let message = read.query_row(params![one.message, one.seq], super::look::message)?;
            messages.push(HandedOut { message, attempt: one.attempt });
        }
        let below = usize::from(claim.floor.least().level());
        let below_floor = mailbox.free[..below].iter().sum();
        Ok(Claimed { messages, remaining: mailbox.free.iter().sum(), below_floor, confirmed })
    }

    /// What the same call has leased already: it may never have heard the answer.
    fn taken_before(&self, claim: &Claim, mailbox: &Mailbox) -> rusqlite::Result<Vec<Taken>> {
        if mailbox.leased == 0 {
            return Ok(Vec::new());
        }
        let sql = "SELECT seq, message, attempts FROM delivery INDEXED BY delivery_open \
                   WHERE session = ?1 AND agent = ?2 AND token = ?3 AND state < 3 ORDER BY seq";
        let mut again = self.db.prepare_cached(sql)?;
        let values = params![claim.session.id.as_str(), mailbox.agent, claim.token];
        let row = |row: &rusqlite::Row<'_>| Ok(Taken { seq: row.get(0)?, message: row.get(1)?, attempt: row.get(2)? });
        again.query_map(values, row)?.collect()
    }

    /// Leases the next messages.
    fn take(&self, claim: &Claim, mailbox: &mut Mailbox, now: Millis) -> Result<Vec<Taken>, Fault> {
        let mut candidates: Vec<(Place, u64, Taken)> = Vec::new();
        for priority in Priority::ALL {
            if !claim.floor.passes(priority) || *mailbox.free(priority.level()) == 0 {
                continue;
            }
            let sql = "SELECT seq, at, bytes, message, attempts FROM delivery INDEXED BY delivery_open WHERE session IS NULL \
                       AND agent = ?1 AND priority = ?2 AND state < 3 ORDER BY seq LIMIT ?3";
            let mut statement = self.db.prepare_cached(sql)?;
            let rows = statement.query_map(params![mailbox.agent, priority.level(), claim.max], |row| {
                let place = Place { priority, seq: row.get(0)?, at: row.get(1)? };
                let attempt = row.get::<_, u32>(4)? + 1;
                Ok((place, row.get(2)?, Taken { seq: place.seq, message: row.get(3)?, attempt }))
            })?;
            candidates.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        let aging = plan::millis(self.limits.aging);
        let (mut bytes, mut taken) = (0, Vec::new());
        for (place, size, one) in pick(candidates, |one| one.0, now, aging, claim.max) {
            bytes += size;
            if !taken.is_empty() && bytes > claim.max_bytes {
                break;
            }
            let sql = "UPDATE delivery SET session = ?3, token = ?4, attempts = attempts + 1, state = 2, \
                       fetched_at = ?5, fetched_by = ?3 WHERE agent = ?1 AND seq = ?2";
            let values = params![mailbox.agent, place.seq, claim.session.id.as_str(), claim.token, now];
            self.db.prepare_cached(sql)?.execute(values)?;
            *mailbox.free(place.priority.level()) -= 1;
            mailbox.leased += 1;
            taken.push(one);
        }
        self.save(mailbox);
        Ok(taken)
    }

    /// What the session has in hand is read, but for what these tokens name.
    pub(super) fn confirm(&mut self, session: &Session, unseen: &[u64], own: Option<u64>) -> Result<u64, Fault> {
        let now = self.clock.now();
        let caller = self.caller(session)?;
        let mut mailbox = self.mailbox(caller.id)?;
        if mailbox.leased == 0 {
            return Ok(0);
        }
        let held =
            self.in_hand(&session.id, Some(caller.id), |token| Some(token) != own && !unseen.contains(&token))?;
        for one in &held {
            mailbox.leased -= 1;
            self.finish(&mut mailbox, one, DeliveryState::Read, now, None)?;
        }
        self.save(&mailbox);
        Ok(held.len() as u64)
    }

    /// What a session has in hand, in one mailbox or in any.
    fn in_hand(
        &self,
        session: &SessionId,
        agent: Option<i64>,
        which: impl Fn(u64) -> bool,
    ) -> rusqlite::Result<Vec<Held>> {
        let sql = "SELECT agent, seq, message, priority, attempts, bytes, state, token FROM delivery INDEXED BY delivery_open \
                   WHERE session = ?1 AND (?2 IS NULL OR agent = ?2) AND state < 3 ORDER BY agent, seq";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params![session.as_str(), agent], |row| Ok((held(row)?, row.get(7)?)))?;
        let rows = rows.collect::<rusqlite::Result<Vec<(Held, u64)>>>()?;
        Ok(rows.into_iter().filter(|(_, token)| which(*token)).map(|(held, _)| held).collect())
    }

    /// Moves a delivery forward to a state in which it no longer waits. The mailbox is saved by the caller.
    pub(super) fn finish(
        &self,
        mailbox: &mut Mailbox,
        one: &Held,
        state: DeliveryState,
        now: Millis,
        note: Option<&str>,
    ) -> rusqlite::Result<()> {
        let is_read = state == DeliveryState::Read;
        let sql = "UPDATE delivery SET state = ?3, session = NULL, token = NULL, \
                   read_at = CASE WHEN ?4 THEN ?5 ELSE read_at END, \
                   settled_at = CASE WHEN ?4 THEN settled_at ELSE ?5 END, note = coalesce(?6, note) \
                   WHERE agent = ?1 AND seq = ?2";
        let values = params![one.agent, one.seq, state as u8, is_read, now, note];
        self.db.prepare_cached(sql)?.execute(values)?;
        if DeliveryState::from_level(one.state).is_waiting() {
            mailbox.bytes = mailbox.bytes.saturating_sub(one.bytes);
        }
        Ok(())
    }

    pub(super) fn settle(&mut self, settle: &Settle) -> Result<Vec<Settled>, Fault> {
        let now = self.clock.now();
        self.confirm(&settle.session, &settle.unseen, None)?;
        let caller = self.caller(&settle.session)?;
        let mut mailbox = self.mailbox(caller.id)?;
        let mut settled = Vec::with_capacity(settle.ids.len());
        let sql = "SELECT d.agent, d.seq, d.message, d.priority, d.attempts, d.bytes, d.state, d.session IS NOT NULL \
                   FROM message m JOIN delivery d ON d.message = m.id WHERE m.public = ?1 AND d.agent = ?2";
        for id in &settle.ids {
            let found: Option<(Held, bool)> = self
                .db
                .prepare_cached(sql)?
                .query_row(params![id.as_str(), caller.id], |row| Ok((held(row)?, row.get(7)?)))
                .optional()?;
            let Some((one, is_leased)) = found else {
                settled.push(Settled { id: id.clone(), state: None });
                continue;
            };
            let mut state = DeliveryState::from_level(one.state);
            if state <= DeliveryState::Read {
                if state.is_waiting() {
                    // Somebody else of this agent may have it in hand, or nobody.
                    let counter = if is_leased { &mut mailbox.leased } else { mailbox.free(one.priority) };
                    *counter = counter.saturating_sub(1);
                }
                state = settle.outcome.state();
                self.finish(&mut mailbox, &one, state, now, settle.note.as_deref())?;
            }
            settled.push(Settled { id: id.clone(), state: Some(state) });
        }
        self.save(&mailbox);
        Ok(settled)
    }

    pub(super) fn release(&mut self, release: &Release) -> Result<Released, Fault> {
        let mut released = Released::default();
        let wanted = |token| release.token.is_none_or(|only| token == only);
        for session in &release.sessions {
            let agents: BTreeSet<i64> = self.in_hand(session, None, wanted)?.iter().map(|one| one.agent).collect();
            for id in agents {
                let name = self.name_of(id)?;
                let one = self.free_leases(id, &name, Some(session), release.token)?;
                released.freed += one.freed;
                released.dead.extend(one.dead);
            }
        }
        Ok(released)
    }

    fn name_of(&self, agent: i64) -> rusqlite::Result<AgentName> {
        let mut statement = self.db.prepare_cached("SELECT name FROM agent WHERE id = ?1")?;
        statement.query_row([agent], |row| Ok(AgentName::stored(row.get::<_, String>(0)?)))
    }

    /// Frees what a session, or whoever, has in hand of a mailbox, or of one call, or declares it dead.
    pub(super) fn free_leases(
        &mut self,
        agent: i64,
        name: &AgentName,
        session: Option<&SessionId>,
        token: Option<u64>,
    ) -> Result<Released, Fault> {
        let now = self.clock.now();
        let sql = "SELECT agent, seq, message, priority, attempts, bytes, state FROM delivery INDEXED BY delivery_open \
                   WHERE session IS NOT NULL AND session = coalesce(?2, session) AND state < 3 AND agent = ?1 \
                   AND (?3 IS NULL OR token = ?3) ORDER BY seq";
        let held: Vec<Held> = {
            let mut statement = self.db.prepare_cached(sql)?;
            let rows = statement.query_map(params![agent, session.map(|id| id.as_str()), token], held)?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let mut released = Released::default();
        let mut mailbox = self.mailbox(agent)?;
        let (mut highest, mut dead) = (None, Vec::new());
        for one in held {
            mailbox.leased -= 1;
            if one.attempts >= self.limits.attempts {
                self.finish(&mut mailbox, &one, DeliveryState::Dead, now, None)?;
                dead.push(one);
            } else {
                self.put_back(&mut mailbox, &one, one.attempts)?;
                highest = highest.max(Some(one.priority));
                released.freed += 1;
            }
        }
        if let Some(level) = highest {
            self.arrive(&mut mailbox, name, Priority::from_level(level));
        }
        self.save(&mailbox);
        for one in dead {
            released.dead.push((self.report(&one, name, now)?, name.clone()));
        }
        Ok(released)
    }

    /// Takes a delivery out of hand. The mailbox is saved by the caller.
    fn put_back(&self, mailbox: &mut Mailbox, one: &Held, attempts: u32) -> rusqlite::Result<()> {
        let sql = "UPDATE delivery SET session = NULL, token = NULL, attempts = ?3 WHERE agent = ?1 AND seq = ?2";
        self.db.prepare_cached(sql)?.execute(params![one.agent, one.seq, attempts])?;
        *mailbox.free(one.priority) += 1;
        Ok(())
    }

    /// Tells a sender that a message is dead. A report goes into a full mailbox too: it is worth more than its room.
    fn report(&mut self, one: &Held, recipient: &AgentName, now: Millis) -> Result<MessageId, Fault> {
        let sql = "SELECT public, sender, coalesce(thread, public) FROM message WHERE id = ?1";
        let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(String, String, String)> {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        };
        let (public, sender, thread) = self.db.prepare_cached(sql)?.query_row([one.message], row)?;
        let (public, sender, thread) =
            (MessageId::stored(public), AgentName::stored(sender), MessageId::stored(thread));
        let Some(to) = self.find_agent(sender.as_str())? else { return Ok(public) };
        let mailbox = self.mailbox(to.id)?;
        let message = NewMessage::report(&public, &thread, (&sender, recipient), one.attempts, now);
        self.deliver(&message, vec![Target { agent: sender, seen_at: to.seen_at, mailbox }])?;
        Ok(public)
    }

    pub(super) fn hand_back(&mut self, back: &HandBack) -> Result<(), Fault> {
        let held = self.in_hand(&back.session, None, |token| token == back.token)?;
        let mut mailboxes: BTreeMap<i64, (Mailbox, u8)> = BTreeMap::new();
        for one in held {
            let (mailbox, highest) = match mailboxes.entry(one.agent) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => entry.insert((self.mailbox(one.agent)?, 0)),
            };
            mailbox.leased -= 1;
            *highest = one.priority.max(*highest);
            self.put_back(mailbox, &one, one.attempts.saturating_sub(1))?;
        }
        for (agent, (mut mailbox, highest)) in mailboxes {
            let name = self.name_of(agent)?;
            self.arrive(&mut mailbox, &name, Priority::from_level(highest));
            self.save(&mailbox);
        }
        Ok(())
    }
}

fn held(row: &rusqlite::Row<'_>) -> rusqlite::Result<Held> {
    Ok(Held {
        agent: row.get(0)?,
        seq: row.get(1)?,
        message: row.get(2)?,
        priority: row.get(3)?,
        attempts: row.get(4)?,
        bytes: row.get(5)?,
        state: row.get(6)?,
    })
}
