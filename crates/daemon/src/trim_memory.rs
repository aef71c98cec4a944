//! Trims the heap after many connections have closed. A thousand connections use some 50 MiB, all of it free
//! afterwards. But the allocator returns only the end of its heap, which longer-lived allocations made meanwhile (a
//! session, a log line) occupy.

use std::time::Duration;

use tokio::sync::watch;

/// The number of connections from which the heap is trimmed.
const CROWD: usize = 64;
/// The heap is trimmed when at most one in `LEFT` of the connections remains.
const LEFT: usize = 4;
/// Time for connections that are about to close.
const MOMENT: Duration = Duration::from_millis(500);

/// Trims the heap after each peak of connections, until the counter is dropped.
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
        // Trimming takes longer than a task may block its worker.
        if tokio::task::spawn_blocking(::process::allocator::trim).await.is_err() {
            return;
        }
    }
}
