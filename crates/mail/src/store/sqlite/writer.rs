//! The one thread that writes. It gathers changes, applies them in one transaction together with the work of the commit
//! hook, syncs once, answers them, then wakes the other waiters.

use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::transaction_cache::TransactionCache;
use super::{OpenFile, SqliteOptions, explain, queries};
use crate::error::{Refusal, StoreError};
use crate::model::search_words::split_words;
use crate::model::{Clock, Limits};
use crate::store::change::{Change, Changed};
use crate::store::commit_hook::{AfterCommit, Listeners};
use crate::store::{Arrival, InTransaction, Wake, rules};

/// The maximum number of changes in one transaction.
const GROUP: usize = 256;
/// The length of the log, in pages, at which another thread copies it into the file. An idle writer asks earlier. A log
/// that restarts overwrites its old pages, and a sync is faster when no file grows.
const CHECKPOINT_PAGES: i32 = 1_000;
const CHECKPOINT_PAGES_AT_LEISURE: i32 = 250;
/// The length of the log, in pages, at which the writer itself waits for the copy: 64 MiB.
const TOO_MANY_PAGES: i32 = 16_000;
/// The idle time after which the writer updates the search index, and the number of messages that it then indexes at
/// once.
const INDEX_AFTER: Duration = Duration::from_millis(500);
const INDEX_STEP: usize = 32;

/// A group of more changes than this is large. Then the longest wait for a large group to gather.
const LARGE: usize = 4;
const PATIENCE: Duration = Duration::from_millis(1);

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) enum Job {
    Change(Box<Change>, Answer<Changed>),
    /// Updates the search index to everything stored.
    Index(Answer<()>),
}

/// Why a change was not applied.
pub(super) enum Fault {
    /// The rules refuse it. Nothing was written.
    Refused(Refusal),
    /// SQLite failed. The transaction must be rolled back.
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sql(error)
    }
}

impl<R: Into<Refusal>> From<R> for Fault {
    fn from(refusal: R) -> Fault {
        Fault::Refused(refusal.into())
    }
}

thread_local! {
    /// Pages in the log after the last commit of this thread.
    static LOG_PAGES: Cell<i32> = const { Cell::new(0) };
}

pub(super) struct Writer {
    pub(super) db: Connection,
    pub(super) space: i64,
    pub(super) clock: Clock,
    pub(super) limits: Limits,
    /// The news of the running transaction.
    pub(super) arrivals: Vec<Arrival>,
    pub(super) cache: TransactionCache,
    /// The position of the purge.
    pub(super) purged_to: i64,
    listeners: Arc<Mutex<Listeners>>,
    file: Arc<OpenFile>,
    is_syncing: Option<bool>,
    /// The size and duration of the last synced group.
    last: (usize, Duration),
    /// True if the search index may lack messages.
    is_behind: bool,
}

impl Writer {
    pub(super) fn new(
        db: Connection,
        space: i64,
        options: &SqliteOptions,
        file: Arc<OpenFile>,
        listeners: Arc<Mutex<Listeners>>,
    ) -> Writer {
        Writer {
            db,
            space,
            clock: options.clock.clone(),
            limits: options.limits.clone(),
            arrivals: Vec::new(),
            cache: TransactionCache::default(),
            purged_to: 0,
            listeners,
            file,
            is_syncing: None,
            last: (0, Duration::ZERO),
            is_behind: true,
        }
    }

    /// Writes until all senders are dropped. `checkpoints` is the connection that copies the log into the file.
    pub(super) fn run(mut self, jobs: Receiver<Job>, checkpoints: Connection) {
        let (copy, asked) = sync_channel(1);
        let copier = std::thread::Builder::new().name("mail-checkpoint".into());
        let copier = copier.spawn(move || copy_log(&checkpoints, &asked)).ok();
        // The copying thread checkpoints, so that no commit waits for a checkpoint.
        let _ = self.db.pragma_update(None, "wal_autocheckpoint", 0);
        let _ = self.db.pragma_update(None, "cache_size", -16_000);
        self.db.wal_hook(Some(|_, pages| {
            LOG_PAGES.set(pages);
            Ok(())
        }));
        while let Some(first) = self.next(&jobs) {
            let (mut lazy, mut durable, mut index) = (Vec::new(), Vec::new(), Vec::new());
            let mut sort = |job| match job {
                Job::Change(change, answer) if change.is_lazy() => lazy.push((change, answer)),
                Job::Change(change, answer) => durable.push((change, answer)),
                Job::Index(answer) => index.push(answer),
            };
            sort(first);
            self.gather(&jobs).into_iter().for_each(sort);
            // Lazy changes do not wait for the disk.
            self.commit_group(lazy, false);
            let (begin, count) = (Instant::now(), durable.len());
            self.commit_group(durable, true);
            self.last = (count, begin.elapsed());
            if !index.is_empty() {
                let brought_up = self.bring_up_index();
                for answer in index {
                    let _ = answer.send(brought_up.clone());
                }
            }
            self.tend_log(&copy);
        }
        drop(copy);
        if let Some(copier) = copier {
            let _ = copier.join();
        }
    }

    /// Gathers the changes that have arrived. After a large group, its senders are about to come back with their next
    /// changes. Waiting for a small part of a sync's time puts all of them into one group, instead of a few now and the
    /// rest one sync later.
    fn gather(&self, jobs: &Receiver<Job>) -> Vec<Job> {
        let mut gathered: Vec<Job> = jobs.try_iter().take(GROUP - 1).collect();
        let (last_count, last_took) = self.last;
        if last_count > LARGE {
            let end = Instant::now() + (last_took / 8).min(PATIENCE);
            while gathered.len() + 1 < last_count.min(GROUP) {
                let left = end.saturating_duration_since(Instant::now());
                let Ok(job) = jobs.recv_timeout(left) else { break };
                gathered.push(job);
            }
        }
        gathered
    }

    /// Returns the next job. Updates the search index while no job waits.
    fn next(&mut self, jobs: &Receiver<Job>) -> Option<Job> {
        if let Ok(job) = jobs.try_recv() {
            return Some(job);
        }
        self.be_ready();
        while self.is_behind {
            match jobs.recv_timeout(INDEX_AFTER) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            loop {
                match self.index_some() {
                    Ok(true) => {}
                    Ok(false) => self.is_behind = false,
                    Err(error) => {
                        // A search retries this, and reports its own failure.
                        tracing::warn!(%error, "cannot update the search index");
                        self.is_behind = false;
                    }
                }
                if !self.is_behind {
                    self.be_ready();
                    break;
                }
                match jobs.try_recv() {
                    Ok(job) => return Some(job),
                    Err(std::sync::mpsc::TryRecvError::Empty) => {}
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => return None,
                }
            }
        }
        jobs.recv().ok()
    }

    /// Applies changes in one transaction and answers them. If SQLite fails at one, each change gets its own
    /// transaction, so that only that one fails.
    fn commit_group(&mut self, changes: Vec<(Box<Change>, Answer<Changed>)>, durable: bool) {
        if changes.is_empty() {
            return;
        }
        let (mut results, mut hooks) = (Vec::with_capacity(changes.len()), Vec::new());
        match self.in_transaction(changes.iter().map(|(change, _)| &**change), durable, &mut results, &mut hooks) {
            Ok(()) => self.answer(changes, results, hooks),
            Err(error) if changes.len() == 1 && hooks.is_empty() => self.answer(changes, vec![Err(error)], hooks),
            Err(error) => {
                for change in changes {
                    self.commit_alone(change, durable, &error);
                }
            }
        }
    }

    /// Commits a change of a failed group alone. If the group may have been committed, only the store's answer to this
    /// change settles it; a later failure proves nothing.
    fn commit_alone(&mut self, change: (Box<Change>, Answer<Changed>), durable: bool, before: &StoreError) {
        let (change, answer) = change;
        let (told, mut result) = oneshot::channel();
        self.commit_group(vec![(change, told)], durable);
        let result = match (result.try_recv(), before) {
            (Ok(Err(StoreError::Refused(refusal))), _) => Err(StoreError::Refused(refusal)),
            (Ok(Err(_)), StoreError::Uncertain { reason }) => Err(StoreError::Uncertain { reason: reason.clone() }),
            (Ok(result), _) => result,
            (Err(_), _) => Err(StoreError::Failed { reason: "a change was not answered".to_owned() }),
        };
        // The caller may have disappeared; the change remains.
        let _ = answer.send(result);
    }

    /// Answers the callers, then wakes the waiters. Waiters that the hook served are answered first: they have waited
    /// longest.
    fn answer(
        &mut self,
        changes: Vec<(Box<Change>, Answer<Changed>)>,
        results: Vec<Result<Changed, StoreError>>,
        hooks: Vec<Option<AfterCommit>>,
    ) {
        let arrivals = std::mem::take(&mut self.arrivals);
        hooks.into_iter().flatten().for_each(|tell| tell());
        for ((_, answer), result) in changes.into_iter().zip(results) {
            // The caller may have disappeared; the change remains.
            let _ = answer.send(result);
        }
        // A listener may ask at once, on this thread; its query is next.
        if !arrivals.is_empty() {
            self.is_behind = true;
            if let Some(listener) = self.listeners().wake {
                listener(Wake::Mail(arrivals));
            }
        }
    }

    fn listeners(&self) -> Listeners {
        self.listeners.lock().clone()
    }

    /// Runs one transaction, including the work of the commit hook. On an error nothing has happened, and there are no
    /// arrivals.
    fn in_transaction<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a Change>,
        durable: bool,
        results: &mut Vec<Result<Changed, StoreError>>,
        hooks: &mut Vec<Option<AfterCommit>>,
    ) -> Result<(), StoreError> {
        if !self.file.is_there() {
            return Err(StoreError::Gone);
        }
        self.cache.forget();
        let attempt = || -> rusqlite::Result<()> {
            self.sync_commits(durable)?;
            self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            for change in changes {
                results.push(self.apply(change)?.map_err(StoreError::Refused));
            }
            let hook = if self.arrivals.is_empty() { None } else { self.listeners().commit };
            for one in hook.map(|hook| hook(&self.arrivals)).unwrap_or_default() {
                // Counted before the attempt, since the attempt may fail.
                hooks.push(None);
                let done = self.run_hook(one)?;
                hooks.push(Some(done));
            }
            self.write_mailboxes()?;
            self.db.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        };
        attempt().map_err(|error| {
            self.arrivals.clear();
            if !self.db.is_autocommit() {
                // After some errors SQLite has already rolled back; this then fails harmlessly.
                let _ = self.db.execute_batch("ROLLBACK");
            }
            explain(error)
        })
    }

    fn run_hook(&mut self, work: InTransaction) -> rusqlite::Result<AfterCommit> {
        let this = RefCell::new(self);
        work.run(
            |change| this.borrow_mut().apply(&change),
            |query| {
                let this = this.borrow();
                this.write_mailboxes()?;
                queries::answer(&this.db, this.space, this.clock.now(), query)
            },
        )
    }

    /// Sets whether commits wait for the disk.
    fn sync_commits(&mut self, durable: bool) -> rusqlite::Result<()> {
        if self.is_syncing != Some(durable) {
            let sql = if durable { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
            self.db.execute_batch(sql)?;
            self.is_syncing = Some(durable);
        }
        Ok(())
    }

    /// Prepares for a durable change while the writer is idle.
    fn be_ready(&mut self) {
        // A failure here is retried with that change, which then fails too.
        let _ = self.sync_commits(true);
    }

    /// Applies one change; a refused change has written nothing.
    fn apply(&mut self, change: &Change) -> rusqlite::Result<Result<Changed, Refusal>> {
        if let Change::Append(append) = change
            && let [to] = &append.to[..]
        {
            // Reads sender and recipient in one statement.
            self.look_up(append.sender.agent.as_str(), &to.name)?;
        }
        match rules::at_once(rules::apply(self, change)) {
            Ok(changed) => Ok(Ok(changed)),
            Err(Fault::Refused(refusal)) => Ok(Err(refusal)),
            Err(Fault::Sql(error)) => Err(error),
        }
    }

    fn bring_up_index(&mut self) -> Result<(), StoreError> {
        while self.index_some()? {}
        self.is_behind = false;
        Ok(())
    }

    /// Adds some messages to the search index. True if there may be more.
    fn index_some(&mut self) -> Result<bool, StoreError> {
        let mut attempt = || -> rusqlite::Result<bool> {
            self.sync_commits(false)?;
            self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            let from: i64 = self.db.prepare_cached("SELECT message FROM indexed")?.query_row([], |row| row.get(0))?;
            let mut next =
                self.db.prepare_cached("SELECT id, content FROM message WHERE id > ?1 ORDER BY id LIMIT ?2")?;
            let mut add = self.db.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
            let mut rows = next.query((from, INDEX_STEP))?;
            let (mut last, mut count) = (from, 0);
            while let Some(row) = rows.next()? {
                last = row.get(0)?;
                let content = row.get_ref(1)?.as_bytes()?;
                let text = split_words(&String::from_utf8_lossy(content)).into_iter().collect::<Vec<_>>().join(" ");
                add.execute((last, text))?;
                count += 1;
            }
            self.db.prepare_cached("UPDATE indexed SET message = ?1")?.execute([last])?;
            self.db.prepare_cached("COMMIT")?.execute([])?;
            Ok(count == INDEX_STEP)
        };
        attempt().map_err(|error| {
            if !self.db.is_autocommit() {
                let _ = self.db.execute_batch("ROLLBACK");
            }
            explain(error)
        })
    }

    /// Requests a checkpoint when the log is long; makes one itself when the log is far too long.
    fn tend_log(&mut self, copy: &SyncSender<()>) {
        let pages = LOG_PAGES.get();
        if pages > TOO_MANY_PAGES {
            let done = self.db.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
            if let Err(error) = done {
                tracing::warn!(%error, "cannot checkpoint the mail store's log");
            }
            LOG_PAGES.set(0);
        } else if pages > CHECKPOINT_PAGES || (pages > CHECKPOINT_PAGES_AT_LEISURE && self.last.0 <= LARGE) {
            // If a checkpoint is already requested, that is enough.
            let _ = copy.try_send(());
        }
    }
}

fn copy_log(db: &Connection, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        if let Err(error) = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::warn!(%error, "cannot checkpoint the mail store's log");
        }
    }
}
