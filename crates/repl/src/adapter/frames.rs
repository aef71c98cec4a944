//! Frames for the drivers that run inside a language's own interpreter, and their reports: a line `KIND LENGTH [[PATH]
//! NUMBER]` and the code go in, and a JSON object comes back in the marker.

use serde::Deserialize;

use super::{Plan, Printed, SCRIPT_PATH, Step, Verdict};
use diagnostics::{Diagnostic, Severity, Source};

/// Encodes the kind, the length of the code and, for an evaluation, its number; then the code. A frame with input has
/// the file's path before the number.
pub(super) fn frame(kind: char, code: &str) -> Vec<u8> {
    format!("{kind} {}\n{code}", code.len()).into_bytes()
}

/// Plans an evaluation as one frame.
pub(super) fn plan(code: &str) -> Plan {
    let step = Step { bytes: frame('E', code), advance: 1, script: None };
    Plan { steps: vec![step], notes: Vec::new() }
}

/// Plans an evaluation whose standard input is a file.
pub(super) fn plan_with_input(code: &str) -> Plan {
    let bytes = format!("I {} {SCRIPT_PATH}\n{code}", code.len()).into_bytes();
    let step = Step { bytes, advance: 1, script: None };
    Plan { steps: vec![step], notes: Vec::new() }
}

/// Adds the evaluation's number to a frame.
pub(super) fn number(step: &mut Step, eval: u64) {
    if let Some(end) = step.bytes.iter().position(|&byte| byte == b'\n') {
        step.bytes.splice(end..end, format!(" {eval}").into_bytes());
    }
}

/// A driver's report about one frame.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Report {
    value: Option<String>,
    #[serde(rename = "type")]
    type_: Option<String>,
    exception: Option<String>,
    interrupted: bool,
    syntax: Option<Syntax>,
    /// The modules of a Python project that changed on disk after they were imported, separated by commas.
    changed: Option<String>,
    /// The files with pictures, one on each line.
    pictures: Option<String>,
    /// A note for the result.
    note: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Syntax {
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    /// Exclusive; an empty span ends at its start.
    end_column: Option<u32>,
    message: String,
}

impl Syntax {
    fn diagnostic(self) -> Diagnostic {
        Diagnostic {
            file: None,
            line: self.line,
            column: self.column,
            end_line: self.end_line,
            end_column: self.end_column.map(|end| end.saturating_sub(1).max(self.column.unwrap_or(1))),
            severity: Severity::Error,
            code: None,
            flag: None,
            message: self.message,
            hints: Vec::new(),
            source: Source::Interactive,
        }
    }
}

/// Judges a driver's report. `language` names the driver in an error.
pub(super) fn verdict(printed: Printed<'_>, language: &str) -> Verdict {
    let report: Report = match serde_json::from_str(printed.payload) {
        Ok(report) => report,
        // The marker is missing; the session reports the reason.
        Err(_) if printed.payload.is_empty() => return Verdict { error: true, ..Verdict::default() },
        Err(error) => {
            let exception = Some(format!("how the evaluation ended cannot be read from {language}'s report ({error})"));
            return Verdict { error: true, exception, ..Verdict::default() };
        }
    };
    let changed = report.changed.map(|modules| changed_note(&modules));
    Verdict {
        error: report.exception.is_some(),
        diagnostics: report.syntax.map(Syntax::diagnostic).into_iter().collect(),
        // Code may raise the exception of an interrupt itself.
        interrupted: report.interrupted && printed.interrupting,
        signal: None,
        exception: report.exception,
        value: report.value,
        type_: report.type_,
        load: None,
        notes: changed.into_iter().chain(report.note).collect(),
        pictures: report.pictures.iter().flat_map(|paths| paths.lines()).map(str::to_owned).collect(),
    }
}

/// Returns the note about imported modules, separated by commas, that are older than their files.
fn changed_note(modules: &str) -> String {
    let (it, version, them) =
        if modules.contains(',') { ("they were", "versions", "them") } else { ("it was", "version", "it") };
    format!(
        "{modules} changed on disk after {it} imported; repl_reload loads the new {version}, and then the modules that import {them}."
    )
}
