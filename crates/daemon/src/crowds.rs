//! Memory after a crowd. A thousand connections take some 50 MiB while they stand, all of which is free when they have
//! gone; but the allocator gives only the end of its heap back by itself, and whatever is made meanwhile and lives on (a
//! session, a log line) lies there. So when a crowd has gone, all that is free is given back.

use std::time::Duration;

use tokio::sync::watch;

/// So many connections are a crowd.
const CROWD: usize = 64;
/// A crowd has gone when so much of it has: one in so many is left.
const LEFT: usize = 4;
/// How long to wait then for those that are just going.
const MOMENT: Duration = Duration::from_millis(500);

/// Sees to it for as long as somebody counts.
pub(crate) async fn give_back_after_each(mut count: watch::Receiver<usize>) {
    let mut most = 0;
    while count.changed().await.is_ok() {
        let now = *count.borrow_and_update();
        most = most.max(now);
        if most < CROWD || now > most / LEFT {
            continue;
        }
        tokio::time::sleep(MOMENT).await;
        most = *count.borrow();
        // It takes longer than a task may.
        if tokio::task::spawn_blocking(::process::allocator::give_back).await.is_err() {
            return;
        }
    }
}
