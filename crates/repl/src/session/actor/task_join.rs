//! Waits for a task that may or may not be running.

use std::future::pending;

use tokio::task::JoinHandle;

/// Returns the result of the running task; pending forever without one. Cancel safe: the task stays in place.
pub(super) async fn joined<T>(task: &mut Option<JoinHandle<T>>) -> Option<T> {
    match task {
        Some(handle) => {
            let result = handle.await.ok();
            *task = None;
            result
        }
        None => pending().await,
    }
}
