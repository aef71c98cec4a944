//! The machine's events and actions: what can happen to a session, and what a session can do.

use std::sync::Arc;
use std::time::Duration;

use process::activity::Activity;

use super::super::handle::{Claim, SessionError};
use super::super::{InputOutcome, InterruptOutcome, SessionEvent, Stream};
use crate::load::LoadRecord;

/// Whose output it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Owner {
    Eval(u64),
    Nobody,
    /// Not known yet: it may be the answer to a barrier. [`Action::Log`] follows if it is not.
    Open,
}

/// Names a caller that waits for an answer; the actor knows which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) struct Waiter(pub(in super::super) u64);

/// Which evaluation is meant.
#[derive(Debug, Clone)]
pub(in super::super) enum EvalRef {
    Last,
    Number(u64),
    Claimed(Arc<Claim>),
}

/// What the kernel says about the session's standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Probed {
    Waiting,
    /// Waiting, but the process runs another program by now, with this command line.
    Replaced(String),
    Sleeping,
    Computing,
    /// The program has not even read what was written.
    Unread,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Death {
    pub(in super::super) code: Option<i32>,
    pub(in super::super) signal: Option<i32>,
}

/// Everything that can happen to a session except output (see [`super::Machine::data`] and [`super::Machine::marker`]).
#[derive(Debug)]
pub(in super::super) enum Event {
    Eval {
        code: String,
        stdin: Option<String>,
        quiet: bool,
        claim: Arc<Claim>,
        waiter: Waiter,
    },
    Wait {
        which: EvalRef,
        waiter: Waiter,
    },
    Look {
        which: EvalRef,
        waiter: Waiter,
    },
    Input {
        eval: Option<u64>,
        text: String,
        eof: bool,
        waiter: Waiter,
    },
    Interrupt {
        eval: Option<u64>,
        waiter: Waiter,
    },
    /// The signal was not sent: the REPL has not read all of the code yet.
    Unread,
    /// The answer to [`Action::Watch`]. Output printed before it has been handed in.
    Watched(Activity),
    /// A caller or a limit ends the process.
    Stop {
        reason: String,
    },
    /// The process uses too much to be asked first.
    Kill {
        reason: String,
    },
    /// The answer to [`Action::Probe`]. Output printed before it has been handed in.
    Probed(Probed),
    /// An output stream was closed while the process runs.
    Closed(Stream),
    /// The process has ended, and all its output has been handed in.
    Died(Death),
    /// Nobody has used the session for so long, while something runs.
    Unused {
        away: Duration,
    },
    /// A deadline has passed.
    Tick,
}

impl Event {
    /// Returns true if somebody asks for something.
    pub(super) fn is_a_call(&self) -> bool {
        matches!(
            self,
            Event::Eval { .. }
                | Event::Wait { .. }
                | Event::Look { .. }
                | Event::Input { .. }
                | Event::Interrupt { .. }
        )
    }
}

/// Everything a session can do.
#[derive(Debug)]
pub(in super::super) enum Action {
    /// Write to the code channel; `script` is written to a file first, whose path replaces the mark in the bytes.
    Code {
        bytes: Vec<u8>,
        script: Option<Vec<u8>>,
    },
    /// Write to the program's standard input.
    Feed(Vec<u8>),
    /// Close the program's standard input after what was written.
    CloseStdin,
    /// Send SIGINT to the process group; if `guarded`, only once all written code has been read.
    Signal {
        guarded: bool,
    },
    /// Observe what runs in the session during `window`, and which of its processes began within the last `age`.
    /// Replaces an earlier observation.
    Watch {
        window: Duration,
        age: Duration,
    },
    /// Ask the kernel about standard input.
    Probe,
    /// End the process.
    End(Ending),
    /// Answer with the evaluation in its present state.
    Answer {
        waiter: Waiter,
        eval: u64,
    },
    Refuse {
        waiter: Waiter,
        error: SessionError,
    },
    Accept {
        waiter: Waiter,
        input: InputOutcome,
    },
    Interrupted {
        waiter: Waiter,
        outcome: InterruptOutcome,
        eval: Option<u64>,
        took: Duration,
        /// What goes on or is left behind.
        rest: Option<String>,
    },
    /// Log output whose owner was open: it belongs to no evaluation.
    Log {
        stream: Stream,
        bytes: Vec<u8>,
    },
    Emit(SessionEvent),
    Loaded(LoadRecord),
}

/// How the end begins. After that it is the same for all: TERM unless it began with KILL, then KILL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Ending {
    /// By the REPL's own quit line: the REPL is at its prompt.
    Ask(Vec<u8>),
    Terminate,
    /// By KILL: there is nothing left to lose.
    Kill,
}

/// The limits of a session.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bounds {
    pub(in super::super) queue: usize,
    pub(in super::super) start: Duration,
    pub(in super::super) idle: Option<Duration>,
}
