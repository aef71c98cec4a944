//! Interrupts a running evaluation: one signal, then a wait.
//!
//! A second signal is sent only when a caller asks again. It would cut off the cleanup that the first one started.
//! GHC handles a signal only between two garbage collections, which take seconds with a large heap: after two signals
//! in a row GHCi returns to its prompt while the evaluation's thread continues behind it forever. So after the signal
//! the evaluation runs like any other: it may print, sleep, ask for input. When it seems to have ended,
//! `resynchronization` gets the session in step and checks for remaining activity.

use std::time::{Duration, Instant};

use process::activity::Activity;

use super::super::capture::Capture;
use super::super::handle::SessionError;
use super::super::{InterruptOutcome, SessionState, Stream};
use super::resynchronization::SyncReason;
use super::running_evaluation::plural;
use super::{Action, Machine, Phase, Probed, Waiter};
use crate::result::Status;

/// A signal sooner than this after the code could hit the REPL while it reads the code.
const READING: Duration = Duration::from_millis(20);
/// The delay before the signal is retried if the REPL has not read all of the code.
const UNREAD: Duration = Duration::from_millis(5);
/// The time after which callers receive the current state.
pub(super) const GIVE_UP: Duration = Duration::from_secs(10);
/// A program that waits for input this long after the signal has caught it.
const CAUGHT: Duration = Duration::from_secs(1);
/// The first interval between two observations of a straggler, and the longest one.
const LOOK: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(8)];

/// A requested interrupt and its progress.
#[derive(Debug)]
pub(super) struct InterruptRequest {
    /// The time of the last request.
    pub(super) since: Instant,
    pub(super) waiters: Vec<Waiter>,
    /// The time until which the signal is held back.
    hold: Option<Instant>,
    /// The number of signals sent.
    pub(super) signals: u32,
    /// The number of signals that came before the REPL had begun the evaluation.
    missed: u32,
    /// The time since which the program waits for input.
    waits: Option<Instant>,
    doing: &'static str,
    /// The outcome reported to the callers; the interrupt continues after that.
    told: Option<InterruptOutcome>,
}

impl InterruptRequest {
    pub(super) fn new(waiter: Option<Waiter>, hold: Option<Instant>, now: Instant) -> InterruptRequest {
        InterruptRequest {
            since: now,
            waiters: waiter.into_iter().collect(),
            hold,
            signals: 0,
            missed: 0,
            waits: None,
            doing: "has not read the code",
            told: None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let answer = (!self.waiters.is_empty()).then_some(self.since + GIVE_UP);
        [self.hold, answer].into_iter().flatten().min()
    }

    pub(super) fn state(&self, waiting: bool) -> SessionState {
        match self.told {
            Some(InterruptOutcome::Uninterruptible) => SessionState::Uninterruptible,
            Some(_) if waiting => SessionState::WaitingForInput,
            _ => SessionState::Interrupting,
        }
    }

    /// Adds another request after an answer.
    pub(super) fn renew(&mut self, waiter: Waiter, now: Instant) {
        self.waiters.push(waiter);
        (self.since, self.told, self.waits) = (now, None, None);
    }

    /// Returns the number of signals that may have reached the evaluation.
    pub(super) fn reached(&self) -> u32 {
        self.signals.saturating_sub(self.missed)
    }
}

/// Code that continues behind the prompt after an interrupt.
#[derive(Debug)]
pub(super) struct Straggler {
    pub(super) eval: u64,
    pub(super) doing: &'static str,
    pub(super) look_at: Instant,
    gap: Duration,
    /// The amount of unowned output at the last observation.
    printed: [u64; 2],
}

impl Straggler {
    pub(super) fn new(eval: u64, doing: &'static str, now: Instant) -> Straggler {
        Straggler { eval, doing, look_at: now + LOOK[0], gap: LOOK[0], printed: [0; 2] }
    }

    /// Describes the straggler in a clause, for callers that use the session meanwhile.
    pub(super) fn describe(&self, session: &str) -> String {
        let (eval, doing) = (self.eval, self.doing);
        format!(
            "Code of #{eval}, which was interrupted, {doing} (repl_restart {{\"session\": {session:?}, \"replay\": \
             \"definitions\"}} ends it)"
        )
    }

    fn look_later(&mut self, now: Instant) {
        self.gap = (self.gap * 2).min(LOOK[1]);
        self.look_at = now + self.gap;
    }
}

impl Machine {
    pub(super) fn interrupt(&mut self, eval: Option<u64>, waiter: Waiter, now: Instant) {
        if let Some(eval) = eval.filter(|eval| self.withdraw(*eval, now)) {
            let (outcome, took) = (InterruptOutcome::Withdrawn, Duration::ZERO);
            return self.actions.push(Action::Interrupted { waiter, outcome, eval: Some(eval), took, rest: None });
        }
        if let Some(error) = self.not_running_error(eval) {
            return self.actions.push(Action::Refuse { waiter, error });
        }
        match &mut self.phase {
            Phase::Running(run) => {
                match &mut run.asked {
                    // Join the pending interrupt.
                    Some(asked) if asked.told.is_none() => asked.waiters.push(waiter),
                    Some(asked) => {
                        asked.renew(waiter, now);
                        asked.hold = Some(now);
                    }
                    None => {
                        let hold = Some((run.written + READING).max(now));
                        run.asked = Some(InterruptRequest::new(Some(waiter), hold, now));
                    }
                }
                self.interrupting_tick(now);
            }
            Phase::Syncing(sync) if sync.run().is_some() => self.interrupt_syncing(waiter, now),
            // Nothing is running that an interrupt could hit.
            _ => {
                let outcome = match self.has_ended() {
                    Some(_) => InterruptOutcome::Ended,
                    None => InterruptOutcome::Idle,
                };
                self.actions.push(Action::Interrupted {
                    waiter,
                    outcome,
                    eval: None,
                    took: Duration::ZERO,
                    rest: None,
                });
            }
        }
    }

    /// Removes a queued evaluation from the queue; false if it is not there.
    fn withdraw(&mut self, eval: u64, now: Instant) -> bool {
        self.forget_withdrawn();
        let Some(at) = self.queue.iter().position(|queued| queued.eval == eval) else { return false };
        let queued = self.queue.remove(at).expect("it was just found there");
        self.records.running(eval).notes.push("It was withdrawn before it began.".to_owned());
        self.records.end(eval, Status::Interrupted, now);
        self.actions.push(Action::Answer { waiter: queued.waiter, eval });
        self.answer(eval);
        true
    }

    /// Returns why this evaluation can be neither interrupted nor fed; `None` if it is running.
    pub(super) fn not_running_error(&self, eval: Option<u64>) -> Option<SessionError> {
        let (eval, session, runs) = (eval?, self.name.clone(), self.current());
        match self.records.get(eval) {
            _ if runs == Some(eval) => None,
            None => Some(SessionError::UnknownEval { session, eval }),
            Some(record) => Some(SessionError::NotRunning { session, eval, status: record.status, runs }),
        }
    }

    /// Returns true if output should be read before the next tick: a signal is due unless the evaluation has ended.
    pub(in super::super) fn is_about_to_signal(&self, now: Instant) -> bool {
        matches!(&self.phase, Phase::Running(run) if run.asked.as_ref().is_some_and(|asked| asked.hold.is_some_and(|hold| now >= hold)))
    }

    /// Sends a due signal, and answers the callers in time.
    pub(super) fn interrupting_tick(&mut self, now: Instant) {
        let sends = self.adapter.interrupt().signal;
        let Phase::Running(run) = &mut self.phase else { return };
        let Some(asked) = &mut run.asked else { return };
        if asked.hold.take_if(|hold| now >= *hold).is_some() {
            asked.signals += 1;
            asked.doing = "computes";
            // Given input may remain unread.
            let guarded = !run.fed && !run.is_waiting();
            let eval = run.eval;
            run.probe_soon(now);
            let record = self.records.running(eval);
            record.signalled_at.get_or_insert(record.output[Stream::Stderr as usize].total());
            if sends {
                self.actions.push(Action::Signal { guarded });
            }
            return;
        }
        if !asked.waiters.is_empty() && now >= asked.since + GIVE_UP {
            let outcome =
                if asked.doing == "sleeps" { InterruptOutcome::NotYet } else { InterruptOutcome::Uninterruptible };
            self.report_outcome(outcome, now);
        }
    }

    /// Records that the signal was not sent because the REPL has not read all of the code yet.
    pub(super) fn unread(&mut self, now: Instant) {
        let Phase::Running(run) = &mut self.phase else { return };
        let Some(asked) = &mut run.asked else { return };
        asked.hold = Some(now + UNREAD);
        asked.signals = asked.signals.saturating_sub(1);
        asked.doing = "has not read the code";
        if asked.signals == 0 {
            self.records.running(run.eval).signalled_at = None;
        }
    }

    /// Reports the current state to the callers. The evaluation continues.
    fn report_outcome(&mut self, outcome: InterruptOutcome, now: Instant) {
        let Phase::Running(run) = &mut self.phase else { return };
        let (eval, Some(asked)) = (Some(run.eval), &mut run.asked) else { return };
        asked.told = Some(outcome);
        let (took, rest) = (now - asked.since, Some(asked.doing.to_owned()));
        for waiter in asked.waiters.drain(..) {
            self.actions.push(Action::Interrupted { waiter, outcome, eval, took, rest: rest.clone() });
        }
        if outcome == InterruptOutcome::Uninterruptible {
            self.answer_queued();
        }
    }

    /// Handles a marker of a signalled evaluation. Returns false if no signal was sent to the evaluation.
    pub(super) fn signalled_marker(&mut self, stream: Stream, number: Option<u64>, now: Instant) -> bool {
        let fallback = self.is_fallback();
        let Phase::Running(run) = &mut self.phase else { return false };
        let Some(asked) = run.asked.as_mut().filter(|asked| asked.signals > 0) else { return false };
        let before = run.before;
        // Any newer number ends the evaluation: a block of code may have been cut short.
        let ended =
            if fallback { self.sides[0].unnumbered > 0 } else { self.sides.iter().all(|side| side.number > before) };
        if ended {
            self.synchronize(SyncReason::Interrupt, now);
        } else if stream == Stream::Stdout && number.is_some_and(|number| number <= before) {
            // This is a repeated prompt: the signal came before the code was read, and hit nothing.
            asked.missed += 1;
            asked.hold = Some(now + READING);
        }
        true
    }

    /// Handles the kernel's answer about a signalled evaluation. Returns true if nothing else needs to act on it.
    pub(super) fn interrupting_probed(&mut self, probed: &Probed, now: Instant) -> bool {
        let Phase::Running(run) = &mut self.phase else { return false };
        let has_input = run.has_input();
        let Some(asked) = run.asked.as_mut().filter(|asked| asked.told.is_none()) else { return false };
        match probed {
            Probed::Waiting | Probed::Replaced(_) if !has_input => {
                let waits = *asked.waits.get_or_insert(now);
                // While the signal is in flight, the answer is unreliable.
                if asked.signals == 0 || now < waits + CAUGHT {
                    return true;
                }
                asked.doing = "waits for input";
                self.report_outcome(InterruptOutcome::NotYet, now);
            }
            Probed::Waiting | Probed::Replaced(_) => asked.waits = None,
            Probed::Sleeping => (asked.waits, asked.doing) = (None, "sleeps"),
            Probed::Computing | Probed::Unread => (asked.waits, asked.doing) = (None, "computes"),
            Probed::Unknown => {}
        }
        false
    }

    /// Ends an interrupted evaluation and answers the callers: it ended before a signal was sent, or the session is in
    /// step again after one. `rest` describes any remaining activity.
    pub(super) fn conclude(&mut self, rest: Option<String>, overrun: bool, now: Instant) {
        let run = match &mut self.phase {
            Phase::Running(run) => Some(&mut **run),
            Phase::Syncing(sync) => sync.run_mut(),
            _ => None,
        };
        let Some((run, asked)) = run.and_then(|run| run.asked.take().map(|asked| (run, asked))) else { return };
        let (eval, left) = (run.eval, run.pieces_left(&*self.adapter));
        let failed = self.judge(eval).error;
        if left > 0 {
            let note = format!("{left} more piece{} of the code did not run.", plural(left));
            self.records.running(eval).notes.push(note);
        }
        // The completed pieces may have succeeded, but the interrupt prevented the others.
        let cut = left > 0 && !failed;
        self.finish(eval, cut.then_some(Status::Interrupted), now);
        let stopped = self.records.get(eval).is_some_and(|record| record.status == Status::Interrupted);
        let outcome = match stopped || overrun {
            _ if self.straggler.as_ref().is_some_and(|straggler| straggler.eval == eval) => {
                InterruptOutcome::Uninterruptible
            }
            true => InterruptOutcome::Interrupted,
            false => InterruptOutcome::Finished,
        };
        let took = now - asked.since;
        for waiter in asked.waiters {
            self.actions.push(Action::Interrupted { waiter, outcome, eval: Some(eval), took, rest: rest.clone() });
        }
    }

    /// Checks if the straggler is still running, if a check is due.
    pub(super) fn watch_idle_straggler(&mut self, now: Instant) {
        let Some(straggler) = self.straggler.as_mut().filter(|straggler| now >= straggler.look_at) else { return };
        straggler.look_at = now + LOOK[1] * 4;
        self.actions.push(Action::Watch { window: LOOK[0], age: Duration::ZERO });
    }

    /// Handles the requested observation.
    pub(super) fn watched(&mut self, activity: &Activity, now: Instant) {
        match &self.phase {
            Phase::Syncing(_) => self.syncing_watched(activity, now),
            Phase::Idle { .. } => {
                let printed = self.between.each_ref().map(Capture::total);
                if let Some(straggler) = &mut self.straggler {
                    // An evaluation may have taken over some of this output since: then there is less than before.
                    let prints = std::mem::replace(&mut straggler.printed, printed) != printed && printed != [0; 2];
                    if super::interrupt_check::is_idle(activity) && !prints {
                        self.straggler = None;
                    } else {
                        straggler.look_later(now);
                    }
                }
            }
            _ => {}
        }
    }
}
