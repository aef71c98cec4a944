//! What people see: text to stdout, messages to stderr, colour only where a terminal shows it.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use crate::exit::Failure;

/// A colour or weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Good.
    Green,
    /// Worth a look.
    Yellow,
    /// Bad.
    Red,
    /// Stands out.
    Bold,
    /// Stands back.
    Dim,
}

/// Why something that was to be shown is lost.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Writes a text to stdout. What cannot be written is on record in [`lost`].
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The first error tells why; those after it only that it is still so.
        let _ = LOST.set(error);
    }
}

/// Why something that was to be shown is lost, if anything is. Whoever changes something for good because it was shown
/// asks first.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

/// Writes a line to stdout.
pub(crate) fn line(text: impl AsRef<str>) {
    print(&format!("{}\n", text.as_ref()));
}

/// Writes a line to stderr.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
}

/// Writes a failure to stderr: what happened, then what to do next.
pub(crate) fn report(failure: &Failure) {
    let label = paint_for(std::io::stderr().is_terminal(), "error:", Style::Red);
    let mut text = format!("{label} {}", failure.message.trim_end());
    for hint in &failure.hints {
        text.push_str("\n  ");
        text.push_str(&hint.trim_end().replace('\n', "\n  "));
    }
    note(text);
}

/// The text standing back, if stderr shows it.
pub(crate) fn dim_note(text: &str) -> String {
    paint_for(std::io::stderr().is_terminal(), text, Style::Dim)
}

/// The text in a style, if stdout shows it.
pub(crate) fn paint(text: &str, style: Style) -> String {
    paint_for(std::io::stdout().is_terminal(), text, style)
}

fn paint_for(terminal: bool, text: &str, style: Style) -> String {
    let wanted = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if !wanted {
        return text.to_owned();
    }
    let code = match style {
        Style::Green => 32,
        Style::Yellow => 33,
        Style::Red => 31,
        Style::Bold => 1,
        Style::Dim => 2,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
