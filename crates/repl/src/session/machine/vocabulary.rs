//! The machine's vocabulary: what can happen to a session, and what a session can do.

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
    /// Not yet known: it may be the answer to a barrier. [`Action::Log`] follows for what is not.
    Open,
}

/// Names somebody who waits for an answer; the actor knows who.
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
    /// It waits, and it is another program by now, with this command line.
    Replaced(String),
    Sleeping,
    Computing,
    /// It has not even read what was written.
    Unread,
    Unknown,
}

/// How the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Death {
    pub(in super::super) code: Option<i32>,
    pub(in super::super) signal: Option<i32>,
}

/// Everything that can happen to a session, output apart (see [`super::Machine::data`] and [`super::Machine::marker`]).
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
    /// The answer to [`Action::Watch`], after everything printed before it was handed in.
    Watched(Activity),
    /// Somebody or some limit ends the process.
    Stop {
        reason: String,
    },
    /// It takes too much to be asked first.
    Kill {
        reason: String,
    },
    /// The answer to [`Action::Probe`], after everything printed before it was handed in.
    Probed(Probed),
    /// An output stream was closed while the process lives.
    Closed(Stream),
    /// The process is gone, and everything it printed was handed in.
    Died(Death),
    /// A deadline has come.
    Tick,
}

/// Everything a session can do.
#[derive(Debug)]
pub(in super::super) enum Action {
    /// Write to the code channel; `script` goes to a file first, whose path replaces the mark in the bytes.
    Code { bytes: Vec<u8>, script: Option<Vec<u8>> },
    /// Write to the program's standard input.
    Feed(Vec<u8>),
    /// Close the program's standard input after what was written.
    CloseStdin,
    /// SIGINT to the process group; if `guarded`, only where all code that was written has been read.
    Signal { guarded: bool },
    /// See what goes on in the session for so long, and which of its processes began within the last `age`. A later one
    /// takes the place of an earlier one.
    Watch { window: Duration, age: Duration },
    /// Ask the kernel about standard input.
    Probe,
    /// End the process.
    End(Ending),
    /// The evaluation as it stands is the answer.
    Answer { waiter: Waiter, eval: u64 },
    /// This is the answer.
    Refuse { waiter: Waiter, error: SessionError },
    /// This is the answer.
    Accept { waiter: Waiter, input: InputOutcome },
    /// This is the answer.
    Interrupted {
        waiter: Waiter,
        outcome: InterruptOutcome,
        eval: Option<u64>,
        took: Duration,
        /// What goes on, or what is left behind.
        rest: Option<String>,
    },
    /// Output whose owner was open is nobody's.
    Log { stream: Stream, bytes: Vec<u8> },
    /// Tell subscribers.
    Emit(SessionEvent),
    /// Publish a load.
    Loaded(LoadRecord),
}

/// How the end begins. What comes after is the same for all: TERM if it is not KILL, then KILL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Ending {
    /// By its own quit line, since it listens.
    Ask(Vec<u8>),
    /// By TERM.
    Terminate,
    /// By KILL, since there is nothing left to lose.
    Kill,
}

/// What bounds a session.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bounds {
    pub(in super::super) queue: usize,
    pub(in super::super) start: Duration,
    pub(in super::super) idle: Option<Duration>,
}
