//! `hob call`: any tool from a shell. Flags, help and completion derive from the tool's own declaration, which the
//! daemon gives; [`flags`] turns it into a command line and back.

pub(crate) mod flags;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use client::control::ControlError;
use project::Project;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::terminal;

/// Call a tool: `hob call TOOL --help` names its flags
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Call {
    /// The tool; `hob tools` lists them
    #[arg(value_name = "TOOL", allow_hyphen_values = true)]
    tool: Option<String>,
    /// The tool's flags, or --json ARGS for all arguments at once, and --output text|json
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<OsString>,
}

/// A tool as the daemon declares it.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
}

const GENERAL_HELP: &str = "\
Call a tool

Usage: hob call TOOL [FLAGS]
       hob call TOOL --json ARGS

`hob tools` lists the tools, `hob call TOOL --help` names a tool's flags.";

impl Call {
    pub(crate) fn run(mut self, explicit: Option<PathBuf>) -> Result<Exit, Failure> {
        let explicit = take_project(&mut self.flags).or(explicit);
        let name = match self.tool.as_deref() {
            None | Some("--help" | "-h") => {
                terminal::line(GENERAL_HELP);
                return Ok(if self.tool.is_some() { Exit::Done } else { Exit::Usage });
            }
            Some(name) => name,
        };
        let project = super::find_project(explicit.as_deref())?;
        // Whoever names a tool means it, whichever toolsets agents get by default.
        let mut hello = super::hello(&project)?;
        hello.toolsets = vec!["all".to_owned()];
        let mut control = super::connect_or_start(&project, &hello)?;
        let tools = declared(control.tools(None, None))?;
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else { return Err(unknown(name, &tools)) };
        let command = flags::command(&tool.name, &tool.description, &tool.input_schema);
        let line = std::iter::once(OsString::from("hob call")).chain(self.flags);
        let matches = match command.try_get_matches_from(line) {
            Ok(matches) => matches,
            Err(error) => {
                let _ = error.print();
                return Ok(if error.kind() == ErrorKind::DisplayHelp { Exit::Done } else { Exit::Usage });
            }
        };
        let arguments = flags::arguments(&matches, &tool.input_schema)?;
        let as_json = flags::wants_json(&matches);
        let watched = std::io::stderr().is_terminal();
        let progress = |progress: client::control::Progress| {
            if let (true, Some(message)) = (watched, progress.message) {
                terminal::note(terminal::dim_note(&message));
            }
        };
        let result = control.call(name, arguments, progress, |_, _| {}).map_err(control_failure)?;
        finish(&result, as_json)
    }
}

/// `--project DIR` is hob's own option, but people write it behind the tool too.
fn take_project(flags: &mut Vec<OsString>) -> Option<PathBuf> {
    if let Some(index) = flags.iter().position(|flag| flag == "--project").filter(|index| index + 1 < flags.len()) {
        return flags.drain(index..index + 2).nth(1).map(PathBuf::from);
    }
    let index = flags.iter().position(|flag| flag.as_encoded_bytes().starts_with(b"--project="))?;
    flags.remove(index).to_str().map(|flag| PathBuf::from(&flag["--project=".len()..]))
}

/// The tools of the project's daemon, which is started where none runs.
pub(crate) fn tools(project: &Project, toolset: Option<&str>, profile: Option<&str>) -> Result<Vec<Tool>, Failure> {
    // What a connection may call is decided by its first line, as it is for agents.
    let mut hello = super::hello(project)?;
    hello.toolsets = toolset.map(str::to_owned).into_iter().collect();
    hello.profile = profile.map(str::to_owned);
    declared(super::connect_or_start(project, &hello)?.tools(None, None))
}

fn declared(tools: Result<Vec<Value>, ControlError>) -> Result<Vec<Tool>, Failure> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tool = |tool: &Value| Tool {
        name: text(&tool["name"]),
        description: text(&tool["description"]),
        input_schema: tool["inputSchema"].clone(),
    };
    Ok(tools.map_err(control_failure)?.iter().map(tool).collect())
}

/// A control call's failure with its exit code.
pub(crate) fn control_failure(error: ControlError) -> Failure {
    let exit = match error {
        ControlError::Connect(_) | ControlError::Lost { .. } => Exit::NoDaemon,
        _ => Exit::Failed,
    };
    Failure::new(error).exit(exit)
}

/// Prints a result: text for people, or what programs want.
pub(crate) fn finish(result: &Value, as_json: bool) -> Result<Exit, Failure> {
    let blocks = result["content"].as_array().into_iter().flatten();
    let text: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    let text = text.join("\n");
    let is_error = result["isError"] == true;
    if as_json {
        let value = match (&result["structuredContent"], is_error) {
            (Value::Null, true) => json!({"error": text}),
            (Value::Null, false) => json!({"text": text}),
            (structured, _) => structured.clone(),
        };
        terminal::line(format!("{value:#}"));
    } else if is_error {
        return Err(Failure::new(text).exit(Exit::ToolError));
    } else {
        terminal::line(text.trim_end_matches('\n'));
    }
    Ok(if is_error { Exit::ToolError } else { Exit::Done })
}

fn unknown(name: &str, tools: &[Tool]) -> Failure {
    let failure = Failure::new(format_args!("there is no tool named {name}")).exit(Exit::Usage);
    let near = tools.iter().map(|tool| (distance(name, &tool.name), tool)).min_by_key(|(distance, _)| *distance);
    match near {
        Some((distance, tool)) if distance <= name.len().max(3) / 3 => {
            failure.hint(format_args!("Did you mean `{}`? `hob tools` lists all.", tool.name))
        }
        _ => failure.hint("`hob tools` lists all."),
    }
}

/// How many letters differ (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        let tool = |name: &str| Tool { name: name.to_owned(), description: String::new(), input_schema: Value::Null };
        let tools = [tool("repl_eval"), tool("repl_wait")];
        assert!(unknown("repl_evla", &tools).hints[0].contains("`repl_eval`"));
        assert_eq!(unknown("frobnicate", &tools).hints, ["`hob tools` lists all."]);
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("a", "a")), (3, 2, 0));
    }
}
