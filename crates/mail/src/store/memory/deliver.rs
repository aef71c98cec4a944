//! Messages and deliveries in memory.

use std::collections::BTreeMap;

use super::rows::{Message, Rows, Slot};
use crate::error::Refusal;
use crate::model::order::Position;
use crate::model::{AgentName, DeliveryState, HandedOut, HintAttempt, MessageId, Millis, Priority, SessionId};
use crate::store::Arrival;
use crate::store::change::{BeginHint, Claim, EndHint, HintVerdict, Purge, Purged, Recipient};
use crate::store::message::NewMessage;
use crate::store::rules::{Candidate, DeliveryRow, LeasedRow, Mailbox, MessageRows, millis};

type Delivery = DeliveryRow<AgentName, MessageId>;

impl MessageRows for Rows {
    type Message = MessageId;

    async fn mailbox(&mut self, agent: &AgentName) -> Result<Mailbox<AgentName>, Refusal> {
        Ok(self.stored(agent).mailbox.clone())
    }

    async fn save(&mut self, mailbox: &Mailbox<AgentName>) -> Result<(), Refusal> {
        self.stored(&mailbox.agent).mailbox = mailbox.clone();
        Ok(())
    }

    fn note_arrival(&mut self, agent: &AgentName, priority: Priority) {
        self.arrivals.push(Arrival { agent: agent.clone(), priority });
    }

    async fn is_known(&mut self, id: &MessageId) -> Result<bool, Refusal> {
        Ok(self.messages.contains_key(id) || self.tombs.contains(id))
    }

    async fn with_key(&mut self, sender: &AgentName, key: &str) -> Result<Option<(MessageId, Vec<u8>)>, Refusal> {
        let found = self.keys.get(&(sender.clone(), key.to_owned()));
        Ok(found.map(|(hash, id)| (id.clone(), hash.clone())))
    }

    async fn thread_of(&mut self, id: &MessageId, agent: &AgentName) -> Result<Option<MessageId>, Refusal> {
        let message = self.messages.get(id).filter(|message| message.involves(agent));
        Ok(message.map(|message| message.thread.clone()))
    }

    async fn thread_and_time(&mut self, id: &MessageId) -> Result<Option<(MessageId, Millis)>, Refusal> {
        Ok(self.messages.get(id).map(|message| (message.thread.clone(), message.at)))
    }

    async fn origin(&mut self, id: &MessageId) -> Result<(MessageId, AgentName, MessageId), Refusal> {
        let message = &self.messages[id];
        Ok((id.clone(), message.sender.clone(), message.thread.clone()))
    }

    async fn recipients(&mut self, id: &MessageId) -> Result<Vec<Recipient>, Refusal> {
        let recipients = self.messages.get(id).into_iter().flat_map(|message| &message.recipients);
        Ok(recipients
            .map(|(agent, seq)| Recipient { agent: agent.clone(), seq: *seq, seen_at: self.agents[agent].seen_at })
            .collect())
    }

    async fn insert_message(&mut self, message: &NewMessage<'_>) -> Result<MessageId, Refusal> {
        self.stored += 1;
        if let Some((key, hash)) = message.key {
            self.keys.insert((message.sender.clone(), key.to_owned()), (hash.to_vec(), message.id.clone()));
        }
        let row = Message {
            order: self.stored,
            sender: message.sender.clone(),
            to: message.to.clone(),
            content: (&*message.content).into(),
            priority: message.priority,
            at: message.at,
            thread: message.thread.clone(),
            reply_to: message.reply_to.cloned(),
            metadata: message.metadata.to_owned(),
            kind: message.kind,
            recipients: BTreeMap::new(),
        };
        self.messages.insert(message.id.clone(), row);
        Ok(message.id.clone())
    }

    async fn insert_delivery(
        &mut self,
        mailbox: &Mailbox<AgentName>,
        id: &MessageId,
        message: &NewMessage<'_>,
    ) -> Result<(), Refusal> {
        let slot = Slot::new(id.clone(), message.priority, message.at, message.size());
        self.stored(&mailbox.agent).slots.insert(mailbox.seq, slot);
        let row = self.messages.get_mut(id).expect("it was inserted before");
        row.recipients.insert(mailbox.agent.clone(), mailbox.seq);
        Ok(())
    }

    async fn delivery(&mut self, agent: &AgentName, id: &MessageId) -> Result<Option<Delivery>, Refusal> {
        let seq = self.messages.get(id).and_then(|message| message.recipients.get(agent));
        Ok(seq.map(|seq| self.agents[agent].slots[seq].row(agent, *seq)))
    }

    async fn leased_to(&mut self, session: &SessionId, agent: Option<&AgentName>) -> Result<Vec<Delivery>, Refusal> {
        let agents = self.agents.iter().filter(|(name, _)| agent.is_none_or(|only| only == *name));
        let slots = agents.flat_map(|(name, row)| row.slots.iter().map(move |(seq, slot)| (name, *seq, slot)));
        let held = slots.filter(|(_, _, slot)| slot.lease.as_ref().is_some_and(|lease| lease.0 == *session));
        Ok(held.map(|(name, seq, slot)| slot.row(name, seq)).collect())
    }

    async fn leased_from(&mut self, agent: &AgentName) -> Result<Vec<Delivery>, Refusal> {
        let held = self.agents[agent].slots.iter().filter(|(_, slot)| slot.lease.is_some());
        Ok(held.map(|(seq, slot)| slot.row(agent, *seq)).collect())
    }

    async fn candidates(
        &mut self,
        agent: &AgentName,
        priority: Priority,
        max: usize,
    ) -> Result<Vec<Candidate<MessageId>>, Refusal> {
        let free = self.agents[agent].slots.iter().filter(|(_, slot)| slot.is_free() && slot.priority == priority);
        Ok(free
            .take(max)
            .map(|(seq, slot)| Candidate {
                position: Position { priority, seq: *seq, at: slot.at },
                bytes: slot.bytes,
                taken: LeasedRow { seq: *seq, message: slot.message.clone(), attempt: slot.attempts + 1 },
            })
            .collect())
    }

    async fn lease(&mut self, agent: &AgentName, taken: &[LeasedRow<MessageId>], claim: &Claim) -> Result<(), Refusal> {
        let now = self.clock.now();
        for one in taken {
            let slot = self.slot(agent, one.seq);
            slot.lease = Some((claim.session.id.clone(), claim.token));
            slot.state = DeliveryState::Fetched;
            slot.attempts = one.attempt;
            slot.fetched_at = Some(now);
            slot.fetched_by = Some(claim.session.id.clone());
        }
        Ok(())
    }

    async fn read(&mut self, _: &AgentName, taken: Vec<LeasedRow<MessageId>>) -> Result<Vec<HandedOut>, Refusal> {
        let view = |one: &LeasedRow<MessageId>| self.messages[&one.message].view(&one.message, one.seq);
        Ok(taken.iter().map(|one| HandedOut { message: view(one), attempt: one.attempt }).collect())
    }

    async fn finish(&mut self, one: &Delivery, state: DeliveryState, note: Option<&str>) -> Result<(), Refusal> {
        let now = self.clock.now();
        let slot = self.slot(&one.agent, one.seq);
        if state == DeliveryState::Read {
            slot.read_at = Some(now);
        } else {
            slot.settled_at = Some(now);
        }
        if let Some(note) = note {
            slot.note = Some(note.to_owned());
        }
        slot.lease = None;
        slot.state = state;
        Ok(())
    }

    async fn set_token(&mut self, one: &Delivery, token: u64, is_handed: bool) -> Result<(), Refusal> {
        let now = self.clock.now();
        let slot = self.slot(&one.agent, one.seq);
        slot.lease = slot.lease.take().map(|(session, _)| (session, token));
        if is_handed {
            slot.fetched_at = Some(now);
        }
        Ok(())
    }

    async fn put_back(&mut self, one: &Delivery, attempts: u32) -> Result<(), Refusal> {
        let slot = self.slot(&one.agent, one.seq);
        slot.lease = None;
        slot.attempts = attempts;
        Ok(())
    }

    async fn begin_hint(&mut self, hint: &BeginHint) -> Result<HintVerdict, Refusal> {
        let now = self.clock.now();
        let Some(slot) = self.find_slot(&hint.agent, &hint.message).filter(|slot| slot.is_free()) else {
            return Ok(HintVerdict::Moot);
        };
        if slot.hints.iter().any(|tried| tried.rung == hint.rung) {
            return Ok(HintVerdict::Tried);
        }
        slot.hints.push(HintAttempt { rung: hint.rung.clone(), at: now, outcome: None });
        slot.state = slot.state.max(DeliveryState::Hinted);
        slot.hinted_at.get_or_insert(now);
        Ok(HintVerdict::Go)
    }

    async fn end_hint(&mut self, hint: &EndHint) -> Result<(), Refusal> {
        if let Some(slot) = self.find_slot(&hint.agent, &hint.message)
            && let Some(tried) = slot.hints.iter_mut().find(|tried| tried.rung == hint.rung)
        {
            tried.outcome = Some(hint.outcome.clone());
        }
        Ok(())
    }

    async fn purge(&mut self, purge: &Purge) -> Result<Purged, Refusal> {
        let before = self.clock.now().saturating_sub(millis(self.limits.keep));
        self.purged_before = self.purged_before.max(before);
        let before = self.purged_before;
        let is_handled = |(agent, seq): (&AgentName, &u64)| {
            let slot = &self.agents[agent].slots[seq];
            !slot.state.is_waiting() && slot.settled_at.or(slot.read_at).is_some_and(|at| at < before)
        };
        let is_old = |message: &Message| message.at < before && message.recipients.iter().all(is_handled);
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
                self.agents.get_mut(&agent).expect("it has the message").slots.remove(&seq);
            }
            self.tombs.insert(id.clone());
        }
        Ok(Purged { messages: old.len() as u64, before, more })
    }
}

impl Rows {
    fn slot(&mut self, agent: &AgentName, seq: u64) -> &mut Slot {
        self.stored(agent).slots.get_mut(&seq).expect("the rule has found it")
    }

    fn find_slot(&mut self, agent: &AgentName, id: &MessageId) -> Option<&mut Slot> {
        let seq = self.messages.get(id)?.recipients.get(agent)?;
        self.agents.get_mut(agent)?.slots.get_mut(seq)
    }
}

impl Slot {
    fn row(&self, agent: &AgentName, seq: u64) -> Delivery {
        DeliveryRow {
            agent: agent.clone(),
            seq,
            message: self.message.clone(),
            priority: self.priority,
            attempts: self.attempts,
            bytes: self.bytes,
            state: self.state,
            fetched_at: self.fetched_at,
            token: self.lease.as_ref().map(|lease| lease.1),
        }
    }

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
