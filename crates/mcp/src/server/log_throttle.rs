//! What a client does wrong and gets no answer for is logged; a flood of it gets few lines.

use std::time::Duration;

use tokio::time::Instant;

/// Lets one line a second into the log.
#[derive(Default)]
pub(super) struct LogThrottle {
    last: Option<Instant>,
    unlogged: u64,
}

impl LogThrottle {
    /// If there is to be a line: how many there would have been since the last one.
    pub(super) fn unlogged(&mut self) -> Option<u64> {
        if self.last.is_some_and(|last| last.elapsed() < Duration::from_secs(1)) {
            self.unlogged += 1;
            return None;
        }
        self.last = Some(Instant::now());
        Some(std::mem::take(&mut self.unlogged))
    }

    /// Logs a line that is no message.
    pub(super) fn log(&mut self, reason: &str, line: &[u8]) {
        if let Some(unlogged) = self.unlogged() {
            let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
            tracing::warn!(reason, line = %shown, unlogged, "a line of input was ignored");
        }
    }
}
