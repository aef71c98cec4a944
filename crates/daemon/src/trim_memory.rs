//! Trims the heap after a crowd of connections has left. A thousand connections take some 50 MiB, all of it free once
//! they are gone. But the allocator itself returns only the end of its heap, and longer-lived allocations made
//! meanwhile (a session, a log line) lie there.

use std::time::Duration;

use tokio::sync::watch;

/// The number of connections that make a crowd.
const CROWD: usize = 64;
/// A crowd is gone when at most one in `LEFT` of its connections remains.
const LEFT: usize = 4;
/// Time for connections that are about to end.
const MOMENT: Duration = Duration::from_millis(500);

/// Trims the heap after each crowd, until the counter is dropped.
pub(crate) async fn after_each_crowd(mut count: watch::Receiver<usize>) {
    let mut most = 0;
    while count.changed().await.is_ok() {
        let now = *count.borrow_and_update();
        most = most.max(now);
        if most < CROWD || now > most / LEFT {
            continue;
        }
        tokio::time::sleep(MOMENT).await;
        most = *count.borrow();
        // Trimming takes longer than a task may hold its worker.
        if tokio::task::spawn_blocking(::process::allocator::trim).await.is_err() {
            return;
        }
    }
}
