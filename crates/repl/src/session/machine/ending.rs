//! The end of the process, requested or not.

use std::time::{Duration, Instant};

use super::super::handle::SessionError;
use super::super::{InterruptOutcome, SessionEvent, Stream};
use crate::adapter::Printed;
use crate::result::Status;

use super::{Action, Death, Ending, Intent, Machine, Phase};

impl Machine {
    /// Ends the process. The first reason counts. `stopped` means that nothing was wrong with the session.
    pub(super) fn stop(&mut self, reason: String, stopped: bool) {
        // At its prompt the REPL accepts a quit line; otherwise the running program would read it.
        let listens = matches!(self.phase, Phase::Idle { .. }) && !self.has_terminal();
        self.end(
            Intent { reason, stopped },
            if listens { Ending::Ask(self.adapter.quit()) } else { Ending::Terminate },
        );
    }

    /// Kills the process without a quit line.
    pub(super) fn kill(&mut self, reason: String) {
        self.end(Intent { reason, stopped: false }, Ending::Kill);
    }

    fn end(&mut self, intent: Intent, ending: Ending) {
        if self.ending.is_none() && !matches!(self.phase, Phase::Ended { .. }) {
            self.ending = Some(intent);
            self.actions.push(Action::End(ending));
        }
    }

    /// Without its streams the process is useless, and its evaluations would never end.
    pub(super) fn closed(&mut self, stream: Stream) {
        let name = if stream == Stream::Stdout { "output" } else { "error" };
        self.kill(format!("it closed its standard {name}"));
    }

    pub(super) fn died(&mut self, death: Death, now: Instant) {
        let (status, reason) = self.verdict_on(death);
        self.keep_strays();
        self.log_rest();
        let unstarted = matches!(self.phase, Phase::Starting { .. });
        if unstarted {
            self.trim_errors(true);
        }
        let stopped = self.ending.as_ref().is_some_and(|intent| intent.stopped);
        let ended = Phase::Ended { status, stopped, reason: reason.clone() };
        let (running, asked) = match std::mem::replace(&mut self.phase, ended) {
            Phase::Running(run) => (Some(run.eval), run.asked),
            Phase::Syncing(mut sync) => (sync.eval(), sync.run_mut().and_then(|run| run.asked.take())),
            Phase::Starting { .. } | Phase::Idle { .. } | Phase::Ended { .. } => (None, None),
        };
        if let Some(eval) = running {
            self.records.running(eval).notes.push(format!("The session ended: {reason}."));
            self.finish(eval, Some(status), now);
        }
        for waiter in asked.map(|asked| asked.waiters).unwrap_or_default() {
            let (outcome, took, rest) = (InterruptOutcome::Ended, Duration::ZERO, None);
            self.actions.push(Action::Interrupted { waiter, outcome, eval: running, took, rest });
        }
        for queued in std::mem::take(&mut self.queue) {
            let record = self.records.running(queued.eval);
            record.notes.push(format!("It never ran: {reason}."));
            if unstarted {
                // Users need to see the output that the program printed instead of a prompt.
                record.output = self.banner.clone();
            }
            self.waiters.push((queued.eval, queued.waiter));
            self.finish(queued.eval, Some(status), now);
        }
        self.actions.push(Action::Emit(SessionEvent::Ended { status, reason }));
    }

    fn verdict_on(&self, death: Death) -> (Status, String) {
        if let Some(intent) = &self.ending {
            return (Status::Killed, intent.reason.clone());
        }
        let quit =
            self.current().and_then(|eval| self.records.get(eval)).is_some_and(|run| self.adapter.is_quit(&run.code));
        let signalled = death
            .code
            .and_then(|_| self.last_word())
            .map(|signal| (Status::Killed, format!("another process ended it with {}", signal_in_words(signal))));
        match (death.code, death.signal) {
            (Some(_), _) if let Some(verdict) = signalled => verdict,
            (Some(0), _) if quit => (Status::Exited, "it was asked to quit".to_owned()),
            (Some(code), _) if matches!(self.phase, Phase::Starting { .. }) && !self.has_terminal() => {
                (Status::Exited, format!("it exited with status {code} before its first prompt"))
            }
            (Some(code), _) => (Status::Exited, format!("it exited with status {code}")),
            (None, Some(9)) => (Status::Killed, "another process killed it (signal 9, SIGKILL)".to_owned()),
            (None, Some(signal @ (1 | 15))) => {
                (Status::Killed, format!("another process ended it with {}", signal_in_words(signal)))
            }
            (None, Some(signal)) => (Status::Crashed, format!("it crashed with {}", signal_in_words(signal))),
            (None, None) => (Status::Exited, "it ended for an unknown reason".to_owned()),
        }
    }

    /// Returns the last signal that the REPL itself named.
    fn last_word(&self) -> Option<i32> {
        if let Some(eval) = self.current() {
            return self.judge(eval).signal;
        }
        let [stdout, stderr] =
            self.between.each_ref().map(|said| String::from_utf8_lossy(&said.bytes().0).into_owned());
        let printed = Printed { code: "", stdout: &stdout, stderr: &stderr, payload: "", interrupting: false };
        self.adapter.classify(printed).signal
    }

    pub(super) fn has_ended(&self) -> Option<SessionError> {
        let reason = match (&self.phase, &self.ending) {
            (Phase::Ended { reason, .. }, _) | (_, Some(Intent { reason, .. })) => reason.clone(),
            _ => return None,
        };
        Some(SessionError::Ended { session: self.name.clone(), reason })
    }
}

/// Formats a signal: `signal 15 (SIGTERM)`.
pub(super) fn signal_in_words(signal: i32) -> String {
    let name = match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    };
    format!("signal {signal}{name}")
}
