//! The agents and mailboxes that the running transaction has read. Each is read once. A mailbox is written once, before
//! a query in the transaction or at its end, however many changes touch it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use rusqlite::params;

use super::writer::Writer;
use crate::model::Holder;
use crate::store::rules::{AgentRow, Mailbox, Ownership};

#[derive(Default)]
pub(super) struct TransactionCache {
    /// Agents by name, with their roles.
    agents: RefCell<HashMap<String, (AgentRow<i64>, String)>>,
    mailboxes: RefCell<BTreeMap<i64, CachedMailbox>>,
}

struct CachedMailbox {
    mailbox: Mailbox<i64>,
    is_written: bool,
}

impl TransactionCache {
    /// Called when a transaction begins.
    pub(super) fn forget(&self) {
        self.forget_agents();
        self.mailboxes.borrow_mut().clear();
    }

    /// Called when an agent is removed.
    pub(super) fn forget_mailbox(&self, agent: i64) {
        self.mailboxes.borrow_mut().remove(&agent);
    }

    /// Called when agents change.
    pub(super) fn forget_agents(&self) {
        self.agents.borrow_mut().clear();
    }
}

impl Writer {
    pub(super) fn find_agent(&self, name: &str) -> rusqlite::Result<Option<(AgentRow<i64>, String)>> {
        if let Some(row) = self.cache.agents.borrow().get(name) {
            return Ok(Some(row.clone()));
        }
        self.look_up(name, name)?;
        Ok(self.cache.agents.borrow().get(name).cloned())
    }

    /// Reads up to two agents with their mailboxes, which the rules ask for next.
    pub(super) fn look_up(&self, one: &str, other: &str) -> rusqlite::Result<()> {
        let sql = "SELECT b.seq, b.tip, b.bytes, b.free0, b.free1, b.free2, b.free3, b.leased, a.id, a.role, a.seen_at, \
                   a.fence, a.host, a.worktree, a.name FROM agent a JOIN mailbox b ON b.agent = a.id \
                   WHERE a.space = ?1 AND a.name IN (?2, ?3)";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.space, one, other])?;
        while let Some(row) = rows.next()? {
            let holder = match (row.get(12)?, row.get(13)?) {
                (Some(host), Some(worktree)) => Some(Holder { host, worktree }),
                _ => None,
            };
            let owner = Ownership { fence: row.get(11)?, holder };
            let agent = AgentRow { id: row.get(8)?, seen_at: row.get(10)?, owner };
            let mailbox = mailbox(row, agent.id)?;
            // A mailbox in the cache may have changed since it was read.
            self.cache.mailboxes.borrow_mut().entry(agent.id).or_insert(CachedMailbox { mailbox, is_written: true });
            self.cache.agents.borrow_mut().insert(row.get(14)?, (agent, row.get(9)?));
        }
        Ok(())
    }

    pub(super) fn load_mailbox(&self, agent: i64) -> rusqlite::Result<Mailbox<i64>> {
        if let Some(cached) = self.cache.mailboxes.borrow().get(&agent) {
            return Ok(cached.mailbox);
        }
        let sql = "SELECT seq, tip, bytes, free0, free1, free2, free3, leased FROM mailbox WHERE agent = ?1";
        let mailbox = self.db.prepare_cached(sql)?.query_row([agent], |row| mailbox(row, agent))?;
        self.cache.mailboxes.borrow_mut().insert(agent, CachedMailbox { mailbox, is_written: true });
        Ok(mailbox)
    }

    /// [`Writer::write_mailboxes`] writes the mailbox later.
    pub(super) fn keep_mailbox(&self, mailbox: &Mailbox<i64>) {
        let mut mailboxes = self.cache.mailboxes.borrow_mut();
        if mailboxes.get(&mailbox.agent).is_none_or(|cached| cached.mailbox != *mailbox) {
            mailboxes.insert(mailbox.agent, CachedMailbox { mailbox: *mailbox, is_written: false });
        }
    }

    pub(super) fn write_mailboxes(&self) -> rusqlite::Result<()> {
        let sql = "UPDATE mailbox SET seq = ?2, tip = ?3, bytes = ?4, free0 = ?5, free1 = ?6, free2 = ?7, free3 = ?8, \
                   leased = ?9 WHERE agent = ?1";
        for cached in self.cache.mailboxes.borrow_mut().values_mut().filter(|cached| !cached.is_written) {
            let Mailbox { agent, seq, version, bytes, free: [f0, f1, f2, f3], leased } = cached.mailbox;
            let values = params![agent, seq, version, bytes, f0, f1, f2, f3, leased];
            self.db.prepare_cached(sql)?.execute(values)?;
            cached.is_written = true;
        }
        Ok(())
    }
}

fn mailbox(row: &rusqlite::Row<'_>, agent: i64) -> rusqlite::Result<Mailbox<i64>> {
    Ok(Mailbox {
        agent,
        seq: row.get(0)?,
        version: row.get(1)?,
        bytes: row.get(2)?,
        free: [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?],
        leased: row.get(7)?,
    })
}
