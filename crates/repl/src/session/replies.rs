//! Pending answers to callers.

use std::collections::HashMap;

use tokio::sync::oneshot;

use super::handle::{Finished, View};
use super::machine::Waiter;
use super::{InputOutcome, InterruptReport, SessionError};

/// The number above which replies whose callers have stopped waiting are dropped.
const MANY: usize = 256;

/// A reply channel, with the options of the answer.
pub(super) enum Reply {
    Eval(oneshot::Sender<Result<Finished, SessionError>>, View),
    Input(oneshot::Sender<Result<InputOutcome, SessionError>>),
    Interrupt(oneshot::Sender<Result<InterruptReport, SessionError>>, View),
}

/// All pending replies.
#[derive(Default)]
pub(super) struct Replies {
    open: HashMap<Waiter, Reply>,
    last: u64,
}

impl Replies {
    /// Stores a reply under a new number.
    pub(super) fn add(&mut self, reply: Reply) -> Waiter {
        if self.open.len() > MANY {
            self.open.retain(|_, reply| !reply.is_closed());
        }
        self.last += 1;
        let waiter = Waiter(self.last);
        self.open.insert(waiter, reply);
        waiter
    }

    /// Returns true if a caller still waits for this answer.
    pub(super) fn is_open(&self, waiter: Waiter) -> bool {
        self.open.get(&waiter).is_some_and(|reply| !reply.is_closed())
    }

    pub(super) fn remove(&mut self, waiter: Waiter) -> Option<Reply> {
        self.open.remove(&waiter)
    }

    /// Answers the waiter with an error.
    pub(super) fn refuse(&mut self, waiter: Waiter, error: SessionError) {
        // A caller that has stopped waiting needs no answer.
        match self.remove(waiter) {
            Some(Reply::Eval(reply, _)) => drop(reply.send(Err(error))),
            Some(Reply::Input(reply)) => drop(reply.send(Err(error))),
            Some(Reply::Interrupt(reply, _)) => drop(reply.send(Err(error))),
            None => {}
        }
    }
}

impl Reply {
    fn is_closed(&self) -> bool {
        match self {
            Reply::Eval(reply, _) => reply.is_closed(),
            Reply::Input(reply) => reply.is_closed(),
            Reply::Interrupt(reply, _) => reply.is_closed(),
        }
    }
}
