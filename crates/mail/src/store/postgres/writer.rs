//! The one task that writes: it gathers changes, applies them in one transaction, notifies once, and answers them.
//! [`super::transaction`] applies them.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::transaction::{Failure, Results, at_once, locked, now};
use super::{CONNECT, Shared, Tries, explain};
use crate::error::StoreError;
use crate::store::change::{Change, Changed};

/// The maximum number of changes in one transaction, and the most bytes of their messages.
const GROUP: usize = 64;
const GROUP_BYTES: usize = 4 << 20;
/// The interval at which a daemon records that it is running.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(30);
/// The number of groups that lock their mailboxes first after a conflict with another daemon.
const WARY: u32 = 8;

/// Plans are made once, when tables may still be empty, and every statement of the writer finds its rows by an index.
const SETTINGS: &str = "SELECT set_config(name, setting, false) FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), \
                        ('default_transaction_isolation', 'read committed'), ('jit', 'off'), ('enable_seqscan', 'off'), \
                        ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), \
                        ('enable_material', 'off'), ('enable_memoize', 'off')) AS wanted(name, setting)";

pub(super) type Job = (Box<Change>, oneshot::Sender<Result<Changed, StoreError>>);

pub(super) struct Writer {
    shared: Arc<Shared>,
    db: Option<PgConnection>,
    beaten_at: Option<Instant>,
    purged_to: i64,
    /// Groups to come that lock first.
    wary: u32,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>) -> Writer {
        Writer { shared, db: None, beaten_at: None, purged_to: 0, wary: 0 }
    }

    /// Writes until all senders are dropped.
    pub(super) async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        loop {
            let first = match tokio::time::timeout(HEARTBEAT, jobs.recv()).await {
                Ok(Some(first)) => first,
                Ok(None) => return,
                Err(_) => {
                    // Its failure shows at the next change.
                    let _ = self.with_connection(&[], false).await;
                    continue;
                }
            };
            let (mut bytes, mut group) = (size(&first), vec![first]);
            while group.len() < GROUP && bytes < GROUP_BYTES {
                let Ok(job) = jobs.try_recv() else { break };
                bytes += size(&job);
                group.push(job);
            }
            let (common, rare) = group.into_iter().partition(|(change, _)| is_common(change));
            self.commit_group(common, false).await;
            self.commit_group(rare, true).await;
        }
    }

    /// Applies changes in one transaction and answers them. If that fails, each change gets its own transaction.
    async fn commit_group(&mut self, group: Vec<Job>, needs_locks: bool) {
        if group.is_empty() {
            return;
        }
        let changes: Vec<&Change> = group.iter().map(|(change, _)| &**change).collect();
        match self.with_connection(&changes, needs_locks).await {
            Ok(results) => {
                for ((_, answer), result) in group.into_iter().zip(results) {
                    let _ = answer.send(result);
                }
            }
            Err(error @ StoreError::Uncertain { .. }) => {
                for (_, answer) in group {
                    let _ = answer.send(Err(error.clone()));
                }
            }
            Err(_) => {
                for (change, answer) in group {
                    // A conflict with another daemon counts as unavailable too.
                    let mut tries = Tries::default();
                    let result = loop {
                        let attempted = self.with_connection(&[&change], true).await;
                        let result = attempted.and_then(|mut one| one.pop().expect("one change has one result"));
                        if !tries.should_retry(&result) {
                            break result;
                        }
                    };
                    let _ = answer.send(result);
                }
            }
        }
    }

    async fn with_connection(&mut self, changes: &[&Change], needs_locks: bool) -> Result<Results, StoreError> {
        let mut db = match self.db.take() {
            Some(db) => db,
            None => connect(&self.shared.connect).await?,
        };
        match self.attempt(&mut db, changes, needs_locks).await {
            Ok(results) => {
                self.db = Some(db);
                Ok(results)
            }
            Err(Failure::During(error)) => Err(StoreError::Uncertain { reason: error.to_string() }),
            Err(Failure::Before(error)) => {
                // After an error of the database the connection stays usable; after any other it does not.
                if matches!(error, sqlx::Error::Database(_)) && sqlx::query("ROLLBACK").execute(&mut db).await.is_ok() {
                    self.db = Some(db);
                }
                Err(explain(error))
            }
            Err(Failure::Contended) => {
                if sqlx::query("ROLLBACK").execute(&mut db).await.is_ok() {
                    self.db = Some(db);
                }
                Err(StoreError::Away { reason: "another daemon is always first".to_owned() })
            }
        }
    }

    async fn attempt(
        &mut self,
        db: &mut PgConnection,
        changes: &[&Change],
        needs_locks: bool,
    ) -> Result<Results, Failure> {
        self.beat(db).await.map_err(Failure::Before)?;
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        if !needs_locks && self.wary == 0 {
            match at_once(db, &self.shared, changes, &mut self.purged_to).await {
                Err(Failure::Contended) => self.wary = WARY,
                attempted => return attempted,
            }
        }
        self.wary = self.wary.saturating_sub(1);
        locked(db, &self.shared, changes, &mut self.purged_to).await
    }

    /// Records that this daemon is running, if that is due.
    async fn beat(&mut self, db: &mut PgConnection) -> Result<(), sqlx::Error> {
        if self.beaten_at.is_some_and(|at| at.elapsed() < HEARTBEAT) {
            return Ok(());
        }
        let now = now(&mut *db, &self.shared).await? as i64;
        let sql = "INSERT INTO daemon VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET seen_at = $2";
        sqlx::query(sql).bind(&self.shared.owner).bind(now).execute(db).await?;
        self.beaten_at = Some(Instant::now());
        Ok(())
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let late = |_| StoreError::Away { reason: "connecting took too long".to_owned() };
    let connecting = PgConnection::connect_with(options);
    let mut db = tokio::time::timeout(CONNECT, connecting).await.map_err(late)?.map_err(explain)?;
    sqlx::query(SETTINGS).execute(&mut db).await.map_err(explain)?;
    Ok(db)
}

/// Returns true if a working set is expected to suffice for the change.
fn is_common(change: &Change) -> bool {
    use Change::{Append, Claim, Confirm, HandBack, Release, Settle};
    matches!(change, Append(_) | Claim(_) | Confirm(_) | Settle(_) | Release(_) | HandBack(_))
}

fn size((change, _): &Job) -> usize {
    match &**change {
        Change::Append(append) => append.content.len() + append.metadata.len(),
        Change::Import(import) => import.content.len() + import.metadata.len(),
        _ => 0,
    }
}
