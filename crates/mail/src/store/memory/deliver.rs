//! What happens to messages in memory: appended, handed out, confirmed, settled, freed, purged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::rows::{AgentRow, MessageRow, Rows, Slot, unknown};
use crate::error::Refusal;
use crate::model::order::{Place, pick};
use crate::model::{
    AgentName, DeliveryState, HandedOut, HintAttempt, Kind, MessageId, Millis, Priority, Session, SessionId, Settled,
};
use crate::store::change::{
    Append, Appended, BeginHint, Claim, Claimed, EndHint, HandBack, HintVerdict, Import, Imported, Purge, Purged,
    Recipient, Release, Released, Settle,
};
use crate::store::plan;

impl Rows {
    pub(super) fn append(&mut self, append: &Append) -> Result<Appended, Refusal> {
        let now = self.clock.now();
        plan::check_size(&append.content, &append.metadata, &self.limits)?;
        // First: its id is nobody else's, and whoever asks again after a lost answer may have lost the name since.
        if self.messages.contains_key(&append.id) || self.tombs.contains(&append.id) {
            return Ok(self.replay(&append.id));
        }
        self.caller(&append.sender)?;
        let sender = &append.sender.agent;
        if let Some(key) = &append.key
            && let Some((hash, id)) = self.keys.get(&(sender.clone(), key.clone()))
        {
            if *hash != append.hash {
                return Err(Refusal::KeyConflict { key: key.clone(), message: id.clone() });
            }
            return Ok(self.replay(&id.clone()));
        }
        let thread = match &append.reply_to {
            None => append.id.clone(),
            Some(id) => {
                let parent = self.messages.get(id).filter(|parent| parent.involves(sender));
                let unknown = || Refusal::UnknownMessage { id: id.clone(), agent: sender.clone() };
                parent.ok_or_else(unknown)?.thread.clone()
            }
        };
        let (resolved, whom) = plan::recipients(append, &self.directory(), &self.limits)?;
        let bytes = plan::size(&append.content, &append.metadata);
        let (open, full): (Vec<_>, Vec<_>) = whom.into_iter().partition(|agent| self.has_room(agent, bytes));
        if open.is_empty() {
            return Err(Refusal::MailboxFull { agents: full });
        }
        if let Some(key) = &append.key {
            self.keys.insert((sender.clone(), key.clone()), (append.hash, append.id.clone()));
        }
        let message = MessageRow {
            order: 0,
            sender: sender.clone(),
            to: append.to.iter().map(|address| address.written.clone()).collect(),
            content: Arc::clone(&append.content),
            priority: append.priority,
            at: now,
            thread: thread.clone(),
            reply_to: append.reply_to.clone(),
            metadata: append.metadata.clone(),
            kind: Kind::Mail,
            recipients: BTreeMap::new(),
        };
        let sent = self.deliver(append.id.clone(), message, &open);
        Ok(Appended { id: append.id.clone(), thread, at: now, resolved, sent, full, is_replay: false })
    }

    fn has_room(&self, agent: &AgentName, bytes: u64) -> bool {
        self.agents.get(agent).is_some_and(|row| {
            row.waiting < self.limits.mailbox_messages && row.waiting_bytes + bytes <= self.limits.mailbox_bytes
        })
    }

    /// Puts a message into mailboxes. Everything was checked.
    fn deliver(&mut self, id: MessageId, mut message: MessageRow, to: &[AgentName]) -> Vec<Recipient> {
        self.stored += 1;
        message.order = self.stored;
        let bytes = plan::size(&message.content, &message.metadata);
        let mut sent = Vec::with_capacity(to.len());
        for agent in to {
            let Some(row) = self.agents.get_mut(agent) else { continue };
            row.seq += 1;
            row.waiting += 1;
            row.waiting_bytes += bytes;
            row.slots.insert(row.seq, Slot::new(id.clone(), message.priority, message.at, bytes));
            message.recipients.insert(agent.clone(), row.seq);
            sent.push(Recipient { agent: agent.clone(), seq: row.seq, seen_at: row.seen_at });
            self.arrive(agent, message.priority);
        }
        self.messages.insert(id, message);
        sent
    }

    /// What an append of this message answered. One that was purged since has no recipients any more.
    fn replay(&self, id: &MessageId) -> Appended {
        let message = self.messages.get(id);
        let recipients = message.map(|message| message.recipients.clone()).unwrap_or_default();
        let sent = recipients.into_iter().map(|(agent, seq)| {
            let seen_at = self.agents.get(&agent).map_or(0, |row| row.seen_at);
            Recipient { agent, seq, seen_at }
        });
        Appended {
            id: id.clone(),
            thread: message.map_or_else(|| id.clone(), |message| message.thread.clone()),
            at: message.map_or(0, |message| message.at),
            resolved: Vec::new(),
            sent: sent.collect(),
            full: Vec::new(),
            is_replay: true,
        }
    }

    pub(super) fn claim(&mut self, claim: &Claim) -> Result<Claimed, Refusal> {
        let (now, aging) = (self.clock.now(), plan::millis(self.limits.aging));
        let (session, token) = (&claim.session.id, claim.token);
        let confirmed = if claim.confirm { self.confirm(&claim.session, &claim.unseen, Some(token))? } else { 0 };
        let row = self.caller(&claim.session)?;
        let mut taken: Vec<(MessageId, u64, u32)> = Vec::new();
        for seq in row.in_hand(|lease| lease.0 == *session && lease.1 == token) {
            // The call claimed before and never heard the answer.
            taken.push((row.slots[&seq].message.clone(), seq, row.slots[&seq].attempts));
        }
        let free = row.slots.iter().filter(|(_, slot)| slot.is_free());
        let free: Vec<Place> =
            free.map(|(seq, slot)| Place { priority: slot.priority, seq: *seq, at: slot.at }).collect();
        let below_floor = free.iter().filter(|place| !claim.floor.passes(place.priority)).count() as u64;
        let all = free.len() as u64;
        let wanted = free.into_iter().filter(|place| claim.floor.passes(place.priority)).collect();
        let max = if taken.is_empty() { claim.max } else { 0 };
        let (mut bytes, mut fresh) = (0, 0);
        for place in pick(wanted, |place| *place, now, aging, max) {
            let slot = row.slots.get_mut(&place.seq).expect("just seen");
            bytes += slot.bytes;
            if fresh > 0 && bytes > claim.max_bytes {
                break;
            }
            fresh += 1;
            slot.lease = Some((session.clone(), token));
            slot.state = DeliveryState::Fetched;
            slot.attempts += 1;
            slot.fetched_at = Some(now);
            slot.fetched_by = Some(session.clone());
            taken.push((slot.message.clone(), place.seq, slot.attempts));
        }
        let remaining = all - fresh;
        let messages = taken
            .into_iter()
            .map(|(id, seq, attempt)| HandedOut { message: self.messages[&id].view(&id, seq), attempt })
            .collect();
        Ok(Claimed { messages, remaining, below_floor, confirmed })
    }

    /// What the session has in hand is read, but for what these tokens name.
    pub(super) fn confirm(&mut self, session: &Session, unseen: &[u64], own: Option<u64>) -> Result<u64, Refusal> {
        let now = self.clock.now();
        let row = self.caller(session)?;
        let mut count = 0;
        for seq in row.in_hand(|lease| lease.0 == session.id && Some(lease.1) != own && !unseen.contains(&lease.1)) {
            row.finish(seq, DeliveryState::Read, now);
            count += 1;
        }
        Ok(count)
    }

    pub(super) fn settle(&mut self, settle: &Settle) -> Result<Vec<Settled>, Refusal> {
        let now = self.clock.now();
        self.confirm(&settle.session, &settle.unseen, None)?;
        let agent = &settle.session.agent;
        let mut settled = Vec::with_capacity(settle.ids.len());
        for id in &settle.ids {
            let seq = self.messages.get(id).and_then(|message| message.recipients.get(agent).copied());
            let row = self.agents.get_mut(agent).expect("confirmed above");
            let state = seq.map(|seq| {
                if row.slots[&seq].state <= DeliveryState::Read {
                    row.finish(seq, settle.outcome.state(), now);
                    row.slots.get_mut(&seq).expect("just seen").note.clone_from(&settle.note);
                }
                row.slots[&seq].state
            });
            settled.push(Settled { id: id.clone(), state });
        }
        Ok(settled)
    }

    pub(super) fn release(&mut self, release: &Release) -> Released {
        let sessions: BTreeSet<_> = release.sessions.iter().collect();
        let names: Vec<AgentName> = self.agents.keys().cloned().collect();
        let mut released = Released::default();
        for name in names {
            let one = self
                .free(&name, |lease| sessions.contains(&lease.0) && release.token.is_none_or(|token| lease.1 == token));
            released.freed += one.freed;
            released.dead.extend(one.dead);
        }
        released
    }

    /// Frees what sessions have in hand, or declares it dead.
    pub(super) fn free(&mut self, agent: &AgentName, whose: impl Fn(&(SessionId, u64)) -> bool) -> Released {
        let (now, cap) = (self.clock.now(), self.limits.attempts);
        let mut released = Released::default();
        let Some(row) = self.agents.get_mut(agent) else { return released };
        let mut highest = None;
        let mut dead = Vec::new();
        for seq in row.in_hand(whose) {
            let slot = row.slots.get_mut(&seq).expect("just seen");
            slot.lease = None;
            if slot.attempts >= cap {
                dead.push((slot.message.clone(), slot.attempts));
                row.finish(seq, DeliveryState::Dead, now);
            } else {
                highest = highest.max(Some(slot.priority));
                released.freed += 1;
            }
        }
        for (id, attempts) in dead {
            self.report(&id, agent, attempts, now);
            released.dead.push((id, agent.clone()));
        }
        if let Some(priority) = highest {
            self.arrive(agent, priority);
        }
        released
    }

    /// Tells a sender that a message is dead. A report goes into a full mailbox too: it is worth more than its room.
    fn report(&mut self, id: &MessageId, recipient: &AgentName, attempts: u32, now: Millis) {
        let message = &self.messages[id];
        if message.sender.is_system() || !self.agents.contains_key(&message.sender) {
            return;
        }
        let sender = message.sender.clone();
        let row = MessageRow {
            order: 0,
            sender: AgentName::system(),
            to: vec![sender.to_string()],
            content: plan::report(id, recipient, attempts).into(),
            priority: Priority::Normal,
            at: now,
            thread: message.thread.clone(),
            reply_to: Some(id.clone()),
            metadata: "{}".to_owned(),
            kind: Kind::Report,
            recipients: BTreeMap::new(),
        };
        self.deliver(MessageId::mint(now), row, &[sender]);
    }

    pub(super) fn hand_back(&mut self, back: &HandBack) {
        for agent in self.agents.keys().cloned().collect::<Vec<_>>() {
            let row = self.agents.get_mut(&agent).expect("just listed");
            let mut highest = None;
            for seq in row.in_hand(|lease| lease.0 == back.session && lease.1 == back.token) {
                let slot = row.slots.get_mut(&seq).expect("just seen");
                slot.lease = None;
                slot.attempts -= 1;
                highest = highest.max(Some(slot.priority));
            }
            if let Some(priority) = highest {
                self.arrive(&agent, priority);
            }
        }
    }

    pub(super) fn begin_hint(&mut self, hint: &BeginHint) -> HintVerdict {
        let now = self.clock.now();
        let Some(slot) = self.slot(&hint.agent, &hint.message).filter(|slot| slot.is_free()) else {
            return HintVerdict::Moot;
        };
        if slot.hints.iter().any(|tried| tried.rung == hint.rung) {
            return HintVerdict::Tried;
        }
        slot.hints.push(HintAttempt { rung: hint.rung.clone(), at: now, outcome: None });
        slot.state = slot.state.max(DeliveryState::Hinted);
        slot.hinted_at.get_or_insert(now);
        HintVerdict::Go
    }

    pub(super) fn end_hint(&mut self, hint: &EndHint) {
        if let Some(slot) = self.slot(&hint.agent, &hint.message)
            && let Some(tried) = slot.hints.iter_mut().find(|tried| tried.rung == hint.rung)
        {
            tried.outcome = Some(hint.outcome.clone());
        }
    }

    fn slot(&mut self, agent: &AgentName, id: &MessageId) -> Option<&mut Slot> {
        let seq = self.messages.get(id)?.recipients.get(agent)?;
        self.agents.get_mut(agent)?.slots.get_mut(seq)
    }

    pub(super) fn purge(&mut self, purge: &Purge) -> Purged {
        let before = self.clock.now().saturating_sub(plan::millis(self.limits.keep));
        self.purged_before = self.purged_before.max(before);
        let before = self.purged_before;
        let is_old = |message: &MessageRow| {
            message.recipients.iter().all(|(agent, seq)| {
                let slot = &self.agents[agent].slots[seq];
                !slot.state.is_waiting() && slot.settled_at.or(slot.read_at).is_some_and(|at| at < before)
            })
        };
        let mut old: Vec<(u64, MessageId)> = self
            .messages
            .iter()
            .filter(|(_, message)| is_old(message))
            .map(|(id, row)| (row.order, id.clone()))
            .collect();
        old.sort();
        let more = old.len() > purge.max;
        old.truncate(purge.max);
        for (_, id) in &old {
            let message = self.messages.remove(id).expect("just seen");
            for (agent, seq) in message.recipients {
                self.agents.get_mut(&agent).expect("agents stay").slots.remove(&seq);
            }
            self.tombs.insert(id.clone());
        }
        Purged { messages: old.len() as u64, before, more }
    }

    pub(super) fn import(&mut self, import: &Import) -> Result<Imported, Refusal> {
        plan::check_size(&import.content, &import.metadata, &self.limits)?;
        if self.messages.contains_key(&import.id) || self.tombs.contains(&import.id) {
            return Ok(Imported { is_new: false, stored: Vec::new(), full: Vec::new() });
        }
        if let Some((agent, _)) = import.recipients.iter().find(|(agent, _)| !self.agents.contains_key(agent)) {
            return Err(unknown(agent));
        }
        let bytes = plan::size(&import.content, &import.metadata);
        let whom = import.recipients.iter();
        let (open, full): (Vec<_>, Vec<_>) = whom.partition(|(agent, is_read)| *is_read || self.has_room(agent, bytes));
        let parent = import.reply_to.as_ref().and_then(|id| self.messages.get(id));
        let thread = parent.map(|parent| parent.thread.clone());
        let message = MessageRow {
            order: 0,
            sender: import.sender.clone(),
            to: import.to.clone(),
            content: Arc::clone(&import.content),
            priority: import.priority,
            at: import.at,
            thread: thread.unwrap_or_else(|| import.id.clone()),
            reply_to: import.reply_to.clone(),
            metadata: import.metadata.clone(),
            kind: Kind::Mail,
            recipients: BTreeMap::new(),
        };
        let names: Vec<AgentName> = open.iter().map(|(agent, _)| agent.clone()).collect();
        let now = self.clock.now();
        let sent = self.deliver(import.id.clone(), message, &names);
        for recipient in sent {
            if open.iter().any(|(agent, is_read)| *agent == recipient.agent && *is_read) {
                let row = self.agents.get_mut(&recipient.agent).expect("it has the message");
                row.finish(recipient.seq, DeliveryState::Read, now);
            }
        }
        Ok(Imported { is_new: true, stored: names, full: full.iter().map(|(agent, _)| agent.clone()).collect() })
    }
}

impl AgentRow {
    /// The places of what is in certain hands.
    fn in_hand(&self, whose: impl Fn(&(SessionId, u64)) -> bool) -> Vec<u64> {
        let held = self.slots.iter().filter(|(_, slot)| slot.lease.as_ref().is_some_and(&whose));
        held.map(|(seq, _)| *seq).collect()
    }

    /// Moves a delivery forward to a state in which it no longer waits.
    fn finish(&mut self, seq: u64, state: DeliveryState, now: Millis) {
        let slot = self.slots.get_mut(&seq).expect("callers have seen it");
        if slot.state.is_waiting() {
            self.waiting -= 1;
            self.waiting_bytes -= slot.bytes;
            slot.lease = None;
        }
        if state == DeliveryState::Read {
            slot.read_at = Some(now);
        } else {
            slot.settled_at = Some(now);
        }
        slot.state = state;
    }
}

impl Slot {
    fn new(message: MessageId, priority: Priority, at: Millis, bytes: u64) -> Slot {
        Slot {
            message,
            priority,
            at,
            bytes,
            state: DeliveryState::Stored,
            lease: None,
            attempts: 0,
            hinted_at: None,
            fetched_at: None,
            fetched_by: None,
            read_at: None,
            settled_at: None,
            note: None,
            hints: Vec::new(),
        }
    }
}
