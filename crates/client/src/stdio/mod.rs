//! The front-end: `hob mcp`, the MCP server that an agent starts.
//!
//! It passes lines between the agent and the project's daemon, and outlives daemons: agents do not restart a server
//! that exited, so it never exits before its input ends. It has two threads with blocking I/O. The caller's thread
//! reads standard input and writes to the socket ([`Shared::copy_input`]); the other owns the connection, reads from it and
//! writes standard output ([`Downward`]). Both share the [`ledger`](Ledger); start there.

mod answers;
mod busy_wait;
mod handshake;
mod ledger;
mod lists;
mod output;
mod peek;
mod questions;
mod repeat;
mod transfer;
mod trim_memory;
mod unconfirmed_deliveries;

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mcp::wire::{DEFAULT_LINE_LIMIT, Frame, Framer, build, code};
use project::{Hello, Project};

use crate::connect::{ConnectError, Connection, connect, connect_or_start_with};
use crate::start::Launch;
use answers::LossReason;
use busy_wait::Pause;
use ledger::{Ledger, Verdict};
use output::Output;
use questions::random;
use transfer::{End, read_some, write_counted};

/// The number of bytes from the agent that may wait for the daemon before reading of its input pauses.
const BACKLOG_MAX: usize = 16 * 1024 * 1024;
/// A larger backlog is sent to a new daemon by a separate thread, since writing might block: a socket accepts less at
/// once.
const INLINE_MAX: usize = 64 * 1024;
/// The time for a connected daemon to answer the remaining requests after the input ended. The daemon itself takes a second.
const AFTER_INPUT: Duration = Duration::from_millis(2500);
/// The same, while a daemon is still being started.
const AFTER_INPUT_STARTING: Duration = Duration::from_secs(30);
/// The time limit for reporting unanswered requests.
const LAST_CHANCE: Duration = Duration::from_millis(300);
/// The interval at which an idle front-end checks for a daemon that could notify the agent.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The stack of the second thread.
const STACK: usize = 256 * 1024;

/// Serves the agent on standard input and output until the input ends. `locate` finds the project and identifies the
/// caller. It is called for every connection, and its error is sent to the agent. Returns true if the last attempt to
/// reach a daemon succeeded.
pub fn run(
    locate: impl FnMut() -> Result<(Project, Hello), String> + Send + 'static,
    launch: Launch,
) -> io::Result<bool> {
    serve(rustix::stdio::stdin(), Output::take_stdout()?, Box::new(locate), launch)
}

fn serve(input: impl AsFd, output: Output, locate: Locate, launch: Launch) -> io::Result<bool> {
    let output = Arc::new(Mutex::new(output));
    let shared = Arc::new(Shared::default());
    let downward =
        Downward { shared: shared.clone(), output: output.clone(), locate, launch, life: None, run: new_run() };
    thread::Builder::new().name("downward".to_owned()).stack_size(STACK).spawn(move || downward.run())?;
    shared.copy_input(input, &output);
    shared.wait_for_end();
    let unserved = shared.lock().unserved;
    Ok(!unserved)
}

/// Creates a unique id for one run of an agent.
pub fn new_run() -> String {
    format!("run-{:016x}{:016x}", random(), random())
}

fn warn(text: &str) {
    // Stderr may be closed.
    let _ = writeln!(io::stderr(), "hob mcp: {text}");
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ledger: Ledger,
    stream: Option<Arc<UnixStream>>,
    /// True if a thread is writing to the stream.
    writing: bool,
    input_ended: Option<Instant>,
    /// True if the last attempt found no daemon, or was refused.
    unserved: bool,
    connected_at: Option<Instant>,
    /// True if the downward thread is done.
    finished: bool,
    /// The number of threads that wait for a change.
    waiting: u32,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.wait_for(state, Duration::MAX)
    }

    /// Wakes the threads that wait for a change. Usually none does, and a wake-up would cost a system call per line.
    fn wake_waiters(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    fn wait_for<'a>(&self, mut state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state = self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0;
        state.waiting -= 1;
        state
    }

    /// Copies standard input to the socket, until the input ends.
    fn copy_input(&self, input: impl AsFd, output: &Mutex<Output>) {
        let mut framer = Framer::default();
        loop {
            let ended = read_some(&input, framer.buffer()).is_err();
            let mut refused = Vec::new();
            {
                let mut state = self.lock();
                while let Some(frame) = framer.next_frame() {
                    take(&mut state, frame, &mut refused);
                }
                if ended {
                    if let Some(frame) = framer.finish() {
                        take(&mut state, frame, &mut refused);
                    }
                    state.input_ended = Some(Instant::now());
                }
                self.wake_waiters(&state);
            }
            if !refused.is_empty() {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                // The other thread notices a broken output.
                let _ = output.lines(&refused).and_then(|()| output.flush());
            }
            self.write_outbox();
            if ended {
                return;
            }
            let mut state = self.lock();
            while state.ledger.backlog() > BACKLOG_MAX && !state.finished {
                state = self.wait(state);
            }
        }
    }

    /// Writes the outbox, unless another thread is already writing it.
    fn write_outbox(&self) {
        loop {
            let (stream, bytes) = {
                let mut state = self.lock();
                let Some(stream) = state.stream.clone().filter(|_| !state.writing) else { return };
                let bytes = state.ledger.take_outbox();
                if bytes.is_empty() {
                    if state.input_ended.is_some() {
                        // The daemon answers the rest and closes.
                        let _ = stream.shutdown(Shutdown::Write);
                    }
                    return;
                }
                state.writing = true;
                (stream, bytes)
            };
            let (written, ended) = write_counted(&stream, &bytes);
            let mut state = self.lock();
            state.writing = false;
            state.ledger.wrote(written);
            if ended == Err(End::Unread) {
                state.ledger.left_unread();
            }
            self.wake_waiters(&state);
            if ended.is_err() {
                // The other thread reads the remaining data, then finds the end.
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
    }

    /// Waits, within limits, until all requests are answered after the end of the input.
    fn wait_for_end(&self) {
        let mut state = self.lock();
        let mut last_chance = None;
        while !state.finished {
            let ended = state.input_ended.unwrap_or_else(Instant::now);
            let deadline = match (last_chance, state.connected_at.filter(|_| state.stream.is_some())) {
                (Some(deadline), _) => deadline,
                (None, Some(connected)) => connected.max(ended) + AFTER_INPUT,
                (None, None) => ended + AFTER_INPUT_STARTING,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                if last_chance.is_some() {
                    return;
                }
                // Without a connection, the other thread reports the unanswered requests.
                if let Some(stream) = &state.stream {
                    let _ = stream.shutdown(Shutdown::Both);
                }
                last_chance = Some(Instant::now() + LAST_CHANCE);
                continue;
            }
            state = self.wait_for(state, left);
        }
    }
}

fn take(state: &mut State, frame: Frame, refused: &mut Vec<u8>) {
    match frame {
        // The agent is gone.
        _ if state.finished => {}
        Frame::Line(line) => {
            if let Some(warning) = state.ledger.agent_said(line) {
                warn(warning);
            }
        }
        Frame::TooLong(long) => Ledger::too_long(refused, &long, DEFAULT_LINE_LIMIT),
    }
}

type Locate = Box<dyn FnMut() -> Result<(Project, Hello), String> + Send>;

/// The thread that owns the connection.
struct Downward {
    shared: Arc<Shared>,
    output: Arc<Mutex<Output>>,
    locate: Locate,
    launch: Launch,
    /// The id of the last daemon process.
    life: Option<String>,
    /// The id of this run of the agent, over all connections.
    run: String,
}

/// Reasons for the downward thread to wake up while disconnected.
enum WakeReason {
    /// A request waits for a daemon.
    Daemon,
    /// Nothing waits, but if a daemon is running, the agent wants its notifications.
    Look,
    /// The input has ended and everything is answered.
    Nothing,
}

impl Downward {
    fn run(mut self) {
        // The daemon is started before the agent's first request, while the agent itself starts.
        let mut wanted = WakeReason::Daemon;
        loop {
            let connection = match wanted {
                WakeReason::Nothing => break,
                WakeReason::Look => self.try_connect(),
                WakeReason::Daemon => match self.connect() {
                    Ok(connection) => Some(connection),
                    Err(loss) => {
                        if let LossReason::Unreachable(reason) | LossReason::Refused(reason) = &loss {
                            warn(reason);
                        }
                        let mut state = self.shared.lock();
                        state.unserved = true;
                        let lines = state.ledger.give_up_all(&loss);
                        self.shared.wake_waiters(&state);
                        drop(state);
                        if self.write_lines(&lines).is_err() {
                            break;
                        }
                        None
                    }
                },
            };
            if let Some(connection) = connection
                && self.serve(connection).is_err()
            {
                break;
            }
            wanted = self.wait_for_reason();
        }
        let mut state = self.shared.lock();
        state.finished = true;
        self.shared.wake_waiters(&state);
    }

    fn connect(&mut self) -> Result<Connection, LossReason> {
        let (project, hello) = self.caller().map_err(LossReason::Unreachable)?;
        connect_or_start_with(&project, &hello, &self.launch).map_err(|error| match error {
            ConnectError::Refused(reason) => LossReason::Refused(reason),
            error => LossReason::Unreachable(error.to_string()),
        })
    }

    fn try_connect(&mut self) -> Option<Connection> {
        let (project, hello) = self.caller().ok()?;
        connect(&project, &hello).ok()?
    }

    /// Returns the project, and the first line of the next connection.
    fn caller(&mut self) -> Result<(Project, Hello), String> {
        let (project, mut hello) = (self.locate)()?;
        hello.run = Some(self.run.clone());
        (hello.answers_lost, hello.last_receipt) = self.shared.lock().ledger.lost_hand_outs();
        // The name is taken over only once: a second time would take it from an agent that has since taken it.
        hello.takeover &= self.life.is_none();
        Ok((project, hello))
    }

    /// Waits for a reason to connect. A stopped daemon is not restarted before it is needed.
    fn wait_for_reason(&self) -> WakeReason {
        let mut state = self.shared.lock();
        loop {
            if state.ledger.needs_daemon() {
                return WakeReason::Daemon;
            }
            if state.input_ended.is_some() {
                return WakeReason::Nothing;
            }
            if state.ledger.listens() {
                state = self.shared.wait_for(state, LOOK_EVERY);
                if !state.ledger.needs_daemon() && state.input_ended.is_none() {
                    return WakeReason::Look;
                }
            } else {
                state = self.shared.wait(state);
            }
        }
    }

    /// Serves one connection until it is lost. An error means that standard output is closed.
    fn serve(&mut self, connection: Connection) -> io::Result<()> {
        let Connection { stream, mut framer, ack } = connection;
        let stream = Arc::new(stream);
        let loss = match self.life.replace(ack.life.clone()) {
            Some(life) if life == ack.life => LossReason::SameLife,
            _ => LossReason::Replaced,
        };
        let (answers, to_tell) = {
            let mut state = self.shared.lock();
            let is_new_life = loss == LossReason::Replaced;
            let mut answers = state.ledger.resume(loss);
            answers.extend(state.ledger.on_hello_ack(&ack, is_new_life));
            state.stream = Some(stream.clone());
            state.connected_at = Some(Instant::now());
            state.unserved = false;
            self.shared.wake_waiters(&state);
            (answers, state.ledger.backlog())
        };
        let told = self.write_lines(&answers);
        self.write_first(to_tell);
        // The daemon is computing its first answer.
        trim_memory::forget_code();
        let passed = told.and_then(|()| self.pass_on(&stream, &mut framer));
        let lines = self.disconnect(&stream);
        passed.and_then(|()| self.write_lines(&lines))?;
        self.after_input()
    }

    /// Sends a new daemon the handshake and pending requests, while its answers are read.
    fn write_first(&self, bytes: usize) {
        if bytes > INLINE_MAX {
            let shared = self.shared.clone();
            let writer = thread::Builder::new().name("replay".to_owned()).stack_size(STACK);
            if writer.spawn(move || shared.write_outbox()).is_ok() {
                return;
            }
        }
        self.shared.write_outbox();
    }

    /// Copies the socket to standard output, until the socket ends.
    fn pass_on(&self, stream: &UnixStream, framer: &mut Framer) -> io::Result<()> {
        let mut pause = Pause::default();
        let mut has_passed = false;
        loop {
            let mut is_first = false;
            {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                while let Some(frame) = framer.next_frame() {
                    self.pass_line(frame, &mut output)?;
                    is_first = !has_passed;
                }
                output.flush()?;
            }
            if is_first {
                has_passed = true;
                // This code was still in use the first time.
                trim_memory::forget_code();
            }
            pause.wait(stream);
            if let Err(end) = read_some(&stream, framer.buffer()) {
                if end == End::Unread {
                    self.shared.lock().ledger.left_unread();
                }
                return Ok(());
            }
        }
    }

    fn pass_line(&self, frame: Frame, output: &mut Output) -> io::Result<()> {
        let line = match frame {
            Frame::Line(line) => line,
            Frame::TooLong(long) => {
                if let Some(id) = long.id.filter(|_| !long.method) {
                    let text =
                        format!("the answer of {} bytes exceeds the limit; request less in one call", long.bytes);
                    let mut answer = Vec::new();
                    build::error(&mut answer, Some(&id), &build::RpcError::new(code::INTERNAL, text));
                    self.shared.lock().ledger.settle(&id);
                    output.lines(&answer)?;
                }
                return Ok(());
            }
        };
        let verdict = self.shared.lock().ledger.daemon_said(line);
        match verdict {
            Verdict::Forward => output.line(line),
            Verdict::ForwardApart => {
                output.gap()?;
                self.shared.lock().ledger.gap();
                output.line(line)
            }
            Verdict::Replace(line) => output.line(&line),
            Verdict::Swallow => Ok(()),
        }
    }

    /// Closes the connection. Returns lines for the agent.
    fn disconnect(&self, stream: &UnixStream) -> Vec<u8> {
        // Ends a pending write, so that the number of written bytes is known.
        let _ = stream.shutdown(Shutdown::Both);
        let mut state = self.shared.lock();
        state.stream = None;
        while state.writing {
            state = self.shared.wait(state);
        }
        state.ledger.record_lost_connection()
    }

    /// Handles a loss after the end of the input: a request that a daemon closed without answering stays unanswered,
    /// unless the daemon died before it could answer.
    fn after_input(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        if state.input_ended.is_none() || state.ledger.can_be_resent() {
            return Ok(());
        }
        let lines = state.ledger.give_up_all(&LossReason::InputEnded);
        drop(state);
        self.write_lines(&lines)
    }

    fn write_lines(&self, lines: &[u8]) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.lines(lines)?;
        output.flush()
    }
}

#[cfg(test)]
mod tests;
