//! Judges an evaluation in GHCi by its output alone. Used where GHCi itself is not heard (see [`super::report`]); a
//! program can print the same words.

use std::borrow::Cow;

use diagnostics::Severity;
use diagnostics::ghc::{Parsed, parse};

use super::super::Verdict;
use super::load;

/// Judges an evaluation by its output: its errors, and the load that it ended, if any.
pub(super) fn judge(code: &str, stdout: &str, stderr: &str) -> Verdict {
    // The text of an exception is kept unchanged.
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

/// Removes the colors and links that a compiler was told to add.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    match process::output::text::strip_escapes(text.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
