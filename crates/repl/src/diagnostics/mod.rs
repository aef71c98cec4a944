//! What a compiler says about code, as data: one list, whichever form the compiler printed it in.
//!
//! `text` reads GHC's messages for people (all versions), `json` its machine form (9.10 and newer), `load` what a
//! `:load` or `:reload` printed around them, and `delta` keeps the current list and says what a load changed. Nothing
//! here knows a session or a process; everything takes text and gives values.

mod delta;
mod json;
mod load;
mod text;

use std::borrow::Cow;

use crate::adapter::Verdict;
use crate::session::{Diagnostic, Severity, Source};

pub use delta::Delta;
pub(crate) use load::outcome;
pub(crate) use text::split_span;
pub use text::{Parsed, parse};

/// What an evaluation in GHCi means, from what it printed: its errors, and the load it ended, if it was one.
pub fn judge(code: &str, stdout: &str, stderr: &str) -> Verdict {
    // The words of an exception are kept as they are.
    let parsed = Parsed { exception: parse(stderr).exception, ..parse(&plain(stderr)) };
    let load = load::outcome(code, stdout, &parsed.diagnostics);
    Verdict {
        error: parsed.exception.is_some()
            || parsed.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
            || load.as_ref().is_some_and(|load| !load.ok)
            || load::is_unknown_command(stdout)
            || load::is_unknown_command(stderr)
            || load::is_refused_command(code, stderr),
        diagnostics: parsed.diagnostics,
        exception: parsed.exception,
        load,
        ..Verdict::default()
    }
}

/// Without the colors and links that a compiler was told to put in.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    match process::output::text::strip_escapes(text.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Whether code typed at GHCi's prompt loads modules.
pub(crate) fn loads(code: &str) -> bool {
    load::loads(code)
}

impl Diagnostic {
    /// One line: place, severity, code and the first line of the message.
    pub fn summary(&self) -> String {
        let mut line = String::new();
        match (&self.file, self.source) {
            (Some(file), _) => line.push_str(file),
            (None, Source::Interactive) => line.push_str("<interactive>"),
            (None, Source::File) => {}
        }
        if let (Some(row), Some(column)) = (self.line, self.column) {
            line.push_str(&format!(":{row}:{column}"));
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "note",
        });
        if let Some(code) = &self.code {
            line.push_str(&format!(" [{code}]"));
        }
        if let Some(flag) = &self.flag {
            line.push_str(&format!(" [{flag}]"));
        }
        line.push_str(": ");
        let first = self.message.lines().next().unwrap_or_default();
        line.push_str(first.strip_prefix("• ").unwrap_or(first));
        line
    }

    /// The whole message as a compiler would print it: the summary's head, the body indented, the hints.
    pub fn full(&self) -> String {
        let mut text = self.summary();
        for line in self.message.lines().skip(1) {
            text.push_str("\n    ");
            text.push_str(line.strip_prefix("• ").unwrap_or(line));
        }
        for hint in self.hints.iter().filter(|hint| !self.message.contains(hint.as_str())) {
            text.push_str("\n    Hint: ");
            text.push_str(&hint.replace('\n', "\n    "));
        }
        text
    }
}
