//! Stores in a PostgreSQL server that the test starts.

use mail::store::postgres::{Former, PostgresOptions, PostgresStore};
use mail::{Clock, Limits, Space};
use testkit::Postgres;

/// A server, which ends when this is dropped.
pub(crate) struct Server(Postgres);

impl Server {
    /// Starts a server. `None` if the programs are missing and not required (`CI`).
    pub(crate) fn start() -> Option<Server> {
        Postgres::start().map(Server)
    }

    /// Returns a store in this server, as opened by a daemon with this name.
    pub(crate) async fn store(&self, space: &str, owner: &str, clock: Option<Clock>, limits: &Limits) -> PostgresStore {
        let options = PostgresOptions {
            url: self.0.url(),
            space: Space::named(space),
            owner: owner.to_owned(),
            former: Former::default(),
            limits: limits.clone(),
            clock,
        };
        PostgresStore::connect(options).await.unwrap()
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    /// Where it takes connections.
    pub(crate) fn socket(&self) -> std::path::PathBuf {
        let url = self.0.url();
        let (_, dir) = url.split_once("host=").unwrap();
        std::path::Path::new(dir).join(".s.PGSQL.5432")
    }

    /// Ends all connections of all stores, as a failing network or an administrator does.
    pub(crate) async fn cut_connections(&self) {
        tokio::task::block_in_place(|| self.0.cut_connections());
    }
}
