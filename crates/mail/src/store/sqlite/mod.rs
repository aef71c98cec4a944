//! The store in an SQLite file: one writer thread that commits groups, and a few reader threads.
//!
//! The write-ahead log is synced once for each group of changes, before any of them is answered. The next group gathers
//! during that sync; an idle store adds no delay. Changes that may be lost in a crash of the machine are committed
//! separately and wait for no sync. Start with [`read_write`], then [`writer`].

mod deliver;
pub(crate) mod file;
mod file_check;
mod maintenance;
mod queries;
mod read_only;
mod read_write;
mod rows;
mod schema;
mod space;
mod transaction_cache;
mod writer;

pub use file_check::{MailCount, count, examine, examine_spool};

use parking_lot::Mutex;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Mutex as AsyncMutex;

use super::change::{Change, Changed};
use super::commit_hook::Listeners;
use super::query::{Query, QueryResult};
use super::{BoxFuture, CommitHook, Store, WakeDelivery, WakeListener};
use crate::error::StoreError;
use crate::model::{Clock, Limits, Space};
use read_only::Sole;
use read_write::Whole;

#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The store's file, made if absent; its folder must exist.
    pub path: PathBuf,
    /// The name for the one space that a file holds.
    pub space: Space,
    pub clock: Clock,
    pub limits: Limits,
}

impl SqliteOptions {
    /// Options with the machine's clock and default limits.
    pub fn new(path: PathBuf, space: Space) -> SqliteOptions {
        SqliteOptions { path, space, clock: Clock::system(), limits: Limits::default() }
    }
}

/// A space in an SQLite file.
pub struct SqliteStore {
    options: SqliteOptions,
    listeners: Arc<Mutex<Listeners>>,
    whole: OnceLock<Whole>,
    /// The read-only store, used until there is room to open the file for writing.
    sole: AsyncMutex<Option<Arc<Sole>>>,
}

/// The identity of the opened file. After a removal (`git clean`) SQLite would go on writing into a file without a
/// name.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl OpenFile {
    fn new(path: &Path) -> Result<OpenFile, StoreError> {
        let identity = identity(path).map_err(|error| StoreError::Away { reason: error.to_string() })?;
        Ok(OpenFile { path: path.to_owned(), identity })
    }

    fn is_there(&self) -> bool {
        identity(&self.path).is_ok_and(|identity| identity == self.identity)
    }
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    std::fs::metadata(path).map(|file| (file.dev(), file.ino()))
}

impl SqliteStore {
    /// Opens or makes the file. Blocks. On a full disk the store is read-only, and the first change that finds room
    /// opens it for writing.
    ///
    /// # Errors
    /// When the file cannot be opened or made, is not a store, or was written by a newer version.
    pub fn open(options: SqliteOptions) -> Result<SqliteStore, StoreError> {
        let (listeners, whole) = (Arc::<Mutex<Listeners>>::default(), OnceLock::new());
        let mut sole = None;
        match Whole::open(options.clone(), Arc::clone(&listeners)) {
            Ok(opened) => _ = whole.set(opened),
            Err(StoreError::DiskFull) => {
                sole = Some(Arc::new(Sole::open(&options).map_err(|_| StoreError::DiskFull)?));
            }
            Err(error) => return Err(error),
        }
        Ok(SqliteStore { options, listeners, whole, sole: AsyncMutex::new(sole) })
    }

    /// Opens the store for writing if there is room now.
    async fn open_again(&self) -> Result<&Whole, StoreError> {
        let mut sole = self.sole.lock().await;
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let (former, options, listeners) = (sole.take(), self.options.clone(), Arc::clone(&self.listeners));
        let opened = tokio::task::spawn_blocking(move || {
            // The read-only store holds the file exclusively.
            drop(former);
            Whole::open(options.clone(), listeners).map_err(|error| (error, Sole::open(&options).ok().map(Arc::new)))
        });
        match opened.await {
            Ok(Ok(whole)) => Ok(self.whole.get_or_init(|| whole)),
            Ok(Err((error, again))) => {
                *sole = again;
                Err(error)
            }
            Err(_) => Err(StoreError::Failed { reason: "opening it panicked".to_owned() }),
        }
    }
}

/// Syncs the folder after the tables were made under a rollback journal, since SQLite does not. If the journal's
/// removal were lost in a crash of the machine, the next opening would roll everything back.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced
        .map_err(|error| StoreError::Failed { reason: format!("cannot sync the directory of the mail store: {error}") })
}

/// Checks whether the file is read-only, since SQLite only reports that it cannot open the file.
fn cannot_open(error: StoreError, path: &Path) -> StoreError {
    use std::io::ErrorKind;
    let StoreError::Away { reason } = error else { return error };
    match std::fs::OpenOptions::new().append(true).open(path).map_err(|error| error.kind()) {
        Err(ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) => StoreError::ReadOnly { reason },
        _ => StoreError::Away { reason },
    }
}

fn closed() -> StoreError {
    StoreError::Away { reason: "it is closed".to_owned() }
}

impl Store for SqliteStore {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        Box::pin(async move {
            match self.whole.get() {
                Some(whole) => whole.write(change).await,
                None => self.open_again().await?.write(change).await,
            }
        })
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        Box::pin(async move {
            if let Some(whole) = self.whole.get() {
                return whole.read(query).await;
            }
            let sole = self.sole.lock().await;
            let Some(reader) = sole.clone() else {
                drop(sole);
                return self.open_again().await?.read(query).await;
            };
            let read = tokio::task::spawn_blocking(move || reader.read(query)).await;
            read.unwrap_or_else(|_| Err(StoreError::Failed { reason: "a query panicked".to_owned() }))
        })
    }

    fn listen(&self, listener: WakeListener) {
        self.listeners.lock().wake = Some(listener);
    }

    fn on_commit(&self, hook: CommitHook) {
        self.listeners.lock().commit = Some(hook);
    }

    fn wake_delivery(&self) -> WakeDelivery {
        WakeDelivery::Reliable
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match self.whole.get() {
                Some(whole) => whole.close().await,
                None => drop(self.sole.lock().await.take()),
            }
        })
    }
}

fn connect(options: &SqliteOptions) -> rusqlite::Result<Connection> {
    // The file exists and is complete: [`file`] ensures it.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(&options.path, flags)?;
    db.busy_timeout(std::time::Duration::from_secs(2))?;
    // Without this, SQLite plans a statement with a bound LIMIT again whenever the value changes. That takes longer
    // than running it.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(128);
    Ok(db)
}

pub(crate) fn explain(error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    let reason = error.to_string();
    let rusqlite::Error::SqliteFailure(code, _) = &error else { return StoreError::Failed { reason } };
    match code.code {
        ErrorCode::DiskFull => StoreError::DiskFull,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly { reason },
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt { reason },
        ErrorCode::CannotOpen => StoreError::Away { reason },
        // The log may already hold the commit.
        ErrorCode::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC => {
            StoreError::Uncertain { reason }
        }
        // There is no room for the index of the log, which is a separate file.
        ErrorCode::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => StoreError::DiskFull,
        _ => StoreError::Failed { reason },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn a_statement_is_planned_once_whatever_values_it_is_given() {
        let dir = tempfile::tempdir().expect("a folder");
        let options = SqliteOptions::new(dir.path().join("mail.db"), Space::named("plans"));
        file::make(&options.path, schema::make).expect("it is made");
        let db = connect(&options).expect("it opens");
        schema::prepare(&db, options.space.as_str()).expect("it has tables");
        let sql = "SELECT seq FROM delivery INDEXED BY delivery_open WHERE session IS NULL AND agent = ?1 AND state < 3 \
                   ORDER BY seq LIMIT ?2";
        let planned_again = || {
            let mut statement = db.prepare(sql).expect("it is planned");
            for agent in 1..4 {
                assert!(!statement.exists([agent, 10 * agent]).expect("it runs"));
            }
            statement.get_status(StatementStatus::RePrepare)
        };
        assert_eq!(planned_again(), 0);
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, false).expect("it is set");
        assert!(planned_again() > 0, "SQLite has no need of being told any more");
    }
}
