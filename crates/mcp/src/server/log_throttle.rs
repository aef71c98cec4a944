//! Logs a client's errors that get no answer, at most once a second.

use std::time::Duration;

use tokio::time::Instant;

/// Allows one log line a second.
#[derive(Default)]
pub(super) struct LogThrottle {
    last: Option<Instant>,
    unlogged: u64,
}

impl LogThrottle {
    /// `Some(suppressed)` when a line may be logged now.
    pub(super) fn unlogged(&mut self) -> Option<u64> {
        if self.last.is_some_and(|last| last.elapsed() < Duration::from_secs(1)) {
            self.unlogged += 1;
            return None;
        }
        self.last = Some(Instant::now());
        Some(std::mem::take(&mut self.unlogged))
    }

    /// Logs a line of input that is not a message.
    pub(super) fn log(&mut self, reason: &str, line: &[u8]) {
        if let Some(unlogged) = self.unlogged() {
            let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
            tracing::warn!(reason, line = %shown, unlogged, "a line of input was ignored");
        }
    }
}
