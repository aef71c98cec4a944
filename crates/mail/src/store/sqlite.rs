//! The store in an SQLite file: one writer thread that commits groups, and a few readers beside it.
//!
//! The write-ahead log is synced once for each group of changes, before any of them is answered. While that sync runs
//! the next group gathers; an idle store adds no delay. Changes whose loss in a crash of the machine is harmless are
//! committed apart and wait for no sync. Start with [`writer`].

mod deliver;
mod examine;
mod keep;
mod known;
mod look;
mod rows;
mod schema;
mod writer;

pub use examine::{examine, examine_spool};

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Semaphore, oneshot};

use super::along::Listeners;
use super::change::{Change, Changed};
use super::query::{Found, Query};
use super::{BoxFuture, Companions, Ear, News, Store};
use crate::error::StoreError;
use crate::model::{Clock, Limits, Space};
use writer::{Job, Writer};

/// Changes under way at once; more wait their turn.
const CHANGES: usize = 4_096;
/// Queries that run at once.
const READERS: usize = 4;

/// Where an SQLite store is and what bounds it.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The file. It is made when absent; its folder must be there.
    pub path: PathBuf,
    /// The space; a file may hold several.
    pub space: Space,
    /// The store's clock.
    pub clock: Clock,
    /// The limits.
    pub limits: Limits,
}

impl SqliteOptions {
    /// The machine's clock, default limits.
    pub fn new(path: PathBuf, space: Space) -> SqliteOptions {
        SqliteOptions { path, space, clock: Clock::system(), limits: Limits::default() }
    }
}

/// A space in an SQLite file.
pub struct SqliteStore {
    jobs: Mutex<Option<std::sync::mpsc::Sender<Job>>>,
    room: Semaphore,
    reading: Arc<Reading>,
    listeners: Arc<Mutex<Listeners>>,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// What readers share.
struct Reading {
    options: SqliteOptions,
    space: i64,
    file: Arc<OpenFile>,
    turns: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

/// The file as it was opened. Whoever removes it (`git clean`) leaves us writing into a file that nobody finds any more,
/// and SQLite does not mind.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl OpenFile {
    fn of(path: &Path) -> Result<OpenFile, StoreError> {
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
    /// Opens the file, or makes it. Blocks for as long as that takes.
    ///
    /// # Errors
    /// When the file cannot be opened or made, is no store, or was written by a newer version.
    pub fn open(options: SqliteOptions) -> Result<SqliteStore, StoreError> {
        let prepared = connect(&options).map_err(explain).and_then(|db| {
            let space = schema::prepare(&db, options.space.as_str())?;
            Ok((db, space))
        });
        let (db, space) = prepared.map_err(|error| cannot_open(error, &options.path))?;
        sync_folder(&options.path)?;
        let file = Arc::new(OpenFile::of(&options.path)?);
        let listeners = Arc::<Mutex<Listeners>>::default();
        let (jobs, taken) = std::sync::mpsc::channel();
        let checkpoints = connect(&options).map_err(explain)?;
        let writer = Writer::new(db, space, &options, Arc::clone(&file), Arc::clone(&listeners));
        let thread = std::thread::Builder::new().name("mail-writer".into());
        let thread = thread.spawn(move || writer.run(taken, checkpoints));
        let thread = thread.map_err(|error| StoreError::Failed { reason: format!("start the writer: {error}") })?;
        let reading = Reading {
            options,
            space,
            file,
            turns: Semaphore::new(READERS),
            idle: Mutex::new(Vec::with_capacity(READERS)),
        };
        Ok(SqliteStore {
            jobs: Mutex::new(Some(jobs)),
            room: Semaphore::new(CHANGES),
            reading: Arc::new(reading),
            listeners,
            writer: Mutex::new(Some(thread)),
        })
    }

    fn submit(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(closed)
    }

    /// Brings the search index up to all that is stored.
    async fn index(&self) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.submit(Job::Index(done))?;
        answer.await.map_err(|_| closed())?
    }
}

/// Making the tables used a rollback journal. Were its removal lost in a crash of the machine, the next opening would
/// roll everything back; SQLite does not sync the folder for that, so it is done here.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| StoreError::Failed { reason: format!("sync the folder of the mail store: {error}") })
}

/// SQLite only says that it cannot open the file; whether it may not be written is for us to find out.
fn cannot_open(error: StoreError, path: &Path) -> StoreError {
    use std::io::ErrorKind;
    let StoreError::Away { reason } = error else { return error };
    match std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(|error| error.kind()) {
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
            let _turn = self.room.acquire().await.map_err(|_| closed())?;
            let (done, answer) = oneshot::channel();
            self.submit(Job::Change(Box::new(change), done))?;
            answer.await.map_err(|_| StoreError::Uncertain { reason: "the writer ended".to_owned() })?
        })
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<Found, StoreError>> {
        Box::pin(async move {
            if matches!(&query, Query::Search(search) if !search.words.is_empty())
                && let Err(error) = self.index().await
                && !error.is_unwritable()
            {
                return Err(error);
            }
            let _turn = self.reading.turns.acquire().await.map_err(|_| closed())?;
            let reading = Arc::clone(&self.reading);
            let read = tokio::task::spawn_blocking(move || reading.read(query)).await;
            read.unwrap_or_else(|_| Err(StoreError::Failed { reason: "a query panicked".to_owned() }))
        })
    }

    fn listen(&self, ear: Ear) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).ear = Some(ear);
    }

    fn accompany(&self, companions: Companions) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).companions = Some(companions);
    }

    fn news(&self) -> News {
        News::Sure
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.reading.turns.close();
            drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
            self.reading.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(writer) = writer {
                // The writer ends when it has made all changes that were begun.
                let _ = tokio::task::spawn_blocking(move || writer.join()).await;
            }
        })
    }
}

impl Reading {
    fn read(&self, query: Query) -> Result<Found, StoreError> {
        if !self.file.is_there() {
            return Err(StoreError::Gone);
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = match idle {
            Some(db) => db,
            None => connect(&self.options).map_err(explain)?,
        };
        let now = self.options.clock.now();
        let found = look::answer(&db, self.space, now, &self.options.limits, query).map_err(explain);
        if found.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        }
        found
    }
}

fn connect(options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(&options.path, flags)?;
    db.busy_timeout(std::time::Duration::from_secs(2))?;
    db.set_prepared_statement_cache_capacity(128);
    Ok(db)
}

/// What an SQLite error means to those who use the store.
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
        // The log may hold the commit already, only not for certain.
        ErrorCode::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC => {
            StoreError::Uncertain { reason }
        }
        // No room for the index of the log, which stands in a file of its own.
        ErrorCode::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => StoreError::DiskFull,
        _ => StoreError::Failed { reason },
    }
}
