//! Queries of the store in memory.

use std::collections::BTreeMap;

use super::rows::{Group as GroupRow, Message as MessageRow, Rows};
use crate::model::{
    Agent, AgentName, Delivery, Group, GroupName, Liveness, MessageId, MessageView, search_words::split_words,
};
use crate::store::query::{Among, Counts, Fetch, Fetched, Query, QueryResult, Roster, Search};
use crate::store::rules;

pub(super) fn answer(rows: &Rows, query: Query) -> QueryResult {
    match query {
        Query::Agents(_) => QueryResult::Agents(agents(rows)),
        Query::Groups(it) => QueryResult::Groups(groups(rows, it.name.as_ref())),
        Query::Inbox(it) => QueryResult::Inbox(inbox(rows, &it.agent)),
        Query::Fetch(it) => QueryResult::Fetch(fetch(rows, &it)),
        Query::Find(it) => QueryResult::Find(find(rows, &it.agent, &it.id)),
        Query::Thread(it) => QueryResult::Thread(thread(rows, &it.agent, &it.id, it.limit)),
        Query::Search(it) => QueryResult::Search(search(rows, &it)),
        Query::Status(it) => QueryResult::Status(status(rows, &it.agent, &it.id)),
        Query::Versions(it) => {
            let versions =
                it.agents.into_iter().filter_map(|agent| Some((rows.agents.get(&agent)?.mailbox.version, agent)));
            QueryResult::Versions(versions.map(|(version, agent)| (agent, version)).collect())
        }
        Query::Leases(_) => {
            let slots = rows.agents.values().flat_map(|row| row.slots.values());
            let leases: std::collections::BTreeSet<_> =
                slots.filter_map(|slot| slot.lease.clone()).map(|lease| lease.0).collect();
            QueryResult::Leases(leases.into_iter().collect())
        }
    }
}

fn agents(rows: &Rows) -> Roster {
    let now = rows.clock.now();
    let agents = rows.agents.iter().map(|(name, row)| Agent {
        name: name.clone(),
        role: row.role.clone(),
        module: row.module.clone(),
        intent: row.intent.clone(),
        branch: row.branch.clone(),
        registered_at: row.registered_at,
        seen_at: row.seen_at,
        standing: Liveness::Offline,
        unread: row.mailbox.waiting(),
        holder: row.owner.holder.clone(),
        fence: row.owner.fence,
    });
    Roster { now, agents: agents.collect() }
}

fn groups(rows: &Rows, name: Option<&GroupName>) -> Vec<Group> {
    let everyone = rules::agents::everyone(rows.agents.keys().filter(|agent| !agent.is_user()).count() as u64);
    let group = |(name, row): (&GroupName, &GroupRow)| Group {
        name: name.clone(),
        description: row.description.clone(),
        created_at: row.created_at,
        created_by: row.created_by.clone(),
        members: row.members.iter().cloned().collect(),
        member_count: row.members.len() as u64,
    };
    let all = std::iter::once(everyone).chain(rows.groups.iter().map(group));
    all.filter(|group| name.is_none_or(|name| group.name == *name)).collect()
}

fn inbox(rows: &Rows, agent: &AgentName) -> Counts {
    let mut counts = Counts::default();
    let Some(row) = rows.agents.get(agent) else { return counts };
    counts.latest_seq = row.mailbox.seq;
    for slot in row.slots.values() {
        if slot.is_free() {
            counts.free[usize::from(slot.priority.level())] += 1;
        } else if slot.lease.is_some() {
            counts.leased += 1;
        }
    }
    counts
}

fn fetch(rows: &Rows, fetch: &Fetch) -> Fetched {
    let Some(row) = rows.agents.get(&fetch.agent) else { return Fetched::default() };
    let later = row.slots.range(fetch.after.saturating_add(1)..);
    let later = later.filter(|(_, slot)| match fetch.among {
        Among::All => true,
        Among::Waiting => slot.state.is_waiting(),
        Among::Free => slot.is_free(),
    });
    let later: Vec<_> = later.collect();
    let all = later.len() as u64;
    let wanted: Vec<_> = later.into_iter().filter(|(_, slot)| fetch.floor.passes(slot.priority)).collect();
    let below_floor = all - wanted.len() as u64;
    let taken = wanted.len().min(fetch.limit);
    let messages = wanted[..taken].iter().map(|(seq, slot)| rows.messages[&slot.message].view(&slot.message, **seq));
    Fetched {
        messages: messages.collect(),
        remaining: (wanted.len() - taken) as u64,
        below_floor,
        latest_seq: row.mailbox.seq,
    }
}

fn find(rows: &Rows, agent: &AgentName, id: &MessageId) -> Option<MessageView> {
    let message = rows.messages.get(id).filter(|message| message.involves(agent))?;
    Some(message.view_of(id, agent))
}

fn thread(rows: &Rows, agent: &AgentName, id: &MessageId, limit: usize) -> Option<Vec<MessageView>> {
    let thread = &rows.messages.get(id).filter(|message| message.involves(agent))?.thread;
    let mut found: BTreeMap<u64, MessageView> = BTreeMap::new();
    for (id, message) in &rows.messages {
        if message.thread == *thread && message.involves(agent) {
            found.insert(message.order, message.view_of(id, agent));
        }
    }
    let skip = found.len().saturating_sub(limit);
    Some(found.into_values().skip(skip).collect())
}

fn search(rows: &Rows, search: &Search) -> Vec<MessageView> {
    let Some(agent) = &search.agent else { return Vec::new() };
    let mut found: BTreeMap<u64, MessageView> = BTreeMap::new();
    for (id, message) in &rows.messages {
        let fits = message.involves(agent)
            && search.from.as_ref().is_none_or(|from| message.sender == *from)
            && search.to.as_ref().is_none_or(|to| message.recipients.contains_key(to))
            && search.since.is_none_or(|since| message.at >= since)
            && search.until.is_none_or(|until| message.at <= until)
            && search.id.as_ref().is_none_or(|start| id.as_str().to_ascii_lowercase().starts_with(start))
            && search.words.is_subset(&split_words(&message.content));
        if fits {
            found.insert(message.order, message.view_of(id, agent));
        }
    }
    found.into_values().rev().take(search.limit).collect()
}

fn status(rows: &Rows, agent: &AgentName, id: &MessageId) -> Option<Vec<Delivery>> {
    let message = rows.messages.get(id).filter(|message| message.involves(agent))?;
    let deliveries = message.recipients.iter().map(|(recipient, seq)| {
        let slot = &rows.agents[recipient].slots[seq];
        Delivery {
            recipient: recipient.clone(),
            state: slot.state,
            stored_at: message.at,
            hinted_at: slot.hinted_at,
            fetched_at: slot.fetched_at,
            fetched_by: slot.fetched_by.clone(),
            read_at: slot.read_at,
            settled_at: slot.settled_at,
            note: slot.note.clone(),
            attempts: slot.attempts,
            hints: slot.hints.clone(),
        }
    });
    Some(deliveries.collect())
}

impl MessageRow {
    /// Returns true if the agent wrote or received the message.
    pub(super) fn involves(&self, agent: &AgentName) -> bool {
        self.sender == *agent || self.recipients.contains_key(agent)
    }

    fn view_of(&self, id: &MessageId, agent: &AgentName) -> MessageView {
        self.view(id, self.recipients.get(agent).copied().unwrap_or(0))
    }

    pub(super) fn view(&self, id: &MessageId, seq: u64) -> MessageView {
        MessageView {
            id: id.clone(),
            seq,
            from: self.sender.clone(),
            to: self.to.clone(),
            content: self.content.to_string(),
            priority: self.priority,
            at: self.at,
            thread: self.thread.clone(),
            reply_to: self.reply_to.clone(),
            metadata: serde_json::from_str(&self.metadata).unwrap_or_default(),
            kind: self.kind,
        }
    }
}
