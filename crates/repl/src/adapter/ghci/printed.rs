//! What an evaluation in GHCi came to, judged by what it printed alone: where GHCi itself is not heard (see
//! [`super::report`]), a program can print the same words.

use std::borrow::Cow;

use diagnostics::Severity;
use diagnostics::ghc::{Parsed, parse};

use super::super::Verdict;
use super::load;

/// Judges an evaluation by its output: its errors, and the load that it ended, if it was one.
pub(super) fn judge(code: &str, stdout: &str, stderr: &str) -> Verdict {
    // The text of an exception is kept as it is.
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

/// The text without colors and links that a compiler was told to add.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    match process::output::text::strip_escapes(text.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
