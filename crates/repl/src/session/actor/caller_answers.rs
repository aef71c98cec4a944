//! The actor's output: answers to callers, and the session's state.

use std::time::{Duration, Instant};

use super::Actor;
use crate::result::{Behind, Starting, Status};
use crate::session::capture::Capture;
use crate::session::handle::{Finished, View};
use crate::session::machine::{EvalRecord, Waiter};
use crate::session::replies::Reply;
use crate::session::show::{self, Frame};
use crate::session::{SessionError, SessionState, Stream};
use crate::text;

/// After this time without a prompt, a starting session is suspect.
const LONG: Duration = Duration::from_secs(5);

impl Actor {
    pub(super) fn answer(&mut self, waiter: Waiter, eval: u64) {
        let Some(Reply::Eval(reply, view)) = self.state.replies.remove(waiter) else { return };
        let answer = match self.finished(eval, view) {
            Some(finished) => Ok(finished),
            None => Err(SessionError::UnknownEval { session: self.session.clone(), eval }),
        };
        // A caller that has stopped waiting can ask again.
        if reply.send(answer).is_ok() {
            self.record_reader(eval, view);
        }
    }

    /// Records how much output a reader has received.
    pub(super) fn record_reader(&mut self, eval: u64, view: View) {
        if let (Some(reader), Some(record)) = (view.reader, self.machine.record_mut(eval)) {
            let given = (!record.status.is_final()).then(|| record.output.each_ref().map(Capture::whole_length));
            record.given.set(reader, given);
        }
    }

    pub(super) fn finished(&self, eval: u64, view: View) -> Option<Finished> {
        let record = self.machine.record(eval)?;
        let open = !record.status.is_final();
        let frame = Frame {
            session: &self.session,
            eval,
            completion: self.machine.completion(),
            queue_depth: self.machine.waiting_behind(eval),
            behind: (record.status == Status::Queued).then(|| self.evaluation_ahead(eval)).flatten(),
            starting: (record.status == Status::Starting).then(|| self.starting()),
            uninterruptible: open && self.machine.state() == SessionState::Uninterruptible,
            cursor: *self.log.end().borrow(),
            dropped: self.dropped(record),
            max_bytes: view.max_bytes,
            since: view.reader.and_then(|reader| record.given.for_reader(reader)),
        };
        // Only the daemon's own commands, which are quiet, need their exact bytes.
        let raw = if record.quiet { show::raw(record) } else { Default::default() };
        let mut result = show::result(record, &frame, Instant::now());
        if let (true, Some(screen)) = (open, &self.screen) {
            result.value = Some(screen.snapshot().text);
        }
        Some(Finished { result, raw })
    }

    /// Returns the number of bytes of this evaluation that the log no longer has, per stream.
    fn dropped(&self, record: &EvalRecord) -> [u64; 2] {
        match record.output.iter().map(|output| output.total()).sum::<u64>() {
            small if small < 1 << 20 => [0; 2],
            _ => {
                let dropped = self.log.status().dropped;
                let of = |stream: Stream| {
                    let side = stream as usize;
                    dropped.get(stream.logged()).saturating_sub(record.logged[side]).min(record.output[side].total())
                };
                [of(Stream::Stdout), of(Stream::Stderr)]
            }
        }
    }

    /// Returns the evaluation that a queued one waits behind.
    fn evaluation_ahead(&self, eval: u64) -> Option<Behind> {
        let current = self.machine.current()?;
        let record = self.machine.record(current)?;
        Some(Behind {
            eval: current,
            code: text::headline(&record.code),
            status: record.status,
            duration_ms: millis(record.started.map(|started| started.elapsed()).unwrap_or_default()),
            waited_for: self.machine.waiters_of(current).any(|waiter| self.state.replies.is_open(waiter)),
            queued: self.machine.queued_before(eval),
        })
    }

    fn starting(&self) -> Starting {
        let info = self.info.borrow();
        let since = info.times.started.elapsed();
        // A program that never prints a prompt often gives the reason, usually on standard error.
        let said = [Stream::Stderr, Stream::Stdout].map(|stream| self.machine.banner(stream));
        let last = said.iter().find_map(|said| said.lines().rev().find(|line| !line.trim().is_empty()));
        let printed = last.filter(|_| since >= LONG).map(text::headline).unwrap_or_default();
        Starting { profile: info.profile.clone(), duration_ms: millis(since), printed }
    }

    /// Publishes the session's state, if it changed.
    pub(super) fn publish(&mut self) {
        let machine = &self.machine;
        let (state, current) = (machine.state(), machine.current());
        let cursor = *self.log.end().borrow();
        let (queue_depth, evals) = (machine.queue_depth(), machine.finished());
        let dead = self.state.dead;
        let mut ready = false;
        self.info.send_if_modified(|info| {
            let old = (info.state, info.current, info.queue_depth, info.evals, info.cursor);
            let changed = old != (state, current, queue_depth, evals, cursor);
            ready = info.state == SessionState::Starting && state != info.state;
            (info.state, info.current, info.queue_depth) = (state, current, queue_depth);
            (info.evals, info.cursor) = (evals, cursor);
            if changed {
                info.completion = machine.completion();
                info.reason = machine.reason().map(str::to_owned);
                if current != old.1 {
                    let runs = current.and_then(|eval| machine.record(eval));
                    info.code = runs.map(|record| text::headline(&record.code)).unwrap_or_default();
                    info.times.eval = runs.and_then(|record| record.started);
                }
                if current.is_some() || old.1.is_some() {
                    info.times.used = Instant::now();
                }
                if dead && info.times.ended.is_none() {
                    info.times.ended = Some(Instant::now());
                }
            }
            if ready {
                info.prompted = machine.prompted();
                info.banner = match &self.screen {
                    Some(screen) => screen.snapshot().text,
                    None => machine.banner(Stream::Stdout),
                };
                if dead {
                    info.banner += &machine.banner(Stream::Stderr);
                }
                info.version = machine.version();
                info.prompt = machine.prompt();
                info.times.used = Instant::now();
            }
            changed
        });
        if state == SessionState::Idle && self.state.command.is_none() {
            self.state.command = self.group.command_line();
        }
        if ready && !dead {
            self.measure();
        }
    }
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}
