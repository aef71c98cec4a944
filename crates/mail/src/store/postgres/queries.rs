//! Queries of a PostgreSQL store.

use std::collections::BTreeMap;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, QueryBuilder, Row};

use super::Shared;
use super::rows::holder;
use super::transaction::now;
use super::writer::HEARTBEAT;
use crate::model::{
    Agent, AgentName, Delivery, DeliveryState, Group, GroupName, HintAttempt, Kind, Liveness, Member, MemberKind,
    MessageId, MessageView, Millis, Priority, Role, SessionId,
};
use crate::store::query::{Among, Counts, Fetch, Fetched, Query, QueryResult, Roster, Search};
use crate::store::rules;

/// The columns of a message's row `m` that [`message`] reads; the sequence in the reader's mailbox follows.
macro_rules! message_columns {
    () => {
        "m.public, m.kind, m.sender, m.addresses, m.content, m.priority, m.at, m.thread, m.reply_to, m.metadata"
    };
}
pub(super) use message_columns;

pub(super) async fn answer(db: &mut PgConnection, shared: &Shared, query: Query) -> Result<QueryResult, sqlx::Error> {
    let now = now(db, shared).await?;
    let mut look = Look { db, space: shared.space };
    Ok(match query {
        Query::Agents(_) => QueryResult::Agents(Roster { now, agents: look.agents().await? }),
        Query::Groups(it) => QueryResult::Groups(look.groups(it.name.as_ref()).await?),
        Query::Inbox(it) => QueryResult::Inbox(look.inbox(&it.agent).await?),
        Query::Fetch(it) => QueryResult::Fetch(look.fetch(&it).await?),
        Query::Find(it) => QueryResult::Find(look.find(&it.agent, &it.id).await?),
        Query::Thread(it) => QueryResult::Thread(look.thread(&it.agent, &it.id, it.limit).await?),
        Query::Search(it) => QueryResult::Search(look.search(&it).await?),
        Query::Status(it) => QueryResult::Status(look.status(&it.agent, &it.id).await?),
        Query::Versions(it) => QueryResult::Versions(look.versions(it.agents).await?),
        Query::Leases(_) => QueryResult::Leases(look.leases(&shared.owner, now).await?),
    })
}

struct Look<'a> {
    db: &'a mut PgConnection,
    space: i64,
}

impl Look<'_> {
    async fn agents(&mut self) -> Result<Vec<Agent>, sqlx::Error> {
        let sql = "SELECT a.name, a.role, a.module, a.intent, a.branch, a.registered_at, a.seen_at, a.host, \
                   a.worktree, b.free[1] + b.free[2] + b.free[3] + b.free[4] + b.leased, a.fence \
                   FROM agent a JOIN mailbox b ON b.agent = a.id WHERE a.space = $1 ORDER BY a.name";
        let rows = sqlx::query(sql).bind(self.space).fetch_all(&mut *self.db).await?;
        let agent = |row: &PgRow| -> Result<Agent, sqlx::Error> {
            let seen_at = unsigned(row, 6)?;
            Ok(Agent {
                name: AgentName::stored(row.try_get::<String, _>(0)?),
                role: Role::stored(row.try_get::<String, _>(1)?),
                module: row.try_get(2)?,
                intent: row.try_get(3)?,
                branch: row.try_get(4)?,
                registered_at: unsigned(row, 5)?,
                seen_at,
                standing: Liveness::Offline,
                unread: unsigned(row, 9)?,
                holder: holder(row.try_get(7)?, row.try_get(8)?),
                fence: unsigned(row, 10)?,
            })
        };
        rows.iter().map(agent).collect()
    }

    async fn groups(&mut self, name: Option<&GroupName>) -> Result<Vec<Group>, sqlx::Error> {
        let mut found = Vec::new();
        if name.is_none_or(GroupName::is_everyone) {
            let sql = "SELECT count(*) FROM agent WHERE space = $1 AND name <> 'user'";
            let row = sqlx::query(sql).bind(self.space).fetch_one(&mut *self.db).await?;
            found.push(rules::agents::everyone(unsigned(&row, 0)?));
        }
        let sql = "SELECT g.name, g.description, g.created_at, g.created_by, m.kind, m.name FROM groups g \
                   LEFT JOIN member m ON m.grouping_id = g.id WHERE g.space = $1 AND ($2::text IS NULL OR g.name = $2) \
                   ORDER BY g.name, m.kind, m.name";
        let query = sqlx::query(sql).bind(self.space).bind(name.map(GroupName::as_str));
        for row in query.fetch_all(&mut *self.db).await? {
            let name = GroupName::stored(row.try_get::<String, _>(0)?);
            if found.last().is_none_or(|group: &Group| group.name != name) {
                found.push(Group {
                    name,
                    description: row.try_get(1)?,
                    created_at: unsigned(&row, 2)?,
                    created_by: AgentName::stored(row.try_get::<String, _>(3)?),
                    members: Vec::new(),
                    member_count: 0,
                });
            }
            let (kind, id): (Option<String>, Option<String>) = (row.try_get(4)?, row.try_get(5)?);
            if let (Some(kind), Some(id), Some(group)) = (kind, id, found.last_mut()) {
                group.members.push(Member { kind: MemberKind::stored(&kind), id });
                group.member_count += 1;
            }
        }
        Ok(found)
    }

    async fn inbox(&mut self, agent: &AgentName) -> Result<Counts, sqlx::Error> {
        let sql = "SELECT b.free, b.leased, b.seq FROM agent a JOIN mailbox b ON b.agent = a.id \
                   WHERE a.space = $1 AND a.name = $2";
        let query = sqlx::query(sql).bind(self.space).bind(agent.as_str());
        let Some(row) = query.fetch_optional(&mut *self.db).await? else { return Ok(Counts::default()) };
        let mut counts = Counts { leased: unsigned(&row, 1)?, latest_seq: unsigned(&row, 2)?, ..Counts::default() };
        for (to, from) in counts.free.iter_mut().zip(row.try_get::<Vec<i64>, _>(0)?) {
            *to = from.max(0) as u64;
        }
        Ok(counts)
    }

    async fn agent_id(&mut self, agent: &AgentName) -> Result<Option<i64>, sqlx::Error> {
        let query = sqlx::query("SELECT id FROM agent WHERE space = $1 AND name = $2").bind(self.space);
        let row = query.bind(agent.as_str()).fetch_optional(&mut *self.db).await?;
        row.map(|row| row.try_get(0)).transpose()
    }

    async fn fetch(&mut self, fetch: &Fetch) -> Result<Fetched, sqlx::Error> {
        let Some(agent) = self.agent_id(&fetch.agent).await? else { return Ok(Fetched::default()) };
        let after = i64::try_from(fetch.after).unwrap_or(i64::MAX);
        let floor = i16::from(fetch.floor.least().level());
        let states: i16 = if fetch.among == Among::All { i16::MAX } else { 3 };
        let is_free_only = fetch.among == Among::Free;
        // Counted first: a message that arrives in between is not missed, only not counted yet.
        let sql = "SELECT count(*) FILTER (WHERE priority >= $3), count(*) FILTER (WHERE priority < $3), \
                   (SELECT seq FROM mailbox WHERE agent = $1) FROM delivery \
                   WHERE agent = $1 AND seq > $2 AND state < $4 AND (NOT $5 OR session IS NULL)";
        let query = sqlx::query(sql).bind(agent).bind(after).bind(floor).bind(states).bind(is_free_only);
        let counts = query.fetch_one(&mut *self.db).await?;
        let sql = concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM delivery d JOIN message m ON m.id = d.message WHERE d.agent = $1 AND d.seq > $2 \
             AND d.priority >= $3 AND d.state < $4 AND (NOT $5 OR d.session IS NULL) ORDER BY d.seq LIMIT $6"
        );
        let query = sqlx::query(sql).bind(agent).bind(after).bind(floor).bind(states).bind(is_free_only);
        let rows = query.bind(fetch.limit as i64).fetch_all(&mut *self.db).await?;
        let messages = rows.iter().map(message).collect::<Result<Vec<_>, _>>()?;
        Ok(Fetched {
            remaining: unsigned(&counts, 0)?.saturating_sub(messages.len() as u64),
            below_floor: unsigned(&counts, 1)?,
            latest_seq: unsigned(&counts, 2)?.max(messages.last().map_or(0, |message| message.seq)),
            messages,
        })
    }

    async fn find(&mut self, agent: &AgentName, id: &MessageId) -> Result<Option<MessageView>, sqlx::Error> {
        let reader = self.agent_id(agent).await?;
        let sql = concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM message m LEFT JOIN delivery d ON d.message = m.id AND d.agent = $2 \
             WHERE m.public = $3 AND m.space = $1 AND (m.sender = $4 OR d.seq IS NOT NULL)"
        );
        let query = sqlx::query(sql).bind(self.space).bind(reader).bind(id.as_str()).bind(agent.as_str());
        query.fetch_optional(&mut *self.db).await?.as_ref().map(message).transpose()
    }

    async fn thread(
        &mut self,
        agent: &AgentName,
        id: &MessageId,
        limit: usize,
    ) -> Result<Option<Vec<MessageView>>, sqlx::Error> {
        let Some(start) = self.find(agent, id).await? else { return Ok(None) };
        let reader = self.agent_id(agent).await?;
        let sql = concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM message m LEFT JOIN delivery d ON d.message = m.id AND d.agent = $2 \
             WHERE m.thread = $3 AND m.space = $1 AND (m.sender = $4 OR d.seq IS NOT NULL) ORDER BY m.id DESC LIMIT $5"
        );
        let query = sqlx::query(sql).bind(self.space).bind(reader).bind(start.thread.as_str());
        let rows = query.bind(agent.as_str()).bind(limit as i64).fetch_all(&mut *self.db).await?;
        rows.iter().rev().map(message).collect::<Result<Vec<_>, _>>().map(Some)
    }

    async fn search(&mut self, search: &Search) -> Result<Vec<MessageView>, sqlx::Error> {
        let Some(agent) = &search.agent else { return Ok(Vec::new()) };
        let reader = self.agent_id(agent).await?;
        let to = match &search.to {
            Some(to) => Some(self.agent_id(to).await?),
            None => None,
        };
        let mut sql: QueryBuilder<'_, Postgres> = QueryBuilder::new(concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM message m LEFT JOIN delivery d ON d.message = m.id AND d.agent = "
        ));
        sql.push_bind(reader).push(" WHERE m.space = ").push_bind(self.space);
        sql.push(" AND (d.seq IS NOT NULL OR m.sender = ").push_bind(agent.as_str()).push(")");
        if !search.words.is_empty() {
            sql.push(" AND m.words @> ").push_bind(search.words.iter().cloned().collect::<Vec<String>>());
        }
        if let Some(from) = &search.from {
            sql.push(" AND m.sender = ").push_bind(from.as_str());
        }
        if let Some(to) = to {
            sql.push(" AND EXISTS (SELECT 1 FROM delivery t WHERE t.message = m.id AND t.agent = ");
            sql.push_bind(to).push(")");
        }
        if let Some(since) = search.since {
            sql.push(" AND m.at >= ").push_bind(i64::try_from(since).unwrap_or(i64::MAX));
        }
        if let Some(until) = search.until {
            sql.push(" AND m.at <= ").push_bind(i64::try_from(until).unwrap_or(i64::MAX));
        }
        if let Some(start) = &search.id {
            sql.push(" AND starts_with(lower(m.public), ").push_bind(start.as_str()).push(")");
        }
        sql.push(" ORDER BY m.id DESC LIMIT ").push_bind(search.limit as i64);
        sql.build().fetch_all(&mut *self.db).await?.iter().map(message).collect()
    }

    async fn status(&mut self, agent: &AgentName, id: &MessageId) -> Result<Option<Vec<Delivery>>, sqlx::Error> {
        if self.find(agent, id).await?.is_none() {
            return Ok(None);
        }
        let sql = "SELECT a.name, d.state, m.at, d.hinted_at, d.fetched_at, d.fetched_by, d.read_at, d.settled_at, \
                   d.note, d.attempts FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = $1 ORDER BY a.name";
        let rows = sqlx::query(sql).bind(id.as_str()).fetch_all(&mut *self.db).await?;
        let sql = "SELECT a.name, h.rung, h.at, h.outcome FROM message m JOIN hint h ON h.message = m.id \
                   JOIN agent a ON a.id = h.agent WHERE m.public = $1 ORDER BY h.at, h.rung";
        let mut hints: BTreeMap<String, Vec<HintAttempt>> = BTreeMap::new();
        for row in sqlx::query(sql).bind(id.as_str()).fetch_all(&mut *self.db).await? {
            let hint = HintAttempt { rung: row.try_get(1)?, at: unsigned(&row, 2)?, outcome: row.try_get(3)? };
            hints.entry(row.try_get(0)?).or_default().push(hint);
        }
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            let name: String = row.try_get(0)?;
            let time = |column| -> Result<Option<Millis>, sqlx::Error> {
                Ok(row.try_get::<Option<i64>, _>(column)?.map(|at| at.max(0) as u64))
            };
            found.push(Delivery {
                state: DeliveryState::from_level(row.try_get::<i16, _>(1)? as u8),
                stored_at: unsigned(row, 2)?,
                hinted_at: time(3)?,
                fetched_at: time(4)?,
                fetched_by: row.try_get::<Option<String>, _>(5)?.map(SessionId::stored),
                read_at: time(6)?,
                settled_at: time(7)?,
                note: row.try_get::<Option<Vec<u8>>, _>(8)?.map(|note| String::from_utf8_lossy(&note).into_owned()),
                attempts: row.try_get::<i32, _>(9)?.max(0) as u32,
                hints: hints.remove(&name).unwrap_or_default(),
                recipient: AgentName::stored(name),
            });
        }
        Ok(Some(found))
    }

    async fn versions(&mut self, agents: Vec<AgentName>) -> Result<BTreeMap<AgentName, u64>, sqlx::Error> {
        let names: Vec<String> = agents.iter().map(AgentName::to_string).collect();
        let sql = "SELECT a.name, b.tip FROM agent a JOIN mailbox b ON b.agent = a.id \
                   WHERE a.space = $1 AND a.name = ANY($2)";
        let rows = sqlx::query(sql).bind(self.space).bind(names).fetch_all(&mut *self.db).await?;
        let version = |row: &PgRow| Ok((AgentName::stored(row.try_get::<String, _>(0)?), unsigned(row, 1)?));
        rows.iter().map(version).collect()
    }

    /// Returns the sessions of this daemon, and of daemons that have long been silent.
    async fn leases(&mut self, owner: &str, now: Millis) -> Result<Vec<SessionId>, sqlx::Error> {
        let silent = now.saturating_sub(rules::millis(HEARTBEAT * 4));
        let sql = "SELECT DISTINCT d.session FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.session IS NOT NULL \
                   AND a.space = $1 AND (d.owner = $2 OR NOT EXISTS \
                   (SELECT 1 FROM daemon o WHERE o.owner = d.owner AND o.seen_at > $3))";
        let query = sqlx::query(sql).bind(self.space).bind(owner).bind(silent as i64);
        let rows = query.fetch_all(&mut *self.db).await?;
        rows.iter().map(|row| Ok(SessionId::stored(row.try_get::<String, _>(0)?))).collect()
    }
}

fn unsigned(row: &PgRow, column: usize) -> Result<u64, sqlx::Error> {
    Ok(row.try_get::<i64, _>(column)?.max(0) as u64)
}

/// Reads the columns of [`message_columns`], then the sequence in the mailbox.
pub(super) fn message(row: &PgRow) -> Result<MessageView, sqlx::Error> {
    let content: Vec<u8> = row.try_get(4)?;
    Ok(MessageView {
        id: MessageId::stored(row.try_get::<String, _>(0)?),
        kind: if row.try_get::<i16, _>(1)? == 0 { Kind::Mail } else { Kind::Report },
        from: AgentName::stored(row.try_get::<String, _>(2)?),
        to: serde_json::from_str(row.try_get::<&str, _>(3)?).unwrap_or_default(),
        content: String::from_utf8(content)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        priority: Priority::from_level(row.try_get::<i16, _>(5)? as u8),
        at: unsigned(row, 6)?,
        thread: MessageId::stored(row.try_get::<String, _>(7)?),
        reply_to: row.try_get::<Option<String>, _>(8)?.map(MessageId::stored),
        metadata: serde_json::from_str(row.try_get::<&str, _>(9)?).unwrap_or_default(),
        seq: row.try_get::<Option<i64>, _>(10)?.unwrap_or(0) as u64,
    })
}
