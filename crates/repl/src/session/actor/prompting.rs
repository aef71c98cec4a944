//! The ends of evaluations of a program that prints no markers: each prompt on standard output counts on standard error
//! too, after what the program had written there.

use std::time::{Duration, Instant};

use super::{Actor, route};
use crate::session::Stream;
use crate::session::machine::Probed;
use crate::session::pipes::ReadOutcome;

/// The maximum number of reads from standard error before a prompt counts: more than its pipe holds.
const READS: usize = 64;
/// The time after which the kernel is asked again if the program waits at its prompt.
const AGAIN: Duration = Duration::from_millis(20);

impl Actor {
    /// Passes on the prompts as markers of standard error, once its pipe is empty: a program writes its errors before
    /// its prompt.
    pub(super) fn mark_errors(&mut self) {
        let now = Instant::now();
        let [out, err] = &mut self.outputs;
        let Some(number) = out.prompts().map(|prompts| prompts.number()) else { return };
        if number == self.state.marked {
            return;
        }
        self.state.marked = number;
        for _ in 0..READS {
            let (machine, log, events) = (&mut self.machine, &self.log, &self.events);
            let logged = &mut self.state.logged[Stream::Stderr as usize];
            let found = err.read(|segment| route(segment, Stream::Stderr, machine, log, events, logged, now));
            if matches!(found, ReadOutcome::Nothing | ReadOutcome::End) {
                break;
            }
        }
        self.machine.marker(Stream::Stderr, Some(number), "", now);
    }

    /// Asks the kernel if the program waits, if what it printed last may be its prompt.
    pub(super) fn look_for_prompt(&mut self) {
        let now = Instant::now();
        let holds = self.outputs[0].prompts().is_some_and(|prompts| prompts.holds_prompt());
        if !holds || self.state.dead {
            self.state.look_at = None;
        } else if self.state.probe.is_none() && self.state.look_at.is_none_or(|at| now >= at) {
            self.state.look_at = Some(now + AGAIN);
            if !self.inputs.code().has_unread() {
                self.ask();
            }
        }
    }

    /// Handles the kernel's answer: a program that waits has printed its prompt.
    pub(super) fn look_again(&mut self, probed: &Probed) {
        let now = Instant::now();
        let (machine, log, events) = (&mut self.machine, &self.log, &self.events);
        let logged = &mut self.state.logged[Stream::Stdout as usize];
        if let (Probed::Waiting, Some(prompts)) = (probed, self.outputs[0].prompts()) {
            prompts.waits(|segment| route(segment, Stream::Stdout, machine, log, events, logged, now));
            self.mark_errors();
        }
    }
}
