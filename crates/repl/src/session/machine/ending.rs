//! The end of the process: asked for, or not.

use std::time::Instant;

use super::super::handle::SessionError;
use super::super::{InterruptOutcome, SessionEvent, Status, Stream};
use super::{Action, Death, Ending, Machine, Phase};

impl Machine {
    /// Ends the process. The first reason stands.
    pub(super) fn stop(&mut self, reason: String) {
        // At its prompt it can end by itself; otherwise the line would only be read by what runs.
        let listens = matches!(self.phase, Phase::Idle { .. });
        self.end(reason, if listens { Ending::Ask(self.adapter.quit()) } else { Ending::Terminate });
    }

    /// Ends the process without asking it.
    pub(super) fn kill(&mut self, reason: String) {
        self.end(reason, Ending::Kill);
    }

    fn end(&mut self, reason: String, ending: Ending) {
        if self.ending.is_none() && !matches!(self.phase, Phase::Ended { .. }) {
            self.ending = Some(reason);
            self.actions.push(Action::End(ending));
        }
    }

    /// Without its streams the process is of no use, and nobody would hear of its end.
    pub(super) fn closed(&mut self, stream: Stream) {
        let name = if stream == Stream::Stdout { "output" } else { "error" };
        self.kill(format!("it closed its standard {name}"));
    }

    pub(super) fn died(&mut self, death: Death, now: Instant) {
        let (status, reason) = self.verdict_on(death);
        self.keep_strays();
        self.log_rest();
        let unstarted = matches!(self.phase, Phase::Starting { .. });
        let (running, waiters) =
            match std::mem::replace(&mut self.phase, Phase::Ended { status, reason: reason.clone() }) {
                Phase::Running(run) => (Some(run.eval), Vec::new()),
                Phase::Syncing(sync) => (sync.eval(), sync.waiters),
                Phase::Starting { .. } | Phase::Idle { .. } | Phase::Ended { .. } => (None, Vec::new()),
            };
        if let Some(eval) = running {
            self.records.running(eval).notes.push(format!("The session ended: {reason}."));
            self.finish(eval, Some(status), now);
        }
        for waiter in waiters {
            let outcome = InterruptOutcome::Ended;
            self.actions.push(Action::Interrupted { waiter, outcome, eval: running, took: std::time::Duration::ZERO });
        }
        for queued in std::mem::take(&mut self.queue) {
            let record = self.records.running(queued.eval);
            record.notes.push(format!("It never ran: {reason}."));
            if unstarted {
                // What the program said instead of a prompt is what its user needs to read.
                record.output = self.banner.clone();
            }
            self.waiters.push((queued.eval, queued.waiter));
            self.finish(queued.eval, Some(status), now);
        }
        self.actions.push(Action::Emit(SessionEvent::Ended { status, reason }));
    }

    fn verdict_on(&self, death: Death) -> (Status, String) {
        if let Some(reason) = &self.ending {
            return (Status::Killed, reason.clone());
        }
        let quit =
            self.current().and_then(|eval| self.records.get(eval)).is_some_and(|run| self.adapter.is_quit(&run.code));
        match (death.code, death.signal) {
            (Some(_), _) if quit => (Status::Exited, "it was asked to quit".to_owned()),
            (Some(code), _) if matches!(self.phase, Phase::Starting { .. }) => {
                (Status::Exited, format!("it exited with status {code} before its first prompt"))
            }
            (Some(code), _) => (Status::Exited, format!("it exited with status {code}")),
            (None, Some(9)) => (Status::Killed, "somebody else killed it (signal 9, SIGKILL)".to_owned()),
            (None, Some(15)) => (Status::Killed, "somebody else ended it (signal 15, SIGTERM)".to_owned()),
            (None, Some(signal)) => {
                (Status::Crashed, format!("it crashed with signal {signal}{}", signal_name(signal)))
            }
            (None, None) => (Status::Exited, "it ended, nobody knows how".to_owned()),
        }
    }

    pub(super) fn has_ended(&self) -> Option<SessionError> {
        let reason = match (&self.phase, &self.ending) {
            (Phase::Ended { reason, .. }, _) | (_, Some(reason)) => reason.clone(),
            _ => return None,
        };
        Some(SessionError::Ended { session: self.name.clone(), reason })
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        11 => " (SIGSEGV)",
        _ => "",
    }
}
