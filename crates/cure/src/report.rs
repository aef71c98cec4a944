//! Diagnostics as the tools report them: as many as an answer holds, how many there are, and what to do about the rest.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Room;
use crate::diagnostic::{Diagnostic, Lines};
use crate::limit::{self, Count};

/// Maximum number of diagnostics in one answer.
const MOST: usize = 200;

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
    /// The error or warning.
    pub message: String,
    /// Suggested fix.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hints: Vec<String>,
    /// A replacement that is safe to make.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fix: Option<Replace>,
}

/// A replacement.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Replace {
    /// Description of the change.
    pub title: String,
    /// The first byte that goes.
    pub start: u32,
    /// Behind the last byte that goes.
    pub end: u32,
    /// New text.
    pub replacement: String,
}

/// The compiler's diagnostics of a text, limited to the size of an answer.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Diagnosis {
    /// How many errors there are in all.
    pub errors: usize,
    /// How many warnings there are in all.
    pub warnings: usize,
    /// Errors and warnings in order of place; where not all fit, the errors first.
    pub diagnostics: Vec<Reported>,
    /// How many are left out, and what to call next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub more: Option<String>,
}

impl Diagnosis {
    /// True if there are no errors.
    pub(crate) fn is_ok(&self) -> bool {
        self.errors == 0
    }
}

/// The diagnostics of a text for the answer of a tool.
pub(crate) fn diagnose(diagnostics: &[Diagnostic], text: &str, room: &mut Room, tool: &str) -> Diagnosis {
    let Count { errors, warnings } = limit::counted(diagnostics);
    let lines = Lines::new(text);
    let mut told: Vec<&Diagnostic> = diagnostics.iter().filter(|one| !limit::closes(one)).collect();
    if told.len() > MOST {
        told.sort_by_key(|one| one.severity);
        told.truncate(MOST);
    }
    let mut told: Vec<Reported> = told.into_iter().map(|one| reported(one, &lines)).collect();
    if !room.holds(&told) {
        // By name, `error` comes before `warning`.
        told.sort_by_key(|one| one.severity);
    }
    let diagnostics = room.first(told);
    let left = (errors + warnings).saturating_sub(diagnostics.len());
    let more = (left > 0).then(|| format!("{left} more are omitted: fix these, then call {tool} again"));
    Diagnosis { errors, warnings, diagnostics, more }
}

/// A diagnostic as the tools report it.
pub(crate) fn reported(found: &Diagnostic, lines: &Lines) -> Reported {
    let (line, column) = lines.line_column(found.span.start);
    let (end_line, end_column) = lines.line_column(found.span.end);
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
}

/// The diagnostics as lines for a model; the last line tells of those that are left out.
pub(crate) fn text(said: &Diagnosis) -> String {
    let lines = said.diagnostics.iter().map(line);
    let more = said.more.as_ref().map(|more| format!("… {} in all; {more}", total(said)));
    lines.chain(more).collect::<Vec<_>>().join("\n")
}

/// `1 error and 2 warnings`
fn total(said: &Diagnosis) -> String {
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    match (said.errors, said.warnings) {
        (errors, 0) => count(errors, "error"),
        (0, warnings) => count(warnings, "warning"),
        (errors, warnings) => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
    }
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
pub(crate) fn titled_diagnostics(title: &str, said: &Diagnosis) -> String {
    if said.diagnostics.is_empty() && said.more.is_none() {
        title.to_owned()
    } else {
        format!("{title}\n{}", text(said))
    }
}
