//! After an interrupt: whether anything of the evaluation goes on.
//!
//! The prompt alone does not say so: threads that the code started, processes, and in GHCi after a second signal the
//! evaluation's own thread run on behind it. So we look at what the session's threads take of the processors, at what is
//! printed, and at processes that began with the evaluation. Where it printed shortly before, the look is long enough to see
//! it print again.

use std::time::{Duration, Instant};

use process::activity::Activity;

use super::super::InterruptOutcome;
use super::interrupting::Straggler;
use super::syncing::{Stage, Sync};
use super::{Action, Machine, Phase};

/// How long what goes on after the evaluation's end is waited for: if it computes, as a collection of garbage may, and
/// if it only prints.
const COMPUTING: Duration = Duration::from_secs(10);
const PRINTING: Duration = Duration::from_millis(1500);
/// How long a process that it started may take to end.
const DYING: Duration = Duration::from_millis(500);
/// How long each look after the first takes.
const LOOK: Duration = Duration::from_millis(100);
/// The same, and how many of them in a row have to show nothing, where a thread of the evaluation may go on that sleeps
/// most of the time.
const LONG_LOOK: (Duration, u32) = (Duration::from_millis(300), 3);
/// How soon we look again at a thread that goes on.
const AGAIN: Duration = Duration::from_secs(2);
/// The answer to a look comes sooner.
const LATE: Duration = Duration::from_secs(5);

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Observation {
    /// How much was printed since the evaluation's end, at the last look.
    printed: [u64; 2],
    /// Looks in a row that showed nothing.
    quiet: u32,
    /// Something went on at a look: on a crowded machine one look may miss it.
    stirred: bool,
    /// Whoever printed before would have printed again by then.
    silent_by: Option<Instant>,
    /// How long we have waited for it.
    pub(super) waited: Duration,
    /// What goes on, if anything.
    doing: Option<&'static str>,
    /// The processes that are left.
    processes: Vec<(i32, String)>,
}

/// When an evaluation prints: what tells how long a silence has to be to mean something.
#[derive(Debug, Default, Clone)]
pub(super) struct Rhythm {
    /// The first and the last of its latest outputs, of which no two in a row are further apart than [`SILENCE`].
    span: Option<(Instant, Instant)>,
    /// The longest pause in it; those of long ago count less.
    pause: Duration,
}

/// Who prints more rarely is not waited for.
const SILENCE: Duration = Duration::from_secs(1);
/// Output that is closer together came at once.
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

    /// How long it takes at most to its next output, as far as can be known.
    fn period(&self) -> Duration {
        match self.span {
            // Once does not say when again.
            Some((first, last)) if last - first < AT_ONCE * 5 && self.pause.is_zero() => SILENCE,
            _ => (self.pause * 3 / 2 + AT_ONCE * 3).min(SILENCE),
        }
    }
}

/// Whether nothing takes a processor for itself.
pub(super) fn is_idle(activity: &Activity) -> bool {
    activity.wanted < 0.5
}

/// A thread that sleeps most of the time takes more than this; a REPL at its prompt less.
const TRACE: f64 = 0.02;

impl Machine {
    /// The pause between the two barriers begins.
    pub(super) fn settle(&mut self, now: Instant) {
        let settle = self.adapter.interrupt().settle;
        let Phase::Syncing(sync) = &mut self.phase else { return };
        sync.observed.printed = sync.strays.each_ref().map(|stray| stray.total());
        let rhythm = sync.run().map(|run| run.rhythm.clone()).unwrap_or_default();
        sync.observed.silent_by = rhythm.span.map(|(_, last)| last + rhythm.period());
        self.watch(settle, now);
    }

    /// A thread of the evaluation was seen to go on: looks whether it still does.
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

    /// Whether the evaluation's own thread may go on behind the prompt.
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
            "goes on"
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
                // Meanwhile its output is nobody's.
                self.keep_strays();
                let Phase::Syncing(sync) = &mut self.phase else { return };
                sync.observed.printed = [0; 2];
                sync.stage = Stage::Straggler { look_at: now + AGAIN };
                self.report_straggler(doing, now);
            }
            _ => {}
        }
    }

    /// Tells those who asked for the interrupt that it does not work. The evaluation counts as running.
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

    /// The session is in step again: ends the evaluation, if nothing of it goes on.
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
                "It did not react to the first signal, and the second only brought back the prompt: code of it that sleeps may go on. \
                 repl_restart with replay \"definitions\" is sure to end it."
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
