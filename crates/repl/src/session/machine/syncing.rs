//! Getting back in step: barriers, and the interrupt, which is a protocol and not a signal.
//!
//! A barrier is a line whose answer is recognisable and comes after everything before it. An interrupt is: signal the
//! group, see the evaluation's end or give up waiting for it, a barrier, a pause for a signal that is still under way,
//! a second barrier. With one barrier only, about one interrupt in 25 spoils the next evaluation.

use std::time::{Duration, Instant};

use super::super::capture::Capture;
use super::super::{InterruptOutcome, SessionState, Status, Stream};
use super::running::{Run, plural};
use super::{Action, Machine, Owner, Phase, Side, Waiter};

/// A signal sooner than this after the code could hit the REPL while it reads the code.
const READING: Duration = Duration::from_millis(20);
/// How long the end of the evaluation may take to show after a signal.
const SIGNALLED: Duration = Duration::from_millis(250);
/// How long a barrier may take before something is done about it.
const BARRIER: Duration = Duration::from_millis(300);
/// The same where no interrupt is wanted: the REPL may be busy with input that a program left unread.
const PATIENT_BARRIER: Duration = Duration::from_secs(5);
/// After this the evaluation is called uninterruptible.
const GIVE_UP: Duration = Duration::from_secs(10);
/// How much of the latest output is searched for a barrier's answer.
const LISTEN: usize = 16 * 1024;

/// Said when input that a program left over went to the REPL.
const RAN_AS_CODE: &str = "Input that the program did not read was run as code; its output stands in `between` of the \
                           next evaluation.";

/// Why the session has to get in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The markers were just installed.
    Start,
    /// A program was given input and may have left some.
    Input,
    /// The numbers do not add up.
    Doubt,
    /// Somebody interrupted the evaluation.
    Interrupt,
}

#[derive(Debug)]
enum Stage {
    /// Not yet, since the REPL may still read the code.
    Held { until: Instant },
    /// Until the evaluation's end shows.
    Signalled { until: Instant },
    /// Until the barrier's answer, on whichever stream it comes, and its marker on both.
    Barrier { until: Instant, echo: Option<Vec<u8>>, echoed: Option<usize>, target: Option<u64> },
    /// Until a late signal has arrived.
    Settling { until: Instant },
    /// Until what the interrupt has lost is restored.
    Recovering { target: u64, until: Instant },
    /// The evaluation does not react. If it ends after all, a barrier finds out.
    GaveUp,
}

/// Synchronization under way.
#[derive(Debug)]
pub(super) struct Sync {
    why: Why,
    run: Option<Run>,
    stage: Stage,
    /// The evaluation had ended, and what was interrupted is input that it had left.
    overrun: bool,
    /// Barriers that have succeeded.
    passed: usize,
    recovered: bool,
    begun: Instant,
    pub(super) waiters: Vec<Waiter>,
    /// Output of nobody: what comes after the evaluation's end.
    strays: [Capture; 2],
    /// The end of each stream since the barrier was sent.
    listen: [Vec<u8>; 2],
}

impl Sync {
    pub(super) fn new(why: Why, run: Option<Run>, now: Instant) -> Sync {
        Sync {
            why,
            run,
            stage: Stage::Settling { until: now },
            overrun: false,
            passed: 0,
            recovered: false,
            begun: now,
            waiters: Vec::new(),
            strays: [Capture::new(), Capture::new()],
            listen: [Vec::new(), Vec::new()],
        }
    }

    pub(super) fn why(&self) -> Why {
        self.why
    }

    pub(super) fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    pub(super) fn eval(&self) -> Option<u64> {
        self.run.as_ref().map(|run| run.eval)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Held { until }
            | Stage::Signalled { until }
            | Stage::Barrier { until, .. }
            | Stage::Settling { until }
            | Stage::Recovering { until, .. } => Some(*until),
            Stage::GaveUp => None,
        }
    }

    pub(super) fn state(&self) -> SessionState {
        match (self.why, &self.stage) {
            (_, Stage::GaveUp) => SessionState::Uninterruptible,
            (Why::Interrupt, _) => SessionState::Interrupting,
            (Why::Start, _) => SessionState::Starting,
            (Why::Input | Why::Doubt, _) => SessionState::Running,
        }
    }

    /// Takes output, and says whose it is.
    pub(super) fn data(&mut self, side: usize, bytes: &[u8], seen: &Side) -> Owner {
        if let Stage::Barrier { echo: Some(echo), echoed, .. } = &mut self.stage
            && echoed.is_none()
        {
            let listen = &mut self.listen[side];
            listen.extend_from_slice(bytes);
            *echoed = memchr::memmem::find(listen, echo).map(|_| side);
            let excess = listen.len().saturating_sub(LISTEN);
            listen.drain(..excess);
        }
        match &self.run {
            Some(run) if !self.is_past(run, seen) => Owner::Eval(run.eval),
            _ => {
                self.strays[side].push(bytes);
                Owner::Open
            }
        }
    }

    /// The evaluation, if a stream is not past its end.
    pub(super) fn open(&self, seen: &Side) -> Option<u64> {
        self.run.as_ref().filter(|run| !self.is_past(run, seen)).map(|run| run.eval)
    }

    /// Whether a stream is past the end of the evaluation. After a signal any newer number ends it: a block of code may
    /// have been cut short.
    fn is_past(&self, run: &Run, seen: &Side) -> bool {
        match self.why {
            Why::Interrupt => seen.number > run.before,
            _ => seen.number >= run.expected || seen.number > run.before && self.why == Why::Doubt,
        }
    }
}

impl Machine {
    pub(super) fn interrupt(&mut self, waiter: Waiter, now: Instant) {
        match &mut self.phase {
            Phase::Running(_) => self.synchronize(Why::Interrupt, Some(waiter), now),
            Phase::Syncing(sync) if sync.why == Why::Interrupt => {
                sync.waiters.push(waiter);
                if matches!(sync.stage, Stage::GaveUp) {
                    // Somebody asks again: another full round.
                    sync.begun = now;
                    self.send_signal(now);
                }
            }
            // Input that the program left unread runs as code, for as long as it likes.
            Phase::Syncing(sync) if sync.run.is_some() => {
                sync.overrun = sync.why == Why::Input;
                (sync.why, sync.passed, sync.begun) = (Why::Interrupt, 0, now);
                sync.waiters.push(waiter);
                self.send_signal(now);
            }
            // Nothing runs that an interrupt could hit.
            _ => {
                let outcome = match self.has_ended() {
                    Some(_) => InterruptOutcome::Ended,
                    None => InterruptOutcome::Idle,
                };
                self.actions.push(Action::Interrupted { waiter, outcome, eval: None, took: Duration::ZERO });
            }
        }
    }

    pub(super) fn begin_interrupt(&mut self, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        match sync.run.as_ref().map(|run| run.written + READING) {
            Some(until) if until > now => sync.stage = Stage::Held { until },
            _ => self.send_signal(now),
        }
    }

    fn send_signal(&mut self, now: Instant) {
        let signals = self.adapter.interrupt().signal;
        let Phase::Syncing(sync) = &mut self.phase else { return };
        sync.stage = Stage::Signalled { until: now + SIGNALLED };
        if signals {
            self.actions.push(Action::Signal);
        }
    }

    pub(super) fn send_barrier(&mut self, now: Instant) {
        self.barriers += 1;
        let fallback = self.is_fallback();
        let (bytes, echo, target) = if fallback {
            let number = self.issued + 1;
            let mark = self.adapter.fallback_mark(&self.nonce, number).expect("the session fell back to it");
            (mark, None, Some(number))
        } else {
            let barrier = self.adapter.barrier(&self.nonce, self.barriers);
            let target = barrier.echo.is_none().then_some(self.issued + 1);
            (barrier.bytes, barrier.echo, target)
        };
        self.write(bytes, None, 1);
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let patience = if sync.why == Why::Interrupt { BARRIER } else { PATIENT_BARRIER };
        sync.listen.iter_mut().for_each(Vec::clear);
        sync.stage = Stage::Barrier { until: now + patience, echo, echoed: None, target };
    }

    pub(super) fn syncing_marker(&mut self, stream: Stream, number: Option<u64>, now: Instant) {
        let fallback = self.is_fallback();
        let sides = &self.sides;
        let Phase::Syncing(sync) = &mut self.phase else { return };
        match &mut sync.stage {
            Stage::Signalled { .. } => {
                let run = sync.run.as_ref();
                let ended = match fallback {
                    true => sides[0].unnumbered > 0,
                    false => run.is_none_or(|run| sides.iter().all(|side| side.number > run.before)),
                };
                if ended {
                    self.send_barrier(now);
                }
            }
            Stage::Barrier { echoed, target, .. } => {
                if *echoed == Some(stream as usize) && target.is_none() {
                    *target = number;
                }
                let target = *target;
                let reached = |side: &Side| target.is_some_and(|target| side.number >= target);
                // In the fallback the prompt after the mark has to pass as well.
                let prompted = !fallback || sides[0].unnumbered > 0;
                if sides.iter().all(reached) && prompted {
                    self.barrier_passed(now);
                }
            }
            Stage::Recovering { target, .. } => {
                let target = *target;
                if sides.iter().all(|side| side.number >= target) {
                    self.synchronized(now);
                }
            }
            Stage::GaveUp => {
                sync.begun = now;
                self.send_barrier(now);
            }
            Stage::Held { .. } => {
                let run = sync.run.as_ref();
                if run.is_some_and(|run| sides.iter().all(|side| side.number >= run.expected)) {
                    // It ended before the signal was sent: no signal is needed.
                    self.send_barrier(now);
                }
            }
            Stage::Settling { .. } => {}
        }
    }

    fn barrier_passed(&mut self, now: Instant) {
        let settle = self.adapter.interrupt().settle;
        let Phase::Syncing(sync) = &mut self.phase else { return };
        sync.passed += 1;
        if sync.why == Why::Interrupt && sync.passed < 2 {
            sync.stage = Stage::Settling { until: now + settle };
        } else {
            self.synchronized(now);
        }
    }

    pub(super) fn syncing_tick(&mut self, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        if sync.deadline().is_none_or(|until| now < until) {
            return;
        }
        if now >= sync.begun + GIVE_UP {
            return self.give_up();
        }
        match sync.stage {
            Stage::Held { .. } => self.send_signal(now),
            Stage::Signalled { .. } | Stage::Settling { .. } => self.send_barrier(now),
            Stage::Barrier { .. } if sync.why == Why::Interrupt => self.send_signal(now),
            // Without an answer to the restoring step a barrier shows where things stand.
            Stage::Barrier { .. } | Stage::Recovering { .. } => self.send_barrier(now),
            Stage::GaveUp => {}
        }
    }

    /// Tells those who wait that it does not work. The session stays in this state until the evaluation ends by itself.
    fn give_up(&mut self) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        if sync.why != Why::Interrupt {
            let why = "it got out of step and did not answer a barrier";
            return self.stop(why.to_owned(), false);
        }
        sync.stage = Stage::GaveUp;
        let eval = sync.eval();
        for waiter in sync.waiters.drain(..) {
            let outcome = InterruptOutcome::Uninterruptible;
            self.actions.push(Action::Interrupted { waiter, outcome, eval, took: GIVE_UP });
        }
    }

    /// Both streams are in step again.
    fn synchronized(&mut self, now: Instant) {
        self.number = self.sides[0].number.max(self.sides[1].number);
        self.issued = self.number;
        let payload = self.payload.clone();
        // Without numbered markers nothing tells what is in scope.
        let fallback = self.is_fallback();
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let why = sync.why;
        let Some(run) = &sync.run else {
            self.keep_strays();
            return self.started(now);
        };
        let eval = run.eval;
        if why == Why::Interrupt && !sync.recovered && !fallback {
            sync.recovered = true;
            let code = &self.records.running(eval).code;
            if let Some((step, note)) = self.adapter.recover(code, &payload) {
                let target = self.number + step.advance;
                sync.stage = Stage::Recovering { target, until: now + PATIENT_BARRIER };
                self.records.running(eval).notes.push(note);
                return self.write(step.bytes, step.script, step.advance);
            }
        }
        self.keep_strays();
        self.cut_echo(eval);
        match why {
            Why::Interrupt => self.interrupted(eval, now),
            Why::Input => {
                let Phase::Syncing(sync) = &mut self.phase else { return };
                let run = sync.run.take().expect("just seen");
                self.resume(run, now);
            }
            Why::Doubt | Why::Start => self.finish(eval, None, now),
        }
    }

    /// Ends the evaluation that was interrupted, and says so to those who asked for it.
    fn interrupted(&mut self, eval: u64, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let took = now - sync.begun;
        let waiters = std::mem::take(&mut sync.waiters);
        let (left, overrun) = (sync.run.as_ref().map_or(0, |run| run.steps.len()), sync.overrun);
        // Without a marker of its own, the barrier was the first thing to answer.
        let status = None;
        if left > 0 {
            let note = format!("{left} more piece{} of the code did not run.", plural(left));
            self.records.running(eval).notes.push(note);
        }
        self.finish(eval, status, now);
        let stopped = self.records.get(eval).is_some_and(|record| record.status == Status::Interrupted);
        let stopped = stopped || left > 0 || overrun;
        let outcome = if stopped { InterruptOutcome::Interrupted } else { InterruptOutcome::Finished };
        for waiter in waiters {
            self.actions.push(Action::Interrupted { waiter, outcome, eval: Some(eval), took });
        }
    }

    /// What came after the evaluation's end is nobody's, except what the barriers themselves said.
    pub(super) fn keep_strays(&mut self) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let (why, overrun, eval) = (sync.why, sync.overrun, sync.eval());
        let strays = std::mem::replace(&mut sync.strays, [Capture::new(), Capture::new()]);
        if let (true, Some(eval)) = (overrun, eval) {
            self.records.running(eval).notes.push(RAN_AS_CODE.to_owned());
        }
        for (stream, stray) in [Stream::Stdout, Stream::Stderr].into_iter().zip(strays) {
            let kept = self.adapter.without_barriers(&stray.bytes().0, &self.nonce);
            if kept.is_empty() {
                continue;
            }
            if let (Why::Input, Stream::Stdout, Some(eval)) = (why, stream, eval) {
                self.records.running(eval).notes.push(RAN_AS_CODE.to_owned());
            }
            self.between[stream as usize].push(&kept);
            self.actions.push(Action::Log { stream, bytes: kept });
        }
    }

    /// Where the end of the evaluation did not show, its output reaches into the barrier's answer.
    fn cut_echo(&mut self, eval: u64) {
        let nonce = &self.nonce;
        let record = self.records.running(eval);
        if let Some(prefix) = self.adapter.barrier_prefix(nonce) {
            record.output.iter_mut().for_each(|output| output.cut_at(&prefix));
        }
    }
}
