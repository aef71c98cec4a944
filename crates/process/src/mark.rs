//! A session's mark on its processes, which neither `setsid` nor an empty environment removes.
//!
//! A process that has left its session, cleared its environment and lost its parent shows no trace of its origin. But
//! limits are inherited, and the kernel has ignored one of them since Linux 2.4: the number of file locks
//! (getrlimit(2), `RLIMIT_LOCKS`). Its soft value is the session's mark. The hard value is kept, so that a process that
//! must outlive the session can remove the mark ([`unmark`]). macOS has no such limit, and so no mark.

use crate::nonce::Nonce;
use crate::platform;

/// The mark that the processes of one session carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    /// Computes the mark of a session: 60 bits of its nonce, which is less than any limit that was not set on purpose.
    pub(crate) fn from_nonce(nonce: &Nonce) -> Mark {
        Mark(u64::from_str_radix(&nonce.as_str()[..15], 16).unwrap_or_default())
    }

    /// Marks this process, and thereby its future children and programs. If the limit already has another use, the
    /// session gets no mark.
    pub(crate) fn apply(self) {
        platform::set_mark(Some(self.0));
    }

    /// Returns true if a process carries the mark. Another user's process cannot be queried.
    pub(crate) fn is_on(self, pid: i32) -> bool {
        platform::mark(pid) == Some(self.0)
    }
}

/// Removes the mark from this process and its future children: for a process that was started within a session and must
/// outlive it, such as another daemon.
pub fn unmark() {
    platform::set_mark(None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_marked_until_it_leaves() {
        let me = std::process::id().cast_signed();
        let (mark, other) = (Mark::from_nonce(&Nonce::random()), Mark::from_nonce(&Nonce::random()));
        assert!(!mark.is_on(me));
        mark.apply();
        assert!(mark.is_on(me) && !other.is_on(me));
        unmark();
        assert!(!mark.is_on(me));
    }
}
