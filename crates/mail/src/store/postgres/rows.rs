//! Agents, groups and mailboxes in PostgreSQL. Every change checks all it has to check before it writes.

use std::collections::BTreeSet;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::writer::{Act, Fault};
use crate::error::Refusal;
use crate::model::address::Directory;
use crate::model::{AgentName, GroupName, Holder, Member, MemberKind, Session};
use crate::store::change::{AddMember, Append, Change, CreateGroup, DeleteGroup, Enter, Entered, RemoveMember, Touch};
use crate::store::plan::{self, Entry, Held};

/// An agent's row, as far as changes need it.
pub(super) struct AgentRow {
    pub(super) id: i64,
    pub(super) name: AgentName,
    pub(super) held: Held,
    pub(super) seen_at: i64,
}

/// A mailbox's row. Loaded, changed and saved within one change.
pub(super) struct Mailbox {
    pub(super) agent: i64,
    pub(super) seq: i64,
    pub(super) tip: i64,
    pub(super) bytes: i64,
    pub(super) free: Vec<i64>,
    pub(super) leased: i64,
}

impl Mailbox {
    pub(super) fn waiting(&self) -> i64 {
        self.free.iter().sum::<i64>() + self.leased
    }

    pub(super) fn free(&mut self, priority: i16) -> &mut i64 {
        self.free.resize(4, 0);
        &mut self.free[priority.clamp(0, 3) as usize]
    }
}

impl Act<'_> {
    /// Locks the mailboxes that the changes concern, in the order of their numbers, until the commit. What a change
    /// concerns besides (the sender of a message that dies) it locks later; should two daemons meet there, the database
    /// ends one of the transactions and it is made again.
    pub(super) async fn lock(&mut self, changes: &[&Change]) -> Result<(), sqlx::Error> {
        let (mut names, mut sessions, mut whole) = (BTreeSet::new(), BTreeSet::new(), false);
        for change in changes {
            match change {
                Change::Enter(it) => drop(names.insert(it.agent.to_string())),
                Change::Append(it) => {
                    names.insert(it.sender.agent.to_string());
                    whole |= plan::needs_everyone(it);
                    let directory = self.directory(it).await?;
                    if let Ok((_, whom)) = plan::recipients(it, &directory, self.limits) {
                        names.extend(whom.iter().map(AgentName::to_string));
                    }
                }
                Change::Claim(it) => drop(names.insert(it.session.agent.to_string())),
                Change::Confirm(it) => drop(names.insert(it.session.agent.to_string())),
                Change::Settle(it) => drop(names.insert(it.session.agent.to_string())),
                Change::Release(it) => sessions.extend(it.sessions.iter().map(|session| session.to_string())),
                Change::HandBack(it) => drop(sessions.insert(it.session.to_string())),
                Change::BeginHint(it) => drop(names.insert(it.agent.to_string())),
                Change::Import(it) => names.extend(it.recipients.iter().map(|(agent, _)| agent.to_string())),
                Change::CreateGroup(_)
                | Change::DeleteGroup(_)
                | Change::AddMember(_)
                | Change::RemoveMember(_)
                | Change::Touch(_)
                | Change::EndHint(_)
                | Change::Purge(_) => {}
            }
        }
        if names.is_empty() && sessions.is_empty() && !whole {
            return Ok(());
        }
        let sql = "SELECT b.agent FROM mailbox b JOIN agent a ON a.id = b.agent WHERE a.space = $1 AND (a.name = \
                   ANY($2) OR $4 OR b.agent IN (SELECT agent FROM delivery WHERE session = ANY($3))) \
                   ORDER BY b.agent FOR UPDATE OF b";
        let (names, sessions): (Vec<_>, Vec<_>) = (names.into_iter().collect(), sessions.into_iter().collect());
        let query = sqlx::query(sql).bind(self.space).bind(names).bind(sessions).bind(whole);
        query.fetch_all(&mut *self.db).await?;
        Ok(())
    }

    pub(super) async fn find_agent(&mut self, name: &str) -> Result<Option<AgentRow>, sqlx::Error> {
        let sql = "SELECT id, name, fence, host, worktree, seen_at FROM agent WHERE space = $1 AND name = $2";
        let row = sqlx::query(sql).bind(self.space).bind(name).fetch_optional(&mut *self.db).await?;
        row.map(|row| agent_row(&row)).transpose()
    }

    /// The caller's row, if the caller still has the name.
    pub(super) async fn caller(&mut self, session: &Session) -> Result<AgentRow, Fault> {
        let row = self.find_agent(session.agent.as_str()).await?;
        let row = row.ok_or_else(|| unknown(session.agent.as_str()))?;
        plan::check_fence(session, &row.held)?;
        Ok(row)
    }

    pub(super) async fn mailbox(&mut self, agent: i64) -> Result<Mailbox, sqlx::Error> {
        let sql = "SELECT seq, tip, bytes, free, leased FROM mailbox WHERE agent = $1 FOR UPDATE";
        let row = sqlx::query(sql).bind(agent).fetch_one(&mut *self.db).await?;
        Ok(Mailbox {
            agent,
            seq: row.try_get(0)?,
            tip: row.try_get(1)?,
            bytes: row.try_get(2)?,
            free: row.try_get(3)?,
            leased: row.try_get(4)?,
        })
    }

    pub(super) async fn save(&mut self, it: &Mailbox) -> Result<(), sqlx::Error> {
        let sql = "UPDATE mailbox SET seq = $2, tip = $3, bytes = $4, free = $5, leased = $6 WHERE agent = $1";
        let query = sqlx::query(sql).bind(it.agent).bind(it.seq).bind(it.tip).bind(it.bytes);
        query.bind(&it.free).bind(it.leased).execute(&mut *self.db).await?;
        Ok(())
    }

    /// Notes that something can be handed out now that could not before.
    pub(super) fn arrive(&mut self, mailbox: &mut Mailbox) {
        mailbox.tip += 1;
        self.has_news = true;
    }

    async fn count(&mut self, sql: &'static str) -> Result<u64, sqlx::Error> {
        let count: i64 = sqlx::query(sql).bind(self.space).fetch_one(&mut *self.db).await?.try_get(0)?;
        Ok(count.max(0) as u64)
    }

    pub(super) async fn enter(&mut self, enter: &Enter) -> Result<Entered, Fault> {
        let name = enter.agent.as_str();
        if let Some(alias) = &enter.profile.alias {
            let sql = "SELECT name FROM agent WHERE space = $1 AND alias = $2 AND name <> $3";
            let query = sqlx::query(sql).bind(self.space).bind(alias).bind(name);
            if let Some(row) = query.fetch_optional(&mut *self.db).await? {
                let agent = AgentName::stored(row.try_get::<String, _>(0)?);
                return Err(Refusal::AliasTaken { alias: alias.clone(), agent }.into());
            }
        }
        let (host, worktree) = match &enter.holder {
            Some(holder) => (Some(&holder.host), Some(&holder.worktree)),
            None => (None, None),
        };
        let mut found = self.find_agent(name).await?;
        let mut created = false;
        if found.is_none() {
            if !enter.create {
                return Err(unknown(name).into());
            }
            if self.count("SELECT count(*) FROM agent WHERE space = $1").await? >= self.limits.agents {
                return Err(Refusal::TooMany { what: "agents", limit: self.limits.agents }.into());
            }
            // Another daemon may register the same name in this moment; then it is there, and is entered.
            let sql = "INSERT INTO agent (space, name, role, registered_at, seen_at, host, worktree, fence) \
                       VALUES ($1, $2, $3, $4, 0, $5, $6, 1) ON CONFLICT DO NOTHING RETURNING id";
            let query = sqlx::query(sql).bind(self.space).bind(name).bind(plan::NO_ROLE).bind(self.now as i64);
            let made = query.bind(host).bind(worktree).fetch_optional(&mut *self.db).await?;
            if let Some(row) = made {
                let id: i64 = row.try_get(0)?;
                sqlx::query("INSERT INTO mailbox (agent) VALUES ($1)").bind(id).execute(&mut *self.db).await?;
                created = true;
            }
            found = self.find_agent(name).await?;
        }
        let row = found.ok_or_else(|| unknown(name))?;
        let (mut fence, mut taken_from) = (row.held.fence, None);
        match plan::entry(enter, &row.held)? {
            Entry::Keep => {}
            Entry::Take => self.hold(row.id, enter.holder.as_ref(), fence).await?,
            Entry::TakeOver(from) => {
                fence += 1;
                self.hold(row.id, enter.holder.as_ref(), fence).await?;
                taken_from = Some(from);
            }
        }
        let profile = &enter.profile;
        let sql = "UPDATE agent SET role = coalesce($2, role), module = coalesce($3, module), \
                   intent = coalesce($4, intent), branch = coalesce($5, branch), alias = coalesce($6, alias), \
                   seen_at = coalesce($7, seen_at) WHERE id = $1";
        let query = sqlx::query(sql).bind(row.id).bind(profile.role.as_ref().map(|role| role.to_string()));
        let query = query.bind(&profile.module).bind(&profile.intent).bind(&profile.branch).bind(&profile.alias);
        query.bind(enter.holder.as_ref().map(|_| self.now as i64)).execute(&mut *self.db).await?;
        if taken_from.is_some() {
            // Whoever had something in hand can never confirm it now; and whoever waits is told.
            self.free_leases(row.id, &row.name, None, None).await?;
            let mut mailbox = self.mailbox(row.id).await?;
            self.arrive(&mut mailbox);
            self.save(&mailbox).await?;
        }
        Ok(Entered { fence, created, taken_from })
    }

    async fn hold(&mut self, agent: i64, holder: Option<&Holder>, fence: u64) -> Result<(), sqlx::Error> {
        let sql = "UPDATE agent SET host = $2, worktree = $3, fence = $4 WHERE id = $1";
        let query = sqlx::query(sql).bind(agent).bind(holder.map(|holder| &holder.host));
        query.bind(holder.map(|holder| &holder.worktree)).bind(fence as i64).execute(&mut *self.db).await?;
        Ok(())
    }

    pub(super) async fn touch(&mut self, touch: &Touch) -> Result<(), Fault> {
        let names: Vec<String> = touch.agents.iter().map(AgentName::to_string).collect();
        // Locked in order, as everything that touches several rows.
        let sql = "UPDATE agent SET seen_at = $3 WHERE id IN \
                   (SELECT id FROM agent WHERE space = $1 AND name = ANY($2) ORDER BY id FOR UPDATE)";
        sqlx::query(sql).bind(self.space).bind(names).bind(self.now as i64).execute(&mut *self.db).await?;
        Ok(())
    }

    /// What the store knows about the names of an append.
    pub(super) async fn directory(&mut self, append: &Append) -> Result<Directory, sqlx::Error> {
        let mut directory = Directory::default();
        let names: Vec<String> = plan::names(append).into_iter().map(str::to_owned).collect();
        let sql = "SELECT name, role, alias FROM agent WHERE space = $1 AND \
                   (name = ANY($2) OR role = ANY($2) OR alias = ANY($2) OR $3)";
        let query = sqlx::query(sql).bind(self.space).bind(&names).bind(plan::needs_everyone(append));
        for row in query.fetch_all(&mut *self.db).await? {
            add(&mut directory, &row)?;
        }
        let sql = "SELECT g.name, m.kind, m.name FROM groups g LEFT JOIN member m ON m.grouping_id = g.id \
                   WHERE g.space = $1 AND g.name = ANY($2)";
        let rows = sqlx::query(sql).bind(self.space).bind(&names).fetch_all(&mut *self.db).await?;
        let mut of_groups: Vec<String> = Vec::new();
        for row in rows {
            let members = directory.groups.entry(row.try_get(0)?).or_default();
            if let (Some(kind), Some(id)) = (row.try_get::<Option<String>, _>(1)?, row.try_get::<Option<String>, _>(2)?)
            {
                of_groups.push(id.clone());
                members.push(Member { kind: MemberKind::stored(&kind), id });
            }
        }
        if !of_groups.is_empty() {
            let sql = "SELECT name, role, alias FROM agent WHERE space = $1 AND (name = ANY($2) OR role = ANY($2))";
            let query = sqlx::query(sql).bind(self.space).bind(&of_groups);
            for row in query.fetch_all(&mut *self.db).await? {
                add(&mut directory, &row)?;
            }
        }
        Ok(directory)
    }

    async fn find_group(&mut self, name: &str) -> Result<Option<i64>, sqlx::Error> {
        let sql = "SELECT id FROM groups WHERE space = $1 AND name = $2 FOR UPDATE";
        let row = sqlx::query(sql).bind(self.space).bind(name).fetch_optional(&mut *self.db).await?;
        row.map(|row| row.try_get(0)).transpose()
    }

    pub(super) async fn create_group(&mut self, create: &CreateGroup) -> Result<(), Fault> {
        self.caller(&create.session).await?;
        let exists = || Refusal::GroupExists { name: create.name.to_string() };
        if create.name.is_everyone() || self.find_group(create.name.as_str()).await?.is_some() {
            return Err(exists().into());
        }
        if self.count("SELECT count(*) FROM groups WHERE space = $1").await? >= self.limits.groups {
            return Err(Refusal::TooMany { what: "groups", limit: self.limits.groups }.into());
        }
        let sql = "INSERT INTO groups (space, name, description, created_at, created_by) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        let query = sqlx::query(sql).bind(self.space).bind(create.name.as_str()).bind(&create.description);
        let query = query.bind(self.now as i64).bind(create.session.agent.as_str());
        if query.execute(&mut *self.db).await?.rows_affected() == 0 {
            return Err(exists().into());
        }
        Ok(())
    }

    pub(super) async fn delete_group(&mut self, delete: &DeleteGroup) -> Result<(), Fault> {
        self.caller(&delete.session).await?;
        let group = self.changeable(&delete.name).await?;
        sqlx::query("DELETE FROM member WHERE grouping_id = $1").bind(group).execute(&mut *self.db).await?;
        sqlx::query("DELETE FROM groups WHERE id = $1").bind(group).execute(&mut *self.db).await?;
        Ok(())
    }

    async fn changeable(&mut self, name: &GroupName) -> Result<i64, Fault> {
        if name.is_everyone() {
            return Err(Refusal::GroupProtected { name: name.to_string() }.into());
        }
        let found = self.find_group(name.as_str()).await?;
        found.ok_or_else(|| Refusal::UnknownGroup { name: name.to_string(), nearest: Vec::new() }.into())
    }

    pub(super) async fn add_member(&mut self, add: &AddMember) -> Result<bool, Fault> {
        self.caller(&add.session).await?;
        plan::check_member(&add.member)?;
        let group = self.changeable(&add.group).await?;
        if add.member.kind == MemberKind::Agent && self.find_agent(&add.member.id).await?.is_none() {
            return Err(unknown(&add.member.id).into());
        }
        let sql = "SELECT count(*), count(*) FILTER (WHERE kind = $2 AND name = $3) FROM member WHERE grouping_id = $1";
        let query = sqlx::query(sql).bind(group).bind(add.member.kind.as_str()).bind(&add.member.id);
        let row = query.fetch_one(&mut *self.db).await?;
        let (count, same): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        if same > 0 {
            return Ok(false);
        }
        if count as u64 >= self.limits.groups {
            return Err(Refusal::TooMany { what: "members", limit: self.limits.groups }.into());
        }
        let query = sqlx::query("INSERT INTO member VALUES ($1, $2, $3)").bind(group);
        query.bind(add.member.kind.as_str()).bind(&add.member.id).execute(&mut *self.db).await?;
        Ok(true)
    }

    pub(super) async fn remove_member(&mut self, remove: &RemoveMember) -> Result<bool, Fault> {
        self.caller(&remove.session).await?;
        let group = self.changeable(&remove.group).await?;
        let sql = "DELETE FROM member WHERE grouping_id = $1 AND kind = $2 AND name = $3";
        let query = sqlx::query(sql).bind(group).bind(remove.member.kind.as_str()).bind(&remove.member.id);
        Ok(query.execute(&mut *self.db).await?.rows_affected() > 0)
    }
}

fn agent_row(row: &PgRow) -> Result<AgentRow, sqlx::Error> {
    let fence: i64 = row.try_get(2)?;
    Ok(AgentRow {
        id: row.try_get(0)?,
        name: AgentName::stored(row.try_get::<String, _>(1)?),
        held: Held { fence: fence as u64, holder: holder(row.try_get(3)?, row.try_get(4)?) },
        seen_at: row.try_get(5)?,
    })
}

pub(super) fn holder(host: Option<String>, worktree: Option<String>) -> Option<Holder> {
    Some(Holder { host: host?, worktree: worktree? })
}

fn add(directory: &mut Directory, row: &PgRow) -> Result<(), sqlx::Error> {
    let agent = AgentName::stored(row.try_get::<String, _>(0)?);
    if let Some(alias) = row.try_get::<Option<String>, _>(2)? {
        directory.aliases.insert(alias, agent.clone());
    }
    directory.agents.insert(agent, row.try_get(1)?);
    Ok(())
}

pub(super) fn unknown(agent: &str) -> Refusal {
    Refusal::UnknownAgent { name: agent.to_owned(), nearest: Vec::new() }
}

/// Runs a statement that gives nothing.
pub(super) async fn run(
    db: &mut PgConnection,
    query: sqlx::query::Query<'_, sqlx::Postgres, sqlx::postgres::PgArguments>,
) -> Result<(), sqlx::Error> {
    query.execute(db).await.map(drop)
}
