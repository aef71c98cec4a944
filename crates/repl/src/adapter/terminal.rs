//! Any program that needs a terminal. It has no prompt and reports no ends: what a caller gets is its screen, once the
//! kernel says that the program waits for keys (`session/machine/terminal.rs`).

use process::Window;
use serde::Deserialize;

use super::{Adapter, Barrier, Nonce, Plan, Printed, Refusal, Step, Verdict};
use crate::result::Completion;

/// The key that ends a line.
const ENTER: &str = "\r";
/// The largest terminal, which bounds the memory of its screen.
const MOST: Window = Window { rows: 200, columns: 500 };

/// The `[terminal]` table of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalTable {
    pub rows: u16,
    pub columns: u16,
}

impl Default for TerminalTable {
    fn default() -> TerminalTable {
        TerminalTable { rows: 30, columns: 100 }
    }
}

impl TerminalTable {
    /// Returns the problem of the table, as a clause.
    pub(crate) fn problem(self) -> Option<String> {
        let is_possible = (2..=MOST.rows).contains(&self.rows) && (10..=MOST.columns).contains(&self.columns);
        (!is_possible)
            .then(|| format!("a terminal has 2 to {} `rows`, and 10 to {} `columns`", MOST.rows, MOST.columns))
    }
}

/// The adapter for a program on a terminal.
#[derive(Debug, Clone)]
pub struct Terminal(pub TerminalTable);

impl Adapter for Terminal {
    fn completion(&self) -> Completion {
        Completion::Heuristic
    }

    fn window(&self) -> Option<Window> {
        Some(Window { rows: self.0.rows, columns: self.0.columns })
    }

    fn install(&self, _: &Nonce) -> Vec<u8> {
        Vec::new()
    }

    fn plan(&self, code: &str) -> Result<Plan, Refusal> {
        let code = code.strip_suffix('\n').unwrap_or(code);
        let bytes = (code.replace('\n', ENTER) + ENTER).into_bytes();
        Ok(Plan { steps: vec![Step { bytes, advance: 1, script: None }], notes: Vec::new() })
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        Verdict { interrupted: printed.interrupting, ..Verdict::default() }
    }

    /// No barrier is ever sent: it would be typed into the program.
    fn barrier(&self, _: &Nonce, _: u64) -> Barrier {
        Barrier { bytes: Vec::new(), echo: None }
    }

    fn quit(&self) -> Vec<u8> {
        Vec::new()
    }
}
