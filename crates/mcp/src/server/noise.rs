//! Input that is no message gets no answer but a line in the log; a flood of it gets few.

use std::time::Duration;

use tokio::time::Instant;

/// Logs lines that are no messages, at most one a second.
#[derive(Default)]
pub(super) struct Noise {
    last: Option<Instant>,
    unlogged: u64,
}

impl Noise {
    pub(super) fn log(&mut self, reason: &str, line: &[u8]) {
        if self.last.is_some_and(|last| last.elapsed() < Duration::from_secs(1)) {
            self.unlogged += 1;
            return;
        }
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        tracing::warn!(reason, line = %shown, unlogged = self.unlogged, "a line of input was ignored");
        *self = Noise { last: Some(Instant::now()), unlogged: 0 };
    }
}
