//! macOS: no events. Every tree is polled, and each sync is a full scan. Type-checked only: it has never run.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

use crate::inbox::Inbox;
use crate::mode::PollReason;

/// A source of events. None exists.
pub(crate) enum Source {}

impl Source {
    pub(crate) fn start(_: usize, _: &Arc<Inbox>, _: u64) -> Result<Self, PollReason> {
        Err(PollReason::System)
    }

    pub(crate) fn watch(&mut self, _: &Path, _: BorrowedFd<'_>) -> Result<bool, PollReason> {
        match *self {}
    }

    pub(crate) fn unwatch(&mut self, _: &Path) {
        match *self {}
    }

    pub(crate) fn send_cookie(&self) -> bool {
        match *self {}
    }
}
