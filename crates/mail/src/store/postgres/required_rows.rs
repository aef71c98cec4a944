//! The rows that a group of changes will read. [`super::load`] reads them in one statement.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Address, AgentName, MessageId, ResolvedKind, Session};
use crate::store::change::{Append, Change};
use crate::store::rules::append;

#[derive(Default)]
pub(super) struct Wants {
    /// Names of agents.
    pub(super) names: BTreeSet<String>,
    /// Names that may be those of agents, roles, imported ids or groups.
    pub(super) addresses: BTreeSet<String>,
    /// True if all agents are wanted.
    pub(super) everyone: bool,
    /// Messages that may be known already.
    pub(super) ids: BTreeSet<String>,
    /// Senders and their idempotency keys.
    pub(super) keys: BTreeSet<(String, String)>,
    /// Readers and the messages that they answer or settle.
    pub(super) mentions: BTreeSet<(String, String)>,
    /// Sessions whose leases are wanted.
    pub(super) sessions: BTreeSet<String>,
    /// True if they may be leases of agents that are not named.
    pub(super) releases: bool,
    /// Agents whose free deliveries are wanted, and how many of each priority.
    pub(super) claims: BTreeMap<String, i64>,
    /// The number of messages that may be stored.
    pub(super) messages: i64,
}

impl Wants {
    pub(super) fn collect(changes: &[&Change]) -> Wants {
        let mut wants = Wants::default();
        changes.iter().for_each(|change| wants.add(change));
        wants
    }

    fn add(&mut self, change: &Change) {
        match change {
            Change::Append(it) => self.add_append(it),
            Change::Claim(it) => {
                self.add_session(&it.session);
                *self.claims.entry(it.session.agent.to_string()).or_default() += it.max as i64;
            }
            Change::Confirm(it) => self.add_session(&it.session),
            Change::Settle(it) => {
                self.add_session(&it.session);
                it.ids.iter().for_each(|id| self.add_mention(&it.session.agent, id));
            }
            Change::Release(it) => {
                self.releases = true;
                self.sessions.extend(it.sessions.iter().map(|session| session.to_string()));
            }
            Change::HandBack(it) => {
                self.releases = true;
                self.sessions.insert(it.session.to_string());
            }
            Change::Retell(it) => {
                self.releases = true;
                self.names.insert(it.agent.to_string());
                self.sessions.insert(it.session.to_string());
            }
            // The other changes need only the mailboxes, to lock them.
            Change::Enter(it) => drop(self.names.insert(it.agent.to_string())),
            Change::Rename(it) => self.names.extend([it.from.to_string(), it.to.to_string()]),
            Change::Forget(it) => drop(self.names.insert(it.agent.to_string())),
            Change::BeginHint(it) => drop(self.names.insert(it.agent.to_string())),
            Change::Import(it) => self.names.extend(it.recipients.iter().map(|(agent, _)| agent.to_string())),
            Change::CreateGroup(_)
            | Change::DeleteGroup(_)
            | Change::AddMember(_)
            | Change::RemoveMember(_)
            | Change::Touch(_)
            | Change::EndHint(_)
            | Change::Purge(_) => {}
        }
    }

    fn add_append(&mut self, append: &Append) {
        let sender = &append.sender.agent;
        self.names.insert(sender.to_string());
        for address in &append.to {
            self.names.extend(address.names().map(str::to_owned));
            if !is_agent(address) {
                self.addresses.extend(address.names().map(str::to_owned));
            }
        }
        self.everyone |= append::needs_everyone(append);
        self.ids.insert(append.id.to_string());
        if let Some(key) = &append.key {
            self.keys.insert((sender.to_string(), key.clone()));
        }
        if let Some(id) = &append.reply_to {
            self.add_mention(sender, id);
        }
        self.messages += 1;
    }

    fn add_session(&mut self, session: &Session) {
        self.names.insert(session.agent.to_string());
        self.sessions.insert(session.id.to_string());
    }

    fn add_mention(&mut self, reader: &AgentName, id: &MessageId) {
        self.mentions.insert((reader.to_string(), id.to_string()));
    }
}

/// Returns true if the address can only mean an agent, by its name.
pub(super) fn is_agent(address: &Address) -> bool {
    address.kind == Some(ResolvedKind::Agent)
}
