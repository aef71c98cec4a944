//! The tables of a PostgreSQL store. Another schema is refused.

use sqlx::{Connection, PgConnection, Row};

use super::explain;
use crate::error::StoreError;
use crate::model::SessionId;

/// The PostgreSQL schema that holds the tables.
pub(super) const SCHEMA: &str = "hob_mail";
/// The schema that this version writes.
const VERSION: i64 = 2;
/// The advisory lock under which tables are made.
const LOCK: i64 = 0x686f_626d;

const TABLES: &str = "
CREATE TABLE version (version bigint NOT NULL);
-- Which database this is, whatever address it has.
CREATE TABLE store (id text NOT NULL);
CREATE TABLE space (id bigserial PRIMARY KEY, name text NOT NULL UNIQUE);

CREATE TABLE agent (
    id bigserial PRIMARY KEY,
    space bigint NOT NULL REFERENCES space,
    name text COLLATE \"C\" NOT NULL,
    role text COLLATE \"C\" NOT NULL,
    module text NOT NULL DEFAULT '',
    intent text NOT NULL DEFAULT '',
    branch text NOT NULL DEFAULT '',
    alias text,
    registered_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    host text,
    worktree text,
    fence bigint NOT NULL,
    UNIQUE (space, name)
);
CREATE INDEX agent_role ON agent (space, role);
CREATE UNIQUE INDEX agent_alias ON agent (space, alias) WHERE alias IS NOT NULL;

-- One small row a mailbox; its lock orders everything that happens in it.
CREATE TABLE mailbox (
    agent bigint PRIMARY KEY REFERENCES agent,
    seq bigint NOT NULL DEFAULT 0,
    tip bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    free bigint[] NOT NULL DEFAULT '{0,0,0,0}',
    leased bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE groups (
    id bigserial PRIMARY KEY,
    space bigint NOT NULL REFERENCES space,
    name text COLLATE \"C\" NOT NULL,
    description text NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    UNIQUE (space, name)
);
CREATE TABLE member (
    grouping_id bigint NOT NULL REFERENCES groups,
    kind text COLLATE \"C\" NOT NULL,
    name text COLLATE \"C\" NOT NULL,
    PRIMARY KEY (grouping_id, kind, name)
);

-- The text is kept as bytes, since a text of PostgreSQL cannot hold every character; its words are searched.
CREATE TABLE message (
    id bigserial PRIMARY KEY,
    public text NOT NULL UNIQUE,
    space bigint NOT NULL REFERENCES space,
    kind smallint NOT NULL,
    sender text NOT NULL,
    addresses text NOT NULL,
    content bytea NOT NULL,
    words text[] NOT NULL,
    priority smallint NOT NULL,
    at bigint NOT NULL,
    thread text NOT NULL,
    reply_to text,
    metadata text NOT NULL,
    key text,
    hash bytea
);
CREATE INDEX message_thread ON message (thread);
CREATE INDEX message_words ON message USING gin (words);
CREATE UNIQUE INDEX message_key ON message (space, sender, key) WHERE key IS NOT NULL;

-- A message's shared in a mailbox. state: 0 stored, 1 hinted, 2 fetched, 3 read, 4 acked, 5 rejected, 6 dead.
CREATE TABLE delivery (
    agent bigint NOT NULL REFERENCES agent,
    seq bigint NOT NULL,
    message bigint NOT NULL REFERENCES message,
    priority smallint NOT NULL,
    at bigint NOT NULL,
    bytes bigint NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    session text,
    token bigint,
    owner text,
    attempts integer NOT NULL DEFAULT 0,
    hinted_at bigint,
    fetched_at bigint,
    fetched_by text,
    read_at bigint,
    settled_at bigint,
    note bytea,
    PRIMARY KEY (agent, seq)
);
CREATE INDEX delivery_message ON delivery (message);
CREATE INDEX delivery_free ON delivery (agent, priority, seq) WHERE state < 3 AND session IS NULL;
CREATE INDEX delivery_lease ON delivery (session) WHERE session IS NOT NULL;

CREATE TABLE hint (
    message bigint NOT NULL REFERENCES message,
    agent bigint NOT NULL REFERENCES agent,
    rung text NOT NULL,
    at bigint NOT NULL,
    outcome text,
    PRIMARY KEY (message, agent, rung)
);

-- Daemons, and when each was last seen: leases of one that is gone are free.
CREATE TABLE daemon (owner text PRIMARY KEY, seen_at bigint NOT NULL);

-- What was purged and may not come back, and the record of purges.
CREATE TABLE tomb (
    public text PRIMARY KEY,
    space bigint NOT NULL,
    sender text NOT NULL,
    key text,
    hash bytea
);
CREATE UNIQUE INDEX tomb_key ON tomb (space, sender, key) WHERE key IS NOT NULL;
CREATE TABLE purge (
    id bigserial PRIMARY KEY,
    space bigint NOT NULL,
    at bigint NOT NULL,
    before bigint NOT NULL,
    messages bigint NOT NULL
);
";

/// Makes or checks the tables; returns the database's id.
pub(super) async fn prepare(db: &mut PgConnection) -> Result<String, StoreError> {
    let (found, id) = make(db).await.map_err(explain)?;
    if found > VERSION {
        return Err(StoreError::Newer { found, known: VERSION });
    }
    if found < VERSION {
        return Err(StoreError::Corrupt { reason: format!("it has schema {found}, which no release of hob has") });
    }
    Ok(id)
}

/// Prevents other daemons from making tables or settling spaces until the end of the transaction.
pub(super) async fn lock(transaction: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(transaction).await.map(drop)
}

/// Makes absent tables; returns the version and the id.
async fn make(db: &mut PgConnection) -> Result<(i64, String), sqlx::Error> {
    let mut transaction = db.begin().await?;
    lock(&mut transaction).await?;
    let there: bool = sqlx::query("SELECT to_regclass('hob_mail.version') IS NOT NULL")
        .fetch_one(&mut *transaction)
        .await?
        .try_get(0)?;
    if !there {
        sqlx::raw_sql("CREATE SCHEMA IF NOT EXISTS hob_mail").execute(&mut *transaction).await?;
        sqlx::raw_sql(TABLES).execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO version VALUES ($1)").bind(VERSION).execute(&mut *transaction).await?;
        let id = sqlx::query("INSERT INTO store VALUES ($1)").bind(SessionId::mint().as_str().to_owned());
        id.execute(&mut *transaction).await?;
    }
    let version = "SELECT max(version) FROM version";
    let found: i64 = sqlx::query(version).fetch_one(&mut *transaction).await?.try_get(0)?;
    let mut id = String::new();
    if found == VERSION {
        id = sqlx::query("SELECT id FROM store").fetch_one(&mut *transaction).await?.try_get(0)?;
    }
    transaction.commit().await?;
    Ok((found, id))
}
