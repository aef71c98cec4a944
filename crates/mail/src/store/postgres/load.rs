//! Reads the rows for a group of changes in one statement, and locks those that must not change meanwhile. Members of
//! groups take a second statement.

use std::collections::BTreeSet;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row};

use super::Shared;
use super::required_rows::Wants;
use super::rows::holder;
use super::working_rows::{KnownAgent, KnownDelivery};
use super::working_set::WorkingSet;
use crate::model::{AgentName, DeliveryState, Member, MemberKind, MessageId, Millis, Priority, SessionId};
use crate::store::rules::{AgentRow, Mailbox, Ownership};

/// A part of the statement: rows of one kind. The first column says which; [`add`] knows the others. Each part is there
/// only if it is wanted, since a part costs time even if it finds nothing.
type Part = &'static str;

/// Which agents are wanted: those of a name, and those that an address may mean.
const NAMED: Part = "a.space = $1 AND a.name = ANY($2)";
const ADDRESSED: Part = "a.space = $1 AND (a.name = ANY($2) OR a.role = ANY($3) OR a.alias = ANY($3))";
const ALL: Part = "a.space = $1";
/// Those in whose mailboxes the sessions have something in hand.
const HOLDING: Part = "a.space = $1 AND a.id IN (SELECT agent FROM delivery WHERE session = ANY($4))";

/// The members of groups that an address may mean.
const MEMBERS: &[Part] = &[
    "a.space = $1 AND a.name IN (SELECT m.name FROM groups g JOIN member m ON m.grouping_id = g.id \
     WHERE g.space = $1 AND g.name = ANY($3))",
    "a.space = $1 AND a.role IN (SELECT m.name FROM groups g JOIN member m ON m.grouping_id = g.id \
     WHERE g.space = $1 AND g.name = ANY($3))",
];

const AGENTS: Part = "SELECT 0 AS kind, a.id AS n1, a.fence AS n2, a.seen_at AS n3, b.seq AS n4, b.tip AS n5, b.bytes AS n6, \
     b.leased AS n7, b.free AS list, a.name AS t1, a.role AS t2, a.alias AS t3, a.host AS t4, a.worktree AS t5, \
     NULL::bytea AS hash FROM agent a JOIN mailbox b ON b.agent = a.id WHERE ";
const GROUPS: Part = "SELECT 1, 0, 0, 0, 0, 0, 0, 0, NULL, g.name, m.kind, m.name, NULL, NULL, NULL \
     FROM groups g LEFT JOIN member m ON m.grouping_id = g.id WHERE g.space = $1 AND g.name = ANY($3)";
/// Messages that are known, or were.
const KNOWN: Part = "SELECT 2, 0, 0, 0, 0, 0, 0, 0, NULL, public, NULL, NULL, NULL, NULL, NULL FROM message WHERE public = ANY($5) \
     UNION ALL SELECT 2, 0, 0, 0, 0, 0, 0, 0, NULL, public, NULL, NULL, NULL, NULL, NULL FROM tomb WHERE public = ANY($5)";
/// Idempotency keys, and the messages they were used for.
const KEYS: Part = "SELECT 3, 0, 0, 0, 0, 0, 0, 0, NULL, k.sender, k.key, m.public, NULL, NULL, m.hash \
     FROM unnest($6::text[], $7::text[]) AS k(sender, key) \
     JOIN message m ON m.space = $1 AND m.sender = k.sender AND m.key = k.key \
     UNION ALL SELECT 3, 0, 0, 0, 0, 0, 0, 0, NULL, k.sender, k.key, m.public, NULL, NULL, m.hash \
     FROM unnest($6::text[], $7::text[]) AS k(sender, key) \
     JOIN tomb m ON m.space = $1 AND m.sender = k.sender AND m.key = k.key";
/// Messages that readers answer or settle, with their places in the readers' mailboxes.
const MENTIONS: Part = "SELECT 4, coalesce(d.agent, 0), d.seq, d.message, d.priority, d.attempts, d.bytes, d.state, \
     ARRAY[d.at, d.token, d.fetched_at], d.session, p.reader, p.public, m.thread, NULL, NULL \
     FROM unnest($8::text[], $9::text[]) AS p(reader, public) \
     JOIN message m ON m.public = p.public AND m.space = $1 JOIN agent a ON a.space = $1 AND a.name = p.reader \
     LEFT JOIN delivery d ON d.message = m.id AND d.agent = a.id WHERE m.sender = p.reader OR d.seq IS NOT NULL";
/// The messages in hand of the sessions.
const LEASED: Part = "SELECT 5, d.agent, d.seq, d.message, d.priority, d.attempts, d.bytes, d.state, \
     ARRAY[d.at, d.token, d.fetched_at], d.session, NULL, NULL, NULL, NULL, NULL \
     FROM delivery d JOIN agent a ON a.id = d.agent WHERE d.session = ANY($4) AND a.space = $1";
/// The first that can be handed out, of each priority.
const FREE: Part = "SELECT 5, d.agent, d.seq, d.message, d.priority, d.attempts, d.bytes, d.state, \
     ARRAY[d.at, d.token, d.fetched_at], d.session, NULL, NULL, NULL, NULL, NULL \
     FROM unnest($10::text[], $11::bigint[]) AS c(agent, most) JOIN agent a ON a.space = $1 AND a.name = c.agent \
     CROSS JOIN generate_series(0, 3) AS p(level) CROSS JOIN LATERAL ( \
         SELECT * FROM delivery WHERE agent = a.id AND priority = p.level AND state < 3 AND session IS NULL \
         ORDER BY seq LIMIT c.most) d";
/// The time, and numbers for new messages.
const TIME: Part = "SELECT 6, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 0, 0, 0, 0, 0, 0, \
     ARRAY(SELECT nextval('message_id_seq') FROM generate_series(1, $12)), NULL, NULL, NULL, NULL, NULL, NULL";

/// Locks the mailboxes of the wanted agents in the order of their numbers, until the commit. Two daemons lock in the
/// same order. A change may lock another mailbox later: that of the sender of a message that dies. If two daemons
/// deadlock there, the database ends one of the transactions, which is then repeated.
pub(super) async fn lock(db: &mut PgConnection, space: i64, wants: &Wants) -> Result<(), sqlx::Error> {
    let members = MEMBERS.iter().copied().filter(|_| !wants.addresses.is_empty());
    let agents = wanted_conditions(wants).chain(members).map(|which| format!("SELECT a.id FROM agent a WHERE {which}"));
    let agents = agents.collect::<Vec<_>>().join(" UNION ");
    let sql = format!("SELECT agent FROM mailbox WHERE agent IN ({agents}) ORDER BY agent FOR UPDATE");
    bind_names(&sql, space, wants).fetch_all(db).await.map(drop)
}

/// Reads the wanted rows, and the time by the store's clock.
pub(super) async fn load(
    db: &mut PgConnection,
    shared: &Shared,
    wants: Wants,
) -> Result<(WorkingSet, Millis), sqlx::Error> {
    let sql = statement(&wants);
    let (senders, keys): (Vec<_>, Vec<_>) = wants.keys.iter().cloned().unzip();
    let (readers, ids): (Vec<_>, Vec<_>) = wants.mentions.iter().cloned().unzip();
    let (agents, most): (Vec<_>, Vec<_>) = wants.claims.iter().map(|(agent, most)| (agent.clone(), *most)).unzip();
    let query = bind_names(&sql, shared.space, &wants).bind(list(&wants.ids)).bind(senders).bind(keys);
    let query = query.bind(readers).bind(ids).bind(agents).bind(most).bind(wants.messages);
    let rows = query.fetch_all(&mut *db).await?;
    let (mut set, mut now) = (WorkingSet::new(wants), 0);
    for row in &rows {
        now = add(&mut set, row)?.unwrap_or(now);
    }
    let members = set.unknown_members();
    if !members.is_empty() {
        let sql = format!("{AGENTS}{ADDRESSED}");
        let query = sqlx::query(&sql).bind(shared.space).bind(&members).bind(&members);
        for row in query.fetch_all(db).await? {
            add(&mut set, &row)?;
        }
    }
    Ok((set, shared.clock.as_ref().map_or(now, |clock| clock.now())))
}

/// Returns the conditions of the wanted agents.
fn wanted_conditions(wants: &Wants) -> impl Iterator<Item = Part> {
    let named = if wants.everyone {
        ALL
    } else if wants.addresses.is_empty() {
        NAMED
    } else {
        ADDRESSED
    };
    std::iter::once(named).chain(wants.releases.then_some(HOLDING))
}

fn statement(wants: &Wants) -> String {
    let mut sql = String::with_capacity(4096);
    for which in wanted_conditions(wants) {
        if !sql.is_empty() {
            sql.push_str(" UNION ALL ");
        }
        sql.push_str(AGENTS);
        sql.push_str(which);
    }
    let parts = [
        (!wants.addresses.is_empty(), GROUPS),
        (!wants.ids.is_empty(), KNOWN),
        (!wants.keys.is_empty(), KEYS),
        (!wants.mentions.is_empty(), MENTIONS),
        (!wants.sessions.is_empty(), LEASED),
        (!wants.claims.is_empty(), FREE),
        (true, TIME),
    ];
    for (_, part) in parts.iter().filter(|(is_wanted, _)| *is_wanted) {
        sql.push_str(" UNION ALL ");
        sql.push_str(part);
    }
    sql
}

fn bind_names<'q>(sql: &'q str, space: i64, wants: &Wants) -> Query<'q, Postgres, PgArguments> {
    sqlx::query(sql).bind(space).bind(list(&wants.names)).bind(list(&wants.addresses)).bind(list(&wants.sessions))
}

fn list(texts: &BTreeSet<String>) -> Vec<String> {
    texts.iter().cloned().collect()
}

/// Adds a row to the set; returns the time if that is the row.
fn add(set: &mut WorkingSet, row: &PgRow) -> Result<Option<Millis>, sqlx::Error> {
    let number = |column: usize| row.try_get::<i64, _>(column).map(|number| number.max(0) as u64);
    let text = |column: usize| row.try_get::<String, _>(column);
    match row.try_get::<i32, _>(0)? {
        0 => set.add_agent(agent(row)?),
        1 => {
            let member = match (row.try_get::<Option<String>, _>(10)?, row.try_get::<Option<String>, _>(11)?) {
                (Some(kind), Some(id)) => Some(Member { kind: MemberKind::stored(&kind), id }),
                _ => None,
            };
            set.add_group(text(9)?, member);
        }
        2 => set.add_known(text(9)?),
        3 => set.add_key(text(9)?, text(10)?, (MessageId::stored(text(11)?), row.try_get(14)?)),
        4 => {
            let place = row.try_get::<Option<i64>, _>(2)?.map(|seq| (row.try_get::<i64, _>(1), seq.max(0) as u64));
            let place = place.map(|(agent, seq)| Ok::<_, sqlx::Error>((agent?, seq))).transpose()?;
            if let Some((agent, seq)) = place {
                set.add_delivery(agent, seq, delivery(row)?);
            }
            set.add_mention(text(10)?, text(11)?, MessageId::stored(text(12)?), place);
        }
        5 => set.add_delivery(row.try_get(1)?, number(2)?, delivery(row)?),
        _ => {
            set.add_numbers(row.try_get(8)?);
            return Ok(Some(number(1)?));
        }
    }
    Ok(None)
}

fn agent(row: &PgRow) -> Result<KnownAgent, sqlx::Error> {
    let number = |column: usize| row.try_get::<i64, _>(column).map(|number| number.max(0) as u64);
    let id = row.try_get(1)?;
    let mut free = [0; 4];
    for (level, count) in free.iter_mut().zip(row.try_get::<Vec<i64>, _>(8)?) {
        *level = count.max(0) as u64;
    }
    let mailbox =
        Mailbox { agent: id, seq: number(4)?, version: number(5)?, bytes: number(6)?, free, leased: number(7)? };
    let owner = Ownership { fence: number(2)?, holder: holder(row.try_get(12)?, row.try_get(13)?) };
    Ok(KnownAgent {
        name: AgentName::stored(row.try_get::<String, _>(9)?),
        role: row.try_get(10)?,
        alias: row.try_get(11)?,
        row: AgentRow { id, owner, seen_at: number(3)? },
        before: mailbox,
        mailbox,
        is_used: false,
    })
}

fn delivery(row: &PgRow) -> Result<KnownDelivery, sqlx::Error> {
    let number = |column: usize| row.try_get::<i64, _>(column);
    let times: Vec<Option<i64>> = row.try_get(8)?;
    let (at, token) = (times.first().copied().flatten(), times.get(1).copied().flatten());
    let lease = row.try_get::<Option<String>, _>(9)?.zip(token);
    Ok(KnownDelivery {
        message: number(3)?,
        priority: Priority::from_level(number(4)? as u8),
        at: at.unwrap_or_default(),
        bytes: number(6)?.max(0) as u64,
        state: DeliveryState::from_level(number(7)? as u8),
        lease: lease.map(|(session, token)| (SessionId::stored(session), token as u64)),
        attempts: number(5)?.max(0) as u32,
        fetched_at: times.get(2).copied().flatten().map(|at| at as u64),
        is_new: false,
        is_changed: false,
        fetched_by: None,
        is_read: false,
        is_settled: false,
        note: None,
    })
}
