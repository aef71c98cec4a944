//! The contract suite: every scenario on every store. Scenarios share [`crate::fixture`].

use std::pin::Pin;

use crate::fixture::StoreFixture;
use crate::postgres::Server;

mod consuming;
mod dropping;
mod groups;
mod limits;
mod looking;
mod names;
mod sending;
mod waiting;

/// A scenario and the limits it needs.
pub(crate) struct Scenario {
    name: &'static str,
    limits: mail::Limits,
    run: fn(StoreFixture) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// One server for all scenarios, with a space for each, since starting a server takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_on_postgresql() {
    let Some(server) = Server::start() else { return };
    let lists = [
        consuming::list(),
        dropping::list(),
        groups::list(),
        limits::list(),
        looking::list(),
        names::list(),
        sending::list(),
        waiting::list(),
    ];
    for scenario in lists.into_iter().flatten() {
        eprintln!("{}", scenario.name);
        let fixture = StoreFixture::postgres(&server, scenario.name, scenario.limits).await;
        (scenario.run)(fixture).await;
    }
}

/// Makes a test of each scenario on each store.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::fixture::StoreFixture::memory(super::LIMITS()).await).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::fixture::StoreFixture::sqlite(super::LIMITS()).await).await;
            })*
        }
        /// Returns the scenarios as a list, for the store that is too slow to start for each.
        pub(super) fn list() -> Vec<crate::contract::Scenario> {
            vec![$(crate::contract::Scenario {
                name: concat!(module_path!(), "::", stringify!($name)),
                limits: LIMITS(),
                run: |fixture| Box::pin($name(fixture)),
            }),*]
        }
    };
}
use scenarios;
