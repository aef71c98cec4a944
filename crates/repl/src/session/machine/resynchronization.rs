//! Resynchronizes a session by barriers.
//!
//! A barrier is a line whose answer is recognisable and comes after all earlier output. When an interrupted evaluation
//! seems to have ended (see `interrupting`), the machine sends a barrier, pauses for a signal that is still in flight,
//! and sends a second barrier: with one barrier, about one interrupt in 25 spoils the next evaluation. The pause lasts
//! while any part of the evaluation is still running (see `interrupt_check`).
//!
//! If code has redirected the stream of the answer, only the markers arrive. Then the kernel is asked: a REPL that
//! waits for input and has read everything, with the same number on both streams, is in step.

use std::time::{Duration, Instant};

use super::super::capture::Capture;
use super::super::{SessionState, Stream};
use super::interrupt_check::Observation;
use super::interrupting::{GIVE_UP, InterruptRequest};
use super::running_evaluation::Run;
use super::{Action, Machine, Owner, Phase, Probed, Side, Waiter};

/// A signal sooner than this after the end of an evaluation could hit the REPL while it reads left-over input.
const READING: Duration = Duration::from_millis(40);
/// The time limit of a barrier after an interrupt. Another one follows: a late signal may have cut the first.
const BARRIER: Duration = Duration::from_secs(1);
/// The same without an interrupt: the REPL may be busy with input that a program left unread.
const PATIENT_BARRIER: Duration = Duration::from_secs(5);
/// The delays after which the kernel is asked, at first and then repeatedly, if the REPL waits. This applies if its
/// prompts came and the barrier's answer did not.
const UNANSWERED: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(50)];
/// The amount of recent output that is searched for a barrier's answer.
const LISTEN: usize = 16 * 1024;

/// The note when input that a program left over ran as code.
const RAN_AS_CODE: &str = "Input that the program did not read was run as code; its output is in `between` of the \
                           next evaluation.";

/// The reason why the session must resynchronize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncReason {
    /// The markers were just installed.
    Start,
    /// A program was given input and may have left some.
    Input,
    /// The numbers are inconsistent.
    Doubt,
    /// An interrupt was requested.
    Interrupt,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// Until a signal is sent: the REPL may still be reading the code that the signal should hit.
    Held { until: Instant },
    /// Until the barrier's answer on either stream, and its marker on both.
    Barrier {
        until: Instant,
        echo: Option<Vec<u8>>,
        echoed: Option<usize>,
        target: Option<u64>,
        /// The highest number when the barrier was sent, and the time when the kernel is asked.
        sent: u64,
        ask_at: Instant,
    },
    /// Until a late signal has arrived and no part of the evaluation is running.
    Settling { until: Instant },
    /// Until the state destroyed by the interrupt is restored.
    Recovering { target: u64, until: Instant },
    /// The REPL is at its prompt, but a thread of the evaluation runs on behind it.
    Straggler { look_at: Instant },
    /// The REPL does not answer. Any later activity triggers another barrier.
    GaveUp,
}

/// A pending synchronization.
#[derive(Debug)]
pub(super) struct Sync {
    why: SyncReason,
    pub(super) run: Option<Run>,
    pub(super) stage: Stage,
    /// True if the evaluation had ended, and the interrupt hit its left-over input.
    overrun: bool,
    passed: usize,
    /// True if the barriers' answers were redirected elsewhere.
    unheard: bool,
    recovered: bool,
    pub(super) begun: Instant,
    /// Output after the evaluation's end, which belongs to no evaluation.
    pub(super) strays: [Capture; 2],
    /// The last output of each stream since the barrier was sent.
    listen: [Vec<u8>; 2],
    pub(super) observed: Observation,
}

impl Sync {
    pub(super) fn new(why: SyncReason, run: Option<Run>, now: Instant) -> Sync {
        Sync {
            why,
            run,
            stage: Stage::GaveUp,
            overrun: false,
            passed: 0,
            unheard: false,
            recovered: false,
            begun: now,
            strays: [Capture::new(), Capture::new()],
            listen: [Vec::new(), Vec::new()],
            observed: Observation::default(),
        }
    }

    pub(super) fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    pub(super) fn run_mut(&mut self) -> Option<&mut Run> {
        self.run.as_mut()
    }

    pub(super) fn eval(&self) -> Option<u64> {
        self.run.as_ref().map(|run| run.eval)
    }

    pub(super) fn overrun(&self) -> bool {
        self.overrun
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Barrier { until, ask_at, echo: Some(_), echoed: None, .. } => Some((*until).min(*ask_at)),
            Stage::Held { until }
            | Stage::Barrier { until, .. }
            | Stage::Settling { until }
            | Stage::Recovering { until, .. } => Some(*until),
            Stage::Straggler { look_at } => Some(*look_at),
            Stage::GaveUp => None,
        }
    }

    pub(super) fn state(&self) -> SessionState {
        match (self.why, &self.stage) {
            (_, Stage::GaveUp | Stage::Straggler { .. }) => SessionState::Uninterruptible,
            (SyncReason::Interrupt, _) => SessionState::Interrupting,
            (SyncReason::Start, _) => SessionState::Starting,
            (SyncReason::Input | SyncReason::Doubt, _) => SessionState::Running,
        }
    }

    /// Handles output and returns its owner.
    pub(super) fn data(&mut self, side: usize, bytes: &[u8], seen: &Side) -> Owner {
        if let Stage::Barrier { echo: Some(echo), echoed, .. } = &mut self.stage
            && echoed.is_none()
            && !self.unheard
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

    /// Returns the evaluation, if the stream is not past its end.
    pub(super) fn open(&self, seen: &Side) -> Option<u64> {
        self.run.as_ref().filter(|run| !self.is_past(run, seen)).map(|run| run.eval)
    }

    /// Returns true if a stream is past the end of the evaluation. After a signal any newer number ends it: a block of
    /// code may have been cut short.
    fn is_past(&self, run: &Run, seen: &Side) -> bool {
        match self.why {
            SyncReason::Interrupt => seen.number > run.before,
            _ => seen.number >= run.expected || seen.number > run.before && self.why == SyncReason::Doubt,
        }
    }
}

impl Machine {
    /// Handles a request to interrupt while the session resynchronizes.
    pub(super) fn interrupt_syncing(&mut self, waiter: Waiter, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let Some(run) = &mut sync.run else { return };
        let eval = run.eval;
        let asked = match &mut run.asked {
            Some(asked) => {
                asked.renew(waiter, now);
                asked
            }
            none => none.insert(InterruptRequest::new(Some(waiter), None, now)),
        };
        let signal = match sync.why {
            SyncReason::Interrupt => matches!(sync.stage, Stage::GaveUp),
            // Input that the program left unread may run as code for any length of time.
            _ => {
                sync.overrun = sync.why == SyncReason::Input;
                (sync.why, sync.passed) = (SyncReason::Interrupt, 0);
                true
            }
        };
        if signal {
            asked.signals += 1;
            let record = self.records.running(eval);
            record.signalled_at.get_or_insert(record.output[Stream::Stderr as usize].total());
            sync.stage = Stage::Held { until: now.max(sync.begun + READING) };
            sync.begun = now;
        } else if let Stage::Straggler { look_at } = &mut sync.stage {
            *look_at = now;
            self.syncing_tick(now);
        }
    }

    pub(super) fn send_barrier(&mut self, now: Instant) {
        self.barriers += 1;
        let sent = self.sides.iter().map(|side| side.number).max().unwrap_or_default();
        if let Phase::Syncing(sync) = &mut self.phase
            && sync.unheard
        {
            // The barrier's answer would go to the file that the code redirected the stream to.
            let (until, echo, sent) = (now + BARRIER, Some(Vec::new()), sent.saturating_sub(1));
            sync.stage = Stage::Barrier { until, echo, echoed: None, target: None, sent, ask_at: now };
            return;
        }
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
        let patience = if sync.why == SyncReason::Interrupt { BARRIER } else { PATIENT_BARRIER };
        sync.listen.iter_mut().for_each(Vec::clear);
        let (until, ask_at) = (now + patience, now + UNANSWERED[0]);
        sync.stage = Stage::Barrier { until, echo, echoed: None, target, sent, ask_at };
    }

    pub(super) fn syncing_marker(&mut self, stream: Stream, number: Option<u64>, now: Instant) {
        let fallback = self.is_fallback();
        let sides = &self.sides;
        let Phase::Syncing(sync) = &mut self.phase else { return };
        match &mut sync.stage {
            Stage::Barrier { echoed, target, .. } => {
                if *echoed == Some(stream as usize) && target.is_none() {
                    *target = number;
                }
                let target = *target;
                let reached = |side: &Side| target.is_some_and(|target| side.number >= target);
                // In the fallback the prompt after the mark must come as well.
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
            Stage::Held { .. } | Stage::Settling { .. } | Stage::Straggler { .. } => {}
        }
    }

    /// Returns true if the prompts after a barrier came without the barrier's answer.
    fn is_unanswered(&self) -> bool {
        let Phase::Syncing(sync) = &self.phase else { return false };
        let [out, err] = &self.sides;
        matches!(sync.stage, Stage::Barrier { echo: Some(_), echoed: None, sent, .. } if out.number > sent)
            && out.number == err.number
    }

    /// Handles the kernel's answer about a REPL whose answer to the barrier did not come.
    pub(super) fn syncing_probed(&mut self, probed: &Probed, now: Instant) {
        if *probed == Probed::Waiting && self.is_unanswered() {
            if let Phase::Syncing(sync) = &mut self.phase {
                sync.unheard = true;
            }
            self.barrier_passed(now);
        }
    }

    fn barrier_passed(&mut self, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        sync.passed += 1;
        if sync.why == SyncReason::Interrupt && sync.passed < 2 { self.settle(now) } else { self.synchronized(now) }
    }

    pub(super) fn syncing_tick(&mut self, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        if sync.deadline().is_none_or(|until| now < until) {
            return;
        }
        match &mut sync.stage {
            Stage::Barrier { until, ask_at, .. } if now < *until => {
                *ask_at = now + UNANSWERED[1];
                if self.is_unanswered() {
                    self.actions.push(Action::Probe);
                }
            }
            Stage::Straggler { .. } => self.watch_straggler(now),
            Stage::Held { .. } => {
                if self.adapter.interrupt().signal {
                    self.actions.push(Action::Signal { guarded: false });
                }
                self.send_barrier(now);
            }
            // The observation did not return.
            Stage::Settling { .. } => self.send_barrier(now),
            _ if now >= sync.begun + GIVE_UP + sync.observed.waited => self.give_up(now),
            // If the restoring step is not answered, a barrier determines the state.
            Stage::Barrier { .. } | Stage::Recovering { .. } => self.send_barrier(now),
            Stage::GaveUp => {}
        }
    }

    /// Reports to the callers that the interrupt does not work. The session stays in this state until the evaluation
    /// ends.
    fn give_up(&mut self, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        if sync.why != SyncReason::Interrupt {
            let why = "it lost synchronization with hob";
            return self.stop(why.to_owned(), false);
        }
        sync.stage = Stage::GaveUp;
        self.report_straggler("does not answer", now);
    }

    /// Handles streams that are in step again.
    fn synchronized(&mut self, now: Instant) {
        self.number = self.sides[0].number.max(self.sides[1].number);
        self.issued = self.number;
        let payload = self.payload.clone();
        // Without numbered markers the scope is unknown.
        let fallback = self.is_fallback();
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let why = sync.why;
        let Some(run) = &sync.run else {
            self.keep_strays();
            return self.started(now);
        };
        let eval = run.eval;
        if why == SyncReason::Interrupt && !sync.recovered && !fallback {
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
            SyncReason::Interrupt => self.settled(eval, now),
            SyncReason::Input => {
                let Phase::Syncing(sync) = &mut self.phase else { return };
                let run = sync.run.take().expect("just seen");
                self.resume(run, now);
            }
            SyncReason::Doubt | SyncReason::Start => self.finish(eval, None, now),
        }
    }

    /// Logs output after the evaluation's end as output of no evaluation, without the barriers' own output.
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
            // At the end of its input the REPL prints a farewell, which is not output of code.
            let is_farewell = kept == self.adapter.farewell();
            if let (SyncReason::Input, Stream::Stdout, Some(eval), false) = (why, stream, eval, is_farewell) {
                self.records.running(eval).notes.push(RAN_AS_CODE.to_owned());
            }
            self.between[stream as usize].push(&kept);
            self.actions.push(Action::Log { stream, bytes: kept });
        }
    }

    /// Cuts the barrier's answer off the evaluation's output if the evaluation's end was not detected.
    fn cut_echo(&mut self, eval: u64) {
        let nonce = &self.nonce;
        let record = self.records.running(eval);
        if let Some(prefix) = self.adapter.barrier_prefix(nonce) {
            record.output.iter_mut().for_each(|output| output.cut_at(&prefix));
        }
    }
}
