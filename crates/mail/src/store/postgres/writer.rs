//! The one task that writes: it gathers changes, applies them in one transaction, notifies once, and answers them.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgDatabaseError, PgSeverity};
use sqlx::{Connection, PgConnection, Row};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{CONNECT, Shared, Tries, explain};
use crate::error::{Refusal, StoreError};
use crate::model::{Limits, Millis};
use crate::store::change::{Change, Changed};
use crate::store::rules;

/// The most changes in one transaction.
const GROUP: usize = 64;
/// How often a daemon records that it is running.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(30);

pub(super) type Job = (Box<Change>, oneshot::Sender<Result<Changed, StoreError>>);

/// Why a change was not applied.
pub(super) enum Fault {
    /// The rules refuse it. Nothing was written.
    Refused(Refusal),
    /// The database failed. The transaction must be rolled back.
    Sql(sqlx::Error),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Fault {
        Fault::Sql(error)
    }
}

impl<R: Into<Refusal>> From<R> for Fault {
    fn from(refusal: R) -> Fault {
        Fault::Refused(refusal.into())
    }
}

pub(super) struct Writer {
    shared: Arc<Shared>,
    db: Option<PgConnection>,
    beaten_at: Option<Instant>,
    purged_to: i64,
}

pub(super) struct Transaction<'a> {
    pub(super) db: &'a mut PgConnection,
    pub(super) space: i64,
    pub(super) owner: &'a str,
    pub(super) limits: &'a Limits,
    pub(super) now: Millis,
    /// How far the purge has come.
    pub(super) purged_to: &'a mut i64,
    /// Whether the transaction brings news.
    pub(super) has_news: bool,
}

enum Failure {
    /// The transaction did not happen.
    Before(sqlx::Error),
    /// The transaction may have happened: the connection broke at the commit.
    During(sqlx::Error),
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>) -> Writer {
        Writer { shared, db: None, beaten_at: None, purged_to: 0 }
    }

    /// Writes until all senders are dropped.
    pub(super) async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        loop {
            let first = match tokio::time::timeout(HEARTBEAT, jobs.recv()).await {
                Ok(Some(first)) => Some(first),
                Ok(None) => return,
                Err(_) => None,
            };
            let mut group: Vec<Job> = first.into_iter().collect();
            while !group.is_empty() && group.len() < GROUP {
                match jobs.try_recv() {
                    Ok(job) => group.push(job),
                    Err(_) => break,
                }
            }
            self.commit_group(group).await;
        }
    }

    /// Applies changes in one transaction and answers them. If that fails, each change gets its own transaction.
    async fn commit_group(&mut self, group: Vec<Job>) {
        let mut results = Vec::new();
        let changes: Vec<&Change> = group.iter().map(|(change, _)| &**change).collect();
        match self.with_connection(&changes, &mut results).await {
            Ok(()) => {
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
                        let mut one = Vec::new();
                        let attempted = self.with_connection(&[&change], &mut one).await;
                        let result = attempted.and_then(|()| one.pop().expect("one change has one result"));
                        if !tries.again(&result) {
                            break result;
                        }
                    };
                    let _ = answer.send(result);
                }
            }
        }
    }

    async fn with_connection(
        &mut self,
        changes: &[&Change],
        results: &mut Vec<Result<Changed, StoreError>>,
    ) -> Result<(), StoreError> {
        let mut db = match self.db.take() {
            Some(db) => db,
            None => {
                let connecting = PgConnection::connect_with(&self.shared.connect);
                let connected = tokio::time::timeout(CONNECT, connecting).await;
                let late = || StoreError::Away { reason: "connecting took too long".to_owned() };
                connected.map_err(|_| late())?.map_err(explain)?
            }
        };
        match self.in_transaction(&mut db, changes, results).await {
            Ok(()) => {
                self.db = Some(db);
                Ok(())
            }
            Err(Failure::Before(error)) => {
                // After an error of the database the connection stays usable; after any other it does not.
                if matches!(error, sqlx::Error::Database(_)) && sqlx::query("ROLLBACK").execute(&mut db).await.is_ok() {
                    self.db = Some(db);
                }
                Err(explain(error))
            }
            Err(Failure::During(error)) => Err(StoreError::Uncertain { reason: error.to_string() }),
        }
    }

    async fn in_transaction(
        &mut self,
        db: &mut PgConnection,
        changes: &[&Change],
        results: &mut Vec<Result<Changed, StoreError>>,
    ) -> Result<(), Failure> {
        results.clear();
        let purged_before = self.purged_to;
        self.apply_all(db, changes, results).await.map_err(Failure::Before)?;
        if let Err(error) = sqlx::query("COMMIT").execute(&mut *db).await {
            self.purged_to = purged_before;
            // If the database itself refuses, the commit did not happen. Without an answer, or with the last message of
            // a server process that is ending, the commit may have happened.
            return Err(match is_refused(&error) {
                true => Failure::Before(error),
                false => Failure::During(error),
            });
        }
        Ok(())
    }

    async fn apply_all(
        &mut self,
        db: &mut PgConnection,
        changes: &[&Change],
        results: &mut Vec<Result<Changed, StoreError>>,
    ) -> Result<(), sqlx::Error> {
        let shared = Arc::clone(&self.shared);
        sqlx::query("BEGIN").execute(&mut *db).await?;
        let now = now(&mut *db, &shared).await?;
        if self.beaten_at.is_none_or(|at| at.elapsed() >= HEARTBEAT) {
            let sql = "INSERT INTO daemon VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET seen_at = $2";
            sqlx::query(sql).bind(&shared.owner).bind(now as i64).execute(&mut *db).await?;
            self.beaten_at = Some(Instant::now());
        }
        let mut transaction = Transaction {
            db,
            space: shared.space,
            owner: &shared.owner,
            limits: &shared.limits,
            now,
            purged_to: &mut self.purged_to,
            has_news: false,
        };
        transaction.lock(changes).await?;
        for change in changes {
            results.push(match rules::apply(&mut transaction, change).await {
                Ok(changed) => Ok(changed),
                Err(Fault::Refused(refusal)) => Err(refusal.into()),
                Err(Fault::Sql(error)) => return Err(error),
            });
        }
        if transaction.has_news {
            let sql = "SELECT pg_notify($1, '')";
            sqlx::query(sql).bind(&shared.channel).execute(&mut *transaction.db).await?;
        }
        Ok(())
    }
}

/// Whether the database refused the statement and keeps the connection.
fn is_refused(error: &sqlx::Error) -> bool {
    let fault = error.as_database_error().and_then(|fault| fault.try_downcast_ref::<PgDatabaseError>());
    fault.is_some_and(|fault| fault.severity() == PgSeverity::Error)
}

/// The time by the database's clock.
pub(super) async fn now(db: &mut PgConnection, shared: &Shared) -> Result<Millis, sqlx::Error> {
    if let Some(clock) = &shared.clock {
        return Ok(clock.now());
    }
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let now: i64 = sqlx::query(sql).fetch_one(db).await?.try_get(0)?;
    Ok(now.max(0) as Millis)
}
