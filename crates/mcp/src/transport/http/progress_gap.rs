//! Detects whether a client has read its call's progress, on a stream that carries all messages. Some clients lose a
//! report that arrives in one read with its answer, so the answer waits (see `server/answer_delay.rs`). Over TCP the system
//! cannot tell what was read. A WebSocket's client confirms by answering a ping that follows the report; on a stream of
//! events only a delay helps.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::server::Drained;

/// The pause after progress: long enough for a client to read, unless it is very busy.
const PROGRESS_GAP: Duration = Duration::from_millis(100);

/// When progress was last sent on a stream of events.
#[derive(Clone, Default)]
pub(super) struct SentAt(Arc<Mutex<Option<Instant>>>);

impl SentAt {
    /// Notes the time, if these lines contain progress.
    pub(super) fn sent(&self, lines: &[u8]) {
        if tells_progress(lines) {
            *self.0.lock() = Some(Instant::now());
        }
    }

    pub(super) fn drained(&self) -> Drained {
        let sent = self.0.clone();
        Box::new(move || {
            let sent = *sent.lock();
            Some(sent.is_none_or(|sent| sent.elapsed() >= PROGRESS_GAP))
        })
    }
}

/// Returns true if these lines contain progress.
pub(super) fn tells_progress(lines: &[u8]) -> bool {
    memchr::memmem::find(lines, b"\"method\":\"notifications/progress\"").is_some()
}

/// The numbers of the last ping that followed progress on a WebSocket, and of the last one that was answered.
#[cfg(feature = "websocket")]
#[derive(Clone, Default)]
pub(super) struct Pings(Arc<Mutex<(u64, u64)>>);

#[cfg(feature = "websocket")]
impl Pings {
    /// Returns the payload of the next ping.
    pub(super) fn next(&self) -> Vec<u8> {
        let mut pings = self.0.lock();
        pings.0 += 1;
        pings.0.to_be_bytes().to_vec()
    }

    /// Takes the payload of a pong; pongs to other pings are ignored.
    pub(super) fn answered(&self, said: &[u8]) {
        if let Ok(number) = said.try_into().map(u64::from_be_bytes) {
            let mut pings = self.0.lock();
            pings.1 = pings.1.max(number).min(pings.0);
        }
    }

    pub(super) fn drained(&self) -> Drained {
        let pings = self.0.clone();
        Box::new(move || {
            let (asked, answered) = *pings.lock();
            Some(answered >= asked)
        })
    }
}
