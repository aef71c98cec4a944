//! `hob eval`: evaluates code in a session. The code's output is printed like a program's, and the exit code reports how the
//! evaluation ended. The evaluation does not depend on this process: Ctrl-C interrupts it. If this process is killed, code
//! that has not started is withdrawn, because running it later would be unexpected.

mod attach;
mod output;
mod signals;
mod terminal_input;

use std::cell::RefCell;
use std::io::{IsTerminal, Read};
use std::time::{Duration, Instant};

use clap::Args;
use client::Control;
use project::Project;
use serde_json::{Map, Value, json};

pub(crate) use self::attach::Attach;
use self::output::Printed;
use self::signals::Signals;
use self::terminal_input::{Line, Typed};
use super::call::command_texts::{in_commands, in_flags_of};
use super::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint_note};

/// Evaluate code in a live REPL that keeps its state between calls
#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The code; read from stdin if it is `-` or omitted; required at a terminal
    #[arg(value_name = "CODE", allow_negative_numbers = true)]
    code: Option<String>,
    /// The session [default: the session of this worktree]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The profile for a new session: ghci, cabal, stack, python, node, bash, sqlite3, lua, ruby, r, gdb, terminal, or one of your own
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Return after this many seconds, even if the evaluation still runs [default: wait until it has ended]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    wait: Option<u32>,
    /// Pass this command's stdin to the code, up to its end [default: stdin is not read]
    #[arg(long, requires = "code")]
    stdin: bool,
    /// Print JSON: the result of the tool, with output shortened as for an agent
    #[arg(long)]
    json: bool,
    /// The last message about the reason for waiting, so that it is printed once.
    #[arg(skip)]
    said: RefCell<Option<String>>,
}

/// The arguments of `repl_eval` that are also flags here.
const FLAGS: [&str; 3] = ["session", "profile", "stdin"];
/// The start of the note about replaced bytes.
const REPLACED: &str = "Some bytes are not UTF-8 and are shown as";
/// The timeout of one call: Ctrl-C is noticed between calls.
const SLICE: Duration = Duration::from_millis(200);
/// The time after which a slow session start is reported, in milliseconds.
const LONG_START_MS: f64 = 6_000.0;
/// The limit of output on standard error and in JSON, in bytes.
const MAX_BYTES: usize = 200_000;
/// The limit of stdin, in bytes.
const STDIN_MAX: u64 = 64 << 20;

/// Replaces tool names and arguments in an error with commands and the flags of `hob eval`.
fn in_own_flags(text: &str) -> String {
    in_flags_of(text, &FLAGS)
        .replace("leave `--profile` and `command` out", "leave `--profile` out")
        .replace("`hob call repl_start` or `hob call repl_eval`", "`hob eval`")
}

impl Eval {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let code = self.code()?;
        let stdin = self.stdin.then(|| read("the code's input")).transpose()?;
        let mut hello = current_project::hello(project)?;
        hello.toolsets = vec!["all".to_owned()];
        let mut control = current_project::connect_or_start(project, &hello)?;
        let mut printed = (!self.json).then(Printed::default);
        let result = self.evaluate(&mut control, code, stdin, printed.as_mut(), &Signals::listen()?)?;
        let evaluation = &result["structuredContent"];
        if self.json || result["isError"] == true {
            let exit = finish(&result, self.json)
                .map_err(|failure| Failure { message: in_own_flags(&failure.message), ..failure })?;
            return Ok(if exit == Exit::Done { Exit::of_evaluation(evaluation) } else { exit });
        }
        let printed = printed.unwrap_or_default();
        self.show(evaluation, &printed);
        match printed.missing {
            0 => Ok(Exit::of_evaluation(evaluation)),
            missing => Err(Failure::new(format_args!("{missing} bytes of the output were dropped and are not shown"))
                .hint("Raise `limits.output_file` in hob.toml to keep more of a session's output.")),
        }
    }

    /// Returns the evaluation of code that is typed into an attached session.
    fn in_session(session: &str) -> Eval {
        Eval {
            code: None,
            session: Some(session.to_owned()),
            profile: None,
            wait: None,
            stdin: false,
            json: false,
            said: RefCell::default(),
        }
    }

    /// Evaluates code and shows the result.
    fn attached(&self, control: &mut Control, code: String, told: &Signals) -> Result<(), Failure> {
        let mut printed = Printed::default();
        let result = self.evaluate(control, code, None, Some(&mut printed), told)?;
        if result["isError"] == true {
            return finish(&result, false).map(drop);
        }
        self.show(&result["structuredContent"], &printed);
        Ok(())
    }

    fn code(&self) -> Result<String, Failure> {
        let nothing = || {
            Failure::new("no code to evaluate")
                .hint("Write `hob eval 'CODE'`, or pipe it in: `echo '1+1' | hob eval`.")
                .exit(Exit::Usage)
        };
        match self.code.as_deref() {
            Some("-") if self.stdin => {
                Err(Failure::new("stdin cannot be both the code and its input").exit(Exit::Usage))
            }
            Some("-") => read("the code"),
            Some(code) => Ok(code.to_owned()),
            None if std::io::stdin().is_terminal() => Err(nothing()),
            // Without an argument, empty stdin is an error: a script may have lost its argument.
            None => Some(read("the code")?).filter(|code| !code.trim().is_empty()).ok_or_else(nothing),
        }
    }

    /// Evaluates and waits; returns the result of the last tool call.
    fn evaluate(
        &self,
        control: &mut Control,
        code: String,
        stdin: Option<String>,
        mut printed: Option<&mut Printed>,
        told: &Signals,
    ) -> Result<Value, Failure> {
        let end = self.wait.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds.into())));
        let left = || end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE));
        let (session, profile) = (&self.session, &self.profile);
        let arguments = json!({
            "code": code, "session": session, "profile": profile, "wait_ms": millis(left()), "max_bytes": MAX_BYTES,
            "stdin": stdin,
        });
        let mut result = call(control, "repl_eval", arguments)?;
        let notes = result["structuredContent"]["notes"].clone();
        let of =
            json!({"session": result["structuredContent"]["session"], "eval": result["structuredContent"]["eval"]});
        if status(&result) == "starting" && !left().is_zero() && std::io::stderr().is_terminal() {
            terminal::note(paint_note("The session starts …", Style::Dim));
        }
        if !left().is_zero() {
            self.tell_behind(&result["structuredContent"]);
        }
        let follow = |control: &mut Control, result: &Value, printed: &mut Option<&mut Printed>| match printed {
            Some(printed) if result["isError"] != true => {
                // A program may print without end, and faster than this command.
                let is_over = || runs(result) && (left().is_zero() || told.to_end() || told.to_interrupt());
                printed.follow(control, &of, is_over)
            }
            _ => Ok(()),
        };
        let mut typed = self.takes_what_is_typed().then(Typed::default);
        loop {
            let waits_for_input = typed.is_some() && status(&result) == "waiting_for_input";
            if !(runs(&result) || waits_for_input) || left().is_zero() {
                break;
            }
            // Before a person sees the question.
            if let Some(keyboard) = typed.as_mut().filter(|_| waits_for_input) {
                keyboard.hide(asks_for_secret(&result["structuredContent"]));
            }
            follow(control, &result, &mut printed)?;
            let waits = matches!(status(&result), "queued" | "starting");
            if told.to_end() && !waits {
                break;
            }
            // The reader is gone; an ordinary program would be killed by SIGPIPE.
            let is_unread = terminal::lost_output().is_some();
            if told.to_end() || told.to_interrupt() || is_unread {
                let mut answer = call(control, "repl_interrupt", of.clone())?;
                result = call(control, "repl_wait", with(&of, Duration::ZERO))?;
                // bash ignores a signal that comes while it starts a program. A person may repeat it.
                if runs(&result) && is_unread {
                    answer = call(control, "repl_interrupt", of.clone())?;
                    result = call(control, "repl_wait", with(&of, Duration::ZERO))?;
                }
                if runs(&result) {
                    terminal::note(in_commands(text(&answer)));
                }
                break;
            }
            if let Some(keyboard) = typed.as_mut().filter(|_| waits_for_input) {
                if let Some(printed) = &mut printed {
                    printed.ask(result["structuredContent"]["stderr"].as_str().unwrap_or_default());
                }
                // The prompt of a program leaves the cursor in the middle of a line.
                keyboard.begin(printed.as_ref().is_some_and(|printed| printed.is_in_a_line()));
                match keyboard.line(SLICE)? {
                    Line::None => {}
                    Line::End => typed = None,
                    Line::Typed(line) => {
                        keyboard.hide(false);
                        let answer = call(control, "repl_input", with_text(&of, line))?;
                        if answer["isError"] == true {
                            terminal::note(in_commands(text(&answer)));
                        }
                    }
                }
            }
            let asked = Instant::now();
            result = call(control, "repl_wait", with(&of, left()))?;
            self.tell_starting(&result["structuredContent"]);
            if status(&result) == "queued" {
                self.tell_behind(&result["structuredContent"]);
                // A call returns at once if the evaluation is queued behind one that waits for input.
                std::thread::sleep(left().saturating_sub(asked.elapsed()));
            }
        }
        follow(control, &result, &mut printed)?;
        // Notes that only the first answer contains.
        if let (Value::Array(notes), Value::Object(evaluation)) = (notes, &mut result["structuredContent"]) {
            let all = evaluation.entry("notes").or_insert_with(|| json!([]));
            if let Some(all) = all.as_array_mut() {
                let new: Vec<Value> = notes.into_iter().filter(|note| !all.contains(note)).collect();
                all.splice(0..0, new);
            }
        }
        Ok(result)
    }

    /// Reports the reason for waiting, unless it was just reported.
    fn tell_behind(&self, evaluation: &Value) {
        let Some(behind) = self.describe_queue(evaluation).filter(|behind| self.said.borrow().as_ref() != Some(behind))
        else {
            return;
        };
        terminal::note(paint_note(&behind, Style::Dim));
        *self.said.borrow_mut() = Some(behind);
    }

    /// Reports once that the session is slow to start: its program may never reach a prompt.
    fn tell_starting(&self, evaluation: &Value) {
        let Some(starting) = evaluation["starting"].as_object() else { return };
        let text = |field: &str| project::visible(starting.get(field).and_then(Value::as_str).unwrap_or_default());
        let ms = starting.get("duration_ms").and_then(Value::as_f64).unwrap_or_default();
        if ms < LONG_START_MS || self.said.borrow().is_some() {
            return;
        }
        let printed = match text("printed") {
            printed if printed.is_empty() => "its program has printed nothing yet".to_owned(),
            printed => format!("the last output of its program: `{printed}`"),
        };
        let session = self.session.as_ref().map(|name| format!(" --session {name}")).unwrap_or_default();
        let note = format!(
            "The session is still starting (`{}`, for {:.0} s); {printed}. `hob call repl_stop{session}` ends it.",
            text("profile"),
            ms / 1000.0
        );
        terminal::note(paint_note(&note, Style::Dim));
        *self.said.borrow_mut() = Some(note);
    }

    /// True if typed lines go to the program when it asks for input.
    fn takes_what_is_typed(&self) -> bool {
        let is_at_a_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        is_at_a_terminal && !self.json && !self.stdin && self.wait.is_none()
    }

    /// Prints an evaluation for people: the output to stdout, and the rest to stderr.
    fn show(&self, evaluation: &Value, printed: &Printed) {
        let text = |field: &str| evaluation[field].as_str().unwrap_or_default();
        let terminal = std::io::stderr().is_terminal();
        let between: Vec<&str> =
            ["stdout", "stderr"].iter().filter_map(|stream| evaluation["between"][stream].as_str()).collect();
        if !between.is_empty() {
            let heading = |title| paint_note(title, Style::Dim);
            terminal::note(format!(
                "{}\n{}",
                heading("[printed since the previous evaluation]"),
                between.concat().trim_end()
            ));
            terminal::note(heading("[this evaluation]"));
        }
        let (stderr, exception) = (printed.rest(text("stderr")), text("exception"));
        let value = evaluation["value"].as_str();
        // Piped data stays unchanged: nothing is appended to it.
        let goes_on = value.is_some() || std::io::stdout().is_terminal();
        if goes_on && printed.is_in_a_line() {
            terminal::print("\n");
        }
        if !stderr.trim_end().is_empty() {
            let coloured = evaluation["diagnostics"].as_array().is_some_and(|list| !list.is_empty());
            terminal::note(if coloured { with_colours(stderr.trim_end()) } else { stderr.trim_end().to_owned() });
        }
        if !exception.is_empty() && !stderr.contains(exception.lines().next().unwrap_or_default()) {
            terminal::note(exception);
        }
        if let Some(value) = value {
            terminal::line(value);
        }
        for picture in evaluation["pictures"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            terminal::note(format!("Picture: {picture}"));
        }
        if terminal {
            terminal::note(paint_note(&facts(evaluation), Style::Dim));
        }
        // The note is about the text of the answer; a pipe gets the original bytes.
        let is_untrue = |note: &&str| !std::io::stdout().is_terminal() && note.starts_with(REPLACED);
        let notes = evaluation["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for note in notes.filter(|note| !is_untrue(note)) {
            terminal::note(paint_note(&in_flags_of(note, &FLAGS), Style::Dim));
        }
        self.next(evaluation).into_iter().for_each(terminal::note);
    }

    /// Suggests what to type next, if anything is left to do.
    fn next(&self, evaluation: &Value) -> Vec<String> {
        let session = self.session.as_ref().map(|name| format!(" --session {name}")).unwrap_or_default();
        let eval = format!("--eval {}{session}", evaluation["eval"]);
        let stderr = &evaluation["truncated"]["stderr"];
        let rest = stderr["shown"].as_u64() < stderr["total"].as_u64();
        let rest = rest.then(|| format!("Not all of its stderr is shown; `hob call repl_read {eval}` has the rest."));
        let state = if evaluation["status"] == "queued" { "queued" } else { "still running" };
        let how = match Exit::of_evaluation(evaluation) {
            Exit::EvalRuns if evaluation["status"] == "waiting_for_input" => Some(format!(
                "It waits for input: `hob call repl_input {eval} --text $'LINE\\n'` answers, `hob call repl_interrupt {eval}` \
                 stops it.{}",
                if self.stdin { "" } else { " With `--stdin`, `hob eval` passes its stdin to the code." }
            )),
            Exit::EvalRuns => Some(format!(
                "It is {state}: `hob call repl_wait {eval}` waits for it, `hob call repl_interrupt {eval}` \
                 stops it."
            )),
            Exit::EvalEnded => Some(format!("`hob call repl_restart{session}` starts a new one.")),
            _ => None,
        };
        let behind = self.describe_queue(evaluation).filter(|behind| self.said.borrow().as_ref() != Some(behind));
        rest.into_iter().chain(behind).chain(how).collect()
    }

    /// Describes the evaluation ahead of a queued one.
    fn describe_queue(&self, evaluation: &Value) -> Option<String> {
        let behind = evaluation["behind"].as_object()?;
        let session = self.session.as_ref().map(|name| format!(" --session {name}")).unwrap_or_default();
        let status = behind["status"].as_str().unwrap_or_default().replace('_', " ");
        let (number, code) = (&behind["eval"], behind["code"].as_str().unwrap_or_default());
        let to_answer = match &*status {
            "waiting for input" => {
                format!("`hob call repl_input --eval {number}{session} --text $'LINE\\n'` answers it, ")
            }
            _ => String::new(),
        };
        let to_end = format!("`hob call repl_interrupt --eval {number}{session}` ends that one");
        Some(format!("It waits behind #{number} (`{}`, {status}): {to_answer}{to_end}.", project::visible(code)))
    }
}

/// Reads all of stdin.
fn read(what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(STDIN_MAX + 1).read_to_string(&mut text);
    let bytes = read.map_err(|error| Failure::new(format_args!("cannot read {what} from stdin: {error}")))?;
    if bytes as u64 > STDIN_MAX {
        let hint = "Write it to a file, and let the code open the file.";
        return Err(Failure::new(format_args!("{what} on stdin is larger than 64 MiB")).hint(hint));
    }
    Ok(text)
}

/// Calls a tool, omitting null arguments.
fn call(control: &mut Control, tool: &str, arguments: Value) -> Result<Value, Failure> {
    let arguments: Map<String, Value> = match arguments {
        Value::Object(arguments) => arguments.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    };
    control.call(tool, arguments, |_| {}, |_, _| {}).map_err(control_failure)
}

fn with(evaluation: &Value, wait: Duration) -> Value {
    let mut arguments = evaluation.clone();
    arguments["wait_ms"] = millis(wait).into();
    arguments["max_bytes"] = MAX_BYTES.into();
    arguments
}

fn with_text(evaluation: &Value, text: String) -> Value {
    let mut arguments = evaluation.clone();
    arguments["wait_ms"] = 0.into();
    arguments["text"] = text.into();
    arguments
}

/// Returns true if the output ends with a question for a password.
fn asks_for_secret(evaluation: &Value) -> bool {
    ["stdout", "stderr"].iter().filter_map(|stream| evaluation[stream].as_str()).any(|output| {
        let question = output.rsplit('\n').next().unwrap_or_default().to_lowercase();
        question.trim_end().ends_with(':') && ["password", "passphrase"].iter().any(|word| question.contains(word))
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// True if waiting can change the result.
fn runs(result: &Value) -> bool {
    Exit::of_evaluation(&result["structuredContent"]) == Exit::EvalRuns && status(result) != "waiting_for_input"
}

fn status(result: &Value) -> &str {
    result["structuredContent"]["status"].as_str().unwrap_or_default()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// Renders the status line that a model reads in brackets.
fn facts(evaluation: &Value) -> String {
    let status = evaluation["status"].as_str().unwrap_or_default().replace('_', " ");
    let took = match evaluation["duration_ms"].as_f64() {
        Some(ms) if ms >= 10_000.0 => format!(", {:.1} s", ms / 1000.0),
        Some(ms) if ms > 0.0 => format!(", {ms:.0} ms"),
        _ => String::new(),
    };
    format!("[{} #{}: {status}{took}]", evaluation["session"].as_str().unwrap_or_default(), evaluation["eval"])
}

/// Adds a compiler's usual colours to its messages.
fn with_colours(messages: &str) -> String {
    let line = |line: &str| {
        for (word, style) in [("error", Style::Red), ("warning", Style::Yellow)] {
            // For example: `A.hs:3:5-9: error: …`
            let Some((place, rest)) = line.split_once(&format!(": {word}:")) else { continue };
            if place.contains(':') && place.ends_with(|c: char| c.is_ascii_digit() || c == ')') {
                return format!("{}: {}:{rest}", paint_note(place, Style::Bold), paint_note(word, style));
            }
        }
        line.to_owned()
    };
    messages.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_to_do_names_the_session() {
        let eval = |session: Option<&str>| Eval { session: session.map(str::to_owned), ..Eval::in_session("main") };
        let says = |session, evaluation: Value| eval(session).next(&evaluation).join("\n");
        assert_eq!(says(None, json!({"eval": 3, "status": "done"})), "");
        assert_eq!(
            says(Some("b"), json!({"eval": 3, "status": "running", "truncated": {"stderr": {"total": 2, "shown": 1}}})),
            "Not all of its stderr is shown; `hob call repl_read --eval 3 --session b` has the rest.\nIt is still \
             running: `hob call repl_wait --eval 3 --session b` waits for it, `hob call repl_interrupt --eval 3 \
             --session b` stops it."
        );
        assert_eq!(says(None, json!({"eval": 3, "status": "exited"})), "`hob call repl_restart` starts a new one.");
    }

    #[test]
    fn facts_as_a_model_reads_them() {
        let evaluation = json!({"session": "main", "eval": 3, "status": "waiting_for_input", "duration_ms": 310.4});
        assert_eq!(facts(&evaluation), "[main #3: waiting for input, 310 ms]");
    }
}
