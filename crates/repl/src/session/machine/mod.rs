//! Decides the next step of a session: events in, actions out, no I/O. The actor performs the actions.
//!
//! `vocabulary` defines events and actions; this file holds the state and the queue, which `inspection` exposes.
//! `starting`, `running_evaluation` (with `evaluation_input` for its input) and `resynchronization` are the phases of
//! a live session. `interrupting` and `interrupt_check` handle an interrupt through these phases, `unused` ends
//! abandoned evaluations, and `ending` handles the exit of the process.

mod breakpoint;
mod ending;
mod evaluation_input;
mod inspection;
mod interrupt_check;
mod interrupting;
mod records;
mod resynchronization;
mod running_evaluation;
mod starting;
mod terminal;
#[cfg(test)]
mod tests;
mod unused;
mod vocabulary;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::capture::Capture;
use super::handle::{Claim, SessionError};
use super::{SessionState, Stream};
use crate::adapter::{Adapter, Channel, Nonce, ReplMessages, StderrPayload};
use crate::load::LoadRecord;
use crate::numbers::EvalNumbers;
use crate::result::{Completion, Status};
use breakpoint::Breakpoint;
use interrupting::Straggler;
use records::EvalRecords;
use resynchronization::Sync;
use running_evaluation::Run;

pub(super) use records::EvalRecord;
pub(super) use vocabulary::{Action, Bounds, Death, Ending, EvalRef, Event, Owner, Probed, Waiter};

/// The state of a session.
#[derive(Debug)]
pub(super) struct Machine {
    name: String,
    adapter: Arc<dyn Adapter>,
    nonce: Nonce,
    bounds: Bounds,
    phase: Phase,
    /// The markers seen on standard output and on standard error.
    sides: [Side; 2],
    /// The number up to which both streams are in step.
    number: u64,
    /// The number that markers will have reached after all written code is done.
    issued: u64,
    completion: Completion,
    queue: VecDeque<Queued>,
    records: EvalRecords,
    waiters: Vec<(u64, Waiter)>,
    between: [Capture; 2],
    banner: [Capture; 2],
    /// The incomplete last line of the banner, per stream.
    unlogged: [Vec<u8>; 2],
    /// True if standard error has reached the messages about hob's own lines.
    installing: bool,
    payload: String,
    barriers: u64,
    /// The last load, with the current list of diagnostics.
    load: LoadRecord,
    /// Code that succeeded and only defined something, for a new process.
    history: VecDeque<String>,
    /// The part of an interrupted evaluation that still runs behind the prompt.
    straggler: Option<Straggler>,
    /// The interrupted load, until another load ends.
    cut_load: Option<u64>,
    /// True if input that a program leaves unread is taken back instead of running as code.
    takes_back: bool,
    /// True if the first prompt has come.
    prompted: bool,
    /// True if the markers ever transmitted the REPL's messages, which means that they always do.
    heard: bool,
    breakpoint: Breakpoint,
    /// The time since which the running code is being ended because the session is unused.
    abandoned: Option<Instant>,
    /// Set once the end was requested.
    ending: Option<Intent>,
    actions: Vec<Action>,
}

#[derive(Debug)]
enum Phase {
    Starting {
        unnumbered: usize,
        until: Instant,
        /// The time when the kernel is asked if the program waits, for a program on a terminal.
        look_at: Option<Instant>,
    },
    Idle {
        since: Instant,
    },
    Running(Box<Run>),
    Syncing(Box<Sync>),
    Ended {
        status: Status,
        stopped: bool,
        reason: String,
    },
}

/// The state of one stream.
#[derive(Debug, Default, Clone)]
struct Side {
    /// The number of the last marker.
    number: u64,
    /// The number of markers without a number since code was last written.
    unnumbered: usize,
}

/// The reason why the end was requested.
#[derive(Debug, Clone)]
struct Intent {
    reason: String,
    /// True if the end is orderly, false after a failure.
    stopped: bool,
}

#[derive(Debug)]
struct Queued {
    eval: u64,
    plan: crate::adapter::Plan,
    stdin: Option<String>,
    claim: Arc<Claim>,
    waiter: Waiter,
}

impl Machine {
    /// Creates a session whose process was just started; the adapter's install lines are the first action.
    pub(super) fn new(
        name: &str,
        adapter: Arc<dyn Adapter>,
        nonce: Nonce,
        bounds: Bounds,
        numbers: Arc<EvalNumbers>,
        now: Instant,
    ) -> Machine {
        let install = adapter.install(&nonce);
        let look_at = adapter.window().map(|_| now + running_evaluation::QUIET);
        Machine {
            name: name.to_owned(),
            completion: adapter.completion(),
            adapter,
            nonce,
            bounds,
            phase: Phase::Starting { unnumbered: 0, until: now + bounds.start, look_at },
            sides: Default::default(),
            number: 0,
            issued: 0,
            queue: VecDeque::new(),
            records: EvalRecords::new(numbers),
            waiters: Vec::new(),
            between: [Capture::new(), Capture::new()],
            banner: [Capture::new(), Capture::new()],
            unlogged: Default::default(),
            installing: false,
            payload: String::new(),
            barriers: 0,
            load: LoadRecord::default(),
            history: VecDeque::new(),
            straggler: None,
            takes_back: false,
            cut_load: None,
            prompted: false,
            heard: false,
            breakpoint: Breakpoint::default(),
            abandoned: None,
            ending: None,
            actions: vec![Action::Code { bytes: install, script: None }],
        }
    }

    /// Returns the actions to perform now, in order. Empties the list.
    pub(super) fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Returns the time when [`Event::Tick`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            _ if self.ending.is_some() => None,
            Phase::Starting { until, look_at, .. } => Some(look_at.map_or(*until, |at| at.min(*until))),
            Phase::Idle { since } => {
                let idle = self.bounds.idle.map(|idle| *since + idle);
                [idle, self.straggler.as_ref().map(|straggler| straggler.look_at)].into_iter().flatten().min()
            }
            Phase::Running(run) => Some(run.deadline()),
            Phase::Syncing(sync) => sync.deadline(),
            Phase::Ended { .. } => None,
        }
    }

    /// Handles output and returns its owner.
    pub(super) fn data(&mut self, stream: Stream, bytes: &[u8], now: Instant) -> Owner {
        if self.has_terminal() {
            return self.note_output(stream, now);
        }
        let side = stream as usize;
        let bytes = if stream == Stream::Stdout { self.without_context(bytes) } else { bytes };
        match &mut self.phase {
            Phase::Starting { .. } => {
                self.banner[side].push(bytes);
                self.log_lines(stream, bytes);
                return Owner::Open;
            }
            Phase::Running(run) if !run.has_ended(&self.sides[side]) => {
                let eval = run.eval;
                run.record_output(stream, now);
                self.records.running(eval).output[side].push(bytes);
                return Owner::Eval(eval);
            }
            Phase::Syncing(sync) => {
                let owner = sync.data(side, bytes, &self.sides[side]);
                if let Owner::Eval(eval) = owner {
                    self.records.running(eval).output[side].push(bytes);
                }
                return owner;
            }
            _ => self.between[side].push(bytes),
        }
        Owner::Nobody
    }

    /// Handles a marker from a stream.
    pub(super) fn marker(&mut self, stream: Stream, number: Option<u64>, payload: &str, now: Instant) {
        let open = match &self.phase {
            Phase::Running(run) => Some(run.eval),
            Phase::Syncing(sync) => sync.open(&self.sides[stream as usize]),
            Phase::Starting { .. } | Phase::Idle { .. } | Phase::Ended { .. } => None,
        };
        let side = &mut self.sides[stream as usize];
        match number {
            Some(number) => side.number = side.number.max(number),
            None => side.unnumbered += 1,
        }
        if number.is_some() && stream == Stream::Stdout {
            self.breakpoint.prompted();
            payload.clone_into(&mut self.payload);
            if let Some(eval) = open {
                payload.clone_into(&mut self.records.running(eval).payload);
            }
        }
        if let (Some(number), Stream::Stderr) = (number, stream) {
            self.listen(number, StderrPayload::read(payload), open);
        }
        match self.phase {
            Phase::Starting { .. } => self.starting_marker(number, now),
            Phase::Running(_) => self.running_marker(stream, number, now),
            Phase::Syncing(_) => self.syncing_marker(stream, number, now),
            Phase::Idle { .. } | Phase::Ended { .. } => {}
        }
    }

    /// Handles the payload of a marker on standard error.
    fn listen(&mut self, number: u64, payload: StderrPayload<'_>, eval: Option<u64>) {
        let mut unasked = false;
        if let Phase::Running(run) = &mut self.phase {
            if let Some(count) = payload.unread {
                run.take_back(count);
            }
            // This is a repeated prompt: the REPL had not read the code, so its messages are not about that.
            unasked = number <= run.before;
        }
        self.takes_back |= payload.unread.is_some();
        let words = match payload.messages {
            ReplMessages::Nothing => Some(String::new()),
            ReplMessages::Missed => None,
            ReplMessages::Text(literal) => self.adapter.decode_literal(literal),
        };
        // The absence of messages counts only if messages were captured before.
        self.heard |= words.as_ref().is_some_and(|words| !words.is_empty());
        let Some(eval) = eval.filter(|_| !unasked) else { return };
        let record = self.records.running(eval);
        record.stopped |= payload.stopped;
        match words {
            Some(words) if words.is_empty() => {}
            Some(words) => record.reports.push(words),
            None => record.unheard = true,
        }
    }

    /// Handles any other event.
    pub(super) fn on(&mut self, event: Event, now: Instant) {
        if event.is_a_call() {
            self.abandoned = None;
        }
        match event {
            Event::Eval { code, stdin, quiet, claim, waiter } => self.submit(code, stdin, quiet, claim, waiter, now),
            Event::Wait { which, waiter } => self.wait(&which, waiter),
            Event::Look { which, waiter } => match self.find(&which) {
                Ok(eval) => self.actions.push(Action::Answer { waiter, eval }),
                Err(error) => self.actions.push(Action::Refuse { waiter, error }),
            },
            Event::Input { eval, text, eof, waiter } => self.input(eval, text, eof, waiter, now),
            Event::Interrupt { eval, waiter } => self.interrupt(eval, waiter, now),
            Event::Unread => self.unread(now),
            Event::Unused { away } => self.unused(away, now),
            Event::Watched(activity) => self.watched(&activity, now),
            Event::Stop { reason } => self.stop(reason, true),
            Event::Kill { reason } => self.kill(reason),
            Event::Probed(probed) => self.probed(probed, now),
            Event::Closed(stream) => self.closed(stream),
            Event::Died(death) => self.died(death, now),
            Event::Tick => self.tick(now),
        }
    }

    fn tick(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Starting { until, .. } if now >= *until => self.start_timed_out(now),
            Phase::Starting { look_at, .. } if look_at.is_some_and(|at| now >= at) => {
                *look_at = None;
                self.actions.push(Action::Probe);
            }
            Phase::Idle { since } => {
                if let Some(idle) = self.bounds.idle.filter(|idle| now >= *since + *idle) {
                    return self.stop(format!("it was idle for {}", minutes(idle)), true);
                }
                self.watch_idle_straggler(now);
            }
            Phase::Running(_) => self.running_tick(now),
            Phase::Syncing(_) => self.syncing_tick(now),
            _ => {}
        }
    }

    fn submit(
        &mut self,
        code: String,
        stdin: Option<String>,
        quiet: bool,
        claim: Arc<Claim>,
        waiter: Waiter,
        now: Instant,
    ) {
        let refuse = |error| Action::Refuse { waiter, error };
        if let Some(error) = self.has_ended() {
            return self.actions.push(refuse(error));
        }
        self.forget_withdrawn();
        if self.queue.len() >= self.bounds.queue {
            let error =
                SessionError::QueueFull { session: self.name.clone(), limit: self.bounds.queue, runs: self.current() };
            return self.actions.push(refuse(error));
        }
        let plan = if stdin.is_some() { self.adapter.plan_with_input(&code) } else { self.adapter.plan(&code) };
        let mut plan = match plan {
            Ok(plan) => plan,
            Err(refusal) => return self.actions.push(refuse(SessionError::Refused(refusal))),
        };
        let (code, stdin) = match stdin {
            Some(keys) if self.has_terminal() => {
                plan.steps[0].bytes = keys.clone().into_bytes();
                (keys, None)
            }
            stdin => (code, stdin),
        };
        if self.has_terminal() && self.type_more(&plan.steps[0].bytes, &claim, waiter, now) {
            return;
        }
        let status = if self.prompted { Status::Queued } else { Status::Starting };
        let eval = self.records.add(code, quiet, status);
        claim.eval.store(eval, Ordering::Release);
        self.queue.push_back(Queued { eval, plan, stdin, claim, waiter });
        if self.is_stuck() {
            self.actions.push(Action::Answer { waiter, eval });
        }
    }

    /// Returns true if queued evaluations cannot start soon: the running one waits for input that a caller must supply,
    /// or an interrupt did not end it.
    fn is_stuck(&self) -> bool {
        matches!(&self.phase, Phase::Running(run) if run.waiting || run.asked_state() == SessionState::Uninterruptible)
    }

    /// Answers all callers of queued evaluations.
    fn answer_queued(&mut self) {
        let queued: Vec<(u64, Waiter)> = self.queue.iter().map(|queued| (queued.eval, queued.waiter)).collect();
        for (eval, waiter) in queued {
            self.actions.push(Action::Answer { waiter, eval });
            self.answer(eval);
        }
    }

    /// Starts the next evaluation if nothing is running. Call it after all output so far was handed in, so that none of
    /// it counts as output of the next evaluation.
    pub(super) fn start_if_idle(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Idle { .. }) && self.ending.is_none() {
            self.start_next(now);
        }
    }

    /// Adds a waiter to an evaluation, or answers it immediately.
    fn wait(&mut self, which: &EvalRef, waiter: Waiter) {
        match self.find(which) {
            Ok(eval)
                if self.records.get(eval).is_none_or(|record| record.status.is_final())
                    || self.is_waiting(eval)
                    || self.is_stuck() && self.current() != Some(eval) =>
            {
                self.actions.push(Action::Answer { waiter, eval });
            }
            Ok(eval) => self.waiters.push((eval, waiter)),
            Err(error) => self.actions.push(Action::Refuse { waiter, error }),
        }
    }

    fn find(&self, which: &EvalRef) -> Result<u64, SessionError> {
        let session = || self.name.clone();
        match which {
            EvalRef::Last => self.records.last().ok_or_else(|| SessionError::NothingYet { session: session() }),
            EvalRef::Claimed(claim) => self.find(&EvalRef::Number(claim.eval.load(Ordering::Acquire))),
            EvalRef::Number(eval) => match self.records.get(*eval) {
                Some(_) => Ok(*eval),
                None => Err(SessionError::UnknownEval { session: session(), eval: *eval }),
            },
        }
    }

    /// Answers all waiters of this evaluation.
    fn answer(&mut self, eval: u64) {
        let actions = &mut self.actions;
        self.waiters.retain(|&(waited, waiter)| {
            if waited == eval {
                actions.push(Action::Answer { waiter, eval });
            }
            waited != eval
        });
    }

    fn forget_withdrawn(&mut self) {
        let records = &mut self.records;
        self.queue.retain(|queued| {
            let withdrawn = queued.claim.withdrawn.load(Ordering::Acquire);
            if withdrawn {
                records.forget(queued.eval);
            }
            !withdrawn
        });
    }

    fn write(&mut self, bytes: Vec<u8>, script: Option<Vec<u8>>, advance: u64) {
        self.issued += advance;
        self.sides.iter_mut().for_each(|side| side.unnumbered = 0);
        self.actions.push(Action::Code { bytes, script });
    }

    pub(super) fn is_fallback(&self) -> bool {
        self.completion == Completion::Marker && self.adapter.completion() == Completion::Exact
    }

    /// Returns true if code is written to the pipe that running programs read.
    fn shares_stdin(&self) -> bool {
        self.adapter.channel() == Channel::Stdin
    }
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds / 60) }
}
