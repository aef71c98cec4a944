//! Agents and groups in PostgreSQL: from the working set, else by a statement each.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::transaction::{Fault, Transaction};
use crate::model::address::Directory;
use crate::model::{AgentName, GroupName, Holder, Limits, Member, MemberKind, Millis, Profile};
use crate::store::change::{Append, CreateGroup, Enter, Touch};
use crate::store::rules::agents::NO_ROLE;
use crate::store::rules::append;
use crate::store::rules::{AgentRow, AgentRows, Ownership};

impl Transaction<'_> {
    async fn load_directory(&mut self, append: &Append) -> Result<Directory, Fault> {
        let mut directory = Directory::default();
        let names: Vec<&str> = append.to.iter().flat_map(|address| address.names()).collect();
        let sql = "SELECT name, role, alias FROM agent WHERE space = $1 AND \
                   (name = ANY($2) OR role = ANY($2) OR alias = ANY($2) OR $3)";
        let query = sqlx::query(sql).bind(self.space).bind(&names).bind(append::needs_everyone(append));
        for row in query.fetch_all(&mut *self.direct().await?).await? {
            add(&mut directory, &row)?;
        }
        let sql = "SELECT g.name, m.kind, m.name FROM groups g LEFT JOIN member m ON m.grouping_id = g.id \
                   WHERE g.space = $1 AND g.name = ANY($2)";
        let rows = sqlx::query(sql).bind(self.space).bind(&names).fetch_all(&mut *self.direct().await?).await?;
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
            for row in query.fetch_all(&mut *self.direct().await?).await? {
                add(&mut directory, &row)?;
            }
        }
        Ok(directory)
    }

    async fn count(&mut self, sql: &'static str) -> Result<u64, Fault> {
        let count: i64 = sqlx::query(sql).bind(self.space).fetch_one(&mut *self.direct().await?).await?.try_get(0)?;
        Ok(count.max(0) as u64)
    }
}

impl AgentRows for Transaction<'_> {
    type Agent = i64;
    type Group = i64;
    type Fault = Fault;

    fn now(&self) -> Millis {
        self.now
    }

    fn limits(&self) -> &Limits {
        self.limits
    }

    async fn agent(&mut self, name: &AgentName) -> Result<Option<AgentRow<i64>>, Fault> {
        if let Some(found) = self.set.agent(name) {
            return Ok(found);
        }
        let sql = "SELECT id, fence, host, worktree, seen_at FROM agent WHERE space = $1 AND name = $2";
        let query = sqlx::query(sql).bind(self.space).bind(name.as_str());
        let Some(row) = query.fetch_optional(&mut *self.direct().await?).await? else { return Ok(None) };
        let (fence, seen_at): (i64, i64) = (row.try_get(1)?, row.try_get(4)?);
        let owner = Ownership { fence: fence as u64, holder: holder(row.try_get(2)?, row.try_get(3)?) };
        Ok(Some(AgentRow { id: row.try_get(0)?, owner, seen_at: seen_at as u64 }))
    }

    async fn agent_name(&mut self, agent: &i64) -> Result<AgentName, Fault> {
        if let Some(name) = self.set.agent_name(*agent) {
            return Ok(name);
        }
        let query = sqlx::query("SELECT name FROM agent WHERE id = $1").bind(agent);
        Ok(AgentName::stored(query.fetch_one(&mut *self.direct().await?).await?.try_get::<String, _>(0)?))
    }

    async fn alias_owner(&mut self, alias: &str) -> Result<Option<AgentName>, Fault> {
        let query = sqlx::query("SELECT name FROM agent WHERE space = $1 AND alias = $2").bind(self.space).bind(alias);
        let row = query.fetch_optional(&mut *self.direct().await?).await?;
        Ok(row.map(|row| row.try_get::<String, _>(0).map(AgentName::stored)).transpose()?)
    }

    async fn count_agents(&mut self) -> Result<u64, Fault> {
        self.count("SELECT count(*) FROM agent WHERE space = $1").await
    }

    async fn insert_agent(&mut self, enter: &Enter) -> Result<Option<AgentRow<i64>>, Fault> {
        let owner = Ownership { fence: 1, holder: enter.holder.clone() };
        let (host, worktree) = owner.holder.as_ref().map(|holder| (&holder.host, &holder.worktree)).unzip();
        let sql = "INSERT INTO agent (space, name, role, registered_at, seen_at, host, worktree, fence) \
                   VALUES ($1, $2, $3, $4, 0, $5, $6, 1) ON CONFLICT DO NOTHING RETURNING id";
        let query = sqlx::query(sql).bind(self.space).bind(enter.agent.as_str()).bind(NO_ROLE).bind(self.now as i64);
        let made = query.bind(host).bind(worktree).fetch_optional(&mut *self.direct().await?).await?;
        let Some(row) = made else { return Ok(None) };
        let id: i64 = row.try_get(0)?;
        run(self.direct().await?, sqlx::query("INSERT INTO mailbox (agent) VALUES ($1)").bind(id)).await?;
        Ok(Some(AgentRow { id, owner, seen_at: 0 }))
    }

    async fn set_owner(&mut self, agent: &i64, owner: &Ownership) -> Result<(), Fault> {
        let (host, worktree) = owner.holder.as_ref().map(|holder| (&holder.host, &holder.worktree)).unzip();
        let sql = "UPDATE agent SET host = $2, worktree = $3, fence = $4 WHERE id = $1";
        let query = sqlx::query(sql).bind(agent).bind(host).bind(worktree).bind(owner.fence as i64);
        Ok(run(self.direct().await?, query).await?)
    }

    async fn set_profile(&mut self, agent: &i64, profile: &Profile, seen_at: Option<Millis>) -> Result<(), Fault> {
        let sql = "UPDATE agent SET role = coalesce($2, role), module = coalesce($3, module), \
                   intent = coalesce($4, intent), branch = coalesce($5, branch), alias = coalesce($6, alias), \
                   seen_at = coalesce($7, seen_at) WHERE id = $1";
        let query = sqlx::query(sql).bind(agent).bind(profile.role.as_ref().map(|role| role.to_string()));
        let query = query.bind(&profile.module).bind(&profile.intent).bind(&profile.branch).bind(&profile.alias);
        Ok(run(self.direct().await?, query.bind(seen_at.map(|at| at as i64))).await?)
    }

    async fn touch(&mut self, touch: &Touch) -> Result<(), Fault> {
        let names: Vec<String> = touch.agents.iter().map(AgentName::to_string).collect();
        // Rows are locked in order of their numbers, as everywhere.
        let sql = "UPDATE agent SET seen_at = $3 WHERE id IN \
                   (SELECT id FROM agent WHERE space = $1 AND name = ANY($2) ORDER BY id FOR UPDATE)";
        sqlx::query(sql).bind(self.space).bind(names).bind(self.now as i64).execute(&mut *self.direct().await?).await?;
        Ok(())
    }

    async fn rename_agent(&mut self, agent: &i64, from: &AgentName, to: &AgentName) -> Result<(), Fault> {
        let name = sqlx::query("UPDATE agent SET name = $2 WHERE id = $1").bind(agent).bind(to.as_str());
        run(self.direct().await?, name).await?;
        for sql in [
            "UPDATE message SET sender = $3 WHERE space = $1 AND sender = $2",
            "UPDATE tomb SET sender = $3 WHERE space = $1 AND sender = $2",
            "UPDATE groups SET created_by = $3 WHERE space = $1 AND created_by = $2",
            "UPDATE member SET name = $3 WHERE kind = 'agent' AND name = $2 \
             AND grouping_id IN (SELECT id FROM groups WHERE space = $1)",
        ] {
            let query = sqlx::query(sql).bind(self.space).bind(from.as_str()).bind(to.as_str());
            run(self.direct().await?, query).await?;
        }
        Ok(())
    }

    async fn remove_agent(&mut self, agent: &i64, name: &AgentName) -> Result<(), Fault> {
        for sql in [
            "DELETE FROM hint WHERE agent = $1",
            "DELETE FROM delivery WHERE agent = $1",
            "DELETE FROM mailbox WHERE agent = $1",
            "DELETE FROM agent WHERE id = $1",
        ] {
            run(self.direct().await?, sqlx::query(sql).bind(agent)).await?;
        }
        let sql = "DELETE FROM member WHERE kind = 'agent' AND name = $2 \
                   AND grouping_id IN (SELECT id FROM groups WHERE space = $1)";
        let query = sqlx::query(sql).bind(self.space).bind(name.as_str());
        Ok(run(self.direct().await?, query).await?)
    }

    async fn directory(&mut self, append: &Append) -> Result<Directory, Fault> {
        match self.set.directory(append) {
            Some(directory) => Ok(directory),
            None => self.load_directory(append).await,
        }
    }

    async fn group(&mut self, name: &GroupName) -> Result<Option<i64>, Fault> {
        let sql = "SELECT id FROM groups WHERE space = $1 AND name = $2 FOR UPDATE";
        let row =
            sqlx::query(sql).bind(self.space).bind(name.as_str()).fetch_optional(&mut *self.direct().await?).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    async fn count_groups(&mut self) -> Result<u64, Fault> {
        self.count("SELECT count(*) FROM groups WHERE space = $1").await
    }

    async fn insert_group(&mut self, create: &CreateGroup) -> Result<bool, Fault> {
        let sql = "INSERT INTO groups (space, name, description, created_at, created_by) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        let query = sqlx::query(sql).bind(self.space).bind(create.name.as_str()).bind(&create.description);
        let query = query.bind(self.now as i64).bind(create.session.agent.as_str());
        Ok(query.execute(&mut *self.direct().await?).await?.rows_affected() > 0)
    }

    async fn remove_group(&mut self, group: &i64) -> Result<(), Fault> {
        run(self.direct().await?, sqlx::query("DELETE FROM member WHERE grouping_id = $1").bind(group)).await?;
        Ok(run(self.direct().await?, sqlx::query("DELETE FROM groups WHERE id = $1").bind(group)).await?)
    }

    async fn membership(&mut self, group: &i64, member: &Member) -> Result<(u64, bool), Fault> {
        let sql = "SELECT count(*), count(*) FILTER (WHERE kind = $2 AND name = $3) FROM member WHERE grouping_id = $1";
        let query = sqlx::query(sql).bind(group).bind(member.kind.as_str()).bind(&member.id);
        let row = query.fetch_one(&mut *self.direct().await?).await?;
        let (count, same): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok((count as u64, same > 0))
    }

    async fn insert_member(&mut self, group: &i64, member: &Member) -> Result<(), Fault> {
        let query = sqlx::query("INSERT INTO member VALUES ($1, $2, $3)").bind(group);
        Ok(run(self.direct().await?, query.bind(member.kind.as_str()).bind(&member.id)).await?)
    }

    async fn remove_member(&mut self, group: &i64, member: &Member) -> Result<bool, Fault> {
        let sql = "DELETE FROM member WHERE grouping_id = $1 AND kind = $2 AND name = $3";
        let query = sqlx::query(sql).bind(group).bind(member.kind.as_str()).bind(&member.id);
        Ok(query.execute(&mut *self.direct().await?).await?.rows_affected() > 0)
    }
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

pub(super) async fn run(
    db: &mut PgConnection,
    query: sqlx::query::Query<'_, sqlx::Postgres, sqlx::postgres::PgArguments>,
) -> Result<(), sqlx::Error> {
    query.execute(db).await.map(drop)
}
