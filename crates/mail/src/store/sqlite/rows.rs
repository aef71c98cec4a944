//! Agents and groups in SQLite.

use rusqlite::{OptionalExtension, params};

use super::writer::{Fault, Writer};
use crate::model::address::Directory;
use crate::model::{AgentName, GroupName, Limits, Member, MemberKind, Millis, Profile, ResolvedKind};
use crate::store::change::{Append, CreateGroup, Enter, Touch};
use crate::store::rules::agents::NO_ROLE;
use crate::store::rules::append::needs_everyone;
use crate::store::rules::{AgentRow, AgentRows, Ownership};

const BY_ROLE: &str = "SELECT name, role FROM agent WHERE space = ?1 AND role = ?2";

impl AgentRows for Writer {
    type Agent = i64;
    type Group = i64;
    type Fault = Fault;

    fn now(&self) -> Millis {
        self.clock.now()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    async fn agent(&mut self, name: &AgentName) -> Result<Option<AgentRow<i64>>, Fault> {
        Ok(self.find_agent(name.as_str())?.map(|(row, _)| row))
    }

    async fn agent_name(&mut self, agent: &i64) -> Result<AgentName, Fault> {
        let mut statement = self.db.prepare_cached("SELECT name FROM agent WHERE id = ?1")?;
        Ok(statement.query_row([agent], |row| Ok(AgentName::stored(row.get::<_, String>(0)?)))?)
    }

    async fn alias_owner(&mut self, alias: &str) -> Result<Option<AgentName>, Fault> {
        let mut statement = self.db.prepare_cached("SELECT name FROM agent WHERE space = ?1 AND alias = ?2")?;
        let row = |row: &rusqlite::Row<'_>| Ok(AgentName::stored(row.get::<_, String>(0)?));
        Ok(statement.query_row(params![self.space, alias], row).optional()?)
    }

    async fn count_agents(&mut self) -> Result<u64, Fault> {
        self.count("SELECT count(*) FROM agent WHERE space = ?1")
    }

    async fn insert_agent(&mut self, enter: &Enter) -> Result<Option<AgentRow<i64>>, Fault> {
        let owner = Ownership { fence: 1, holder: enter.holder.clone() };
        let (host, worktree) = owner.holder.as_ref().map(|holder| (&holder.host, &holder.worktree)).unzip();
        let sql = "INSERT INTO agent (space, name, role, registered_at, seen_at, host, worktree, fence) \
                   VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7)";
        let values = params![self.space, enter.agent.as_str(), NO_ROLE, self.clock.now(), host, worktree, owner.fence];
        self.db.prepare_cached(sql)?.execute(values)?;
        let id = self.db.last_insert_rowid();
        self.db.prepare_cached("INSERT INTO mailbox VALUES (?1, 0, 0, 0, 0, 0, 0, 0, 0)")?.execute([id])?;
        self.cache.forget_agents();
        Ok(Some(AgentRow { id, owner, seen_at: 0 }))
    }

    async fn set_owner(&mut self, agent: &i64, owner: &Ownership) -> Result<(), Fault> {
        let (host, worktree) = owner.holder.as_ref().map(|holder| (&holder.host, &holder.worktree)).unzip();
        let sql = "UPDATE agent SET host = ?2, worktree = ?3, fence = ?4 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute(params![agent, host, worktree, owner.fence])?;
        self.cache.forget_agents();
        Ok(())
    }

    async fn set_profile(&mut self, agent: &i64, profile: &Profile, seen_at: Option<Millis>) -> Result<(), Fault> {
        let sql = "UPDATE agent SET role = coalesce(?2, role), module = coalesce(?3, module), \
                   intent = coalesce(?4, intent), branch = coalesce(?5, branch), alias = coalesce(?6, alias), \
                   seen_at = coalesce(?7, seen_at) WHERE id = ?1";
        let role = profile.role.as_ref().map(|role| role.as_str());
        let Profile { module, intent, branch, alias, .. } = profile;
        self.db.prepare_cached(sql)?.execute(params![agent, role, module, intent, branch, alias, seen_at])?;
        self.cache.forget_agents();
        Ok(())
    }

    async fn touch(&mut self, touch: &Touch) -> Result<(), Fault> {
        let now = self.clock.now();
        let mut update = self.db.prepare_cached("UPDATE agent SET seen_at = ?3 WHERE space = ?1 AND name = ?2")?;
        for agent in &touch.agents {
            update.execute(params![self.space, agent.as_str(), now])?;
        }
        self.cache.forget_agents();
        Ok(())
    }

    async fn rename_agent(&mut self, agent: &i64, from: &AgentName, to: &AgentName) -> Result<(), Fault> {
        self.db.prepare_cached("UPDATE agent SET name = ?2 WHERE id = ?1")?.execute(params![agent, to.as_str()])?;
        for sql in [
            "UPDATE message SET sender = ?3 WHERE space = ?1 AND sender = ?2",
            "UPDATE tomb SET sender = ?3 WHERE space = ?1 AND sender = ?2",
            "UPDATE groups SET created_by = ?3 WHERE space = ?1 AND created_by = ?2",
            "UPDATE member SET name = ?3 WHERE kind = 'agent' AND name = ?2 \
             AND grouping IN (SELECT id FROM groups WHERE space = ?1)",
        ] {
            self.db.prepare_cached(sql)?.execute(params![self.space, from.as_str(), to.as_str()])?;
        }
        self.cache.forget_agents();
        Ok(())
    }

    async fn remove_agent(&mut self, agent: &i64, name: &AgentName) -> Result<(), Fault> {
        // The mailbox is not written after its removal.
        self.cache.forget_mailbox(*agent);
        for sql in [
            "DELETE FROM hint WHERE agent = ?1",
            "DELETE FROM delivery WHERE agent = ?1",
            "DELETE FROM mailbox WHERE agent = ?1",
            "DELETE FROM agent WHERE id = ?1",
        ] {
            self.db.prepare_cached(sql)?.execute([agent])?;
        }
        let sql = "DELETE FROM member WHERE kind = 'agent' AND name = ?2 \
                   AND grouping IN (SELECT id FROM groups WHERE space = ?1)";
        self.db.prepare_cached(sql)?.execute(params![self.space, name.as_str()])?;
        self.cache.forget_agents();
        Ok(())
    }

    async fn directory(&mut self, append: &Append) -> Result<Directory, Fault> {
        let mut directory = Directory::default();
        if needs_everyone(append) {
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

    async fn group(&mut self, name: &GroupName) -> Result<Option<i64>, Fault> {
        Ok(self.find_group(name.as_str())?)
    }

    async fn count_groups(&mut self) -> Result<u64, Fault> {
        self.count("SELECT count(*) FROM groups WHERE space = ?1")
    }

    async fn insert_group(&mut self, create: &CreateGroup) -> Result<bool, Fault> {
        let sql = "INSERT INTO groups (space, name, description, created_at, created_by) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (name, by) = (create.name.as_str(), create.session.agent.as_str());
        let values = params![self.space, name, create.description, self.clock.now(), by];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(true)
    }

    async fn remove_group(&mut self, group: &i64) -> Result<(), Fault> {
        self.db.prepare_cached("DELETE FROM member WHERE grouping = ?1")?.execute([group])?;
        self.db.prepare_cached("DELETE FROM groups WHERE id = ?1")?.execute([group])?;
        Ok(())
    }

    async fn membership(&mut self, group: &i64, member: &Member) -> Result<(u64, bool), Fault> {
        let members = self.members(*group)?;
        Ok((members.len() as u64, members.contains(member)))
    }

    async fn insert_member(&mut self, group: &i64, member: &Member) -> Result<(), Fault> {
        let values = params![group, member.kind.as_str(), member.id];
        self.db.prepare_cached("INSERT INTO member VALUES (?1, ?2, ?3)")?.execute(values)?;
        Ok(())
    }

    async fn remove_member(&mut self, group: &i64, member: &Member) -> Result<bool, Fault> {
        let sql = "DELETE FROM member WHERE grouping = ?1 AND kind = ?2 AND name = ?3";
        Ok(self.db.prepare_cached(sql)?.execute(params![group, member.kind.as_str(), member.id])? > 0)
    }
}

impl Writer {
    fn count(&self, sql: &str) -> Result<u64, Fault> {
        Ok(self.db.prepare_cached(sql)?.query_row([self.space], |row| row.get(0))?)
    }

    fn add_agent(&self, to: &mut Directory, name: &str) -> rusqlite::Result<()> {
        let found = self.find_agent(name)?;
        to.agents.extend(found.map(|(_, role)| (AgentName::stored(name), role)));
        Ok(())
    }

    /// Adds the agents that a statement finds; returns the last.
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
}
