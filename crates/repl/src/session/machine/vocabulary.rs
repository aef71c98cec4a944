//! The machine's events and actions.

use std::sync::Arc;
use std::time::Duration;

use process::activity::Activity;

use super::super::handle::{Claim, SessionError};
use super::super::{InputOutcome, InterruptOutcome, SessionEvent, Stream};
use crate::load::LoadRecord;

/// The owner of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Owner {
    Eval(u64),
    Nobody,
    /// Unknown: it may be the answer to a barrier. If it is not, [`Action::Log`] follows.
    Open,
}

/// The id of a caller that waits for an answer; the actor knows the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) struct Waiter(pub(in super::super) u64);

/// A reference to an evaluation.
#[derive(Debug, Clone)]
pub(in super::super) enum EvalRef {
    Last,
    Number(u64),
    Claimed(Arc<Claim>),
}

/// The kernel's answer about the session's standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Probed {
    Waiting,
    /// Waiting, but the process has become another program, with this command line.
    Replaced(String),
    Sleeping,
    Computing,
    /// The program has not yet read all of its input.
    Unread,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Death {
    pub(in super::super) code: Option<i32>,
    pub(in super::super) signal: Option<i32>,
}

/// An event of a session, except output (see [`super::Machine::data`] and [`super::Machine::marker`]).
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
    /// The signal was not sent because the REPL has not read all of the code yet.
    Unread,
    /// The answer to [`Action::Watch`]. Earlier output has been handed in.
    Watched(Activity),
    /// A caller or a limit ends the process.
    Stop {
        reason: String,
    },
    /// The process uses too many resources to be asked to quit.
    Kill {
        reason: String,
    },
    /// The answer to [`Action::Probe`]. Earlier output has been handed in.
    Probed(Probed),
    /// An output stream was closed while the process is running.
    Closed(Stream),
    /// The process has exited, and all its output has been handed in.
    Died(Death),
    /// The session has been unused for the given time, while code is running.
    Unused {
        away: Duration,
    },
    /// A deadline has passed.
    Tick,
}

impl Event {
    /// Returns true for a caller's request.
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

/// An action of a session.
#[derive(Debug)]
pub(in super::super) enum Action {
    /// Write to the code channel; `script` is written to a file first, whose path replaces the placeholder in the bytes.
    Code {
        bytes: Vec<u8>,
        script: Option<Vec<u8>>,
    },
    /// Write to the program's standard input.
    Feed(Vec<u8>),
    /// Close the program's standard input after the pending bytes.
    CloseStdin,
    /// Send SIGINT to the process group; if `guarded`, only once all written code has been read.
    Signal {
        guarded: bool,
    },
    /// Observe the activity in the session during `window`, and the processes that began within the last `age`.
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
        /// A description of the code that still runs or was left behind.
        rest: Option<String>,
    },
    /// Log output whose owner was unknown: it belongs to no evaluation.
    Log {
        stream: Stream,
        bytes: Vec<u8>,
    },
    Emit(SessionEvent),
    Loaded(LoadRecord),
}

/// The first step of an end. The rest is the same for all: TERM unless it began with KILL, then KILL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Ending {
    /// By the REPL's own quit line: the REPL is at its prompt.
    Ask(Vec<u8>),
    Terminate,
    /// By KILL: no state is left to save.
    Kill,
}

/// The limits of a session.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bounds {
    pub(in super::super) queue: usize,
    pub(in super::super) start: Duration,
    pub(in super::super) idle: Option<Duration>,
}
