//! The contract suite: every scenario on every store. What they share is in [`crate::place`].

mod consuming;
mod groups;
mod limits;
mod looking;
mod names;
mod sending;
mod waiting;

/// Makes a test of each scenario for each store.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::place::Place::memory(super::LIMITS()).await).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::place::Place::sqlite(super::LIMITS()).await).await;
            })*
        }
    };
}
use scenarios;
