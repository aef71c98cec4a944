//! Prints the standard output of an evaluation as it arrives: unchanged in a pipe, escaped at a terminal.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use client::Control;
use serde_json::{Value, json};

use crate::commands::call::control_failure;
use crate::exit::Failure;
use crate::terminal;

/// The position up to which an evaluation's output was printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    cursor: u64,
    /// The number of bytes that were dropped before they could be printed.
    pub(super) missing: u64,
    /// The last byte printed.
    last: Option<u8>,
    /// The standard error that was printed while the program waited for input.
    stderr: String,
}

impl Printed {
    /// Prints new output until it has all been printed or `is_over`. `session` and `eval` in `of` name the evaluation.
    pub(super) fn follow(
        &mut self,
        control: &mut Control,
        of: &Value,
        is_over: impl Fn() -> bool,
    ) -> Result<(), Failure> {
        while terminal::lost_output().is_none() {
            let asked = json!({
                "session": of["session"], "eval": of["eval"], "stream": "stdout", "cursor": self.cursor,
            });
            let answer = control.request("repl/output", asked, |_, _| {}).map_err(control_failure)?;
            self.cursor = answer["cursor"].as_u64().unwrap_or(self.cursor);
            self.missing += answer["missing"].as_u64().unwrap_or_default();
            let bytes = answer["bytes"].as_str().and_then(|bytes| STANDARD.decode(bytes).ok()).unwrap_or_default();
            self.last = bytes.last().copied().or(self.last);
            terminal::print_bytes(&bytes);
            if answer["more"] != true || is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Prints new standard error of a program that waits for input, such as its question.
    pub(super) fn ask(&mut self, stderr: &str) {
        let Some(new) = stderr.strip_prefix(self.stderr.as_str()).filter(|new| !new.is_empty()) else { return };
        terminal::ask(new);
        self.last = new.bytes().last();
        self.stderr = stderr.to_owned();
    }

    /// Returns the part of the whole standard error that was not printed yet.
    pub(super) fn rest<'a>(&self, stderr: &'a str) -> &'a str {
        stderr.strip_prefix(self.stderr.as_str()).unwrap_or(stderr)
    }

    /// True if the cursor is in the middle of a line.
    pub(super) fn is_in_a_line(&self) -> bool {
        self.last.is_some_and(|last| last != b'\n')
    }
}
