//! A compiler message: its stable data type, and its form for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A compiler message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// The file, as the compiler names it; absent for code typed at the prompt and for messages without a location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The first column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The last column, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
    /// The severity.
    pub severity: Severity,
    /// The compiler's code, such as `GHC-88464`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The warning flag, such as `-Wunused-imports`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// The message.
    pub message: String,
    /// The compiler's suggestions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The origin of the code: the prompt or a file.
    pub source: Source,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// An error: nothing runs.
    Error,
    /// A warning.
    Warning,
    /// Information.
    Info,
}

/// The origin of a diagnostic's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Code typed at the prompt.
    Interactive,
    /// A file.
    File,
}

impl Diagnostic {
    /// Formats one line: location, severity, code and the first line of the message.
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

    /// Returns the whole message as a compiler would print it: the summary's head, the body indented, the hints.
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

    /// Returns true if the message is about this file. GHC writes `./A.hs` and `A.hs` for the same one.
    pub fn is_about(&self, file: &str) -> bool {
        self.file.as_deref().is_some_and(|own| without_dot(own) == without_dot(file))
    }
}

/// Returns a path without a leading `./`.
pub(crate) fn without_dot(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}
