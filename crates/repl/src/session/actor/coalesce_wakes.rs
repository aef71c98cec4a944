//! One wake for a short evaluation instead of three.
//!
//! An evaluation's output, its marker on standard output and its marker on standard error arrive one after the other.
//! Each would wake the daemon, often on the processor that the program needs for the next one. The marker on standard
//! error comes last, so standard output is muted briefly after code was sent. No output is lost: it stays in the pipe
//! and is read with the rest, or by the next command.

use std::time::{Duration, Instant};

use super::Actor;
use crate::session::Stream;

/// The time for which standard output stays muted. A program can fill its pipe meanwhile.
const MOMENT: Duration = Duration::from_millis(10);

impl Actor {
    /// Mutes standard output after code was sent.
    pub(super) fn mute(&mut self) {
        // In the fallback, and without markers, the actor waits for the prompt on standard output.
        let has_markers = self.machine.adapter().prompts().is_none() && self.screen.is_none();
        if !self.machine.is_fallback() && has_markers && self.machine.current().is_some() {
            self.outputs[Stream::Stdout as usize].mute();
            self.state.muted = Some(Instant::now() + MOMENT);
        }
    }

    /// Unmutes standard output when the time has passed. Unmuting at the evaluation's end would delay its answer.
    pub(super) fn unmute(&mut self, now: Instant) {
        if self.state.muted.is_some_and(|until| now >= until) {
            let heard = self.outputs[Stream::Stdout as usize].unmute();
            self.state.muted = (!heard).then(|| now + MOMENT);
        }
    }
}
