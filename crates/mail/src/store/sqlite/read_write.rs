//! A store open for reading and writing: its writer, its readers, and the channels to them.

use parking_lot::Mutex;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};

use super::writer::{Job, Writer};
use super::{OpenFile, SqliteOptions, cannot_open, closed, connect, explain, file, queries, schema, sync_folder};
use crate::error::StoreError;
use crate::store::change::{Change, Changed};
use crate::store::commit_hook::Listeners;
use crate::store::query::{Query, QueryResult};

/// The maximum number of changes in progress; further changes wait.
const CHANGES: usize = 4_096;
/// The maximum number of queries that run at once.
const READERS: u32 = 4;

pub(super) struct Whole {
    jobs: Mutex<Option<std::sync::mpsc::Sender<Job>>>,
    room: Semaphore,
    reading: Arc<Reading>,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
}

struct Reading {
    options: SqliteOptions,
    space: i64,
    file: Arc<OpenFile>,
    turns: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Whole {
    /// Opens or makes the file. Blocks.
    pub(super) fn open(options: SqliteOptions, listeners: Arc<Mutex<Listeners>>) -> Result<Whole, StoreError> {
        if !file::is_there(&options.path)? {
            file::make(&options.path, schema::make)?;
        }
        let prepared = connect(&options).map_err(explain).and_then(|db| {
            let space = schema::prepare(&db, options.space.as_str())?;
            Ok((db, space))
        });
        let (db, space) = prepared.map_err(|error| cannot_open(error, &options.path))?;
        sync_folder(&options.path)?;
        let file = Arc::new(OpenFile::new(&options.path)?);
        let (jobs, taken) = std::sync::mpsc::channel();
        let checkpoints = connect(&options).map_err(explain)?;
        let writer = Writer::new(db, space, &options, Arc::clone(&file), listeners);
        let thread = std::thread::Builder::new().name("mail-writer".into());
        let thread = thread.spawn(move || writer.run(taken, checkpoints));
        let thread =
            thread.map_err(|error| StoreError::Failed { reason: format!("cannot start the writer: {error}") })?;
        let reading = Reading {
            options,
            space,
            file,
            turns: Arc::new(Semaphore::new(READERS as usize)),
            idle: Mutex::new(Vec::with_capacity(READERS as usize)),
        };
        Ok(Whole {
            jobs: Mutex::new(Some(jobs)),
            room: Semaphore::new(CHANGES),
            reading: Arc::new(reading),
            writer: Mutex::new(Some(thread)),
        })
    }

    fn submit(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.lock();
        jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(closed)
    }

    /// Updates the search index to everything stored.
    async fn index(&self) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.submit(Job::Index(done))?;
        answer.await.map_err(|_| closed())?
    }

    pub(super) async fn write(&self, change: Change) -> Result<Changed, StoreError> {
        let _turn = self.room.acquire().await.map_err(|_| closed())?;
        let (done, answer) = oneshot::channel();
        self.submit(Job::Change(Box::new(change), done))?;
        answer.await.map_err(|_| StoreError::Uncertain { reason: "the writer ended".to_owned() })?
    }

    pub(super) async fn read(&self, query: Query) -> Result<QueryResult, StoreError> {
        if matches!(&query, Query::Search(search) if !search.words.is_empty())
            && let Err(error) = self.index().await
            && !error.is_unwritable()
        {
            return Err(error);
        }
        let turn = Arc::clone(&self.reading.turns).acquire_owned().await.map_err(|_| closed())?;
        let reading = Arc::clone(&self.reading);
        let read = tokio::task::spawn_blocking(move || {
            // Held until the query has ended, even if its caller has disappeared.
            let _turn = turn;
            reading.read(query)
        });
        let read = read.await;
        read.unwrap_or_else(|_| Err(StoreError::Failed { reason: "a query panicked".to_owned() }))
    }

    /// Closes every connection, so that the last one copies the log into the file, which is then the complete store.
    pub(super) async fn close(&self) {
        let _turns = self.reading.turns.acquire_many(READERS).await;
        self.reading.turns.close();
        // Before the writer's connection: if two close at once, neither is the last.
        self.reading.idle.lock().clear();
        drop(self.jobs.lock().take());
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            // The writer ends after all changes in progress.
            let _ = tokio::task::spawn_blocking(move || writer.join()).await;
        }
    }
}

impl Reading {
    fn read(&self, query: Query) -> Result<QueryResult, StoreError> {
        if !self.file.is_there() {
            return Err(StoreError::Gone);
        }
        let idle = self.idle.lock().pop();
        let db = match idle {
            Some(db) => db,
            None => connect(&self.options).map_err(explain)?,
        };
        let now = self.options.clock.now();
        let found = queries::answer(&db, self.space, now, query).map_err(explain);
        if found.is_ok() {
            self.idle.lock().push(db);
        }
        found
    }
}
