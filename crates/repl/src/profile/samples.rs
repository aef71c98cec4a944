//! Code that shows that a profile works: the `[check]` table, for `hob repl check`.

use serde::Deserialize;

/// The `[check]` table of a profile. A pair is code and what it prints, or its value, without spaces at the ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Samples {
    /// A value, such as a sum. Evaluated again after each interrupt.
    pub value: Option<[String; 2]>,
    /// Code of several lines.
    pub lines: Option<[String; 2]>,
    /// Output without a newline at its end.
    pub partial: Option<[String; 2]>,
    /// Output on standard error.
    pub stderr: Option<[String; 2]>,
    /// Code that fails.
    pub error: Option<String>,
    /// Code that reads a line from standard input; the output for the line `hob`.
    pub input: Option<[String; 2]>,
    /// Code that runs until it is interrupted.
    pub endless: Vec<String>,
    /// Code that ends the program with status 3.
    pub exit: Option<String>,
}
