//! The task that owns a session: its process, its pipes, its state. The loop in [`Actor::run`] waits for events, passes
//! them to the machine, which decides, and performs the machine's actions.
//!
//! No branch of a `select!` loses anything when it is dropped: branches only wait, and reading and writing happen after
//! them. `kernel` queries the kernel about the process, `prompting` finds the ends without
//! markers, `caller_answers` answers callers; `busy_wait` and `coalesce_wakes`
//! only save time (docs/design/latency.md).

mod busy_wait;
mod caller_answers;
mod coalesce_wakes;
mod kernel;
mod prompting;
mod task_join;

use std::future::pending;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use process::activity::Activity;
use process::output::OutputLog;
use process::probe::{Doing, Prober};
use process::{Exit, Group};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use self::busy_wait::BusyWait;
use self::task_join::joined;
use super::alarm::Alarm;
use super::cpu::CpuClock;
use super::handle::Command;
use super::machine::{Action, Event, Machine, Owner};
use super::pipes::{InputPipes, OutputPipe, ReadOutcome};
use super::replies::{Replies, Reply};
use super::scan::Segment;
use super::script::Scripts;
use super::start::EventSink;
use super::users::Users;
use super::{InterruptReport, Screen, SessionEvent, SessionInfo, Stream};
use crate::adapter::Adapter;
use crate::load::LoadRecord;
use crate::sandboxed::Scratch;

/// The number of reads from a stream per wake, before others get their turn.
const READS: usize = 16;
/// The time in which output may still arrive after the process has exited.
const DRAIN: Duration = Duration::from_millis(200);
/// The time that a process may live on after it closed an output stream.
const CLOSED: Duration = Duration::from_millis(350);
/// The interval of memory measurements: while an evaluation runs, and otherwise.
const WATCH: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];

/// A running session's parts.
pub(super) struct Actor {
    pub(super) machine: Machine,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) info: watch::Sender<SessionInfo>,
    pub(super) loads: watch::Sender<Arc<LoadRecord>>,
    pub(super) events: broadcast::Sender<SessionEvent>,
    pub(super) log: OutputLog,
    pub(super) group: Group,
    /// Kept open for the program.
    pub(super) _terminal: Option<OwnedFd>,
    /// Removed when the last process has ended.
    pub(super) scratch: Option<Scratch>,
    pub(super) exit: watch::Receiver<Option<Exit>>,
    pub(super) outputs: [OutputPipe; 2],
    pub(super) inputs: InputPipes,
    /// The screen of a program that runs on a terminal.
    pub(super) screen: Option<Screen>,
    pub(super) scripts: Scripts,
    pub(super) memory_limit: u64,
    pub(super) users: Arc<Users>,
    /// True if the session's job groups are recorded after each evaluation.
    pub(super) jobs: bool,
    pub(super) session: String,
    pub(super) sink: Option<EventSink>,
    pub(super) state: LoopState,
}

/// The loop's own state between two wakes.
pub(super) struct LoopState {
    replies: Replies,
    /// Callers that wait for the end of the process.
    stopping: Vec<oneshot::Sender<()>>,
    /// The pending task, kept here so that a dropped wait loses nothing.
    probe: Option<JoinHandle<(Prober, Doing, Option<String>)>>,
    prober: Option<Prober>,
    watch: Option<JoinHandle<Activity>>,
    /// The command line of the process at its last prompt.
    command: Option<String>,
    measure: Option<JoinHandle<(u64, CpuClock)>>,
    clock: CpuClock,
    ending: Option<JoinHandle<()>>,
    closed: Option<(Stream, Instant)>,
    /// The time until which standard output is muted.
    muted: Option<Instant>,
    busy_wait: BusyWait,
    watched: Option<Instant>,
    /// The number of the last prompt that was passed on as a marker of standard error.
    marked: u64,
    /// The time when the kernel is asked again if what the program printed last is its prompt.
    look_at: Option<Instant>,
    /// Bytes logged so far, per stream.
    logged: [u64; 2],
    alarm: Alarm,
    dead: bool,
    /// True if every handle has been dropped.
    orphaned: bool,
}

impl LoopState {
    pub(super) fn new(group: &Group, adapter: &dyn Adapter, log: &OutputLog) -> LoopState {
        let total = log.status().total;
        LoopState {
            replies: Replies::default(),
            stopping: Vec::new(),
            probe: None,
            prober: Some(kernel::prober(group, adapter)),
            watch: None,
            command: None,
            measure: None,
            clock: CpuClock::default(),
            ending: None,
            closed: None,
            muted: None,
            busy_wait: BusyWait::new(),
            watched: None,
            marked: 0,
            look_at: None,
            logged: [Stream::Stdout, Stream::Stderr].map(|stream| total.get(stream.logged())),
            alarm: Alarm::default(),
            dead: false,
            orphaned: false,
        }
    }
}

enum Wake {
    Command(Option<Command>),
    Readable,
    Writable,
    Exit,
    Probed(Option<(Prober, Doing, Option<String>)>),
    Watched(Option<Activity>),
    Measured(Option<(u64, CpuClock)>),
    Ended,
    Time,
}

impl Actor {
    /// Runs until the process has exited and every handle is gone.
    pub(super) async fn run(mut self) {
        self.perform();
        loop {
            match self.wake().await {
                Wake::Command(command) => self.command_or_end(command),
                Wake::Readable => {
                    self.read();
                    self.serve_between_output();
                    // Other tasks of the daemon run between two reads of endless output.
                    tokio::task::yield_now().await;
                }
                Wake::Writable => self.inputs.write(),
                Wake::Exit => self.exited().await,
                Wake::Probed(answer) => {
                    let probed = self.probe_answer(answer);
                    // Read first the output that was printed before the program waited.
                    self.read();
                    self.look_again(&probed);
                    self.on(Event::Probed(probed));
                }
                Wake::Watched(activity) => {
                    self.read();
                    self.on(Event::Watched(activity.unwrap_or_default()));
                }
                Wake::Measured(measured) => self.measured(measured),
                Wake::Ended => self.all_ended(),
                Wake::Time => self.on_timer(),
            }
            self.machine.start_if_idle(Instant::now());
            self.perform();
            self.look_for_prompt();
            if self.state.orphaned && self.state.dead && self.state.ending.is_none() {
                return;
            }
        }
    }

    fn command_or_end(&mut self, command: Option<Command>) {
        match command {
            Some(command) => self.command(command),
            None => {
                self.state.orphaned = true;
                self.on(Event::Stop { reason: "it is no longer used".to_owned() });
            }
        }
    }

    /// Handles a command, input and deadlines while output may come without end: [`Self::wake`] prefers output.
    fn serve_between_output(&mut self) {
        match self.commands.try_recv() {
            Ok(command) => self.command_or_end(Some(command)),
            Err(mpsc::error::TryRecvError::Disconnected) if !self.state.orphaned => self.command_or_end(None),
            Err(_) => {}
        }
        self.inputs.write();
        if self.next_deadline().is_some_and(|deadline| deadline <= Instant::now()) {
            self.on_timer();
        }
    }

    async fn wake(&mut self) -> Wake {
        if let Some(deadline) = self.next_deadline() {
            self.state.alarm.ring_by(deadline);
        }
        let exit = async {
            if self.state.dead || self.exit.wait_for(Option::is_some).await.is_err() {
                pending().await
            }
        };
        let [out, err] = &self.outputs;
        tokio::select! {
            biased;
            () = exit => Wake::Exit,
            () = out.readable() => Wake::Readable,
            () = err.readable() => Wake::Readable,
            command = self.commands.recv(), if !self.state.orphaned => Wake::Command(command),
            () = self.inputs.writable() => Wake::Writable,
            answer = joined(&mut self.state.probe) => {
                Wake::Probed(answer)
            }
            activity = joined(&mut self.state.watch) => Wake::Watched(activity),
            measured = joined(&mut self.state.measure) => Wake::Measured(measured),
            _ = joined(&mut self.state.ending) => Wake::Ended,
            () = self.state.alarm.rings() => Wake::Time,
            () = self.state.busy_wait.spin() => Wake::Time,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        if self.state.dead {
            return None;
        }
        let closed = self.state.closed.map(|(_, at)| at + CLOSED);
        let watch = self.state.watched.map(|at| at + WATCH[usize::from(self.machine.current().is_none())]);
        [self.machine.deadline(), closed, watch, self.state.muted, self.state.look_at].into_iter().flatten().min()
    }

    fn on(&mut self, event: Event) {
        self.machine.on(event, Instant::now());
    }

    fn on_timer(&mut self) {
        let now = Instant::now();
        self.unmute(now);
        if let Some((stream, _)) = self.state.closed.take_if(|(_, at)| now >= *at + CLOSED) {
            self.on(Event::Closed(stream));
        }
        let watch = WATCH[usize::from(self.machine.current().is_none())];
        if self.state.measure.is_none() && self.state.watched.is_some_and(|at| now >= at + watch) {
            self.measure();
        }
        // The alarm may ring early; then nothing is due. A deadline of the machine whose answer is still pending is not
        // requested again at once.
        if self.machine.is_about_to_signal(now) {
            self.read();
        }
        if let (Some(_), Some(since)) = (self.machine.current(), self.users.away_since()) {
            self.machine.on(Event::Unused { away: now.saturating_duration_since(since) }, now);
        }
        self.machine.on(Event::Tick, now);
    }

    /// Reads both streams, at most [`READS`] times each.
    fn read(&mut self) {
        let now = Instant::now();
        for output in &mut self.outputs {
            let stream = output.stream;
            for _ in 0..READS {
                let (machine, log, events) = (&mut self.machine, &self.log, &self.events);
                let logged = &mut self.state.logged[stream as usize];
                let was_open = output.is_open();
                let found = output.read(|segment| route(segment, stream, machine, log, events, logged, now));
                if found == ReadOutcome::End && was_open {
                    self.state.closed.get_or_insert((stream, now));
                }
                if found != ReadOutcome::Some {
                    break;
                }
            }
        }
        if let Some(screen) = &self.screen {
            self.inputs.stdin.answer(screen.take_answers());
        }
        self.mark_errors();
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Eval { request, quiet, claim, reply } => {
                // Output from before this evaluation belongs to no evaluation.
                self.read();
                let waiter = self.state.replies.add(Reply::Eval(reply, request.view()));
                self.on(Event::Eval { code: request.code, stdin: request.stdin, quiet, claim, waiter });
            }
            Command::Wait { which, view, reply } => {
                let waiter = self.state.replies.add(Reply::Eval(reply, view));
                self.on(Event::Wait { which, waiter });
            }
            Command::Look { which, view, reply } => {
                let waiter = self.state.replies.add(Reply::Eval(reply, view));
                self.on(Event::Look { which, waiter });
            }
            Command::Input { eval, text, eof, reply } => {
                let waiter = self.state.replies.add(Reply::Input(reply));
                self.on(Event::Input { eval, text, eof, waiter });
            }
            Command::Interrupt { eval, view, reply } => {
                // The evaluation may already have ended.
                self.read();
                let waiter = self.state.replies.add(Reply::Interrupt(reply, view));
                self.on(Event::Interrupt { eval, waiter });
            }
            // A caller that has stopped waiting needs no answer.
            Command::History { reply } => drop(reply.send(self.machine.history())),
            Command::Stop { reason, reply } => {
                if self.state.dead && self.state.ending.is_none() {
                    // A caller that has stopped waiting needs no answer.
                    let _ = reply.send(());
                } else {
                    self.state.stopping.push(reply);
                    self.on(Event::Stop { reason });
                }
            }
        }
    }

    /// Performs the machine's actions in an order that publishes facts before the answers about them: output and loads,
    /// then the session's state, then answers.
    fn perform(&mut self) {
        loop {
            let actions = self.machine.take_actions();
            let data = |action: &Action| matches!(action, Action::Loaded(_) | Action::Log { .. });
            let (data, others): (Vec<_>, Vec<_>) = actions.into_iter().partition(data);
            data.into_iter().for_each(|action| self.act(action));
            self.publish();
            if others.is_empty() {
                break;
            }
            others.into_iter().for_each(|action| self.act(action));
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Code { bytes, script } => match self.scripts.write_script(bytes, script, self.machine.adapter()) {
                Ok(bytes) => {
                    if let Some(prompts) = self.outputs[Stream::Stdout as usize].prompts() {
                        prompts.wrote(&bytes);
                    }
                    self.inputs.code().push(bytes);
                    self.state.busy_wait.begin();
                    self.mute();
                }
                Err(error) => self.on(Event::Stop { reason: format!("its script file could not be written: {error}") }),
            },
            Action::Feed(bytes) => self.inputs.stdin.push(bytes),
            Action::CloseStdin => self.inputs.stdin.close(),
            Action::Signal { guarded } => self.signal(guarded),
            Action::Watch { window, age } => self.watch(window, age),
            Action::Probe => self.probe(),
            Action::End(ending) => self.end(ending),
            Action::Answer { waiter, eval } => self.answer(waiter, eval),
            Action::Refuse { waiter, error } => self.state.replies.refuse(waiter, error),
            Action::Accept { waiter, input } => {
                if let Some(Reply::Input(reply)) = self.state.replies.remove(waiter) {
                    drop(reply.send(Ok(input)));
                }
            }
            Action::Interrupted { waiter, outcome, eval, took, rest } => {
                if let Some(Reply::Interrupt(reply, view)) = self.state.replies.remove(waiter) {
                    let result = eval.and_then(|eval| self.finished(eval, view)).map(|finished| finished.result);
                    let is_heard = reply.send(Ok(InterruptReport { outcome, eval: result, took, rest })).is_ok();
                    if let (true, Some(eval)) = (is_heard, eval) {
                        self.record_reader(eval, view);
                    }
                }
            }
            Action::Emit(event) => {
                self.note_timing(&event);
                if let Some(sink) = &self.sink {
                    sink(&event);
                }
                // This fails only without subscribers.
                let _ = self.events.send(event);
            }
            Action::Log { stream, bytes } => {
                self.log.append(stream.logged(), None, &bytes);
                self.state.logged[stream as usize] += bytes.len() as u64;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let _ = self.events.send(SessionEvent::Output { eval: None, stream, text });
            }
            Action::Loaded(mut load) => {
                load.at = Some(SystemTime::now());
                load.first_at = self.loads.borrow().first_at.or(load.at);
                drop(self.loads.send_replace(Arc::new(load)));
            }
        }
    }

    /// Records data that the machine cannot know at the start and the end of an evaluation: processor time, log
    /// position, jobs.
    fn note_timing(&mut self, event: &SessionEvent) {
        if matches!(event, SessionEvent::EvalFinished { .. }) {
            self.state.busy_wait.end();
            self.scripts.clear();
            // The end of input was for that evaluation only, if the REPL does not read that stream.
            self.inputs.reopen(self.group.pid());
        }
        // Jobs that exist between evaluations are background jobs.
        if self.jobs && matches!(event, SessionEvent::Started | SessionEvent::EvalFinished { .. }) {
            self.group.note_jobs();
        }
        match event {
            SessionEvent::EvalStarted { eval, .. } => {
                let cpu = self.state.clock.now();
                if let Some(record) = self.machine.record_mut(*eval) {
                    (record.logged, record.cpu_from) = (self.state.logged, cpu);
                }
            }
            SessionEvent::EvalFinished { eval, .. } if let Some(screen) = &self.screen => {
                if let Some(record) = self.machine.record_mut(*eval) {
                    record.verdict.value = Some(screen.snapshot().text);
                }
            }
            // The clock cannot measure less than a tick.
            SessionEvent::EvalFinished { duration, .. } if *duration < CpuClock::tick() => {}
            SessionEvent::EvalFinished { eval, .. } => {
                let cpu = self.state.clock.now();
                if let Some(record) = self.machine.record_mut(*eval) {
                    record.cpu = cpu.zip(record.cpu_from).map(|(now, from)| now.saturating_sub(from));
                }
            }
            SessionEvent::Started | SessionEvent::Output { .. } | SessionEvent::Ended { .. } => {}
        }
    }
}

/// Passes one segment of a stream to the machine, the log and the subscribers.
fn route(
    segment: Segment<'_>,
    stream: Stream,
    machine: &mut Machine,
    log: &OutputLog,
    events: &broadcast::Sender<SessionEvent>,
    logged: &mut u64,
    now: Instant,
) {
    match segment {
        Segment::Data(bytes) => {
            let eval = match machine.data(stream, bytes, now) {
                Owner::Eval(eval) => Some(eval),
                Owner::Nobody => None,
                Owner::Open => return,
            };
            log.append(stream.logged(), eval, bytes);
            *logged += bytes.len() as u64;
            if events.receiver_count() > 0 && machine.is_public(eval) {
                let text = String::from_utf8_lossy(bytes).into_owned();
                // Subscribers may be gone.
                let _ = events.send(SessionEvent::Output { eval, stream, text });
            }
        }
        Segment::Marker { number, payload } => machine.marker(stream, number, &payload, now),
    }
}
