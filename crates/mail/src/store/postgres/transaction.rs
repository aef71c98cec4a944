//! One attempt to apply a group of changes. The changes read from the [`WorkingSet`] if it holds the rows, and write to
//! it.
//!
//! The first attempt needs two round trips and no explicit transaction: one statement reads, the rules run, one
//! statement writes if nothing has changed meanwhile. If something has changed, and for changes that need more, the
//! mailboxes are locked first.

use std::sync::Arc;

use sqlx::postgres::{PgDatabaseError, PgSeverity};
use sqlx::{PgConnection, Row};

use super::Shared;
use super::load::{load, lock};
use super::required_rows::Wants;
use super::save::save;
use super::working_set::WorkingSet;
use crate::error::{Refusal, StoreError};
use crate::model::{Limits, Millis};
use crate::store::change::{Change, Changed};
use crate::store::rules;

/// Why a change was not applied.
pub(super) enum Fault {
    /// The rules refuse it. Nothing was written.
    Refused(Refusal),
    /// The database failed. The transaction must be rolled back.
    Sql(sqlx::Error),
    /// The working set is not enough: something was not read, or has changed since.
    Beyond,
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

/// Why a group was not applied.
pub(super) enum Failure {
    /// The transaction did not happen.
    Before(sqlx::Error),
    /// The transaction may have happened: the connection broke at the commit.
    During(sqlx::Error),
    /// Nothing happened. The group needs the locks.
    Contended,
}

impl Failure {
    /// Classifies an error of the statement that commits. If the database itself refuses, the commit did not happen.
    /// Without an answer, or with the last message of a server process that is shutting down, the commit may have
    /// happened.
    fn of_commit(error: sqlx::Error) -> Failure {
        let fault = error.as_database_error().and_then(|fault| fault.try_downcast_ref::<PgDatabaseError>());
        if fault.is_some_and(|fault| fault.severity() == PgSeverity::Error) {
            Failure::Before(error)
        } else {
            Failure::During(error)
        }
    }
}

pub(super) struct Transaction<'a> {
    pub(super) db: &'a mut PgConnection,
    pub(super) set: WorkingSet,
    pub(super) space: i64,
    pub(super) owner: &'a str,
    pub(super) limits: &'a Limits,
    pub(super) now: Millis,
    /// The position of the purge.
    pub(super) purged_to: &'a mut i64,
    /// True if the transaction brings news.
    pub(super) has_news: bool,
    shared: &'a Shared,
    /// True if the wanted mailboxes are locked until the commit.
    is_locked: bool,
}

/// The answers to the changes of a group.
pub(super) type Results = Vec<Result<Changed, StoreError>>;

/// Applies changes that a working set suffices for.
pub(super) async fn at_once(
    db: &mut PgConnection,
    shared: &Arc<Shared>,
    changes: &[&Change],
    purged_to: &mut i64,
) -> Result<Results, Failure> {
    let mut transaction =
        Transaction::begin(db, shared, Wants::collect(changes), false, purged_to).await.map_err(Failure::Before)?;
    let results = match transaction.apply(changes).await {
        Ok(results) => results,
        Err(Fault::Sql(error)) => return Err(Failure::Before(error)),
        Err(_) => return Err(Failure::Contended),
    };
    if !transaction.set.is_changed() {
        return Ok(results);
    }
    match transaction.write().await {
        Ok(()) => Ok(results),
        Err(Fault::Sql(error)) => Err(Failure::of_commit(error)),
        Err(_) => Err(Failure::Contended),
    }
}

/// Applies changes under locks.
pub(super) async fn locked(
    db: &mut PgConnection,
    shared: &Arc<Shared>,
    changes: &[&Change],
    purged_to: &mut i64,
) -> Result<Results, Failure> {
    let purged_before = *purged_to;
    let results = match apply_locked(db, shared, changes, purged_to).await {
        Ok(results) => results,
        Err(Fault::Sql(error)) => return Err(Failure::Before(error)),
        Err(_) => return Err(Failure::Contended),
    };
    if let Err(error) = sqlx::query("COMMIT").execute(&mut *db).await {
        *purged_to = purged_before;
        return Err(Failure::of_commit(error));
    }
    Ok(results)
}

async fn apply_locked(
    db: &mut PgConnection,
    shared: &Shared,
    changes: &[&Change],
    purged_to: &mut i64,
) -> Result<Results, Fault> {
    sqlx::query("BEGIN").execute(&mut *db).await?;
    let wants = Wants::collect(changes);
    lock(db, shared.space, &wants).await?;
    let mut transaction = Transaction::begin(db, shared, wants, true, purged_to).await?;
    let results = transaction.apply(changes).await?;
    transaction.finish().await?;
    Ok(results)
}

impl<'a> Transaction<'a> {
    async fn begin(
        db: &'a mut PgConnection,
        shared: &'a Shared,
        wants: Wants,
        is_locked: bool,
        purged_to: &'a mut i64,
    ) -> Result<Transaction<'a>, sqlx::Error> {
        let (set, now) = load(db, shared, wants).await?;
        let Shared { space, owner, limits, .. } = shared;
        let space = *space;
        Ok(Transaction { db, set, space, owner, limits, now, purged_to, has_news: false, shared, is_locked })
    }

    /// Applies the changes. The fault is never a refusal.
    async fn apply(&mut self, changes: &[&Change]) -> Result<Results, Fault> {
        let mut results = Vec::with_capacity(changes.len());
        for change in changes {
            results.push(match rules::apply(self, change).await {
                Ok(changed) => Ok(changed),
                Err(Fault::Refused(refusal)) => Err(refusal.into()),
                Err(fault) => return Err(fault),
            });
        }
        Ok(results)
    }

    /// Returns the connection, for rows outside of the working set. The set is written and emptied first, so that every
    /// statement sees every change.
    pub(super) async fn direct(&mut self) -> Result<&mut PgConnection, Fault> {
        if !self.is_locked {
            return Err(Fault::Beyond);
        }
        if self.set.is_changed() {
            self.write().await?;
        }
        self.set = WorkingSet::default();
        Ok(self.db)
    }

    /// Writes the remaining rows, and notifies the daemons of news.
    async fn finish(&mut self) -> Result<(), Fault> {
        if self.set.is_changed() {
            self.write().await?;
        }
        if self.has_news {
            let sql = "SELECT pg_notify($1, '')";
            sqlx::query(sql).bind(&self.shared.channel).execute(&mut *self.db).await?;
        }
        Ok(())
    }

    /// Writes the changed rows of the working set, unless a mailbox has changed.
    async fn write(&mut self) -> Result<(), Fault> {
        if !save(self.db, self.shared, &self.set, self.now, self.has_news).await? {
            return Err(Fault::Beyond);
        }
        // A locked transaction may bring more news after this.
        self.has_news = false;
        Ok(())
    }
}

/// Returns the time by the database's clock.
pub(super) async fn now(db: &mut PgConnection, shared: &Shared) -> Result<Millis, sqlx::Error> {
    if let Some(clock) = &shared.clock {
        return Ok(clock.now());
    }
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let now: i64 = sqlx::query(sql).fetch_one(db).await?.try_get(0)?;
    Ok(now.max(0) as Millis)
}
