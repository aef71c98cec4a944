//! The file `ask.db` in the project's state directory, with one row for each question. A row stored `durably` is flushed to disk.
//! Other rows survive a crash of the daemon, but not of the machine.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use crate::question::Question;

/// The version of the file format.
const VERSION: i64 = 1;
/// The retention time of a settled question.
const KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// The reason why questions cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the disk is full: nothing was changed; free some space and try again")]
    Full,
    #[error(
        "ask.db cannot be used: {0}; if it is broken, `hob stop`, move it aside with its -wal and -shm files, and try again"
    )]
    Broken(String),
    #[error("a newer hob has written ask.db; run `hob stop` and use that version")]
    Newer,
}

/// The open file.
#[derive(Debug)]
pub struct Store(Mutex<Connection>);

impl Store {
    /// Opens the file, and creates it if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created or read.
    pub fn open(path: &Path, now_ms: u64) -> Result<Store, StoreError> {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(StoreError::Full),
            Err(error) => return Err(StoreError::Broken(error.to_string())),
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let db = Connection::open_with_flags(path, flags)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version > VERSION {
            return Err(StoreError::Newer);
        }
        if version == 0 {
            db.execute_batch(
                "BEGIN IMMEDIATE;
                 CREATE TABLE questions (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, settled INTEGER NOT NULL,
                     asked_ms INTEGER NOT NULL, body TEXT NOT NULL);
                 CREATE INDEX unsettled ON questions (seq) WHERE settled = 0;
                 PRAGMA user_version = 1;
                 COMMIT;",
            )?;
        }
        db.execute("CREATE INDEX IF NOT EXISTS digests ON questions (body ->> 'digest')", [])?;
        let before = now_ms.saturating_sub(KEPT_MS);
        db.execute("DELETE FROM questions WHERE settled = 1 AND asked_ms < ?1", [before.cast_signed()])?;
        Ok(Store(Mutex::new(db)))
    }

    /// Stores the current state of a question.
    ///
    /// # Errors
    /// If it cannot be stored. Nothing has changed then.
    pub fn put(&self, question: &Question, durably: bool) -> Result<(), StoreError> {
        let body = serde_json::to_string(question).map_err(|error| StoreError::Broken(error.to_string()))?;
        let db = self.0.lock();
        db.pragma_update(None, "synchronous", if durably { "FULL" } else { "NORMAL" })?;
        db.prepare_cached(
            "INSERT INTO questions (seq, id, settled, asked_ms, body) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (seq) DO UPDATE SET settled = excluded.settled, body = excluded.body",
        )?
        .execute(params![
            question.seq.cast_signed(),
            question.id,
            question.is_settled(),
            question.asked_ms.cast_signed(),
            body
        ])?;
        Ok(())
    }

    /// Returns the unsettled questions in order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn unsettled(&self) -> Result<Vec<Question>, StoreError> {
        self.query("SELECT body FROM questions WHERE settled = 0 ORDER BY seq", [])
    }

    /// Returns the latest questions, newest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn latest(&self, most: u32) -> Result<Vec<Question>, StoreError> {
        self.query("SELECT body FROM questions ORDER BY seq DESC LIMIT ?1", [most])
    }

    /// Returns the questions with pictures.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn with_pictures(&self) -> Result<Vec<Question>, StoreError> {
        self.query("SELECT body FROM questions WHERE body LIKE '%\"attachments\":%'", [])
    }

    /// Returns a question by its id.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn find(&self, id: &str) -> Result<Option<Question>, StoreError> {
        let db = self.0.lock();
        let mut query = db.prepare_cached("SELECT body FROM questions WHERE id = ?1")?;
        let body: Option<String> = query.query_row([id], |row| row.get(0)).optional()?;
        body.map(|body| parse(&body)).transpose()
    }

    /// Returns the latest questions with a hash, newest first, up to the limit.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_digest(&self, digest: &str) -> Result<Vec<Question>, StoreError> {
        self.query("SELECT body FROM questions WHERE body ->> 'digest' = ?1 ORDER BY seq DESC LIMIT 50", [digest])
    }

    /// Returns the number of the next question.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_seq(&self) -> Result<u64, StoreError> {
        let db = self.0.lock();
        let last: Option<i64> = db.query_row("SELECT max(seq) FROM questions", [], |row| row.get(0))?;
        Ok(last.unwrap_or(0).cast_unsigned() + 1)
    }

    fn query<P: rusqlite::Params>(&self, sql: &str, params: P) -> Result<Vec<Question>, StoreError> {
        let db = self.0.lock();
        let mut query = db.prepare_cached(sql)?;
        let bodies = query.query_map(params, |row| row.get::<_, String>(0))?;
        bodies.map(|body| parse(&body?)).collect()
    }
}

fn parse(body: &str) -> Result<Question, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::Broken(error.to_string()))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full,
            _ => StoreError::Broken(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Event;
    use crate::question::tests::question;

    #[test]
    fn stored_questions_survive_a_restart() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("ask.db");
        let store = Store::open(&path, 0).unwrap();
        assert_eq!(store.next_seq().unwrap(), 1);
        let (one, two) = (question("q_1", 1), question("q_2", 2));
        store.put(&one, true).unwrap();
        store.put(&two, false).unwrap();
        let gone = two.apply(Event::Tick { at_ms: 1_000_000 }).unwrap().unwrap().question;
        store.put(&gone, false).unwrap();
        drop(store);
        let store = Store::open(&path, 0).unwrap();
        assert_eq!(store.unsettled().unwrap(), vec![one]);
        assert_eq!(store.find("q_2").unwrap(), Some(gone.clone()));
        assert_eq!((store.next_seq().unwrap(), store.latest(1).unwrap()), (3, vec![gone]));
        drop(store);
        // Questions that were settled long ago are deleted.
        let store = Store::open(&path, KEPT_MS + 1).unwrap();
        assert_eq!((store.find("q_2").unwrap(), store.find("q_1").unwrap().is_some()), (None, true));
    }

    #[test]
    fn a_file_that_is_no_store_says_so() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("ask.db");
        std::fs::write(&path, "not a database, but long enough to have a header of some kind, or so it seems").unwrap();
        let error = Store::open(&path, 0).unwrap_err().to_string();
        assert!(error.contains("move it aside"), "{error}");
    }
}
