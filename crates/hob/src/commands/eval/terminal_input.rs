//! Reads terminal input for a program that waits for it.

use std::io::BufRead;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::exit::Failure;
use crate::terminal::{self, Style, paint_note};

/// The keyboard. A line is read only while the program waits; earlier input stays in the terminal.
#[derive(Debug, Default)]
pub(super) struct Typed {
    /// True if the hint about typing was printed.
    is_said: bool,
    /// The terminal settings before its echo was switched off.
    shown: Option<Termios>,
}

impl Drop for Typed {
    fn drop(&mut self) {
        self.hide(false);
    }
}

/// A line read from the keyboard.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// No line yet, or a signal arrived.
    None,
    /// A line, with its newline.
    Typed(String),
    /// The end of input (Ctrl-D).
    End,
}

impl Typed {
    /// Prints once that input can be typed, unless the program has just printed a prompt.
    pub(super) fn begin(&mut self, has_asked: bool) {
        if !std::mem::replace(&mut self.is_said, true) && !has_asked {
            let how =
                "[waiting for input: your typing goes to the program; Ctrl-D leaves it waiting, Ctrl-C interrupts it]";
            terminal::note(paint_note(how, Style::Dim));
        }
    }

    /// Switches the echo of the terminal off, for input such as a password, or on again.
    pub(super) fn hide(&mut self, hides: bool) {
        let stdin = std::io::stdin();
        // A failure leaves the terminal as it is.
        if let Some(shown) = self.shown.take() {
            let _ = tcsetattr(&stdin, OptionalActions::Now, &shown);
        }
        if let (true, Ok(shown)) = (hides, tcgetattr(&stdin)) {
            let mut hidden = shown.clone();
            hidden.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(&stdin, OptionalActions::Now, &hidden);
            self.shown = Some(shown);
        }
    }

    /// Returns the next typed line, waiting at most `wait`.
    pub(super) fn line(&mut self, wait: Duration) -> Result<Line, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(format_args!("cannot read the terminal: {error}"));
        let stdin = std::io::stdin();
        let mut typed = [PollFd::new(&stdin, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        match poll(&mut typed, Some(&wait)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Line::None),
            Ok(_) => {}
            Err(error) => return Err(failed(&error)),
        }
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(0) => Ok(Line::End),
            Ok(_) => Ok(Line::Typed(line)),
            Err(error) => Err(failed(&error)),
        }
    }
}
