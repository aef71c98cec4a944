//! Writes and parses entries: a program with its arguments, a shell command line, or a plugin.

use std::path::Path;

use serde_json::{Value, json};

use super::{BEFORE_S, Layout, PERSON_S};
use crate::agents::{Agent, Fail};

/// The command of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A program and its arguments.
    Exec { program: String, args: Vec<String> },
    /// A shell command line.
    Shell(String),
}

/// An entry of hob in an agent's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub agent: Agent,
    /// The event in the file's spelling.
    pub event: String,
    pub form: Form,
    /// The timeout in milliseconds, if set.
    pub within_ms: Option<u64>,
    /// True if it uses the agent's own option for failing hooks.
    pub has_switch: bool,
    /// The fail mode on its command line.
    pub fail: Fail,
}

const PLUGIN: &str = include_str!("plugin.js");

/// Returns the text of hob's plugin.
pub(super) fn plugin(program: &str, fail: Fail, events: &[&str]) -> String {
    let set = |text: String, name: &str, from: &str, to: Value| {
        text.replacen(&format!("const {name} = {from}\n"), &format!("const {name} = {to}\n"), 1)
    };
    let text = set(PLUGIN.to_owned(), "PROGRAM", "\"HOB\"", json!(program));
    let text = set(text, "FAIL", "\"open\"", json!(fail.as_str()));
    set(text, "EVENTS", "[]", json!(events))
}

/// Parses the text of hob's plugin: its program, fail mode and events. `None` for another plugin.
pub fn plugin_of(text: &str) -> Option<(String, Fail, Vec<String>)> {
    text.starts_with(PLUGIN.lines().next()?).then_some(())?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("const {name} = ")))?;
        serde_json::from_str::<Value>(line).ok()
    };
    let events = value("EVENTS")?.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Some((value("PROGRAM")?.as_str()?.to_owned(), Fail::named(value("FAIL")?.as_str()?)?, events))
}

/// Returns hob's entries in an agent's file. The file is a JSON value; a plugin is a text.
pub fn installed(agent: Agent, file: &Value) -> Vec<Installed> {
    if agent.layout() == Layout::Plugin {
        let Some((program, fail, events)) = file.as_str().and_then(plugin_of) else { return Vec::new() };
        let entry = |event: String| {
            let args = args(agent, &event, fail, false);
            let form = Form::Exec { program: program.clone(), args };
            Installed { agent, event, form, within_ms: Some(10_000), has_switch: fail != Fail::Open, fail }
        };
        return events.into_iter().map(entry).collect();
    }
    let events = file["hooks"].as_object().into_iter().flatten();
    let handlers = events.flat_map(|(event, list)| {
        let listed = list.as_array().into_iter().flatten();
        let handlers = listed.flat_map(|element| match agent.layout() {
            Layout::Groups => element["hooks"].as_array().map(Vec::as_slice).unwrap_or_default(),
            _ => std::slice::from_ref(element),
        });
        handlers.map(move |handler| (event, handler))
    });
    let entry = |(event, handler): (&String, &Value)| {
        let form = form_of(handler)?;
        let words = words_of(&form)?;
        let fail = words.iter().position(|word| word == "--fail").and_then(|at| words.get(at + 1));
        let seconds = [&handler["timeout"], &handler["timeoutSec"]].into_iter().find_map(Value::as_f64);
        let unit = if agent == Agent::Gemini { 1.0 } else { 1000.0 };
        Some(Installed {
            agent,
            event: event.clone(),
            within_ms: seconds.map(|number| (number * unit).clamp(0.0, 1e9) as u64),
            has_switch: handler["onFailure"] == "block" || handler["failClosed"] == true,
            fail: fail.and_then(|fail| Fail::named(fail)).unwrap_or(Fail::Open),
            form,
        })
    };
    handlers.filter_map(entry).collect()
}

/// Returns true if a handler is an entry that hob wrote for this agent.
pub fn is_ours(agent: Agent, handler: &Value) -> bool {
    let words = form_of(handler).and_then(|form| words_of(&form)).unwrap_or_default();
    words.windows(2).any(|pair| pair[0] == "--agent" && pair[1] == agent.name())
}

impl Installed {
    /// Returns the same command with another program.
    pub fn with_program(&self, other: &str) -> Form {
        match &self.form {
            Form::Exec { args, .. } => Form::Exec { program: other.to_owned(), args: args.clone() },
            Form::Shell(line) => {
                let program = segment(line).and_then(|(words, _)| words.into_iter().next());
                let at = program.and_then(|(from, to, _)| Some((line.get(..from)?, line.get(to..)?)));
                let (before, after) = at.unwrap_or(("", ""));
                Form::Shell(format!("{before}{}{after}", quoted(other)))
            }
        }
    }

    /// Returns the program of the command.
    pub fn program(&self) -> String {
        match &self.form {
            Form::Exec { program, .. } => program.clone(),
            Form::Shell(line) => {
                segment(line).and_then(|(words, _)| Some(words.into_iter().next()?.2)).unwrap_or_default()
            }
        }
    }

    /// Returns true if it is exactly an entry that `hob hooks install` writes, for some program.
    pub fn is_as_written(&self) -> bool {
        let Some(row) = self.agent.row(&self.event) else { return false };
        let program = self.program();
        // A shell would read it as an assignment or an option instead of a program.
        if program != "hob" && !Path::new(&program).is_absolute() {
            return false;
        }
        let closes = self.fail != Fail::Open && row.is_gate();
        [false, true].into_iter().any(|asks_person| {
            let args = args(self.agent, row.name, self.fail, asks_person);
            match &self.form {
                Form::Exec { args: found, .. } => *found == args,
                Form::Shell(found) => *found == line(&program, &args, closes),
            }
        })
    }
}

/// Returns the arguments of an entry.
pub(super) fn args(agent: Agent, event: &str, fail: Fail, asks_person: bool) -> Vec<String> {
    let mut args = ["hook", event, "--agent", agent.name(), "--fail", fail.as_str()].map(str::to_owned).to_vec();
    if asks_person {
        args.extend(["--person".to_owned(), (PERSON_S - BEFORE_S).to_string()]);
    }
    args
}

/// Returns the shell command line. Its fallback exit status applies if hob is missing.
pub(super) fn line(program: &str, args: &[String], closes: bool) -> String {
    let words: Vec<String> = std::iter::once(program).chain(args.iter().map(String::as_str)).map(quoted).collect();
    format!("{} || exit {}", words.join(" "), if closes { 2 } else { 0 })
}

fn form_of(handler: &Value) -> Option<Form> {
    let command = [&handler["command"], &handler["bash"]].into_iter().find_map(Value::as_str)?.to_owned();
    Some(match handler["args"].as_array() {
        Some(args) => {
            let args = args.iter().map(|arg| arg.as_str().unwrap_or_default().to_owned()).collect();
            Form::Exec { program: command, args }
        }
        None => Form::Shell(command),
    })
}

/// Returns the arguments after the program in the part that runs `hob hook`, if there is one.
fn words_of(form: &Form) -> Option<Vec<String>> {
    match form {
        Form::Exec { program, args } => is_hook(program, args).then(|| args.clone()),
        Form::Shell(line) => segment(line).map(|(_, words)| words),
    }
}

/// Returns true if a command line runs `hob hook`. The program of another version may have a suffix (`hob-next`).
fn is_hook(program: &str, args: &[String]) -> bool {
    args.first().is_some_and(|word| word == "hook") && is_named_hob(program)
}

/// Returns true if a program has the name by which hob recognizes its own entries.
pub fn is_named_hob(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name == "hob" || name.starts_with("hob-"))
}

type Word = (usize, usize, String);

/// Returns the simple command of a line that runs `hob hook`: its words with their positions, and those after the program.
fn segment(line: &str) -> Option<(Vec<Word>, Vec<String>)> {
    let mut commands: Vec<Vec<Word>> = vec![Vec::new()];
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c.is_whitespace() => {}
            ';' | '|' | '&' => commands.push(Vec::new()),
            _ => {
                let (mut word, mut end, mut quote) = (String::new(), at, None);
                let mut next = Some((at, c));
                while let Some((here, c)) = next {
                    end = here + c.len_utf8();
                    match (quote, c) {
                        (None, '\'' | '"') => quote = Some(c),
                        (Some(open), _) if c == open => quote = None,
                        (None | Some('"'), '\\') => {
                            if let Some((here, c)) = chars.next() {
                                end = here + c.len_utf8();
                                word.push(c);
                            }
                        }
                        _ => word.push(c),
                    }
                    let ends = |c: char| quote.is_none() && (c.is_whitespace() || ";|&".contains(c));
                    next = chars.next_if(|(_, c)| !ends(*c));
                }
                if let Some(command) = commands.last_mut() {
                    command.push((at, end, word));
                }
            }
        }
    }
    commands.into_iter().find_map(|words| {
        let after: Vec<String> = words.iter().skip(1).map(|(_, _, word)| word.clone()).collect();
        is_hook(&words.first()?.2, &after).then_some((words, after))
    })
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
