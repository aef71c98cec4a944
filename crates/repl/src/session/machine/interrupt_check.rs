//! Checks if any part of an interrupted evaluation is still running.
//!
//! The prompt alone does not prove the end: threads and processes that the code started, and in GHCi after a second
//! signal the evaluation's own thread, may run on behind it. So the machine observes the processor time of the
//! session's threads, the output on its streams, and processes that began with the evaluation. If the evaluation
//! printed recently, the observation is long enough to see it print again.

use std::time::{Duration, Instant};

use process::activity::Activity;

use super::super::InterruptOutcome;
use super::interrupting::Straggler;
use super::resynchronization::{Stage, Sync};
use super::{Action, Machine, Phase};

/// The time to wait for activity after the evaluation's end: for computation, such as a garbage collection, and for
/// output only.
const COMPUTING: Duration = Duration::from_secs(10);
const PRINTING: Duration = Duration::from_millis(1500);
/// The time that a process of the evaluation may take to exit.
const DYING: Duration = Duration::from_millis(500);
/// The length of each observation after the first.
const LOOK: Duration = Duration::from_millis(100);
/// The length, and the number of consecutive quiet observations required, if a mostly sleeping thread of the evaluation
/// may still run.
const LONG_LOOK: (Duration, u32) = (Duration::from_millis(300), 3);
/// The interval between two observations of a running thread.
const AGAIN: Duration = Duration::from_secs(2);
/// The time limit for the answer to an observation.
const LATE: Duration = Duration::from_secs(5);

/// The results of the observations so far.
#[derive(Debug, Default)]
pub(super) struct Observation {
    /// Bytes printed since the evaluation's end, at the last observation.
    printed: [u64; 2],
    /// The number of consecutive quiet observations.
    quiet: u32,
    /// True if any observation was not quiet: on a busy machine one observation may miss activity.
    stirred: bool,
    /// The time by which an evaluation that printed before would have printed again.
    silent_by: Option<Instant>,
    /// The waiting time so far.
    pub(super) waited: Duration,
    /// The remaining activity, if any.
    doing: Option<&'static str>,
    /// The remaining processes.
    processes: Vec<(i32, String)>,
}

/// The rhythm of an evaluation's output, which determines how long a silence is significant.
#[derive(Debug, Default, Clone)]
pub(super) struct Rhythm {
    /// The first and the last of the latest outputs, with no gap longer than [`SILENCE`].
    span: Option<(Instant, Instant)>,
    /// The longest pause among them; old pauses count less.
    pause: Duration,
}

/// The longest pause that is waited for.
const SILENCE: Duration = Duration::from_secs(1);
/// Output closer together than this counts as printed at once.
const AT_ONCE: Duration = Duration::from_millis(20);

impl Rhythm {
    pub(super) fn printed(&mut self, now: Instant) {
        match &mut self.span {
            Some((_, last)) if now.saturating_duration_since(*last) <= SILENCE => {
                let pause = now.saturating_duration_since(std::mem::replace(last, now));
                if pause >= AT_ONCE {
                    self.pause = pause.max(self.pause * 3 / 4);
                }
            }
            _ => *self = Rhythm { span: Some((now, now)), pause: Duration::ZERO },
        }
    }

    /// Returns the longest expected time to the next output.
    fn period(&self) -> Duration {
        match self.span {
            // A single output does not predict the next one.
            Some((first, last)) if last - first < AT_ONCE * 5 && self.pause.is_zero() => SILENCE,
            _ => (self.pause * 3 / 2 + AT_ONCE * 3).min(SILENCE),
        }
    }
}

/// Returns true if no thread needs a whole processor.
pub(super) fn is_idle(activity: &Activity) -> bool {
    activity.wanted < 0.5
}

/// The share of a processor that a mostly sleeping thread exceeds, and a REPL at its prompt does not.
const TRACE: f64 = 0.02;

impl Machine {
    /// Begins the pause between the two barriers.
    pub(super) fn settle(&mut self, now: Instant) {
        let settle = self.adapter.interrupt().settle;
        let Phase::Syncing(sync) = &mut self.phase else { return };
        sync.observed.printed = sync.strays.each_ref().map(|stray| stray.total());
        let rhythm = sync.run().map(|run| run.rhythm.clone()).unwrap_or_default();
        sync.observed.silent_by = rhythm.span.map(|(_, last)| last + rhythm.period());
        self.watch(settle, now);
    }

    /// Handles a thread of the evaluation that was seen running: checks if it still is.
    pub(super) fn watch_straggler(&mut self, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        sync.stage = Stage::Straggler { look_at: now + LATE };
        let (window, age) = (LONG_LOOK.0, Duration::ZERO);
        self.actions.push(Action::Watch { window, age });
    }

    fn watch(&mut self, window: Duration, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        sync.stage = Stage::Settling { until: now + window + LATE };
        let started = sync.eval().and_then(|eval| self.records.get(eval)?.started);
        let age = started.map(|started| now - started).unwrap_or_default();
        self.actions.push(Action::Watch { window, age });
    }

    /// Returns true if the evaluation's own thread may run on behind the prompt.
    fn may_be_detached(&self, sync: &Sync) -> bool {
        let asked = sync.run().and_then(|run| run.asked.as_ref());
        self.adapter.interrupt().detaches && asked.is_some_and(|asked| asked.reached() > 1)
    }

    pub(super) fn syncing_watched(&mut self, activity: &Activity, now: Instant) {
        let Phase::Syncing(sync) = &self.phase else { return };
        let detached = self.may_be_detached(sync);
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let observed = &mut sync.observed;
        let printed = sync.strays.each_ref().map(|stray| stray.total());
        let prints = printed != observed.printed;
        let computes = !is_idle(activity);
        let stirs = detached && activity.had > TRACE;
        observed.printed = printed;
        observed.quiet = if prints || computes || stirs { 0 } else { observed.quiet + 1 };
        observed.stirred |= observed.quiet == 0;
        let (window, enough) =
            if detached { LONG_LOOK } else { (LOOK, if observed.stirred { LONG_LOOK.1 } else { 1 }) };
        if prints {
            let run = sync.run.as_mut();
            observed.silent_by = run.map(|run| {
                run.rhythm.printed(now);
                now + run.rhythm.period()
            });
        }
        let over = observed.quiet >= enough && observed.silent_by.is_none_or(|silent| now >= silent);
        let doing = if computes {
            "computes"
        } else if prints {
            "prints"
        } else {
            "continues"
        };
        observed.doing = (!over).then_some(doing);
        match sync.stage {
            Stage::Settling { .. } => {
                observed.waited = now - sync.begun;
                let patience = match (over, computes || stirs) {
                    (true, _) if activity.young.is_empty() => Duration::ZERO,
                    (true, _) => DYING,
                    (false, true) => COMPUTING,
                    (false, false) if observed.quiet > 0 => COMPUTING,
                    (false, false) => PRINTING,
                };
                if observed.waited < patience {
                    return self.watch(window, now);
                }
                observed.processes.clone_from(&activity.young);
                self.send_barrier(now);
            }
            Stage::Straggler { .. } if over => self.send_barrier(now),
            Stage::Straggler { .. } if observed.quiet > 0 => self.watch_straggler(now),
            Stage::Straggler { .. } => {
                // Until the next observation, its output belongs to no evaluation.
                self.keep_strays();
                let Phase::Syncing(sync) = &mut self.phase else { return };
                sync.observed.printed = [0; 2];
                sync.stage = Stage::Straggler { look_at: now + AGAIN };
                self.report_straggler(doing, now);
            }
            _ => {}
        }
    }

    /// Reports to the callers that the interrupt does not work. The evaluation counts as running.
    pub(super) fn report_straggler(&mut self, doing: &str, now: Instant) {
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let Some(run) = sync.run_mut() else { return };
        let (outcome, eval) = (InterruptOutcome::Uninterruptible, Some(run.eval));
        let Some(asked) = &mut run.asked else { return };
        let (took, waiters) = (now - asked.since, std::mem::take(&mut asked.waiters));
        for waiter in waiters {
            let rest = Some(format!("{doing}, and the REPL has given it up"));
            self.actions.push(Action::Interrupted { waiter, outcome, eval, took, rest });
        }
    }

    /// Handles a session that is in step again: ends the evaluation unless its own thread is still running.
    pub(super) fn settled(&mut self, eval: u64, now: Instant) {
        let Phase::Syncing(sync) = &self.phase else { return };
        let (detached, overrun) = (self.may_be_detached(sync), sync.overrun());
        let Phase::Syncing(sync) = &mut self.phase else { return };
        let (doing, processes) = (sync.observed.doing.take(), std::mem::take(&mut sync.observed.processes));
        if let (true, Some(doing)) = (detached, doing) {
            sync.stage = Stage::Straggler { look_at: now + AGAIN };
            (sync.observed.quiet, sync.observed.printed) = (0, [0; 2]);
            return self.report_straggler(doing, now);
        }
        let notes = &mut self.records.running(eval).notes;
        let names: Vec<String> = processes.iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
        let mut left = None;
        if !names.is_empty() {
            let (count, names) = (names.len(), names.join(", "));
            let s = if count == 1 { "s" } else { "" };
            left = Some(format!("{names} still run{s}"));
            notes.push(format!(
                "{count} process{} that it started still run{s}: {names}.",
                if count == 1 { "" } else { "es" }
            ));
        }
        if detached {
            notes.push(
                "It did not react to the first signal, and the second only restored the prompt: sleeping code of it \
                 may continue. repl_restart with replay \"definitions\" ends it reliably."
                    .to_owned(),
            );
        }
        self.straggler = None;
        if let Some(doing) = doing {
            let straggler = Straggler::new(eval, doing, now);
            left = Some(doing.to_owned());
            self.straggler = Some(straggler);
        }
        self.conclude(left, overrun, now);
    }
}
