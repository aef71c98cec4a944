//! A running evaluation: its steps, its input, and the detection of its end.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::super::capture::Capture;
use super::super::{SessionEvent, SessionState, Stream};
use super::ending::signal_in_words;
use super::interrupt_check::Rhythm;
use super::interrupting::InterruptRequest;
use super::resynchronization::{Sync, SyncReason};
use super::{Action, Intent, Machine, Phase, Probed, Side};
use crate::adapter::{Adapter, GivenInput, Printed, Step, Words};
use crate::result::Status;

/// The silence after which the kernel is asked if the program waits for input.
pub(super) const QUIET: Duration = Duration::from_millis(100);
/// The delay before the kernel is asked when there is input to deliver.
const EAGER: Duration = Duration::from_millis(2);
/// The longest time between two such questions.
const PATIENT: Duration = Duration::from_millis(250);
/// The time in which a number that is too small may still be followed by the right one.
const DOUBT: Duration = Duration::from_millis(200);

/// The number of definitions kept for a new process.
const MAX_HISTORY: usize = 2000;

/// The running evaluation.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) eval: u64,
    /// The number that both streams had when the current step was written.
    pub(super) before: u64,
    /// The number that ends the current step.
    pub(super) expected: u64,
    /// The time when the current step was written.
    pub(super) written: Instant,
    /// Steps that come after the current one.
    pub(super) steps: VecDeque<Step>,
    /// In the fallback, true if the line that prints the number was sent.
    marked: bool,
    /// Lines that the program has not asked for yet.
    pub(super) input: VecDeque<Vec<u8>>,
    pub(super) close_input: bool,
    /// The time when its input was closed.
    pub(super) closed: Option<Instant>,
    /// True if input is handed over in chunks, since unread input is taken back.
    pub(super) bulk: bool,
    /// True if it has all of its input, with an end.
    pub(super) whole: bool,
    /// The amount of that input that it did not read.
    pub(super) unread: usize,
    /// The input handed over last.
    pub(super) handed: Vec<u8>,
    pub(super) fed: bool,
    pub(super) waiting: bool,
    probe_at: Instant,
    probe_gap: Duration,
    probing: bool,
    doubt: Option<Instant>,
    /// True if another program was found in the REPL's process.
    replaced: bool,
    /// The times at which the evaluation prints.
    pub(super) rhythm: Rhythm,
    /// The requested interrupt.
    pub(super) asked: Option<InterruptRequest>,
}

impl Run {
    pub(super) fn deadline(&self) -> Instant {
        let probe = if self.probing { self.probe_at + PATIENT } else { self.probe_at };
        let asked = self.asked.as_ref().and_then(InterruptRequest::deadline);
        [self.doubt, asked].into_iter().flatten().fold(probe, Instant::min)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// Returns the session's state once an interrupt was requested.
    pub(super) fn asked_state(&self) -> SessionState {
        self.asked.as_ref().map_or(SessionState::Running, |asked| asked.state(self.waiting))
    }

    /// Returns true if a stream is past the evaluation.
    pub(super) fn has_ended(&self, seen: &Side) -> bool {
        self.steps.is_empty() && seen.number >= self.expected
    }

    /// Records output, which means that the program does not wait. Standard error after a signal may be the REPL's own
    /// message about it.
    pub(super) fn record_output(&mut self, stream: Stream, now: Instant) {
        if stream == Stream::Stdout || self.asked.as_ref().is_none_or(|asked| asked.signals == 0) {
            self.rhythm.printed(now);
        }
        self.probe_at = self.probe_at.max(now + if self.input.is_empty() { QUIET } else { EAGER });
        self.waiting = false;
    }

    /// Returns the number of code pieces after the current one.
    pub(super) fn pieces_left(&self, adapter: &dyn Adapter) -> usize {
        self.steps.iter().filter(|step| adapter.is_piece(step)).count()
    }

    /// Repeats the question to the kernel. The pending answer concerns earlier code: the prompt between two pieces waits for input too.
    fn repeat_probe(&mut self, now: Instant) {
        self.probing = false;
        self.probe_at = now + if self.has_input() { EAGER } else { QUIET };
    }

    /// Puts off the question to the kernel.
    pub(super) fn look_later(&mut self, now: Instant) {
        self.probe_at = now + QUIET;
    }

    /// Returns true if the kernel's answer is about the present.
    pub(super) fn has_looked(&mut self, now: Instant) -> bool {
        let is_present = std::mem::replace(&mut self.probing, false) && now >= self.probe_at;
        self.probe_at = self.probe_at.max(now + QUIET);
        is_present
    }

    pub(super) fn probe_soon(&mut self, now: Instant) {
        self.probe_gap = EAGER;
        self.probe_at = now + EAGER;
    }
}

impl Machine {
    /// Starts the next evaluation in the queue, if any.
    pub(super) fn start_next(&mut self, now: Instant) {
        self.forget_withdrawn();
        let Some(queued) = self.queue.pop_front() else { return };
        let mut steps = VecDeque::from(queued.plan.steps);
        steps.iter_mut().for_each(|step| self.adapter.number(step, queued.eval));
        let mut step = steps.pop_front().expect("a plan has a step");
        let whole = queued.stdin.is_some() && self.adapter.input() == GivenInput::Whole;
        let record = self.records.running(queued.eval);
        record.status = Status::Running;
        record.started = Some(now);
        record.notes = queued.plan.notes;
        let started = (!record.quiet).then(|| {
            record.between = std::mem::replace(&mut self.between, [Capture::new(), Capture::new()]);
            Action::Emit(SessionEvent::EvalStarted { eval: queued.eval, code: record.code.clone() })
        });
        self.waiters.push((queued.eval, queued.waiter));
        let mut run = Run {
            eval: queued.eval,
            before: self.number,
            expected: self.number + step.advance,
            written: now,
            steps,
            marked: false,
            input: VecDeque::new(),
            close_input: false,
            closed: None,
            bulk: self.takes_back && queued.stdin.is_some(),
            whole,
            unread: 0,
            handed: Vec::new(),
            fed: false,
            waiting: false,
            probe_at: now + QUIET,
            probe_gap: QUIET,
            probing: false,
            doubt: None,
            replaced: false,
            rhythm: Rhythm::default(),
            asked: None,
        };
        match queued.stdin {
            Some(stdin) if whole => step.script = Some(stdin.into_bytes()),
            Some(stdin) => {
                run.push_input(&stdin);
                run.probe_soon(now);
            }
            None => {}
        }
        self.write(step.bytes, step.script, step.advance);
        // This event follows the write, so that the program already works meanwhile.
        self.actions.extend(started);
        self.phase = Phase::Running(Box::new(run));
    }

    pub(super) fn running_marker(&mut self, stream: Stream, number: Option<u64>, now: Instant) {
        if self.signalled_marker(stream, number, now) {
            return;
        }
        let fallback = self.is_fallback();
        let Phase::Running(run) = &mut self.phase else { return };
        if fallback {
            // One prompt follows the code; then come the line that prints the number, and its own prompt.
            if !run.marked && self.sides[0].unnumbered > 0 {
                run.marked = true;
                let number = run.expected;
                let mark = self.adapter.fallback_mark(&self.nonce, number).expect("the session fell back to it");
                return self.write(mark, None, 0);
            }
            if !run.marked || self.sides[0].unnumbered == 0 {
                return;
            }
        }
        let expected = run.expected;
        if self.sides.iter().all(|side| side.number >= expected) {
            self.step_ended(now);
        } else if self.sides.iter().all(|side| side.number > run.before) && run.doubt.is_none() {
            run.doubt = Some(now + DOUBT);
        }
    }

    /// Handles the end of the current step on both streams.
    fn step_ended(&mut self, now: Instant) {
        self.number = self.sides[0].number.max(self.sides[1].number);
        self.issued = self.number;
        let Phase::Running(run) = &self.phase else { return };
        let (eval, fed, last, asked) = (run.eval, run.fed, run.steps.is_empty(), run.asked.is_some());
        if fed && self.shares_stdin() {
            // Input that the program left unread runs as code: everything up to a barrier is out of step.
            return self.synchronize(SyncReason::Input, now);
        }
        if asked {
            return self.conclude(None, false, now);
        }
        self.piece_ended(eval, last, now);
    }

    /// Continues with the next piece, unless this was the last one, or an error or a breakpoint stops the rest.
    fn piece_ended(&mut self, eval: u64, last: bool, now: Instant) {
        if last {
            return self.finish(eval, None, now);
        }
        let verdict = self.judge(eval);
        if verdict.error || self.records.running(eval).stopped {
            let Phase::Running(run) = &self.phase else { return };
            let left = run.pieces_left(&*self.adapter);
            let at = if verdict.error { "error" } else { "breakpoint" };
            let note = format!("Stopped at the first {at}; {left} more piece{} of the code did not run.", plural(left));
            self.records.running(eval).notes.push(note);
            return self.finish(eval, None, now);
        }
        self.next_step(now);
    }

    fn next_step(&mut self, now: Instant) {
        let Phase::Running(run) = &mut self.phase else { return };
        let step = run.steps.pop_front().expect("there is a next step");
        run.before = self.number;
        run.expected = self.number + step.advance;
        run.written = now;
        run.marked = false;
        run.doubt = None;
        run.repeat_probe(now);
        self.write(step.bytes, step.script, step.advance);
    }

    /// Continues after a barrier an evaluation that used its input, or ends it.
    pub(super) fn resume(&mut self, mut run: Run, now: Instant) {
        let (eval, last, asked) = (run.eval, run.steps.is_empty(), run.asked.is_some());
        run.fed = false;
        self.phase = Phase::Running(Box::new(run));
        if asked {
            return self.conclude(None, false, now);
        }
        self.piece_ended(eval, last, now);
    }

    /// Interprets the output so far.
    pub(super) fn judge(&self, eval: u64) -> crate::adapter::Verdict {
        let Some(record) = self.records.get(eval) else { return Default::default() };
        let [stdout, stderr] =
            record.output.each_ref().map(|output| String::from_utf8_lossy(&output.bytes().0).into_owned());
        let words = Words {
            reports: (self.heard && !record.unheard).then_some(record.reports.as_slice()),
            stopped: record.stopped,
        };
        let printed = Printed {
            code: &record.code,
            stdout: &stdout,
            stderr: &stderr,
            payload: &record.payload,
            interrupting: record.signalled_at.is_some(),
        };
        let mut verdict = self.adapter.judge(printed, words);
        if let (true, Some(at), None) = (verdict.interrupted, record.signalled_at, words.reports) {
            // If only the text decides, output from before the signal does not show the signal's effect.
            let since = record.output[Stream::Stderr as usize].since(at);
            let since = Printed { stderr: &String::from_utf8_lossy(&since), ..printed };
            verdict.interrupted = self.adapter.judge(since, words).interrupted;
        }
        verdict
    }

    /// Ends the running evaluation and answers its waiters.
    pub(super) fn finish(&mut self, eval: u64, status: Option<Status>, now: Instant) {
        let unread = match &self.phase {
            Phase::Running(run) => run.pending(),
            Phase::Syncing(sync) => sync.run().map_or(0, Run::pending),
            _ => 0,
        };
        if self.records.running(eval).stopped {
            self.stopped_at_breakpoint(eval);
        }
        let mut verdict = self.judge(eval);
        let load = verdict.load.take();
        let stopped = verdict.interrupted || verdict.signal.is_some();
        // The signal that ends the session reaches the program as an exception.
        let killed = (stopped || verdict.error) && self.ending.is_some();
        let told = verdict.signal.filter(|_| killed);
        let signal = verdict.signal.filter(|_| status.is_none() && !killed);
        let status = status.unwrap_or(match (stopped, verdict.error) {
            _ if killed => Status::Killed,
            (true, _) => Status::Interrupted,
            (false, true) => Status::Error,
            (false, false) => Status::Done,
        });
        let record = self.records.running(eval);
        let loads = self.adapter.loads(&record.code);
        if loads && status == Status::Interrupted && !record.stopped {
            self.cut_load = Some(eval);
        }
        if let Some(signal) = signal {
            record.notes.push(format!("It was ended by {} from another process.", signal_in_words(signal)));
        }
        record.verdict = verdict;
        if unread > 0 {
            record.notes.push(format!("The program did not read {unread} byte{} of its input.", plural(unread)));
        }
        let dead = matches!(self.phase, Phase::Ended { .. });
        if let (Status::Killed, Some(Intent { reason, .. }), false) = (status, &self.ending, dead) {
            // The text appears in the output like an error of the program.
            let told = told.map(|signal| format!("; GHCi reports this as `signal: {signal}`, which is not an error"));
            record.notes.push(format!("The session ended: {reason}{}.", told.unwrap_or_default()));
        }
        if let Some(straggler) = self.straggler.as_ref().filter(|straggler| straggler.eval != eval) {
            record.notes.push(format!("{}; its output may be mixed with this one's.", straggler.describe(&self.name)));
        }
        if let Some(load) = self.cut_load.filter(|_| !loads) {
            record.notes.push(format!(
                "Load #{load} was interrupted: modules it did not reach are not loaded. repl_reload loads them."
            ));
        }
        let quiet = record.quiet;
        let duration = record.started.map(|started| now - started).unwrap_or_default();
        if status == Status::Done && !quiet {
            self.history.extend(self.adapter.definitions(&record.code));
            if self.history.len() > MAX_HISTORY {
                self.history.pop_front();
            }
        }
        self.records.end(eval, status, now);
        if let Some(load) = load {
            self.publish_load(load);
        }
        if !quiet {
            let prompt = self.prompt();
            self.actions.push(Action::Emit(SessionEvent::EvalFinished { eval, status, duration, prompt }));
        }
        self.answer(eval);
        if !matches!(self.phase, Phase::Ended { .. }) {
            self.phase = Phase::Idle { since: now };
            if self.abandoned.is_some() {
                self.end_unused();
            }
        }
    }

    pub(super) fn is_waiting(&self, eval: u64) -> bool {
        matches!(&self.phase, Phase::Running(run) if run.eval == eval && run.waiting)
    }

    pub(super) fn running_tick(&mut self, now: Instant) {
        let Phase::Running(run) = &mut self.phase else { return };
        if run.doubt.is_some_and(|doubt| now >= doubt) {
            return self.synchronize(SyncReason::Doubt, now);
        }
        if now >= run.probe_at && !run.probing {
            run.probing = true;
            run.probe_at = now;
            self.actions.push(Action::Probe);
        } else if now >= run.probe_at + PATIENT {
            // The answer is late: the actor is still asking.
            run.probe_at = now;
        }
        self.interrupting_tick(now);
    }

    /// Handles the kernel's answer. All earlier output has been handed in, so the evaluation has not ended: the program
    /// waits for input, not the REPL at its prompt.
    pub(super) fn probed(&mut self, probed: Probed, now: Instant) {
        if self.has_terminal() {
            return self.terminal_probed(&probed, now);
        }
        let run = match &mut self.phase {
            Phase::Running(run) => run,
            Phase::Syncing(_) => return self.syncing_probed(&probed, now),
            _ => return,
        };
        if !run.probing {
            return;
        }
        run.probing = false;
        if self.sides.iter().any(|side| side.number > run.before) {
            // The end of the evaluation is in flight: the REPL itself waits.
            run.probe_at = now + run.probe_gap;
            return;
        }
        run.probe_gap = (run.probe_gap * 3 / 2).min(PATIENT);
        run.probe_at = now + run.probe_gap;
        if self.interrupting_probed(&probed, now) {
            return;
        }
        let Phase::Running(run) = &mut self.phase else { return };
        match probed {
            Probed::Waiting => self.feed(now),
            Probed::Replaced(command) => self.replaced(&command, now),
            Probed::Unknown if !run.input.is_empty() || run.close_input => self.feed(now),
            Probed::Sleeping | Probed::Computing | Probed::Unread | Probed::Unknown => {
                if run.waiting {
                    run.waiting = false;
                    let eval = run.eval;
                    self.records.running(eval).status = Status::Running;
                }
            }
        }
    }

    /// Handles another program in the REPL's process that waits for input. A REPL of the same kind is initialized again.
    fn replaced(&mut self, command: &str, now: Instant) {
        let Phase::Running(run) = &mut self.phase else { return };
        let (eval, number) = (run.eval, run.before);
        if run.input.is_empty() && !run.replaced {
            run.replaced = true;
            let bytes = self.adapter.revive(command, &self.nonce, number);
            let notes = &mut self.records.running(eval).notes;
            if let Some(bytes) = bytes {
                notes.push("The shell was replaced by a new one: unexported definitions are gone.".to_owned());
                return self.write(bytes, None, 1);
            }
            notes.push(format!("The REPL was replaced by `{command}`; repl_restart starts it again."));
        }
        self.feed(now);
    }

    /// Leaves the running evaluation for synchronization.
    pub(super) fn synchronize(&mut self, why: SyncReason, now: Instant) {
        let run = match std::mem::replace(&mut self.phase, Phase::Idle { since: now }) {
            Phase::Running(run) => Some(*run),
            _ => None,
        };
        self.phase = Phase::Syncing(Box::new(Sync::new(why, run, now)));
        self.send_barrier(now);
    }
}

pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
