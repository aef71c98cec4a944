//! One wake for an evaluation that is soon over, instead of three.
//!
//! What an evaluation prints, its marker on standard output and its marker on standard error arrive one after the other,
//! and each would wake us, often on the very processor that the program still needs for the next of them. The marker on
//! standard error comes last: so for a moment after code was handed over standard output wakes nobody. Nothing is lost
//! by that: it stays in the pipe and is read with the rest, and by whoever asks meanwhile.

use std::time::{Duration, Instant};

use super::Actor;
use crate::session::Stream;

/// How long after that its output wakes us again. While it waits, a program can fill its pipe.
const MOMENT: Duration = Duration::from_millis(10);

impl Actor {
    /// Code was handed over.
    pub(super) fn mute(&mut self) {
        // Without the markers' numbers the prompt on standard output is waited for.
        if !self.machine.is_fallback() && self.machine.current().is_some() {
            self.outputs[Stream::Stdout as usize].mute();
            self.state.muted = Some(Instant::now() + MOMENT);
        }
    }

    /// Ends it when the moment has passed; not with the evaluation, whose answer would have to wait for that.
    pub(super) fn unmute(&mut self, now: Instant) {
        if self.state.muted.is_some_and(|until| now >= until) {
            let heard = self.outputs[Stream::Stdout as usize].unmute();
            self.state.muted = (!heard).then(|| now + MOMENT);
        }
    }
}
