//! The store in PostgreSQL, for agents on several machines: one daemon on each, one database.
//!
//! One task writes, in groups. A group takes two round trips: one statement reads the rows for its changes, one writes
//! the result of the rules unless a mailbox has changed meanwhile. Otherwise the group locks its mailboxes first. In
//! both cases the rows of mailboxes are locked in the order of their numbers until the commit. So sequences become
//! visible in order, and daemons do not deadlock. Each group sends one notification without content; daemons then read
//! the missing rows. Start with [`writer`], then [`transaction`].

mod deliver;
mod load;
mod maintenance;
mod queries;
mod required_rows;
mod rows;
mod save;
mod schema;
mod space;
mod transaction;
mod working_rows;
mod working_set;
mod writer;

use parking_lot::Mutex;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions, PgSslMode};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::change::{Change, Changed};
use super::query::{Query, QueryResult};
use super::{BoxFuture, Store, Wake, WakeDelivery, WakeListener};
use crate::error::StoreError;
use crate::model::{Clock, Limits, Space};
pub use space::{Former, Noted, Own, Refuse, SettledSpace, Why};
use writer::{Job, Writer};

/// The most waiting changes.
const CHANGES: usize = 1_024;
/// Connections for queries.
const READERS: u32 = 4;
const CONNECT: Duration = Duration::from_secs(5);
/// The maximum number of attempts when another daemon interferes or the connection breaks.
const TRIES: usize = 5;
/// The pause before listening again.
const LISTEN_AGAIN: Duration = Duration::from_millis(250);

#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host/database`. A connection to another machine must be encrypted.
    pub url: String,
    /// The space to open; a database holds several.
    pub space: Space,
    /// The daemon's name, the same after a restart: the owner of its leases.
    pub owner: String,
    /// The former place of this project's mail, and the project's own agents.
    pub former: Former,
    pub limits: Limits,
    /// Replaces the database's clock in tests.
    pub clock: Option<Clock>,
}

/// A space in a PostgreSQL database.
pub struct PostgresStore {
    settled: SettledSpace,
    jobs: mpsc::Sender<Job>,
    pool: PgPool,
    shared: Arc<Shared>,
    listener: Arc<Mutex<Option<WakeListener>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// State that the tasks of one store share.
struct Shared {
    connect: PgConnectOptions,
    space: i64,
    channel: String,
    owner: String,
    limits: Limits,
    clock: Option<Clock>,
}

impl PostgresStore {
    /// Connects, makes the tables if there are none, and moves the project's mail here from a former space.
    ///
    /// # Errors
    /// When the database cannot be reached, or was written by a newer version. [`StoreError::Elsewhere`] when the
    /// project's mail cannot be moved here.
    pub async fn connect(options: PostgresOptions) -> Result<PostgresStore, StoreError> {
        let connect = connect_options(&options.url)?;
        let pool = PgPoolOptions::new().max_connections(READERS).acquire_timeout(CONNECT);
        let pool = pool.connect_lazy_with(connect.clone());
        let mut tries = Tries::default();
        let (space, settled) = loop {
            let mut db = pool.acquire().await.map_err(explain)?;
            let prepared = match schema::prepare(&mut db).await {
                Ok(id) => space::settle(&mut db, id, &options.space, &options.former).await,
                Err(error) => Err(error),
            };
            if !tries.should_retry(&prepared) {
                break prepared?;
            }
        };
        let shared = Arc::new(Shared {
            connect,
            space,
            channel: format!("hob_mail_{space}"),
            owner: options.owner,
            limits: options.limits,
            clock: options.clock,
        });
        let listener: Arc<Mutex<Option<WakeListener>>> = Arc::default();
        let (jobs, taken) = mpsc::channel(CHANGES);
        let writing = tokio::spawn(Writer::new(Arc::clone(&shared)).run(taken));
        let listening = tokio::spawn(listen(Arc::clone(&shared), Arc::clone(&listener)));
        Ok(PostgresStore { settled, jobs, pool, shared, listener, tasks: Mutex::new(vec![listening, writing]) })
    }
}

impl PostgresStore {
    /// Where the mail is.
    pub fn settled(&self) -> &SettledSpace {
        &self.settled
    }
}

/// Returns an address without its password. `None` if it is not an address.
pub fn without_password(url: &str) -> Option<String> {
    let options = PgConnectOptions::from_str(url).ok()?;
    let shared = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let database = options.get_database().unwrap_or(options.get_username());
    Some(format!("postgres://{}@{shared}/{database}", options.get_username()))
}

/// Requires encryption for traffic to another machine.
fn connect_options(url: &str) -> Result<PgConnectOptions, StoreError> {
    let bad = |error: sqlx::Error| StoreError::Failed { reason: format!("invalid database address: {error}") };
    let options = PgConnectOptions::from_str(url).map_err(bad)?;
    let host = options.get_host();
    let is_here = options.get_socket().is_some() || ["localhost", "127.0.0.1", "::1", "[::1]"].contains(&host);
    let is_here = is_here || host.starts_with('/');
    let is_open = matches!(options.get_ssl_mode(), PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer);
    let options = if !is_here && is_open { options.ssl_mode(PgSslMode::Require) } else { options };
    Ok(options.application_name("hob").options([("search_path", schema::SCHEMA)]))
}

/// Passes notifications on, forever. After every reconnection all waiters look, since a notification may have been
/// missed.
async fn listen(shared: Arc<Shared>, listener: Arc<Mutex<Option<WakeListener>>>) {
    let tell = || {
        let listener = listener.lock().clone();
        if let Some(listener) = listener {
            listener(Wake::Look);
        }
    };
    loop {
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECT);
        let pool = pool.connect_lazy_with(shared.connect.clone());
        let listening = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.listen(&shared.channel).await?;
            tell();
            loop {
                // `None` means that the connection was lost and made again.
                listener.try_recv().await?;
                tell();
            }
        };
        let ended: Result<(), sqlx::Error> = listening.await;
        if let Err(error) = ended {
            tracing::warn!(%error, "cannot listen to the mail database; retrying");
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

impl Store for PostgresStore {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        Box::pin(async move {
            let (done, answer) = oneshot::channel();
            let closed = || StoreError::Away { reason: "it is closed".to_owned() };
            self.jobs.send((Box::new(change), done)).await.map_err(|_| closed())?;
            answer.await.map_err(|_| StoreError::Uncertain { reason: "the writer ended".to_owned() })?
        })
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        Box::pin(async move {
            let mut tries = Tries::default();
            loop {
                let mut db = self.pool.acquire().await.map_err(explain)?;
                let found = queries::answer(&mut db, &self.shared, query.clone()).await.map_err(explain);
                if !tries.should_retry(&found) {
                    return found;
                }
            }
        })
    }

    fn listen(&self, listener: WakeListener) {
        *self.listener.lock() = Some(listener);
    }

    fn wake_delivery(&self) -> WakeDelivery {
        WakeDelivery::BestEffort
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for task in self.tasks.lock().drain(..) {
                task.abort();
            }
            self.pool.close().await;
        })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        for task in self.tasks.lock().drain(..) {
            task.abort();
        }
    }
}

/// Counts attempts of a repeatable operation. A connection may be cut midway, and the next attempt uses another one. If
/// no connection can be made, the first error is the answer.
#[derive(Default)]
struct Tries(usize);

impl Tries {
    fn should_retry<T>(&mut self, result: &Result<T, StoreError>) -> bool {
        self.0 += 1;
        self.0 < TRIES && matches!(result, Err(StoreError::Away { .. }))
    }
}

/// Maps an error before the commit: nothing has happened.
fn explain(error: sqlx::Error) -> StoreError {
    let reason = error.to_string();
    match &error {
        sqlx::Error::Database(fault) => match fault.code().as_deref() {
            Some("53100") => StoreError::DiskFull,
            Some("25006") => StoreError::ReadOnly { reason },
            // Shutting down, starting up, too many connections, cut by an administrator, deadlock, or conflict.
            Some(code) if code.starts_with("57P") || code.starts_with("53") || code.starts_with("08") => {
                StoreError::Away { reason }
            }
            Some("40P01" | "40001" | "55P03") => StoreError::Away { reason },
            Some("XX001" | "XX002") => StoreError::Corrupt { reason },
            _ => StoreError::Failed { reason },
        },
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => StoreError::Away { reason },
        _ => StoreError::Failed { reason },
    }
}
