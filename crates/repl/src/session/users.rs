//! The users of a session: pending calls, and connections that have made one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

/// The users of one session.
#[derive(Debug)]
pub(super) struct Users(Mutex<Present>);

#[derive(Debug)]
struct Present {
    calls: usize,
    /// Open connections, by their numbers.
    connections: HashSet<u64>,
    /// The time when the last one left.
    left: Instant,
}

impl Users {
    pub(super) fn new(now: Instant) -> Users {
        Users(Mutex::new(Present { calls: 0, connections: HashSet::new(), left: now }))
    }

    /// Counts a call until the guard is dropped.
    pub(super) fn call(self: &Arc<Users>) -> Call {
        self.0.lock().calls += 1;
        Call(self.clone())
    }

    /// Counts a connection. Returns true if it is new: then the caller must report its end.
    pub(super) fn connected(&self, connection: u64) -> bool {
        self.0.lock().connections.insert(connection)
    }

    pub(super) fn disconnected(&self, connection: u64) {
        let mut present = self.0.lock();
        present.connections.remove(&connection);
        present.left = Instant::now();
    }

    /// Returns true if a call is pending.
    pub(super) fn has_calls(&self) -> bool {
        self.0.lock().calls > 0
    }

    /// Returns the time since which the session is unused; `None` while it is in use.
    pub(super) fn away_since(&self) -> Option<Instant> {
        let present = self.0.lock();
        (present.calls == 0 && present.connections.is_empty()).then_some(present.left)
    }
}

/// A pending call.
#[derive(Debug)]
pub(super) struct Call(Arc<Users>);

impl Drop for Call {
    fn drop(&mut self) {
        let mut present = self.0.0.lock();
        present.calls -= 1;
        present.left = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_used_while_a_call_is_under_way_or_a_connection_open() {
        let begun = Instant::now();
        let users = Arc::new(Users::new(begun));
        assert_eq!((users.away_since(), users.has_calls()), (Some(begun), false));
        let call = users.call();
        assert!(users.connected(7) && !users.connected(7), "once is enough");
        assert_eq!((users.away_since(), users.has_calls()), (None, true));
        drop(call);
        assert_eq!((users.away_since(), users.has_calls()), (None, false));
        users.disconnected(7);
        assert!(users.away_since().is_some_and(|since| since > begun));
    }
}
