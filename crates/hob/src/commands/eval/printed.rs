//! What an evaluation prints on standard output, as it comes: in a pipe its very bytes, at a terminal made harmless.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use client::Control;
use serde_json::{Value, json};

use crate::commands::call::control_failure;
use crate::exit::Failure;
use crate::terminal;

/// How far the standard output of an evaluation is shown.
#[derive(Debug, Default)]
pub(super) struct Printed {
    cursor: u64,
    /// Bytes that were no longer kept when it was their turn.
    pub(super) missing: u64,
    /// The last byte shown.
    last: Option<u8>,
}

impl Printed {
    /// Shows what has been printed since. The evaluation is named by `session` and `eval`.
    pub(super) fn follow(&mut self, control: &mut Control, of: &Value) -> Result<(), Failure> {
        while terminal::lost().is_none() {
            let asked = json!({
                "session": of["session"], "eval": of["eval"], "stream": "stdout", "cursor": self.cursor,
            });
            let answer = control.request("repl/output", asked, |_, _| {}).map_err(control_failure)?;
            self.cursor = answer["cursor"].as_u64().unwrap_or(self.cursor);
            self.missing += answer["missing"].as_u64().unwrap_or_default();
            let bytes = answer["bytes"].as_str().and_then(|bytes| STANDARD.decode(bytes).ok()).unwrap_or_default();
            self.last = bytes.last().copied().or(self.last);
            terminal::print_bytes(&bytes);
            if answer["more"] != true {
                break;
            }
        }
        Ok(())
    }

    /// Whether what comes next would stand in the middle of a line.
    pub(super) fn is_in_a_line(&self) -> bool {
        self.last.is_some_and(|last| last != b'\n')
    }
}
