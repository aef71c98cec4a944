//! The cheap, cloneable handle of a session, which tools call. The actor at the other end owns the session.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use process::output::OutputLog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::timeout;

use super::machine::EvalRef;
use super::users::Users;
use super::{Screen, SessionEvent, SessionInfo};
use crate::adapter::Refusal;
use crate::load::LoadRecord;
use crate::result::{EvalResult, Status};

/// A handle of a session. Cloning is cheap; dropping it changes nothing.
#[derive(Clone)]
pub struct Handle {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) shared: Arc<Shared>,
}

/// State that the actor publishes.
pub(super) struct Shared {
    pub(super) info: watch::Receiver<SessionInfo>,
    pub(super) loads: watch::Receiver<Arc<LoadRecord>>,
    pub(super) events: broadcast::Sender<SessionEvent>,
    pub(super) log: OutputLog,
    pub(super) begun: u64,
    pub(super) users: Arc<Users>,
    pub(super) screen: Option<Screen>,
}

/// A size that exceeds every kept output.
const EVERYTHING: usize = 1 << 30;

/// The part of an evaluation's output that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The limit in bytes.
    pub max_bytes: usize,
    /// The reader. A part that a reader received while the evaluation ran is not repeated to that reader before its
    /// end; without a reader the answer shows all output.
    pub reader: Option<u64>,
}

impl View {
    /// Selects all output, up to a limit.
    pub fn all(max_bytes: usize) -> View {
        View { max_bytes, reader: None }
    }
}

/// A request to the actor.
#[derive(Debug)]
pub(super) enum Command {
    /// Evaluate; answered when the evaluation is final, waits for input, or is refused.
    Eval {
        request: EvalRequest,
        quiet: bool,
        claim: Arc<Claim>,
        reply: oneshot::Sender<Result<Finished, SessionError>>,
    },
    /// Answered like `Eval`, about an evaluation that exists.
    Wait {
        which: EvalRef,
        view: View,
        reply: oneshot::Sender<Result<Finished, SessionError>>,
    },
    /// Answered immediately.
    Look {
        which: EvalRef,
        view: View,
        reply: oneshot::Sender<Result<Finished, SessionError>>,
    },
    Input {
        eval: Option<u64>,
        text: String,
        eof: bool,
        reply: oneshot::Sender<Result<InputOutcome, SessionError>>,
    },
    Interrupt {
        eval: Option<u64>,
        view: View,
        reply: oneshot::Sender<Result<InterruptReport, SessionError>>,
    },
    /// Answered immediately with the definitions so far.
    History {
        reply: oneshot::Sender<Vec<String>>,
    },
    /// End the process; answered when it has ended.
    Stop {
        reason: String,
        reply: oneshot::Sender<()>,
    },
}

/// An evaluation's result with its exact bytes.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) result: EvalResult,
    pub(super) raw: RawOutput,
}

/// A claim on a queued evaluation. The machine fills in its number once it has one.
#[derive(Debug, Default)]
pub(super) struct Claim {
    pub(super) withdrawn: AtomicBool,
    pub(super) eval: AtomicU64,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("name", &self.shared.info.borrow().name).finish_non_exhaustive()
    }
}

impl Handle {
    /// Evaluates code, waiting for `request.wait` at most. After that the answer is the state so far: starting, queued
    /// or running. Dropping the future before it is ready withdraws the evaluation if it is still queued, and never
    /// interrupts it.
    pub async fn eval(&self, request: EvalRequest) -> Result<EvalResult, SessionError> {
        self.submit(request, false).await.map(|finished| finished.result)
    }

    /// Runs one of the REPL's own commands (`:type map`) and returns its exact output. The command is an ordinary
    /// evaluation, but subscribers do not see it, and `between` is kept for the next one.
    pub async fn command(&self, line: &str, wait: Duration) -> Result<RawOutput, SessionError> {
        let request = EvalRequest { wait, max_bytes: EVERYTHING, ..EvalRequest::new(line) };
        let finished = self.submit(request, true).await?;
        match finished.result.status {
            Status::Exited | Status::Crashed | Status::Killed => Err(self.has_ended()),
            Status::Queued if finished.result.uninterruptible => {
                Err(SessionError::Uninterruptible { session: finished.result.session })
            }
            status if status.is_final() => Ok(finished.raw),
            _ => Err(match finished.result.waits_behind_input() {
                Some(eval) => SessionError::WaitsForInput { session: finished.result.session, eval },
                None => SessionError::StillRunning { session: finished.result.session, eval: finished.result.eval },
            }),
        }
    }

    /// Waits for an evaluation (`None`: the last one) for `wait` at most.
    pub async fn wait(&self, eval: Option<u64>, wait: Duration, max_bytes: usize) -> Result<EvalResult, SessionError> {
        self.wait_on(eval, wait, View::all(max_bytes)).await
    }

    /// [`Handle::wait`] for a reader.
    pub async fn wait_on(&self, eval: Option<u64>, wait: Duration, view: View) -> Result<EvalResult, SessionError> {
        let _call = self.shared.users.call();
        let (reply, answer) = oneshot::channel();
        let which = eval.map_or(EvalRef::Last, EvalRef::Number);
        self.send(Command::Wait { which: which.clone(), view, reply }).await?;
        match timeout(wait, answer).await {
            Ok(answer) => answer.map_err(|_| self.has_ended())?.map(|finished| finished.result),
            Err(_) => self.read_evaluation(which, view).await.map(|finished| finished.result),
        }
    }

    /// Gives input to the running program.
    pub async fn input(&self, text: String, eof: bool) -> Result<InputOutcome, SessionError> {
        self.input_to(None, text, eof).await
    }

    /// Like [`Handle::input`], but refuses if another evaluation is running.
    pub async fn input_to(&self, eval: Option<u64>, text: String, eof: bool) -> Result<InputOutcome, SessionError> {
        let _call = self.shared.users.call();
        let (reply, answer) = oneshot::channel();
        self.send(Command::Input { eval, text, eof, reply }).await?;
        answer.await.map_err(|_| self.has_ended())?
    }

    /// Interrupts the running evaluation and verifies that the session is in step afterwards.
    pub async fn interrupt(&self, max_bytes: usize) -> Result<InterruptReport, SessionError> {
        self.interrupt_one(None, View::all(max_bytes)).await
    }

    /// Like [`Handle::interrupt`], for this evaluation only; a queued one is withdrawn.
    pub async fn interrupt_one(&self, eval: Option<u64>, view: View) -> Result<InterruptReport, SessionError> {
        let _call = self.shared.users.call();
        let (reply, answer) = oneshot::channel();
        self.send(Command::Interrupt { eval, view, reply }).await?;
        answer.await.map_err(|_| self.has_ended())?
    }

    /// Ends the process; returns once all of its processes are gone. Does nothing if it has already ended.
    pub async fn stop(&self, reason: &str) {
        let (reply, answer) = oneshot::channel();
        if self.send(Command::Stop { reason: reason.to_owned(), reply }).await.is_ok() {
            // A closed channel means that the actor has ended, as requested.
            let _ = answer.await;
        }
    }

    /// Returns the code that gives a new process the same definitions, oldest first: successful evaluations without any
    /// other effect. Works on ended sessions.
    pub async fn definitions(&self) -> Vec<String> {
        let (reply, answer) = oneshot::channel();
        match self.send(Command::History { reply }).await {
            Ok(()) => answer.await.unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }

    /// Returns true if the session remembers the evaluation.
    pub async fn has_evaluation(&self, eval: u64) -> bool {
        self.read_evaluation(EvalRef::Number(eval), View::all(0)).await.is_ok()
    }

    pub fn info(&self) -> SessionInfo {
        let (now, users) = (Instant::now(), &self.shared.users);
        let away = users.away_since().map(|since| now.saturating_duration_since(since));
        SessionInfo { away, waited_for: users.has_calls(), ..self.shared.info.borrow().clone().at(now) }
    }

    /// Records that a connection uses the session until the connection ends.
    pub fn used_by(&self, connection: u64, end: impl Future<Output = ()> + Send + 'static) {
        let mut end = Box::pin(end);
        if end.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        let users = self.shared.users.clone();
        if users.connected(connection) {
            tokio::spawn(async move {
                end.await;
                users.disconnected(connection);
            });
        }
    }

    /// Returns the state as it changes, except for the durations.
    pub fn watch(&self) -> watch::Receiver<SessionInfo> {
        self.shared.info.clone()
    }

    /// Returns the last load; the receiver wakes on each.
    pub fn loads(&self) -> watch::Receiver<Arc<LoadRecord>> {
        self.shared.loads.clone()
    }

    /// Returns everything printed under the session's name, including by earlier processes.
    pub fn output(&self) -> &OutputLog {
        &self.shared.log
    }

    /// Returns the screen of a program that runs on a terminal, also after its end.
    pub fn screen(&self) -> Option<&Screen> {
        self.shared.screen.as_ref()
    }

    /// Returns true if the process still exists.
    pub fn is_alive(&self) -> bool {
        self.shared.info.borrow().state.is_alive()
    }

    /// Returns the time when the process ended, if it has.
    pub(crate) fn ended(&self) -> Option<Instant> {
        self.shared.info.borrow().times.ended
    }

    /// Returns the start of this process's output in the log.
    pub fn log_start(&self) -> u64 {
        self.shared.begun
    }

    /// Subscribes to all later events.
    pub fn events(&self) -> broadcast::Receiver<SessionEvent> {
        self.shared.events.subscribe()
    }

    async fn submit(&self, request: EvalRequest, quiet: bool) -> Result<Finished, SessionError> {
        let _call = self.shared.users.call();
        let (reply, mut answer) = oneshot::channel();
        let mut withdraw = WithdrawOnDrop(Some(Arc::default()));
        let claim = withdraw.0.clone().expect("just made");
        let (wait, view) = (request.wait, request.view());
        self.send(Command::Eval { request, quiet, claim: claim.clone(), reply }).await?;
        let in_time = timeout(wait, &mut answer).await;
        // The evaluation is answered or timed out, and is no longer withdrawn.
        withdraw.0 = None;
        match in_time {
            Ok(answer) => {
                let finished = answer.map_err(|_| self.has_ended())?;
                // A question that cannot be asked now, as its answer explains, must not stay queued.
                if quiet && finished.as_ref().is_ok_and(|finished| finished.result.status == Status::Queued) {
                    claim.withdrawn.store(true, Ordering::Release);
                }
                finished
            }
            Err(_) => {
                let looked = self.read_evaluation(EvalRef::Claimed(claim), view).await;
                // Commands are taken in order: if the session refused the evaluation, which then has no number to look
                // up, it has answered by now.
                answer.try_recv().unwrap_or(looked)
            }
        }
    }

    async fn read_evaluation(&self, which: EvalRef, view: View) -> Result<Finished, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Look { which, view, reply }).await?;
        answer.await.map_err(|_| self.has_ended())?
    }

    async fn send(&self, command: Command) -> Result<(), SessionError> {
        self.commands.send(command).await.map_err(|_| self.has_ended())
    }

    fn has_ended(&self) -> SessionError {
        let info = self.info();
        let reason = info.reason.unwrap_or_else(|| "it was ended".to_owned());
        SessionError::Ended { session: info.name, reason }
    }
}

/// Marks a claim as withdrawn unless disarmed. The queue checks the mark before it starts the evaluation, so a
/// destructor need not send anything.
struct WithdrawOnDrop(Option<Arc<Claim>>);

impl Drop for WithdrawOnDrop {
    fn drop(&mut self) {
        if let Some(claim) = &self.0 {
            claim.withdrawn.store(true, Ordering::Release);
        }
    }
}

/// An evaluation request.
#[derive(Debug, Clone)]
pub struct EvalRequest {
    pub code: String,
    /// The content of the program's standard input while the code runs. For a program on a terminal it is typed instead
    /// of the code and Enter.
    pub stdin: Option<String>,
    /// The time to wait for the end before answering with the state so far.
    pub wait: Duration,
    /// The output limit in bytes.
    pub max_bytes: usize,
    /// The reader of the answer; see [`View::reader`].
    pub reader: Option<u64>,
}

impl EvalRequest {
    /// Creates a request with the defaults of `repl_eval`: 20 s, 12,000 bytes.
    pub fn new(code: impl Into<String>) -> EvalRequest {
        EvalRequest { code: code.into(), stdin: None, wait: Duration::from_secs(20), max_bytes: 12_000, reader: None }
    }

    pub(super) fn view(&self) -> View {
        View { max_bytes: self.max_bytes, reader: self.reader }
    }
}

/// The exact output of one command (bounded; see `truncated`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawOutput {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// True if bytes are missing in the middle of either stream.
    pub truncated: bool,
}

/// The outcome of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptOutcome {
    /// Nothing was running.
    Idle,
    /// It was still queued, and was withdrawn.
    Withdrawn,
    /// The evaluation was interrupted, and the session is verified to be in step.
    Interrupted,
    /// The evaluation ended first; the session is verified to be in step.
    Finished,
    /// The signal was sent, but the evaluation has not ended yet: it cleans up, or it has caught the signal.
    NotYet,
    /// It continues to compute: it does not react, or a part of it runs on behind the prompt.
    Uninterruptible,
    /// The interrupt ended the process.
    Ended,
}

/// The answer to an interrupt.
#[derive(Debug, Clone)]
pub struct InterruptReport {
    pub outcome: InterruptOutcome,
    /// The evaluation that was interrupted, in its present state.
    pub eval: Option<EvalResult>,
    pub took: Duration,
    /// A description of the code that still runs or was left behind, as a whole clause or one without its subject.
    pub rest: Option<String>,
}

/// The answer to input for the program.
#[derive(Debug, Clone)]
pub struct InputOutcome {
    /// The evaluation that receives it.
    pub eval: u64,
    /// Bytes queued until the program asks for them.
    pub pending: usize,
    pub closed: bool,
}

/// The reason for sessions that end with the daemon.
pub(crate) const HOB_ENDS: &str = "the daemon stopped";

/// Reasons why a session refuses a request.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The code would break the session.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The queue is full.
    #[error("session {session:?} already has {limit} queued evaluations, the limit")]
    QueueFull {
        session: String,
        limit: usize,
        /// The running evaluation.
        runs: Option<u64>,
    },
    /// The process has exited.
    #[error("session {session:?} has ended: {reason}")]
    Ended { session: String, reason: String },
    /// The evaluation is not remembered.
    #[error("unknown evaluation {eval} in session {session:?}")]
    UnknownEval { session: String, eval: u64 },
    /// Nothing has been evaluated yet.
    #[error("session {session:?} has evaluated nothing yet")]
    NothingYet { session: String },
    /// The evaluation has ended, or has not begun.
    #[error("{}", not_running(*eval, *status, *runs))]
    NotRunning {
        session: String,
        eval: u64,
        status: Status,
        /// The evaluation that is running instead.
        runs: Option<u64>,
    },
    /// Nothing is running that could read input.
    #[error("no evaluation is running in session {session:?} to read input")]
    NothingRuns { session: String },
    /// The running evaluation was given its whole input beforehand.
    #[error("evaluation {eval} already has its complete input, from `stdin` of repl_eval")]
    HasItsInput { session: String, eval: u64 },
    /// The running code does not react to interrupts.
    #[error("session {session:?} is uninterruptible: the running code does not react to interrupts")]
    Uninterruptible { session: String },
    /// The running code waits for input.
    #[error("evaluation {eval} waits for input in session {session:?}, and this request waits behind it")]
    WaitsForInput { session: String, eval: u64 },
    /// A command did not end in time and still runs.
    #[error("the command still runs in session {session:?} as evaluation {eval}")]
    StillRunning { session: String, eval: u64 },
}

fn not_running(eval: u64, status: Status, runs: Option<u64>) -> String {
    let runs = runs.map_or("nothing is running".to_owned(), |runs| format!("#{runs} is running"));
    if status.is_final() {
        format!("evaluation {eval} has ended ({}); {runs}", status.name())
    } else {
        format!("evaluation {eval} has not started ({}); {runs}", status.name())
    }
}
