//! Writes the changes of a group from its [`WorkingSet`], in one statement. The mailboxes that the changes depend on
//! are locked in the order of their numbers and compared with the rows that were read. If one has changed, nothing is
//! written.
//!
//! Every event in a mailbox changes its row, and no row ever returns to an earlier state: `seq` and `tip` only rise;
//! while both stay, `bytes` only falls; while that stays too, `leased` only rises.

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row};

use super::Shared;
use super::working_rows::{KnownAgent, KnownDelivery, NewRow};
use super::working_set::WorkingSet;
use crate::model::{Kind, Millis};

/// A part of the statement. Each is there only if it has something to write. Row `i` of a part is the `i`-th element of
/// each of its arrays.
type Part = &'static str;

const COMPARE: Part = "WITH locked AS MATERIALIZED ( \
         SELECT agent, seq, tip, bytes, leased FROM mailbox WHERE agent = ANY($1) ORDER BY agent FOR UPDATE), \
     same AS MATERIALIZED ( \
         SELECT count(*) = cardinality($1) AS holds FROM (SELECT *, row_number() OVER ()::integer AS i FROM locked) l \
         WHERE agent = ($1)[i] AND seq = ($2)[i] AND tip = ($3)[i] AND bytes = ($4)[i] AND leased = ($5)[i])";
const MESSAGES: Part = ", messages AS (INSERT INTO message (id, public, space, kind, sender, addresses, content, words, \
         priority, at, thread, reply_to, metadata, key, hash) \
         SELECT ($7)[i], ($8)[i], $6, ($9)[i], ($10)[i], ($11)[i], ($12)[i], string_to_array(($13)[i], ' '), ($14)[i], \
         ($15)[i], ($16)[i], ($17)[i], ($18)[i], ($19)[i], ($20)[i] \
         FROM generate_series(1, cardinality($7)) AS i WHERE (SELECT holds FROM same))";
const ARRIVED: Part = ", arrived AS (INSERT INTO delivery (agent, seq, message, priority, at, bytes) \
         SELECT ($23)[i], ($24)[i], ($25)[i], ($26)[i], ($27)[i], ($28)[i] \
         FROM generate_series(1, cardinality($23)) AS i WHERE (SELECT holds FROM same))";
/// The messages that arrived and were handed out at once.
const ARRIVED_CHANGED: Part = ", arrived AS (INSERT INTO delivery (agent, seq, message, priority, at, bytes, state, \
         session, token, owner, attempts, fetched_at, fetched_by, read_at, settled_at, note) \
         SELECT ($23)[i], ($24)[i], ($25)[i], ($26)[i], ($27)[i], ($28)[i], ($29)[i], ($30)[i], ($31)[i], \
         CASE WHEN ($30)[i] IS NOT NULL THEN $21 END, ($32)[i], CASE WHEN ($33)[i] IS NOT NULL THEN $22 END, ($33)[i], \
         CASE WHEN ($34)[i] THEN $22 END, CASE WHEN ($35)[i] THEN $22 END, ($36)[i] \
         FROM generate_series(1, cardinality($23)) AS i WHERE (SELECT holds FROM same))";
const CHANGED: Part = ", changed AS (UPDATE delivery d SET state = ($39)[i], session = ($40)[i], token = ($41)[i], \
         owner = CASE WHEN ($40)[i] IS NOT NULL THEN $21 END, attempts = ($42)[i], \
         fetched_at = CASE WHEN ($43)[i] IS NULL THEN d.fetched_at ELSE $22 END, \
         fetched_by = coalesce(($43)[i], d.fetched_by), read_at = CASE WHEN ($44)[i] THEN $22 ELSE d.read_at END, \
         settled_at = CASE WHEN ($45)[i] THEN $22 ELSE d.settled_at END, note = coalesce(($46)[i], d.note) \
         FROM generate_series(1, cardinality($37)) AS i \
         WHERE (SELECT holds FROM same) AND d.agent = ($37)[i] AND d.seq = ($38)[i])";
const COUNTED: Part = ", counted AS (UPDATE mailbox b SET seq = ($48)[i], tip = ($49)[i], bytes = ($50)[i], \
         leased = ($51)[i], free = ARRAY[($52)[i], ($53)[i], ($54)[i], ($55)[i]] \
         FROM generate_series(1, cardinality($47)) AS i WHERE (SELECT holds FROM same) AND b.agent = ($47)[i])";
const NOTIFY: Part = " SELECT holds, CASE WHEN holds THEN pg_notify($56, '') IS NULL END FROM same";
const TELL_NOBODY: Part = " SELECT holds FROM same";

type Bound<'q> = Query<'q, Postgres, PgArguments>;
type Delivery<'q> = (i64, u64, &'q KnownDelivery);

/// Writes the changes, and notifies the daemons if they bring news. Returns false, and writes nothing, if a mailbox has
/// changed since it was read.
pub(super) async fn save(
    db: &mut PgConnection,
    shared: &Shared,
    set: &WorkingSet,
    now: Millis,
    has_news: bool,
) -> Result<bool, sqlx::Error> {
    let used: Vec<&KnownAgent> = set.used().collect();
    let messages: Vec<(i64, &NewRow)> = set.new_messages().collect();
    let (new, changed): (Vec<Delivery<'_>>, Vec<Delivery<'_>>) = set.changed().partition(|(_, _, it)| it.is_new);
    let arrived = if new.iter().all(|(_, _, it)| it.is_untouched()) { ARRIVED } else { ARRIVED_CHANGED };
    let counted: Vec<&KnownAgent> = used.iter().copied().filter(|it| it.mailbox != it.before).collect();
    let parts = [
        (true, COMPARE),
        (!messages.is_empty(), MESSAGES),
        (!new.is_empty(), arrived),
        (!changed.is_empty(), CHANGED),
        (!counted.is_empty(), COUNTED),
        (true, if has_news { NOTIFY } else { TELL_NOBODY }),
    ];
    let sql: String = parts.iter().filter(|(is_there, _)| *is_there).map(|(_, part)| *part).collect();
    let query = sqlx::query(&sql).bind(column(&used, |it| it.row.id));
    let query = query.bind(column(&used, |it| it.before.seq as i64));
    let query = query.bind(column(&used, |it| it.before.version as i64));
    let query = query.bind(column(&used, |it| it.before.bytes as i64));
    let query = query.bind(column(&used, |it| it.before.leased as i64)).bind(shared.space);
    let query = bind_messages(query, &messages).bind(&shared.owner).bind(now as i64);
    let query = bind_places(query, &new).bind(column(&new, |(_, _, it)| it.message));
    let query = query.bind(column(&new, |(_, _, it)| i16::from(it.priority.level())));
    let query = query.bind(column(&new, |(_, _, it)| it.at)).bind(column(&new, |(_, _, it)| it.bytes as i64));
    let query = bind_states(query, &new);
    let query = bind_states(bind_places(query, &changed), &changed);
    let query = query.bind(column(&counted, |it| it.row.id)).bind(column(&counted, |it| it.mailbox.seq as i64));
    let query = query.bind(column(&counted, |it| it.mailbox.version as i64));
    let query = query.bind(column(&counted, |it| it.mailbox.bytes as i64));
    let mut query = query.bind(column(&counted, |it| it.mailbox.leased as i64));
    for level in 0..4 {
        query = query.bind(column(&counted, |it| it.mailbox.free[level] as i64));
    }
    let query = query.bind(&shared.channel);
    // Reads until the database is ready again: without a transaction around it, the statement is committed only then.
    query.fetch_one(db).await?.try_get(0)
}

fn bind_messages<'q>(query: Bound<'q>, rows: &[(i64, &'q NewRow)]) -> Bound<'q> {
    let query = query.bind(column(rows, |(number, _)| number)).bind(column(rows, |(_, it)| it.view.id.as_str()));
    let query = query.bind(column(rows, |(_, it)| i16::from(it.view.kind == Kind::Report)));
    let query = query.bind(column(rows, |(_, it)| it.view.from.as_str())).bind(column(rows, |(_, it)| &*it.addresses));
    let query = query.bind(column(rows, |(_, it)| it.view.content.as_bytes())).bind(column(rows, |(_, it)| &*it.words));
    let query = query.bind(column(rows, |(_, it)| i16::from(it.view.priority.level())));
    let query = query.bind(column(rows, |(_, it)| it.view.at as i64));
    let query = query.bind(column(rows, |(_, it)| it.view.thread.as_str()));
    let query = query.bind(column(rows, |(_, it)| it.view.reply_to.as_ref().map(|id| id.as_str())));
    let query = query.bind(column(rows, |(_, it)| &*it.metadata));
    let query = query.bind(column(rows, |(_, it)| it.key.as_ref().map(|(key, _)| &**key)));
    query.bind(column(rows, |(_, it)| it.key.as_ref().map(|(_, hash)| &**hash)))
}

fn bind_places<'q>(query: Bound<'q>, rows: &[Delivery<'q>]) -> Bound<'q> {
    query.bind(column(rows, |(agent, _, _)| agent)).bind(column(rows, |(_, seq, _)| seq as i64))
}

fn bind_states<'q>(query: Bound<'q>, rows: &[Delivery<'q>]) -> Bound<'q> {
    let query = query.bind(column(rows, |(_, _, it)| it.state as i16));
    let query = query.bind(column(rows, |(_, _, it)| it.lease.as_ref().map(|(session, _)| session.as_str())));
    let query = query.bind(column(rows, |(_, _, it)| it.lease.as_ref().map(|(_, token)| *token as i64)));
    let query = query.bind(column(rows, |(_, _, it)| it.attempts as i32));
    let query = query.bind(column(rows, |(_, _, it)| it.fetched_by.as_ref().map(|id| id.as_str())));
    let query = query.bind(column(rows, |(_, _, it)| it.is_read)).bind(column(rows, |(_, _, it)| it.is_settled));
    query.bind(column(rows, |(_, _, it)| it.note.as_ref().map(|note| note.as_bytes())))
}

fn column<R: Copy, T>(rows: &[R], of: impl Fn(R) -> T) -> Vec<T> {
    rows.iter().copied().map(of).collect()
}
