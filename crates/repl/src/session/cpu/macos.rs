//! macOS: each reading asks the system for each process. Type-checked only: it has never run.

use std::time::Duration;

/// The clock of several processes and of the children they have reaped.
#[derive(Debug, Default)]
pub(crate) struct CpuClock(Vec<i32>);

impl CpuClock {
    pub(crate) fn from_pids(pids: impl IntoIterator<Item = i32>) -> CpuClock {
        CpuClock(pids.into_iter().filter(|pid| system::processor_time(*pid).is_some()).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the clock's resolution.
    pub(crate) fn tick() -> Duration {
        Duration::from_millis(1)
    }

    /// Returns the time so far; `None` if no process is left.
    pub(crate) fn now(&self) -> Option<Duration> {
        self.0.iter().filter_map(|pid| system::processor_time(*pid)).reduce(|all, more| all + more)
    }
}
