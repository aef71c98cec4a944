//! The rows for a group of changes: read from the database at once, changed in memory, written back at once.
//!
//! A method returns `None` if the set does not hold the row; the caller then queries the database. The set is complete
//! for the wanted rows ([`Wants`]): a wanted agent that is not in the set does not exist.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::required_rows::{Wants, is_agent};
use super::working_rows::{KnownAgent, KnownDelivery, NewRow};
use crate::model::address::Directory;
use crate::model::order::Position;
use crate::model::{AgentName, DeliveryState, Member, MessageId, MessageView, Priority, SessionId};
use crate::store::change::{Append, Claim};
use crate::store::message::NewMessage;
use crate::store::rules::{AgentRow, Candidate, DeliveryRow, LeasedRow, Mailbox, append};

#[derive(Default)]
pub(super) struct WorkingSet {
    wants: Wants,
    agents: BTreeMap<i64, KnownAgent>,
    names: HashMap<String, i64>,
    roles: HashMap<String, Vec<i64>>,
    aliases: HashMap<String, i64>,
    groups: HashMap<String, Vec<Member>>,
    known: HashSet<String>,
    keys: HashMap<(String, String), (MessageId, Vec<u8>)>,
    /// Conversations by reader and message.
    threads: HashMap<(String, String), MessageId>,
    /// Places in mailboxes by reader and message.
    places: HashMap<(i64, String), u64>,
    deliveries: BTreeMap<(i64, u64), KnownDelivery>,
    /// The number of candidates that were requested, by mailbox and priority.
    asked: HashMap<(i64, Priority), i64>,
    /// Numbers for new messages.
    numbers: Vec<i64>,
    new_messages: BTreeMap<i64, NewRow>,
}

/// Rows that were read from the database.
impl WorkingSet {
    pub(super) fn new(wants: Wants) -> WorkingSet {
        WorkingSet { wants, ..WorkingSet::default() }
    }

    pub(super) fn add_agent(&mut self, agent: KnownAgent) {
        let id = agent.row.id;
        if self.agents.contains_key(&id) {
            return;
        }
        self.names.insert(agent.name.to_string(), id);
        self.roles.entry(agent.role.clone()).or_default().push(id);
        if let Some(alias) = &agent.alias {
            self.aliases.insert(alias.clone(), id);
        }
        self.agents.insert(id, agent);
    }

    pub(super) fn add_group(&mut self, name: String, member: Option<Member>) {
        self.groups.entry(name).or_default().extend(member);
    }

    /// Members of groups that may not be in the set.
    pub(super) fn unknown_members(&self) -> Vec<String> {
        let members = self.groups.values().flatten().map(|member| &member.id);
        let unknown: BTreeSet<&String> = members.filter(|id| !self.wants.addresses.contains(*id)).collect();
        unknown.into_iter().cloned().collect()
    }

    pub(super) fn add_known(&mut self, id: String) {
        self.known.insert(id);
    }

    pub(super) fn add_key(&mut self, sender: String, key: String, first: (MessageId, Vec<u8>)) {
        self.keys.insert((sender, key), first);
    }

    pub(super) fn add_mention(&mut self, reader: String, id: String, thread: MessageId, place: Option<(i64, u64)>) {
        if let Some((agent, seq)) = place {
            self.places.insert((agent, id.clone()), seq);
        }
        self.threads.insert((reader, id), thread);
    }

    pub(super) fn add_delivery(&mut self, agent: i64, seq: u64, delivery: KnownDelivery) {
        self.deliveries.insert((agent, seq), delivery);
    }

    pub(super) fn add_numbers(&mut self, numbers: Vec<i64>) {
        self.numbers = numbers;
        self.numbers.reverse();
    }
}

/// Reads of changes.
impl WorkingSet {
    pub(super) fn agent(&mut self, name: &AgentName) -> Option<Option<AgentRow<i64>>> {
        let Some(id) = self.names.get(name.as_str()) else {
            return self.wants.names.contains(name.as_str()).then_some(None);
        };
        let agent = self.agents.get_mut(id)?;
        agent.is_used = true;
        Some(Some(agent.row.clone()))
    }

    pub(super) fn agent_name(&self, agent: i64) -> Option<AgentName> {
        self.agents.get(&agent).map(|agent| agent.name.clone())
    }

    pub(super) fn mailbox(&mut self, agent: i64) -> Option<Mailbox<i64>> {
        let agent = self.agents.get_mut(&agent)?;
        agent.is_used = true;
        Some(agent.mailbox)
    }

    pub(super) fn directory(&self, append: &Append) -> Option<Directory> {
        let everyone = append::needs_everyone(append);
        if everyone && !self.wants.everyone {
            return None;
        }
        let mut directory = Directory::default();
        if everyone {
            self.agents.values().for_each(|agent| add(&mut directory, agent));
        }
        for address in &append.to {
            for name in address.names() {
                let known = if is_agent(address) { &self.wants.names } else { &self.wants.addresses };
                if !known.contains(name) {
                    return None;
                }
                self.called(name).for_each(|agent| add(&mut directory, agent));
                let Some(members) = self.groups.get(name) else { continue };
                for member in members {
                    self.called(&member.id).for_each(|agent| add(&mut directory, agent));
                }
                directory.groups.insert(name.to_owned(), members.clone());
            }
        }
        Some(directory)
    }

    /// Returns the agents of that name, role or imported id.
    fn called(&self, name: &str) -> impl Iterator<Item = &KnownAgent> {
        let of_role = self.roles.get(name).into_iter().flatten();
        let ids = self.names.get(name).into_iter().chain(self.aliases.get(name)).chain(of_role);
        ids.filter_map(|id| self.agents.get(id))
    }

    pub(super) fn is_known(&self, id: &MessageId) -> Option<bool> {
        let is_known = self.known.contains(id.as_str());
        (is_known || self.wants.ids.contains(id.as_str())).then_some(is_known)
    }

    pub(super) fn with_key(&self, sender: &AgentName, key: &str) -> Option<Option<(MessageId, Vec<u8>)>> {
        let wanted = (sender.to_string(), key.to_owned());
        self.wants.keys.contains(&wanted).then(|| self.keys.get(&wanted).cloned())
    }

    pub(super) fn thread_of(&self, id: &MessageId, agent: &AgentName) -> Option<Option<MessageId>> {
        let wanted = (agent.to_string(), id.to_string());
        self.wants.mentions.contains(&wanted).then(|| self.threads.get(&wanted).cloned())
    }

    pub(super) fn delivery(&self, agent: i64, id: &MessageId) -> Option<Option<DeliveryRow<i64, i64>>> {
        let reader = self.agents.get(&agent)?.name.to_string();
        if !self.wants.mentions.contains(&(reader, id.to_string())) {
            return None;
        }
        let Some(seq) = self.places.get(&(agent, id.to_string())) else { return Some(None) };
        self.deliveries.get(&(agent, *seq)).map(|one| Some(one.row(agent, *seq)))
    }

    pub(super) fn leased_to(&self, session: &SessionId, agent: Option<i64>) -> Option<Vec<DeliveryRow<i64, i64>>> {
        if !self.wants.sessions.contains(session.as_str()) {
            return None;
        }
        let (from, to) = agent.map_or((i64::MIN, i64::MAX), |agent| (agent, agent));
        let held = self
            .deliveries
            .range((from, 0)..=(to, u64::MAX))
            .filter(|(_, one)| one.lease.as_ref().is_some_and(|(of, _)| of == session));
        Some(held.map(|((agent, seq), one)| one.row(*agent, *seq)).collect())
    }

    pub(super) fn candidates(&mut self, agent: i64, priority: Priority, max: usize) -> Option<Vec<Candidate<i64>>> {
        let name = self.agents.get(&agent)?.name.as_str();
        let limit = self.wants.claims.get(name).copied().unwrap_or_default();
        // Candidates for all claims were read, so that an earlier claim leaves enough for a later one.
        let asked = self.asked.entry((agent, priority)).or_default();
        *asked += max as i64;
        if *asked > limit {
            return None;
        }
        let of_agent = self.deliveries.range((agent, 0)..=(agent, u64::MAX));
        let free = of_agent.filter(|(_, one)| one.priority == priority && one.is_free()).take(max);
        Some(free.map(|((_, seq), one)| candidate(*seq, one)).collect())
    }

    /// Those of the deliveries whose messages are not written yet.
    pub(super) fn read(&self, agent: i64, taken: &[LeasedRow<i64>]) -> HashMap<u64, MessageView> {
        let new = taken.iter().filter_map(|one| {
            let message = self.new_messages.get(&one.message)?;
            self.deliveries.get(&(agent, one.seq))?;
            Some((one.seq, MessageView { seq: one.seq, ..message.view.clone() }))
        });
        new.collect()
    }
}

/// Writes of changes.
impl WorkingSet {
    /// False if the set does not hold the mailbox.
    pub(super) fn save(&mut self, mailbox: &Mailbox<i64>) -> bool {
        let Some(agent) = self.agents.get_mut(&mailbox.agent) else { return false };
        agent.is_used = true;
        agent.mailbox = *mailbox;
        true
    }

    /// Adds a message. Returns `None` if no number is left for it.
    pub(super) fn insert_message(&mut self, message: &NewMessage<'_>) -> Option<i64> {
        let number = self.numbers.pop()?;
        let key = message.key.map(|(key, hash)| (key.to_owned(), hash.to_vec()));
        if let Some((key, hash)) = &key {
            let sender = message.sender.to_string();
            self.keys.insert((sender, key.clone()), (message.id.clone(), hash.clone()));
        }
        self.known.insert(message.id.to_string());
        self.new_messages.insert(number, NewRow::new(message, key));
        Some(number)
    }

    /// False if the set does not hold the mailbox.
    pub(super) fn insert_delivery(&mut self, mailbox: &Mailbox<i64>, number: i64, message: &NewMessage<'_>) -> bool {
        if !self.agents.contains_key(&mailbox.agent) {
            return false;
        }
        let delivery = KnownDelivery {
            message: number,
            priority: message.priority,
            at: message.at as i64,
            bytes: message.size(),
            state: DeliveryState::Stored,
            lease: None,
            attempts: 0,
            fetched_at: None,
            is_new: true,
            is_changed: true,
            fetched_by: None,
            is_read: false,
            is_settled: false,
            note: None,
        };
        self.deliveries.insert((mailbox.agent, mailbox.seq), delivery);
        true
    }

    /// False if the set does not hold them all.
    pub(super) fn lease(&mut self, agent: i64, taken: &[LeasedRow<i64>], claim: &Claim) -> bool {
        let holds = taken.iter().all(|one| self.deliveries.contains_key(&(agent, one.seq)));
        for one in taken.iter().filter(|_| holds) {
            self.change(agent, one.seq, |delivery| {
                delivery.state = DeliveryState::Fetched;
                delivery.lease = Some((claim.session.id.clone(), claim.token));
                delivery.attempts += 1;
                delivery.fetched_by = Some(claim.session.id.clone());
            });
        }
        holds
    }

    /// Finishes a delivery. Returns false if the set does not hold the delivery, or if another daemon could finish it
    /// meanwhile: only waiting messages count in the mailbox, whose row shows whether anything has changed.
    pub(super) fn finish(&mut self, agent: i64, seq: u64, state: DeliveryState, note: Option<&str>) -> bool {
        let is_guarded = |one: &KnownDelivery| one.state.is_waiting() || one.is_changed;
        if !self.deliveries.get(&(agent, seq)).is_some_and(is_guarded) {
            return false;
        }
        self.change(agent, seq, |delivery| {
            delivery.state = state;
            delivery.lease = None;
            match state {
                DeliveryState::Read => delivery.is_read = true,
                _ => delivery.is_settled = true,
            }
            if let Some(note) = note {
                delivery.note = Some(note.to_owned());
            }
        })
    }

    /// False if the set does not hold the delivery.
    pub(super) fn set_token(&mut self, agent: i64, seq: u64, token: u64, is_handed: bool) -> bool {
        self.change(agent, seq, |delivery| {
            delivery.lease = delivery.lease.take().map(|(session, _)| (session, token));
            if is_handed {
                delivery.fetched_by = delivery.lease.as_ref().map(|(session, _)| session.clone());
            }
        })
    }

    /// False if the set does not hold the delivery.
    pub(super) fn put_back(&mut self, agent: i64, seq: u64, attempts: u32) -> bool {
        self.change(agent, seq, |delivery| {
            delivery.lease = None;
            delivery.attempts = attempts;
        })
    }

    fn change(&mut self, agent: i64, seq: u64, change: impl FnOnce(&mut KnownDelivery)) -> bool {
        let Some(delivery) = self.deliveries.get_mut(&(agent, seq)) else { return false };
        change(delivery);
        delivery.is_changed = true;
        true
    }
}

/// The rows to write.
impl WorkingSet {
    pub(super) fn is_changed(&self) -> bool {
        !self.new_messages.is_empty()
            || self.agents.values().any(|agent| agent.mailbox != agent.before)
            || self.deliveries.values().any(|one| one.is_changed)
    }

    /// Agents whose mailbox or holder a change depends on.
    pub(super) fn used(&self) -> impl Iterator<Item = &KnownAgent> {
        self.agents.values().filter(|agent| agent.is_used)
    }

    pub(super) fn new_messages(&self) -> impl Iterator<Item = (i64, &NewRow)> {
        self.new_messages.iter().map(|(number, row)| (*number, row))
    }

    /// New and changed deliveries, with their agents and sequences.
    pub(super) fn changed(&self) -> impl Iterator<Item = (i64, u64, &KnownDelivery)> {
        let changed = self.deliveries.iter().filter(|(_, one)| one.is_changed);
        changed.map(|((agent, seq), one)| (*agent, *seq, one))
    }
}

fn candidate(seq: u64, one: &KnownDelivery) -> Candidate<i64> {
    Candidate {
        position: Position { priority: one.priority, seq, at: one.at.max(0) as u64 },
        bytes: one.bytes,
        taken: LeasedRow { seq, message: one.message, attempt: one.attempts + 1 },
    }
}

fn add(directory: &mut Directory, agent: &KnownAgent) {
    if let Some(alias) = &agent.alias {
        directory.aliases.insert(alias.clone(), agent.name.clone());
    }
    directory.agents.insert(agent.name.clone(), agent.role.clone());
}
