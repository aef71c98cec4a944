//! `hob attach`: a person in a session, with line editing and history. Ctrl-C interrupts the evaluation, Ctrl-D detaches; the
//! session goes on.

use std::io::{ErrorKind, IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use client::Control;
use project::Project;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};
use serde_json::{Value, json};

use super::signals::Signals;
use super::terminal_input::{Line, Typed};
use super::{Eval, call, in_own_flags, text};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint_note};

/// Type into a session at your terminal, next to the agents that use it
#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The session [default: the session of this worktree]
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// The profile for a new session: ghci, cabal, stack, python, node, bash, sqlite3, lua, ruby, r, gdb, terminal, or one of your own
    #[arg(long, value_name = "NAME", conflicts_with = "read_only")]
    profile: Option<String>,
    /// Only show what the session prints, as it comes
    #[arg(long)]
    read_only: bool,
}

/// The number of lines kept in the history.
const HISTORY: usize = 1000;
/// The file with the history, in the project's state directory.
const HISTORY_FILE: &str = "attach-history";
/// The interval between two looks at new output.
const LOOK: Duration = Duration::from_millis(200);
/// The number of bytes of earlier output that a reader is shown.
const EARLIER: usize = 2000;

impl Attach {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Err(Failure::new("`hob attach` needs a terminal")
                .hint("`hob eval` evaluates code without one.")
                .exit(Exit::Usage));
        }
        let mut hello = current_project::hello(project)?;
        hello.toolsets = vec!["all".to_owned()];
        let mut control = current_project::connect_or_start(project, &hello)?;
        if self.read_only {
            return watch(&mut control, self.session.as_deref());
        }
        let asked = json!({ "session": self.session, "profile": self.profile });
        let started = call(&mut control, "repl_start", asked)?;
        if started["isError"] == true {
            return Err(refused(&started));
        }
        let told = |field: &str| started["structuredContent"][field].as_str().unwrap_or_default().to_owned();
        let (session, profile) = (told("session"), told("profile"));
        terminal::note(text(&started));
        terminal::note(paint_note("Ctrl-C interrupts, Ctrl-D detaches.", Style::Dim));
        let history = project.state_dir().join(HISTORY_FILE);
        let failed = |error: ReadlineError| Failure::new(format_args!("cannot read the terminal: {error}"));
        let config = Config::builder().max_history_size(HISTORY).map_err(failed)?.build();
        let mut editor: Editor<Lines, FileHistory> = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Lines { profile }));
        // The file does not exist yet the first time.
        let _ = editor.load_history(&history);
        let signals = Signals::listen()?;
        let is_at_prompt = end_at_prompt(&signals, &session);
        let prompt = format!("{session}> ");
        loop {
            is_at_prompt.store(true, Ordering::SeqCst);
            let line = editor.readline(&prompt);
            is_at_prompt.store(false, Ordering::SeqCst);
            if signals.to_end() {
                break;
            }
            match line {
                Ok(code) if code.trim().is_empty() => {}
                Ok(code) => {
                    // A line that cannot be added is not in the history.
                    let _ = editor.add_history_entry(&code);
                    // A signal may end this command at any prompt.
                    let _ = editor.save_history(&history);
                    signals.reset();
                    if let Err(failure) = Eval::in_session(&session).attached(&mut control, code, &signals) {
                        match failure.exit {
                            Exit::ToolError => terminal::report(&failure),
                            _ => return Err(failure),
                        }
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                // Were this the end, the shell would run the rest of what was pasted.
                Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                    terminal::note("A line that is not valid UTF-8 was skipped.");
                }
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(failed(error)),
            }
            if signals.to_end() {
                break;
            }
        }
        if let Err(error) = editor.save_history(&history) {
            terminal::note(format!("The history was not saved: {error}"));
        }
        terminal::note(detached(&session));
        Ok(Exit::Done)
    }
}

fn detached(session: &str) -> String {
    format!("Detached; {session} continues.")
}

/// Ends this process after a kill or a hangup at the prompt, where the line editor ignores signals. The caller sets the returned
/// flag while the prompt waits, and checks the signals after it.
fn end_at_prompt(signals: &Signals, session: &str) -> Arc<AtomicBool> {
    let is_at_prompt = Arc::new(AtomicBool::new(false));
    let (signals, flag, text) = (signals.clone(), is_at_prompt.clone(), detached(session));
    let shown = tcgetattr(std::io::stdin());
    thread::spawn(move || {
        while !(signals.to_end() && flag.load(Ordering::SeqCst)) {
            thread::sleep(LOOK);
        }
        // The line editor has put the terminal into raw mode with bracketed paste.
        if let Ok(shown) = shown {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &shown);
            let _ = std::io::stdout().write_all(b"\x1b[?2004l\n");
        }
        terminal::note(text);
        std::process::exit(Exit::Done as i32)
    });
    is_at_prompt
}

/// Converts an error of a tool. The session is an argument without a flag.
fn refused(answer: &Value) -> Failure {
    let message = in_own_flags(text(answer)).replace("`--session`", "SESSION");
    Failure::new(message).exit(Exit::ToolError)
}

/// Shows a session's output as it comes, until Ctrl-D or the end of the session.
fn watch(control: &mut Control, session: Option<&str>) -> Result<Exit, Failure> {
    let read = |control: &mut Control, arguments: Value| {
        let answer = call(control, "repl_read", arguments)?;
        if answer["isError"] == true {
            return Err(refused(&answer));
        }
        Ok(answer["structuredContent"].clone())
    };
    let mut output = read(control, json!({ "session": session, "tail": true, "max_bytes": EARLIER }))?;
    let session = output["session"].clone();
    let is_running = |control: &mut Control| -> Result<bool, Failure> {
        let list = call(control, "repl_list", json!({}))?;
        let mut sessions = list["structuredContent"]["sessions"].as_array().into_iter().flatten();
        Ok(sessions.any(|item| item["here"] == true && item["session"] == session && item["reason"].is_null()))
    };
    let mut runs = is_running(control)?;
    let begin = match runs {
        true => "Output of the session follows. Ctrl-D detaches; the session continues.",
        false => "The session has ended; this is its output.",
    };
    terminal::note(paint_note(begin, Style::Dim));
    let earlier = output["text"].as_str().unwrap_or_default();
    terminal::print(&terminal::harmless(earlier));
    if !runs {
        return Ok(Exit::Done);
    }
    if !earlier.is_empty() {
        let newline = if earlier.ends_with('\n') { "" } else { "\n" };
        terminal::note(format!("{newline}{}", paint_note("[printed before; new output follows]", Style::Dim)));
    }
    output["text"] = Value::Null;
    let mut keyboard = Typed::default();
    while terminal::lost_output().is_none() {
        terminal::print(&terminal::harmless(output["text"].as_str().unwrap_or_default()));
        let wait = if output["more"] == true { Duration::ZERO } else { LOOK };
        if keyboard.line(wait)? == Line::End {
            break;
        }
        let had_ended = !runs;
        output = read(control, json!({ "session": session, "cursor": output["cursor"] }))?;
        if output["text"] == "" {
            if had_ended {
                terminal::note(paint_note("The session has ended.", Style::Dim));
                break;
            }
            runs = is_running(control)?;
        }
    }
    Ok(Exit::Done)
}

/// Decides if the typed lines are complete.
#[derive(Debug)]
struct Lines {
    profile: String,
}

impl Validator for Lines {
    fn validate(&self, cx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let is_complete = is_complete(&self.profile, cx.input());
        Ok(if is_complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Lines {
    type Candidate = String;
}

impl Hinter for Lines {
    type Hint = String;
}

impl Highlighter for Lines {}

impl Helper for Lines {}

/// Returns false if the profile's language needs another line. An empty line ends any code.
fn is_complete(profile: &str, code: &str) -> bool {
    let last = code.rsplit('\n').next().unwrap_or_default().trim_end();
    if code.contains('\n') && last.is_empty() {
        return true;
    }
    if last.ends_with('\\') {
        return false;
    }
    match profile {
        "python" => {
            // A block ends with an empty line.
            let is_block = last.ends_with(':')
                || ["@", "%%"].iter().any(|start| code.starts_with(start))
                || code.lines().any(|line| line.ends_with(':'));
            !is_block && is_balanced(code, "#")
        }
        "node" => is_balanced(code, "//"),
        "ghci" | "cabal" | "stack" => !code.trim_start().starts_with(":{") || last.trim() == ":}",
        "sqlite3" => code.starts_with('.') || last.ends_with(';'),
        _ => true,
    }
}

/// Returns false if a bracket or a quoted text of several lines is open. `comment` begins a comment.
fn is_balanced(code: &str, comment: &str) -> bool {
    let mut open = 0_i32;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with(comment) {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        let quote = ["\"\"\"", "'''", "\"", "'", "`"].into_iter().find(|quote| rest.starts_with(quote));
        if let Some(quote) = quote {
            let (text, after) = quoted(&rest[quote.len()..], quote);
            let is_of_lines = quote.len() == 3 || quote == "`";
            match after {
                // Python and Node refuse a text that a line leaves open.
                None => return !is_of_lines,
                Some(_) if text.contains('\n') && !is_of_lines => return true,
                Some(after) => rest = after,
            }
            continue;
        }
        match first {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open -= 1,
            _ => {}
        }
        rest = &rest[first.len_utf8()..];
    }
    open <= 0
}

/// Splits a text at its end quote: the text, and the rest after it.
fn quoted<'a>(text: &'a str, quote: &str) -> (&'a str, Option<&'a str>) {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next == '\\' {
            at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
        } else if text[at..].starts_with(quote) {
            return (&text[..at], Some(&text[at + quote.len()..]));
        } else {
            at += next.len_utf8();
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_needs_another_line_is_told_by_its_language() {
        for (profile, code) in [
            ("python", "1 + 1"),
            ("python", "f('(')"),
            ("python", "x = 1  # ("),
            ("python", "def f():\n    return 1\n"),
            ("python", "'\\'('"),
            ("python", "print('open"),
            ("node", "const f = (x) => ({ x })"),
            ("node", "`a${1}\nb`"),
            ("ghci", "map (+ 1"),
            ("ghci", ":{\nf = 1\n:}"),
            ("sqlite3", ".tables"),
            ("sqlite3", "select\n1;"),
            ("bash", "for x in 1; do"),
            ("mine", "("),
        ] {
            assert!(is_complete(profile, code), "{profile}: {code}");
        }
        for (profile, code) in [
            ("python", "f("),
            ("python", "def f():"),
            ("python", "if x:\n    y"),
            ("python", "@cache"),
            ("python", "%%bash"),
            ("python", "'''\n'"),
            ("node", "function f() {"),
            ("node", "`a"),
            ("ghci", ":{\nf = 1"),
            ("sqlite3", "select 1"),
            ("bash", "echo a \\"),
        ] {
            assert!(!is_complete(profile, code), "{profile}: {code}");
        }
    }
}
