//! Agents, groups and mailboxes in SQLite. Every change checks all it has to check before it writes.

use rusqlite::{OptionalExtension, params};

use super::writer::{Fault, Writer};
use crate::error::Refusal;
use crate::model::address::Directory;
use crate::model::{AgentName, GroupName, Member, MemberKind, Millis, Priority, ResolvedKind, Session};
use crate::store::Arrival;
use crate::store::change::{AddMember, Append, CreateGroup, DeleteGroup, Enter, Entered, RemoveMember, Touch};
use crate::store::plan::{self, Entry, Held};

/// An agent's row, as far as changes need it.
#[derive(Debug, Clone)]
pub(super) struct AgentRow {
    pub(super) id: i64,
    pub(super) role: String,
    pub(super) seen_at: Millis,
    pub(super) held: Held,
}

/// A mailbox's row. Loaded, changed and saved within one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mailbox {
    pub(super) agent: i64,
    pub(super) seq: u64,
    pub(super) tip: u64,
    pub(super) bytes: u64,
    pub(super) free: [u64; 4],
    pub(super) leased: u64,
}

impl Mailbox {
    pub(super) fn waiting(&self) -> u64 {
        self.free.iter().sum::<u64>() + self.leased
    }

    pub(super) fn free(&mut self, priority: u8) -> &mut u64 {
        &mut self.free[usize::from(priority.min(3))]
    }
}

impl Writer {
    /// The caller's row, if the caller still has the name.
    pub(super) fn caller(&self, session: &Session) -> Result<AgentRow, Fault> {
        let row = self.find_agent(session.agent.as_str())?;
        let row = row.ok_or_else(|| unknown(session.agent.as_str()))?;
        plan::check_fence(session, &row.held)?;
        Ok(row)
    }

    /// Notes that something can be handed out now that could not before.
    pub(super) fn arrive(&mut self, mailbox: &mut Mailbox, agent: &AgentName, priority: Priority) {
        mailbox.tip += 1;
        self.arrivals.push(Arrival { agent: agent.clone(), priority });
    }

    fn count(&self, sql: &str) -> rusqlite::Result<u64> {
        self.db.prepare_cached(sql)?.query_row([self.space], |row| row.get(0))
    }

    pub(super) fn enter(&mut self, enter: &Enter) -> Result<Entered, Fault> {
        let now = self.clock.now();
        let name = enter.agent.as_str();
        if let Some(alias) = &enter.profile.alias {
            let sql = "SELECT name FROM agent WHERE space = ?1 AND alias = ?2 AND name <> ?3";
            let other: Option<String> = self
                .db
                .prepare_cached(sql)?
                .query_row(params![self.space, alias, name], |row| row.get(0))
                .optional()?;
            if let Some(other) = other {
                return Err(Refusal::AliasTaken { alias: alias.clone(), agent: AgentName::stored(other) }.into());
            }
        }
        let found = self.find_agent(name)?;
        let (host, worktree) = match &enter.holder {
            Some(holder) => (Some(&holder.host), Some(&holder.worktree)),
            None => (None, None),
        };
        let (id, fence, created, taken_from) = match found {
            None => {
                if !enter.create {
                    return Err(unknown(name).into());
                }
                if self.count("SELECT count(*) FROM agent WHERE space = ?1")? >= self.limits.agents {
                    return Err(Refusal::TooMany { what: "agents", limit: self.limits.agents }.into());
                }
                let sql = "INSERT INTO agent (space, name, role, registered_at, seen_at, host, worktree, fence) \
                           VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, 1)";
                let values = params![self.space, name, plan::NO_ROLE, now, host, worktree];
                self.db.prepare_cached(sql)?.execute(values)?;
                let id = self.db.last_insert_rowid();
                self.db.prepare_cached("INSERT INTO mailbox VALUES (?1, 0, 0, 0, 0, 0, 0, 0, 0)")?.execute([id])?;
                (id, 1, true, None)
            }
            Some(row) => match plan::entry(enter, &row.held)? {
                Entry::Keep => (row.id, row.held.fence, false, None),
                Entry::Take => {
                    let sql = "UPDATE agent SET host = ?2, worktree = ?3 WHERE id = ?1";
                    self.db.prepare_cached(sql)?.execute(params![row.id, host, worktree])?;
                    (row.id, row.held.fence, false, None)
                }
                Entry::TakeOver(from) => {
                    let fence = row.held.fence + 1;
                    let sql = "UPDATE agent SET host = ?2, worktree = ?3, fence = ?4 WHERE id = ?1";
                    self.db.prepare_cached(sql)?.execute(params![row.id, host, worktree, fence])?;
                    (row.id, fence, false, Some(from))
                }
            },
        };
        let profile = &enter.profile;
        let sql = "UPDATE agent SET role = coalesce(?2, role), module = coalesce(?3, module), \
                   intent = coalesce(?4, intent), branch = coalesce(?5, branch), alias = coalesce(?6, alias), \
                   seen_at = coalesce(?7, seen_at) WHERE id = ?1";
        let role = profile.role.as_ref().map(|role| role.as_str());
        let seen_at = enter.holder.as_ref().map(|_| now);
        self.db.prepare_cached(sql)?.execute(params![
            id,
            role,
            profile.module,
            profile.intent,
            profile.branch,
            profile.alias,
            seen_at
        ])?;
        self.known.forget_agents();
        if taken_from.is_some() {
            // Whoever had something in hand can never confirm it now; and whoever waits is told.
            self.free_leases(id, &enter.agent, None, None)?;
            let mut mailbox = self.mailbox(id)?;
            self.arrive(&mut mailbox, &enter.agent, Priority::Critical);
            self.save(&mailbox);
        }
        Ok(Entered { fence, created, taken_from })
    }

    pub(super) fn touch(&mut self, touch: &Touch) -> Result<(), Fault> {
        let now = self.clock.now();
        let mut update = self.db.prepare_cached("UPDATE agent SET seen_at = ?3 WHERE space = ?1 AND name = ?2")?;
        for agent in &touch.agents {
            update.execute(params![self.space, agent.as_str(), now])?;
        }
        self.known.forget_agents();
        Ok(())
    }

    /// What the store knows about the names of an append, as far as they may mean it.
    pub(super) fn directory(&self, append: &Append) -> rusqlite::Result<Directory> {
        let mut directory = Directory::default();
        if plan::needs_everyone(append) {
            self.add_agents(&mut directory, "SELECT name, role FROM agent WHERE space = ?1 AND ?2 = ?2", "")?;
        }
        for address in &append.to {
            let name = address.name.as_str();
            if let Some(role) = &address.alias_role {
                let sql = "SELECT name, role FROM agent WHERE space = ?1 AND alias = ?2";
                let found = self.add_agents(&mut directory, sql, name)?;
                directory.aliases.extend(found.map(|agent| (name.to_owned(), agent)));
                self.add_agents(&mut directory, BY_ROLE, role)?;
                continue;
            }
            let may_be = |kind| address.kind.is_none_or(|forced| forced == kind);
            if may_be(ResolvedKind::Agent) {
                self.add_agent(&mut directory, name)?;
            }
            if may_be(ResolvedKind::Role) {
                self.add_agents(&mut directory, BY_ROLE, name)?;
            }
            if may_be(ResolvedKind::Group)
                && let Some(group) = self.find_group(name)?
            {
                let members = self.members(group)?;
                for member in &members {
                    match member.kind {
                        MemberKind::Agent => self.add_agent(&mut directory, &member.id)?,
                        MemberKind::Role => drop(self.add_agents(&mut directory, BY_ROLE, &member.id)?),
                    }
                }
                directory.groups.insert(name.to_owned(), members);
            }
        }
        Ok(directory)
    }

    fn add_agent(&self, to: &mut Directory, name: &str) -> rusqlite::Result<()> {
        let found = self.find_agent(name)?;
        to.agents.extend(found.map(|row| (AgentName::stored(name), row.role)));
        Ok(())
    }

    /// Adds the agents that a statement finds; gives the last.
    fn add_agents(&self, to: &mut Directory, sql: &str, name: &str) -> rusqlite::Result<Option<AgentName>> {
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.space, name])?;
        let mut last = None;
        while let Some(row) = rows.next()? {
            let agent = AgentName::stored(row.get::<_, String>(0)?);
            to.agents.insert(agent.clone(), row.get(1)?);
            last = Some(agent);
        }
        Ok(last)
    }

    fn find_group(&self, name: &str) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT id FROM groups WHERE space = ?1 AND name = ?2";
        self.db.prepare_cached(sql)?.query_row(params![self.space, name], |row| row.get(0)).optional()
    }

    fn members(&self, group: i64) -> rusqlite::Result<Vec<Member>> {
        let mut statement = self.db.prepare_cached("SELECT kind, name FROM member WHERE grouping = ?1")?;
        let rows = statement.query_map([group], |row| {
            Ok(Member { kind: MemberKind::stored(&row.get::<_, String>(0)?), id: row.get(1)? })
        })?;
        rows.collect()
    }

    pub(super) fn create_group(&mut self, create: &CreateGroup) -> Result<(), Fault> {
        let now: Millis = self.clock.now();
        self.caller(&create.session)?;
        let name = create.name.as_str();
        if create.name.is_everyone() || self.find_group(name)?.is_some() {
            return Err(Refusal::GroupExists { name: name.to_owned() }.into());
        }
        if self.count("SELECT count(*) FROM groups WHERE space = ?1")? >= self.limits.groups {
            return Err(Refusal::TooMany { what: "groups", limit: self.limits.groups }.into());
        }
        let sql = "INSERT INTO groups (space, name, description, created_at, created_by) VALUES (?1, ?2, ?3, ?4, ?5)";
        let by = create.session.agent.as_str();
        self.db.prepare_cached(sql)?.execute(params![self.space, name, create.description, now, by])?;
        Ok(())
    }

    pub(super) fn delete_group(&mut self, delete: &DeleteGroup) -> Result<(), Fault> {
        self.caller(&delete.session)?;
        let group = self.changeable(&delete.name)?;
        self.db.prepare_cached("DELETE FROM member WHERE grouping = ?1")?.execute([group])?;
        self.db.prepare_cached("DELETE FROM groups WHERE id = ?1")?.execute([group])?;
        Ok(())
    }

    fn changeable(&self, name: &GroupName) -> Result<i64, Fault> {
        if name.is_everyone() {
            return Err(Refusal::GroupProtected { name: name.to_string() }.into());
        }
        let found = self.find_group(name.as_str())?;
        found.ok_or_else(|| Refusal::UnknownGroup { name: name.to_string(), nearest: Vec::new() }.into())
    }

    pub(super) fn add_member(&mut self, add: &AddMember) -> Result<bool, Fault> {
        self.caller(&add.session)?;
        plan::check_member(&add.member)?;
        let group = self.changeable(&add.group)?;
        if add.member.kind == MemberKind::Agent && self.find_agent(&add.member.id)?.is_none() {
            return Err(unknown(&add.member.id).into());
        }
        let members = self.members(group)?;
        if members.contains(&add.member) {
            return Ok(false);
        }
        if members.len() as u64 >= self.limits.groups {
            return Err(Refusal::TooMany { what: "members", limit: self.limits.groups }.into());
        }
        let values = params![group, add.member.kind.as_str(), add.member.id];
        self.db.prepare_cached("INSERT INTO member VALUES (?1, ?2, ?3)")?.execute(values)?;
        Ok(true)
    }

    pub(super) fn remove_member(&mut self, remove: &RemoveMember) -> Result<bool, Fault> {
        self.caller(&remove.session)?;
        let group = self.changeable(&remove.group)?;
        let sql = "DELETE FROM member WHERE grouping = ?1 AND kind = ?2 AND name = ?3";
        let values = params![group, remove.member.kind.as_str(), remove.member.id];
        Ok(self.db.prepare_cached(sql)?.execute(values)? > 0)
    }
}

const BY_ROLE: &str = "SELECT name, role FROM agent WHERE space = ?1 AND role = ?2";

pub(super) fn unknown(agent: &str) -> Refusal {
    Refusal::UnknownAgent { name: agent.to_owned(), nearest: Vec::new() }
}
