//! Output for people: text to stdout, messages to stderr, colours only on a terminal.
//!
//! Much of it is untrusted: output of programs, names, paths, mail. None of it may control a terminal: control characters are
//! escaped as `\x1b`, also in pipes, since a terminal may be behind one. Only data for programs (a formatted file, a
//! program's own output) goes into a pipe unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::ContextValue;
use project::visible::{self, visible};

use crate::exit::Failure;

/// A colour or weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Green,
    Yellow,
    Red,
    Bold,
    Dim,
}

/// The reason why output was lost.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// True if stdout was closed when the program started. Before `main`, Rust's runtime replaces closed descriptors with
/// /dev/null, where every write succeeds and is lost.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// This runs before that runtime starts, because functions in this section run first.
#[expect(unsafe_code, reason = "placing a function in .init_array is unsafe")]
#[used]
// SAFETY: the section holds functions of this signature, and this one makes one system call and stores one value.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        WAS_CLOSED.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
    }
    look
};

/// Writes data to stdout: unchanged, unless it is a terminal.
pub(crate) fn print(text: &str) {
    if io::stdout().is_terminal() { write(&harmless(text)) } else { write(text) }
}

/// Writes a program's output to stdout: its bytes, unless it is a terminal.
pub(crate) fn print_bytes(bytes: &[u8]) {
    if io::stdout().is_terminal() { write(&harmless(&String::from_utf8_lossy(bytes))) } else { write_bytes(bytes) }
}

/// Writes text; [`lost_output`] records a failure.
fn write(text: &str) {
    write_bytes(text.as_bytes());
}

fn write_bytes(bytes: &[u8]) {
    if WAS_CLOSED.load(Ordering::Relaxed) {
        // Treat it as if the reader had closed the pipe.
        let _ = LOST.set(io::Error::new(io::ErrorKind::BrokenPipe, "standard output was closed from the start"));
        return;
    }
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(bytes).and_then(|()| out.flush()) {
        // Keep the first error; later ones are consequences.
        let _ = LOST.set(error);
    }
}

/// Returns why output was lost, if any was. Check it before a permanent change that requires the output to have been shown.
pub(crate) fn lost_output() -> Option<&'static io::Error> {
    LOST.get()
}

/// Writes a line to stdout.
pub(crate) fn line(text: impl AsRef<str>) {
    write(&format!("{}\n", harmless(text.as_ref())));
}

/// Writes a value to stdout as JSON, which has an escape for every control character.
pub(crate) fn json(value: &serde_json::Value) {
    let mut text = String::new();
    for c in format!("{value:#}\n").chars() {
        match c {
            '\n' => text.push(c),
            c if c.is_control() || visible::is_hidden(c) => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(text, "\\u{unit:04x}"));
            }
            c => text.push(c),
        }
    }
    write(&text);
}

/// Writes an escaped line to stderr.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(text.as_ref()));
}

/// Writes an escaped question to stderr, after which the answer is typed.
pub(crate) fn ask(text: &str) {
    let _ = write!(std::io::stderr().lock(), "{}", harmless(text));
}

/// Writes a failure to stderr: the message, then the hints.
pub(crate) fn report(failure: &Failure) {
    let label = paint_for(std::io::stderr().is_terminal(), "error:", Style::Red);
    // The message of a program, such as GHC, may begin with the same word.
    let message = failure.message.trim_end();
    let mut text = format!("{label} {}", message.strip_prefix("error: ").unwrap_or(message));
    for hint in &failure.hints {
        text.push_str("\n  ");
        text.push_str(&hint.trim_end().replace('\n', "\n  "));
    }
    note(text);
}

/// Applies a style to a text, if stderr shows styles.
pub(crate) fn paint_note(text: &str, style: Style) -> String {
    paint_for(std::io::stderr().is_terminal(), text, style)
}

/// Applies a style to a text, if stdout shows styles.
pub(crate) fn paint(text: &str, style: Style) -> String {
    paint_for(std::io::stdout().is_terminal(), text, style)
}

/// Prints a result of the command line parser: help and the version to stdout, usage errors to stderr. Arguments are escaped
/// to one line: a shell also expands names of a checkout's files (`hob cure check *`).
pub(crate) fn answer(mut error: clap::Error) {
    let context: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in context {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(visible(&text)),
            ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(|text| visible(text)).collect()),
            // Suggestions, one per line.
            ContextValue::StyledStrs(texts) => {
                let lines = texts.iter().map(|text| text.ansi().to_string().replace('\n', "\\n").into());
                ContextValue::StyledStrs(lines.collect())
            }
            value => value,
        };
        error.insert(kind, value);
    }
    let terminal = if error.use_stderr() { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let rendered = error.render();
    let text = if terminal && wants_colour() { rendered.ansi().to_string() } else { rendered.to_string() };
    if error.use_stderr() {
        _ = io::stderr().lock().write_all(harmless(&text).as_bytes())
    } else {
        write(&harmless(&text))
    }
}

/// Escapes everything that a terminal would interpret or hide, except line ends, tabs, and hob's own styles.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control() && !visible::is_hidden(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let length = match (c, own_style(rest)) {
            (_, Some(style)) => {
                shown.push_str(style);
                style.len()
            }
            ('\n' | '\t', _) => {
                shown.push(c);
                1
            }
            // A Windows line end.
            ('\r', _) if rest.starts_with("\r\n") => 1,
            _ => {
                visible::push_visible(&mut shown, before, c);
                c.len_utf8()
            }
        };
        before = c;
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// All escape sequences that hob itself writes: [`paint`], the compiler's messages, and the help. Others can hide text, such as
/// black on black.
const OWN_STYLES: [&str; 11] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[4m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[91m",
    "\u{1b}[92m",
    "\u{1b}[94m",
    "\u{1b}[96m",
];

/// Returns hob's own style sequence at the start of the text.
fn own_style(text: &str) -> Option<&'static str> {
    OWN_STYLES.into_iter().find(|style| text.starts_with(style))
}

fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn paint_for(terminal: bool, text: &str, style: Style) -> String {
    if !terminal || !wants_colour() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_drives_a_terminal() {
        let hostile =
            "a\u{1b}[2J\u{1b}]0;title\u{7}\rb\u{8}\u{0}\u{7f}\u{9b}31m\u{1b}[8mhidden\u{202e}\tλ🙂\r\nend\u{1b}";
        let shown = "a\\x1b[2J\\x1b]0;title\\x07\\x0db\\x08\\x00\\x7f\\u{9b}31m\\x1b[8mhidden\\u{202e}\tλ🙂\nend\\x1b";
        assert_eq!(harmless(hostile), shown);
        assert!(matches!(harmless("plain\ttext\n"), Cow::Borrowed(_)));
        for style in [Style::Green, Style::Yellow, Style::Red, Style::Bold, Style::Dim] {
            let painted = paint_for(true, "x", style);
            assert!(painted == "x" || harmless(&painted) == painted, "{painted:?}");
        }
        // Foreign colours, which may hide text: black, white, concealed.
        for other in ["30m", "97m", "38;5;0m", "38;5;1;8m", "1;31m", "8m", "01m", "m", "31", "31;m"] {
            let hidden = format!("\u{1b}[{other}x");
            assert_eq!(harmless(&hidden), format!("\\x1b[{other}x"));
        }
    }

    #[test]
    fn all_colours_of_hob_itself_are_shown() {
        let text = "module A do\n  def f(): Int = g(true)\n  def g(x: Int): Int = y\nend\n";
        let diagnostics = cure::compile(text, &cure::NoSources).diagnostics;
        let lines = cure::diagnostic::Lines::new(text);
        let compiler = diagnostics.iter().map(|one| one.render("a.cure", &lines, true));
        let mut line = crate::commands::help::laid_out(<crate::Cli as clap::CommandFactory>::command());
        let help = line.render_long_help().ansi().to_string();
        let wrong = line.try_get_matches_from_mut(["hob", "stop", "--projec"]).unwrap_err().render().ansi().to_string();
        for painted in compiler.chain([help, wrong]) {
            assert!(painted.contains('\u{1b}') && harmless(&painted) == painted, "{painted:?}");
        }
    }
}
