//! Queries of an SQLite store.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::model::search_words::split_words;
use crate::model::{
    Agent, AgentName, Delivery, DeliveryState, Group, GroupName, HintAttempt, Holder, Kind, Liveness, Member,
    MemberKind, MessageId, MessageView, Millis, Priority, Role, SessionId,
};
use crate::store::query::{Among, Counts, Fetch, Fetched, Query, QueryResult, Roster, Search};
use crate::store::rules;

/// The columns of a message's row `m` that [`message`] reads; the sequence in the reader's mailbox follows.
macro_rules! message_columns {
    () => {
        "m.public, m.kind, m.sender, m.addresses, m.content, m.priority, m.at, coalesce(m.thread, m.public), \
         m.reply_to, m.metadata"
    };
}
pub(super) use message_columns;

pub(super) fn answer(db: &Connection, space: i64, now: Millis, query: Query) -> rusqlite::Result<QueryResult> {
    let look = Look { db, space };
    Ok(match query {
        Query::Agents(_) => QueryResult::Agents(Roster { now, agents: look.agents()? }),
        Query::Groups(it) => QueryResult::Groups(look.groups(it.name.as_ref())?),
        Query::Inbox(it) => QueryResult::Inbox(look.inbox(&it.agent)?),
        Query::Fetch(it) => QueryResult::Fetch(look.fetch(&it)?),
        Query::Find(it) => QueryResult::Find(look.find(&it.agent, &it.id)?),
        Query::Thread(it) => QueryResult::Thread(look.thread(&it.agent, &it.id, it.limit)?),
        Query::Search(it) => QueryResult::Search(look.search(&it)?),
        Query::Status(it) => QueryResult::Status(look.status(&it.agent, &it.id)?),
        Query::Versions(it) => {
            let sql = "SELECT b.tip FROM agent a JOIN mailbox b ON b.agent = a.id WHERE a.space = ?1 AND a.name = ?2";
            let mut statement = db.prepare_cached(sql)?;
            let mut versions = std::collections::BTreeMap::new();
            for agent in it.agents {
                let version = statement.query_row(params![space, agent.as_str()], |row| row.get(0)).optional()?;
                versions.extend(version.map(|version| (agent, version)));
            }
            QueryResult::Versions(versions)
        }
        Query::Leases(_) => {
            let sql = "SELECT DISTINCT d.session FROM delivery d INDEXED BY delivery_open JOIN agent a ON a.id = d.agent \
                       WHERE d.session IS NOT NULL AND d.state < 3 AND a.space = ?1";
            let mut statement = db.prepare_cached(sql)?;
            let rows = statement.query_map([space], |row| Ok(SessionId::stored(row.get::<_, String>(0)?)))?;
            QueryResult::Leases(rows.collect::<rusqlite::Result<_>>()?)
        }
    })
}

struct Look<'a> {
    db: &'a Connection,
    space: i64,
}

impl Look<'_> {
    fn agents(&self) -> rusqlite::Result<Vec<Agent>> {
        let sql = "SELECT a.name, a.role, a.module, a.intent, a.branch, a.registered_at, a.seen_at, a.host, \
                   a.worktree, b.free0 + b.free1 + b.free2 + b.free3 + b.leased, a.fence \
                   FROM agent a JOIN mailbox b ON b.agent = a.id WHERE a.space = ?1 ORDER BY a.name";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([self.space], |row| {
            let seen_at: Millis = row.get(6)?;
            let holder = match (row.get::<_, Option<String>>(7)?, row.get::<_, Option<String>>(8)?) {
                (Some(host), Some(worktree)) => Some(Holder { host, worktree }),
                _ => None,
            };
            Ok(Agent {
                name: AgentName::stored(row.get::<_, String>(0)?),
                role: Role::stored(row.get::<_, String>(1)?),
                module: row.get(2)?,
                intent: row.get(3)?,
                branch: row.get(4)?,
                registered_at: row.get(5)?,
                seen_at,
                standing: Liveness::Offline,
                unread: row.get(9)?,
                holder,
                fence: row.get(10)?,
            })
        })?;
        rows.collect()
    }

    fn groups(&self, name: Option<&GroupName>) -> rusqlite::Result<Vec<Group>> {
        let mut found = Vec::new();
        if name.is_none_or(GroupName::is_everyone) {
            let sql = "SELECT count(*) FROM agent WHERE space = ?1 AND name <> 'user'";
            let count = self.db.prepare_cached(sql)?.query_row([self.space], |row| row.get(0))?;
            found.push(rules::agents::everyone(count));
        }
        let sql = "SELECT id, name, description, created_at, created_by FROM groups \
                   WHERE space = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY name";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params![self.space, name.map(GroupName::as_str)], |row| {
            let group = Group {
                name: GroupName::stored(row.get::<_, String>(1)?),
                description: row.get(2)?,
                created_at: row.get(3)?,
                created_by: AgentName::stored(row.get::<_, String>(4)?),
                members: Vec::new(),
                member_count: 0,
            };
            Ok((row.get::<_, i64>(0)?, group))
        })?;
        let mut members =
            self.db.prepare_cached("SELECT kind, name FROM member WHERE grouping = ?1 ORDER BY kind, name")?;
        for row in rows {
            let (id, mut group) = row?;
            let of = members.query_map([id], |row| {
                Ok(Member { kind: MemberKind::stored(&row.get::<_, String>(0)?), id: row.get(1)? })
            })?;
            group.members = of.collect::<rusqlite::Result<_>>()?;
            group.member_count = group.members.len() as u64;
            found.push(group);
        }
        Ok(found)
    }

    fn inbox(&self, agent: &AgentName) -> rusqlite::Result<Counts> {
        let sql = "SELECT b.free0, b.free1, b.free2, b.free3, b.leased, b.seq FROM agent a \
                   JOIN mailbox b ON b.agent = a.id WHERE a.space = ?1 AND a.name = ?2";
        let row = |row: &Row<'_>| {
            Ok(Counts {
                free: [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?],
                leased: row.get(4)?,
                latest_seq: row.get(5)?,
            })
        };
        let found = self.db.prepare_cached(sql)?.query_row(params![self.space, agent.as_str()], row).optional()?;
        Ok(found.unwrap_or_default())
    }

    fn agent_id(&self, agent: &AgentName) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT id FROM agent WHERE space = ?1 AND name = ?2";
        self.db.prepare_cached(sql)?.query_row(params![self.space, agent.as_str()], |row| row.get(0)).optional()
    }

    fn fetch(&self, fetch: &Fetch) -> rusqlite::Result<Fetched> {
        // One transaction, so that the counts match the messages. A query of the commit hook already runs in one.
        let _snapshot = if self.db.is_autocommit() { Some(self.db.unchecked_transaction()?) } else { None };
        let sql = "SELECT a.id, b.seq FROM agent a JOIN mailbox b ON b.agent = a.id WHERE a.space = ?1 AND a.name = ?2";
        let values = params![self.space, fetch.agent.as_str()];
        let found = self.db.prepare_cached(sql)?.query_row(values, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((agent, latest_seq)): Option<(i64, u64)> = found else { return Ok(Fetched::default()) };
        let (after, floor) = (i64::try_from(fetch.after).unwrap_or(i64::MAX), fetch.floor.least().level());
        let states = if fetch.among == Among::All { i64::MAX } else { 3 };
        let is_free_only = fetch.among == Among::Free;
        let sql = concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM delivery d JOIN message m ON m.id = d.message WHERE d.agent = ?1 AND d.seq > ?2 \
             AND d.priority >= ?3 AND d.state < ?4 AND (NOT ?5 OR d.session IS NULL) ORDER BY d.seq LIMIT ?6"
        );
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params![agent, after, floor, states, is_free_only, fetch.limit], message)?;
        let messages = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        if floor == 0 && messages.len() < fetch.limit {
            return Ok(Fetched { messages, remaining: 0, below_floor: 0, latest_seq });
        }
        let sql = "SELECT count(*) FILTER (WHERE priority >= ?3), count(*) FILTER (WHERE priority < ?3) \
                   FROM delivery WHERE agent = ?1 AND seq > ?2 AND state < ?4 AND (NOT ?5 OR session IS NULL)";
        let (passing, below_floor): (u64, u64) = self
            .db
            .prepare_cached(sql)?
            .query_row(params![agent, after, floor, states, is_free_only], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Fetched { remaining: passing - messages.len() as u64, messages, below_floor, latest_seq })
    }

    fn find(&self, agent: &AgentName, id: &MessageId) -> rusqlite::Result<Option<MessageView>> {
        let sql = concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM message m LEFT JOIN delivery d ON d.message = m.id AND d.agent = ?2 \
             WHERE m.public = ?3 AND m.space = ?1 AND (m.sender = ?4 OR d.seq IS NOT NULL)"
        );
        let values = params![self.space, self.agent_id(agent)?, id.as_str(), agent.as_str()];
        self.db.prepare_cached(sql)?.query_row(values, message).optional()
    }

    fn thread(&self, agent: &AgentName, id: &MessageId, limit: usize) -> rusqlite::Result<Option<Vec<MessageView>>> {
        let Some(start) = self.find(agent, id)? else { return Ok(None) };
        let sql = concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM message m LEFT JOIN delivery d ON d.message = m.id AND d.agent = ?2 \
             WHERE (m.thread = ?3 OR m.public = ?3) AND m.space = ?1 AND (m.sender = ?4 OR d.seq IS NOT NULL) \
             ORDER BY m.id DESC LIMIT ?5"
        );
        let mut statement = self.db.prepare_cached(sql)?;
        let values = params![self.space, self.agent_id(agent)?, start.thread.as_str(), agent.as_str(), limit];
        let rows = statement.query_map(values, message)?;
        let mut found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        found.reverse();
        Ok(Some(found))
    }

    fn search(&self, search: &Search) -> rusqlite::Result<Vec<MessageView>> {
        let Some(agent) = &search.agent else { return Ok(Vec::new()) };
        let mut sql = String::from(concat!(
            "SELECT ",
            message_columns!(),
            ", d.seq FROM message m LEFT JOIN delivery d ON d.message = m.id AND d.agent = ?2 \
             WHERE m.space = ?1 AND (m.sender = ?3 OR d.seq IS NOT NULL)"
        ));
        let mut values: Vec<Value> =
            vec![self.space.into(), self.agent_id(agent)?.into(), agent.as_str().to_owned().into()];
        if !search.words.is_empty() {
            // Each word is quoted, so that it contains no operator.
            let wanted: Vec<String> = search.words.iter().map(|word| format!("\"{word}\"")).collect();
            values.push(wanted.join(" AND ").into());
            values.push(format!("{:?}", self.not_indexed(&search.words)?).into());
            sql.push_str(
                " AND m.id IN (SELECT rowid FROM words WHERE words MATCH ?4 UNION ALL SELECT value FROM json_each(?5))",
            );
        }
        let mut and = |condition: &str, value: Value| {
            values.push(value);
            sql.push_str(" AND ");
            sql.push_str(&condition.replace("??", &format!("?{}", values.len())));
        };
        if let Some(from) = &search.from {
            and("m.sender = ??", from.as_str().to_owned().into());
        }
        if let Some(to) = &search.to {
            let of = "EXISTS (SELECT 1 FROM delivery t WHERE t.message = m.id AND t.agent = ??)";
            and(of, self.agent_id(to)?.into());
        }
        if let Some(since) = search.since {
            and("m.at >= ??", i64::try_from(since).unwrap_or(i64::MAX).into());
        }
        if let Some(until) = search.until {
            and("m.at <= ??", i64::try_from(until).unwrap_or(i64::MAX).into());
        }
        if let Some(start) = &search.id {
            // Not `LIKE`: an id holds `_`, which is a wildcard there.
            and("substr(lower(m.public), 1, length(??)) = ??", start.clone().into());
        }
        sql.push_str(&format!(" ORDER BY m.id DESC LIMIT {}", search.limit));
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), message)?;
        rows.collect()
    }

    /// Returns the messages that contain every word but are not in the index, which cannot be updated on a read-only
    /// store.
    fn not_indexed(&self, wanted: &BTreeSet<String>) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT id, content FROM message WHERE id > (SELECT message FROM indexed) ORDER BY id";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let text = split_words(&String::from_utf8_lossy(row.get_ref(1)?.as_bytes()?));
            if wanted.iter().all(|word| text.contains(word)) {
                found.push(row.get(0)?);
            }
        }
        Ok(found)
    }

    fn status(&self, agent: &AgentName, id: &MessageId) -> rusqlite::Result<Option<Vec<Delivery>>> {
        if self.find(agent, id)?.is_none() {
            return Ok(None);
        }
        let sql = "SELECT a.name, d.state, m.at, d.hinted_at, d.fetched_at, d.fetched_by, d.read_at, d.settled_at, \
                   d.note, d.attempts, d.message, d.agent FROM message m JOIN delivery d ON d.message = m.id \
                   JOIN agent a ON a.id = d.agent WHERE m.public = ?1 ORDER BY a.name";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([id.as_str()], |row| {
            let delivery = Delivery {
                recipient: AgentName::stored(row.get::<_, String>(0)?),
                state: DeliveryState::from_level(row.get(1)?),
                stored_at: row.get(2)?,
                hinted_at: row.get(3)?,
                fetched_at: row.get(4)?,
                fetched_by: row.get::<_, Option<String>>(5)?.map(SessionId::stored),
                read_at: row.get(6)?,
                settled_at: row.get(7)?,
                note: row.get(8)?,
                attempts: row.get(9)?,
                hints: Vec::new(),
            };
            Ok((delivery, row.get::<_, i64>(10)?, row.get::<_, i64>(11)?))
        })?;
        let sql = "SELECT rung, at, outcome FROM hint WHERE message = ?1 AND agent = ?2 ORDER BY at, rung";
        let mut hints = self.db.prepare_cached(sql)?;
        let mut found = Vec::new();
        for row in rows {
            let (mut delivery, message, agent) = row?;
            let tried = hints.query_map([message, agent], |row| {
                Ok(HintAttempt { rung: row.get(0)?, at: row.get(1)?, outcome: row.get(2)? })
            })?;
            delivery.hints = tried.collect::<rusqlite::Result<_>>()?;
            found.push(delivery);
        }
        Ok(Some(found))
    }
}

/// Reads the columns of [`message_columns`], then the sequence in the mailbox.
pub(super) fn message(row: &Row<'_>) -> rusqlite::Result<MessageView> {
    Ok(MessageView {
        id: MessageId::stored(row.get::<_, String>(0)?),
        kind: if row.get::<_, u8>(1)? == 0 { Kind::Mail } else { Kind::Report },
        from: AgentName::stored(row.get::<_, String>(2)?),
        to: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default(),
        content: row.get(4)?,
        priority: Priority::from_level(row.get(5)?),
        at: row.get(6)?,
        thread: MessageId::stored(row.get::<_, String>(7)?),
        reply_to: row.get::<_, Option<String>>(8)?.map(MessageId::stored),
        metadata: serde_json::from_str(&row.get::<_, String>(9)?).unwrap_or_default(),
        seq: row.get::<_, Option<u64>>(10)?.unwrap_or(0),
    })
}
