//! The tables of an SQLite store. Another schema is refused.

use rusqlite::{Connection, TransactionBehavior};

use super::{explain, space};
use crate::error::StoreError;

/// The schema that this version writes.
const VERSION: i64 = 2;
/// The file's application id: "hobm".
const APPLICATION: i64 = 0x686f_626d;

const TABLES: &str = "
CREATE TABLE space (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- thread is NULL where a message begins one.
CREATE TABLE message (
    id INTEGER PRIMARY KEY,
    public TEXT NOT NULL UNIQUE,
    space INTEGER NOT NULL REFERENCES space,
    kind INTEGER NOT NULL,
    sender TEXT NOT NULL,
    addresses TEXT NOT NULL,
    content TEXT NOT NULL,
    priority INTEGER NOT NULL,
    at INTEGER NOT NULL,
    thread TEXT,
    reply_to TEXT,
    metadata TEXT NOT NULL,
    key TEXT,
    hash BLOB
);
CREATE INDEX message_thread ON message (thread) WHERE thread IS NOT NULL;
CREATE UNIQUE INDEX message_key ON message (space, sender, key) WHERE key IS NOT NULL;

CREATE TABLE agent (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES space,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    module TEXT NOT NULL DEFAULT '',
    intent TEXT NOT NULL DEFAULT '',
    branch TEXT NOT NULL DEFAULT '',
    alias TEXT,
    registered_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    host TEXT,
    worktree TEXT,
    fence INTEGER NOT NULL,
    UNIQUE (space, name)
);
CREATE INDEX agent_role ON agent (space, role);
CREATE UNIQUE INDEX agent_alias ON agent (space, alias) WHERE alias IS NOT NULL;

-- One small row a mailbox, apart from its agent since every message changes it. free0 to free3 count what could be
-- handed out, by priority; leased what is in hand; bytes what both take.
CREATE TABLE mailbox (
    agent INTEGER PRIMARY KEY REFERENCES agent,
    seq INTEGER NOT NULL,
    tip INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    free0 INTEGER NOT NULL,
    free1 INTEGER NOT NULL,
    free2 INTEGER NOT NULL,
    free3 INTEGER NOT NULL,
    leased INTEGER NOT NULL
);

CREATE TABLE groups (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES space,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    UNIQUE (space, name)
);
CREATE TABLE member (
    grouping INTEGER NOT NULL REFERENCES groups,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (grouping, kind, name)
) WITHOUT ROWID;

-- A message's place in a mailbox. state: 0 stored, 1 hinted, 2 fetched, 3 read, 4 acked, 5 rejected, 6 dead.
CREATE TABLE delivery (
    agent INTEGER NOT NULL REFERENCES agent,
    seq INTEGER NOT NULL,
    message INTEGER NOT NULL REFERENCES message,
    priority INTEGER NOT NULL,
    at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    session TEXT,
    token INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    hinted_at INTEGER,
    fetched_at INTEGER,
    fetched_by TEXT,
    read_at INTEGER,
    settled_at INTEGER,
    note TEXT,
    PRIMARY KEY (agent, seq)
) WITHOUT ROWID;
CREATE INDEX delivery_message ON delivery (message);
-- What waits (session is NULL), and what is in hand. Named where it is used: without statistics SQLite prefers to go
-- through all that an agent ever got.
CREATE INDEX delivery_open ON delivery (session, agent, priority, seq) WHERE state < 3;

CREATE TABLE hint (
    message INTEGER NOT NULL REFERENCES message,
    agent INTEGER NOT NULL REFERENCES agent,
    rung TEXT NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT,
    PRIMARY KEY (message, agent, rung)
) WITHOUT ROWID;

-- What was purged and may not come back, and the record of purges.
CREATE TABLE tomb (
    public TEXT PRIMARY KEY,
    space INTEGER NOT NULL,
    sender TEXT NOT NULL,
    key TEXT,
    hash BLOB
) WITHOUT ROWID;
CREATE UNIQUE INDEX tomb_key ON tomb (space, sender, key) WHERE key IS NOT NULL;
CREATE TABLE purge (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    at INTEGER NOT NULL,
    before INTEGER NOT NULL,
    messages INTEGER NOT NULL
);

-- Words in, message ids out. Brought up after commits; `indexed` says how far.
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
);
CREATE TABLE indexed (id INTEGER PRIMARY KEY CHECK (id = 1), message INTEGER NOT NULL);
INSERT INTO indexed VALUES (1, 0);
";

/// Makes all tables in a new file.
pub(super) fn make(db: &Connection) -> Result<(), StoreError> {
    let make = || -> rusqlite::Result<()> {
        let transaction = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        // Another process may have done it already.
        let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version == 0 {
            transaction.execute_batch(TABLES)?;
            let marks = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}");
            transaction.execute_batch(&marks)?;
        }
        transaction.commit()
    };
    make().map_err(explain)
}

/// Checks the tables, which are made in an empty file, and returns the space's number.
pub(super) fn prepare(db: &Connection, space: &str) -> Result<i64, StoreError> {
    let found = check(db)?;
    let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(explain)?;
    if !mode.eq_ignore_ascii_case("wal") {
        let reason = format!("a write-ahead log is not possible here (journal mode {mode})");
        return Err(StoreError::Failed { reason });
    }
    if found == 0 {
        make(db)?;
    }
    space::settle(db, space)
}

/// Returns the version of the schema, if this is a known store or an empty file.
pub(super) fn check(db: &Connection) -> Result<i64, StoreError> {
    let found: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(explain)?;
    let application: i64 = db.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(explain)?;
    if found > VERSION {
        return Err(StoreError::Newer { found, known: VERSION });
    }
    let is_foreign = || db.prepare("SELECT 1 FROM sqlite_schema").and_then(|mut any| any.exists([])).map_err(explain);
    if (1..VERSION).contains(&found) {
        return Err(StoreError::Corrupt { reason: format!("it has schema {found}, which no release of hob has") });
    }
    if (found > 0 && application != APPLICATION) || (found == 0 && is_foreign()?) {
        return Err(StoreError::Corrupt { reason: "it is the database of another program".to_owned() });
    }
    Ok(found)
}

/// Returns the number of the space in a read-only store.
pub(super) fn find(db: &Connection) -> Result<i64, StoreError> {
    let found = check(db)?;
    let missing = || StoreError::Failed { reason: "it lacks tables or columns of this version".to_owned() };
    if found != VERSION {
        return Err(missing());
    }
    space::find(db)?.ok_or_else(missing)
}
