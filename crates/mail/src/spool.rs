//! The spool: sends kept on this machine's disk while the store is unavailable, in a small SQLite file.
//!
//! A spooled send is not reported as sent. [`crate::service`] moves spooled sends to the store in order once it is
//! available again. Each keeps its id, so moving one twice stores it once. The spool holds a fixed number of messages
//! and refuses more.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::error::{Refusal, StoreError};
use crate::model::{Address, AgentName, MessageId, Priority, Session, SessionId, Space};
use crate::store::change::Append;
use crate::store::sqlite::{explain, file, sync_folder};

/// The most text in the spool, in bytes.
const BYTES: u64 = 64 << 20;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS queued (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    space TEXT NOT NULL,
    sender TEXT NOT NULL,
    key TEXT,
    hash BLOB NOT NULL,
    letter TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS queued_key ON queued (space, sender, key) WHERE key IS NOT NULL;
";

pub struct Spool {
    db: Mutex<Connection>,
    space: String,
    limit: u64,
    waiting: AtomicU64,
    something: Notify,
}

#[derive(Serialize, Deserialize)]
struct Letter {
    id: MessageId,
    agent: AgentName,
    session: SessionId,
    fence: u64,
    to: Vec<String>,
    exclude: BTreeSet<AgentName>,
    content: String,
    priority: Priority,
    reply_to: Option<MessageId>,
    metadata: String,
}

impl Spool {
    /// Opens or makes the file, for at most `limit` messages; with 0, the spool only empties.
    ///
    /// # Errors
    /// When the file cannot be opened or made, or is not a spool.
    pub fn open(path: &Path, space: &Space, limit: u64) -> Result<Spool, StoreError> {
        if !file::is_there(path)? {
            file::make(path, |db| db.execute_batch(TABLES).map_err(explain))?;
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let open = || -> rusqlite::Result<(Connection, u64)> {
            let db = Connection::open_with_flags(path, flags)?;
            db.busy_timeout(std::time::Duration::from_secs(2))?;
            db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
            db.execute_batch(TABLES)?;
            let waiting = db.query_row("SELECT count(*) FROM queued", [], |row| row.get(0))?;
            Ok((db, waiting))
        };
        let (db, waiting) = open().map_err(explain)?;
        sync_folder(path)?;
        let (db, waiting, something) = (Mutex::new(db), AtomicU64::new(waiting), Notify::new());
        Ok(Spool { db, space: space.to_string(), limit, waiting, something })
    }

    /// Returns the number of messages that wait in the spool.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Returns true if a send must go into the spool because others already wait there.
    pub(crate) fn is_crowded(&self) -> bool {
        self.limit > 0 && self.waiting() > 0
    }

    /// Appends a send; it is on disk when this returns. If a send with the same key already waits, returns its id.
    ///
    /// # Errors
    /// When the key was used for another message, the spool is full (with the reason why the store is unavailable), or
    /// the disk fails.
    pub(crate) fn put(&self, append: &Append, away: &str) -> Result<Option<MessageId>, StoreError> {
        let db = self.db();
        if let Some(known) = self.find(&db, append)? {
            return Ok(Some(known));
        }
        let bytes = "SELECT coalesce(sum(length(letter)), 0) FROM queued";
        let bytes: u64 = db.query_row(bytes, [], |row| row.get(0)).map_err(explain)?;
        if self.waiting() >= self.limit || bytes + append.content.len() as u64 > BYTES {
            let full = format!("{away}; and {} messages are queued already (`spool` under [mail])", self.waiting());
            return Err(StoreError::Away { reason: full });
        }
        let letter = Letter {
            id: append.id.clone(),
            agent: append.sender.agent.clone(),
            session: append.sender.id.clone(),
            fence: append.sender.fence,
            to: append.to.iter().map(|address| address.written.clone()).collect(),
            exclude: append.exclude.clone(),
            content: append.content.to_string(),
            priority: append.priority,
            reply_to: append.reply_to.clone(),
            metadata: append.metadata.clone(),
        };
        let letter =
            serde_json::to_string(&letter).map_err(|error| StoreError::Failed { reason: error.to_string() })?;
        let sql = "INSERT INTO queued (space, sender, key, hash, letter) VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![self.space, append.sender.agent.as_str(), append.key, append.hash, letter];
        db.execute(sql, values).map_err(explain)?;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        drop(db);
        self.something.notify_one();
        Ok(None)
    }

    /// Returns the waiting message with this key.
    fn find(&self, db: &Connection, append: &Append) -> Result<Option<MessageId>, StoreError> {
        let Some(key) = &append.key else { return Ok(None) };
        let sql = "SELECT hash, letter FROM queued WHERE sender = ?1 AND key = ?2 ORDER BY number";
        let values = params![append.sender.agent.as_str(), key];
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?));
        let Some((hash, letter)) = db.query_row(sql, values, row).optional().map_err(explain)? else { return Ok(None) };
        let message = read(&letter)?.id;
        if hash != append.hash {
            return Err(StoreError::Refused(Refusal::KeyConflict { key: key.clone(), message }));
        }
        Ok(Some(message))
    }

    /// Returns the first send, with its number.
    pub(crate) fn first(&self) -> Result<Option<(i64, Append)>, StoreError> {
        let db = self.db();
        // A send goes to the project's current space, whatever the project was called when the send was spooled.
        let sql = "SELECT number, key, hash, letter FROM queued ORDER BY number LIMIT 1";
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, [u8; 32]>(2)?, row.get::<_, String>(3)?))
        };
        let found = db.query_row(sql, [], row).optional().map_err(explain)?;
        let Some((number, key, hash, letter)) = found else { return Ok(None) };
        let letter = read(&letter)?;
        let to = letter.to.iter().map(|to| Address::parse(to)).collect::<Result<Vec<_>, _>>();
        let append = Append {
            id: letter.id,
            sender: Session { agent: letter.agent, id: letter.session, fence: letter.fence },
            to: to.map_err(|error| StoreError::Corrupt { reason: error.to_string() })?,
            among: None,
            exclude: letter.exclude,
            content: letter.content.into(),
            priority: letter.priority,
            reply_to: letter.reply_to,
            metadata: letter.metadata,
            key,
            hash,
        };
        Ok(Some((number, append)))
    }

    /// Removes a send that is stored, or that can never be.
    pub(crate) fn remove(&self, number: i64) -> Result<(), StoreError> {
        let removed = self.db().execute("DELETE FROM queued WHERE number = ?1", [number]).map_err(explain)?;
        self.waiting.fetch_sub(removed as u64, Ordering::SeqCst);
        Ok(())
    }

    /// Returns when something may have been put in since the last return. Cancel safe.
    pub(crate) async fn changed(&self) {
        self.something.notified().await;
    }

    fn db(&self) -> MutexGuard<'_, Connection> {
        self.db.lock()
    }
}

fn read(letter: &str) -> Result<Letter, StoreError> {
    serde_json::from_str(letter).map_err(|error| StoreError::Corrupt { reason: format!("a queued message: {error}") })
}
