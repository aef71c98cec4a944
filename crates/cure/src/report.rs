//! Diagnostics as the tools report them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnostic::{Diagnostic, Lines};

/// One thing the compiler says.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reported {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// Its code: C0101.
    pub code: String,
    /// The stage that says it: parse, resolve, types, refinement, exhaustive, fsm or compile.
    pub stage: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The line where it ends.
    pub end_line: usize,
    /// The column behind its end.
    pub end_column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hints: Vec<String>,
    /// A replacement that is safe to make.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fix: Option<Replace>,
}

/// A replacement.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Replace {
    /// What it does.
    pub title: String,
    /// The first byte that goes.
    pub start: u32,
    /// Behind the last byte that goes.
    pub end: u32,
    /// What comes.
    pub replacement: String,
}

/// The diagnostics of a text as the tools report them.
pub(crate) fn reported(diagnostics: &[Diagnostic], text: &str) -> Vec<Reported> {
    let lines = Lines::new(text);
    let one = |found: &Diagnostic| {
        let (line, column) = lines.place(found.span.start);
        let (end_line, end_column) = lines.place(found.span.end);
        Reported {
            severity: if found.is_error() { "error" } else { "warning" },
            code: found.code.to_string(),
            stage: found.code.stage().name(),
            line,
            column,
            end_line,
            end_column,
            message: found.message.clone(),
            hints: found.hints.clone(),
            fix: found.fix.as_ref().map(|fix| Replace {
                title: fix.title.clone(),
                start: fix.span.start,
                end: fix.span.end,
                replacement: fix.replacement.clone(),
            }),
        }
    };
    diagnostics.iter().map(one).collect()
}

/// Whether any diagnostic is an error.
pub(crate) fn has_errors(said: &[Reported]) -> bool {
    said.iter().any(|one| one.severity == "error")
}

/// The diagnostics as lines for a model.
pub(crate) fn text(said: &[Reported]) -> String {
    said.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A diagnostic with its hints below it.
pub(crate) fn line(one: &Reported) -> String {
    let mut line = format!("{}:{} {} {}: {}", one.line, one.column, one.severity, one.code, one.message);
    for hint in &one.hints {
        line.push_str("\n    ");
        line.push_str(hint);
    }
    line
}

/// The title, then the diagnostics.
pub(crate) fn under(title: &str, said: &[Reported]) -> String {
    if said.is_empty() { title.to_owned() } else { format!("{title}\n{}", text(said)) }
}
