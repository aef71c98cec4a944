//! Checks a store's file from outside: whether it is intact and belongs to hob. Nothing is changed, and a daemon may
//! have the file open meanwhile.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{explain, file, schema};
use crate::error::StoreError;

/// The time limit of the check. If it runs out, the file counts as intact.
const TIME: Duration = Duration::from_secs(5);
/// Steps of SQLite's virtual machine between two checks of the time.
const STEPS: i32 = 10_000;

/// Checks a store's file, if there is one.
///
/// # Errors
/// When the file is damaged, is not a store, was written by a newer version, or cannot be opened.
pub fn examine(path: &Path) -> Result<(), StoreError> {
    if !file::is_there(path)? {
        return Ok(());
    }
    let db = open(path).map_err(explain)?;
    schema::check(&db)?;
    is_whole(&db)
}

/// The amount of mail in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailCount {
    pub messages: u64,
    /// Messages that still wait to be read, counted once per recipient.
    pub waiting: u64,
}

/// Counts the mail in a store's file, if there is one.
///
/// # Errors
/// As [`examine`], but without the check for damage.
pub fn count(path: &Path) -> Result<MailCount, StoreError> {
    if !file::is_there(path)? {
        return Ok(MailCount::default());
    }
    let db = open(path).map_err(explain)?;
    if schema::check(&db)? == 0 {
        return Ok(MailCount::default());
    }
    let count = |sql| db.query_row(sql, [], |row| row.get(0)).map_err(explain);
    let waiting = count("SELECT count(*) FROM delivery WHERE state < 3")?;
    Ok(MailCount { messages: count("SELECT count(*) FROM message")?, waiting })
}

/// Like [`examine`], for the spool's file.
///
/// # Errors
/// When the file is damaged or cannot be opened.
pub fn examine_spool(path: &Path) -> Result<(), StoreError> {
    if file::is_there(path)? { is_whole(&open(path).map_err(explain)?) } else { Ok(()) }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // Without a log no process writes, so SQLite need not make files that it would leave behind.
    let how = if Path::new(&log).exists() { "" } else { "?immutable=1" };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let encoded = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|&byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(format!("file:{}{how}", encoded.collect::<String>()), flags)?;
    db.busy_timeout(Duration::from_secs(2))?;
    Ok(db)
}

fn is_whole(db: &Connection) -> Result<(), StoreError> {
    let began = Instant::now();
    db.progress_handler(STEPS, Some(move || began.elapsed() > TIME)).map_err(explain)?;
    match db.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(said) if said == "ok" => Ok(()),
        Ok(reason) => Err(StoreError::Corrupt { reason: reason.lines().next().unwrap_or_default().to_owned() }),
        Err(rusqlite::Error::SqliteFailure(code, _)) if code.code == ErrorCode::OperationInterrupted => Ok(()),
        Err(error) => Err(explain(error)),
    }
}
