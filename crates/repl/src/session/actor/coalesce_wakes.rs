//! One wake for a short evaluation instead of three.
//!
//! An evaluation's output, its marker on standard output and its marker on standard error arrive one after the other,
//! and each would wake the daemon, often on the processor that the program needs for the next one. The marker on
//! standard error comes last, so for a moment after code was handed over standard output wakes nothing. No output is
//! lost: it stays in the pipe and is read with the rest, or by the next command.

use std::time::{Duration, Instant};

use super::Actor;
use crate::session::Stream;

/// How long standard output stays muted. A program can fill its pipe meanwhile.
const MOMENT: Duration = Duration::from_millis(10);

impl Actor {
    /// Mutes standard output after code was handed over.
    pub(super) fn mute(&mut self) {
        // In the fallback, the prompt on standard output is what is waited for.
        if !self.machine.is_fallback() && self.machine.current().is_some() {
            self.outputs[Stream::Stdout as usize].mute();
            self.state.muted = Some(Instant::now() + MOMENT);
        }
    }

    /// Unmutes standard output when the moment has passed, and not at the evaluation's end, which would delay its
    /// answer.
    pub(super) fn unmute(&mut self, now: Instant) {
        if self.state.muted.is_some_and(|until| now >= until) {
            let heard = self.outputs[Stream::Stdout as usize].unmute();
            self.state.muted = (!heard).then(|| now + MOMENT);
        }
    }
}
