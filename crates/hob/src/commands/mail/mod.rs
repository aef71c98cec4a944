//! The mail commands, one file each. They call the same tools as agents do, under the name that belongs to this worktree.
//! They print the same text, except that `terminal_format` renders it at a terminal.

mod ack;
mod agents;
mod group;
mod import;
mod inbox;
mod priority;
mod quickstart;
mod reply;
mod search;
mod send;
mod store_location;
mod terminal_format;
mod thread;
mod wait;

pub(crate) use ack::Ack;
pub(crate) use agents::Agents;
pub(crate) use group::GroupCommand;
pub(crate) use import::Import;
pub(crate) use inbox::Inbox;
pub(crate) use quickstart::Quickstart;
pub(crate) use reply::Reply;
pub(crate) use search::Search;
pub(crate) use send::Send;
pub(crate) use store_location::{PlaceCommand, place_lines};
pub(crate) use thread::Thread;
pub(crate) use wait::WaitCommand;

use std::io::{ErrorKind, Read};
use std::path::PathBuf;

use clap::Args;
use client::Control;
use client::control::ControlError;
use project::{Hello, Project, visible};
use serde_json::{Map, Value, json};

use super::call::{control_failure, finish};
use super::mail_hints::in_commands;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};

/// The number of daemons that may exit during one send.
const DAEMONS: u8 = 3;
/// The size limit of a text from a file or stdin in MiB: above the limit of a message, so that the tool reports the error.
const READ_MAX_MIB: u64 = 4;

/// The options for the agent's name.
#[derive(Debug, Default, Clone, PartialEq, Args)]
pub(crate) struct Identity {
    /// The name to act as [default: HOB_AGENT, or the one that belongs to this worktree]
    // A separate clap id, because commands have positional names too.
    #[arg(id = "as", long = "as", value_name = "NAME", global = true)]
    name: Option<String>,
    /// Take the name over from the process that uses it elsewhere
    #[arg(long, global = true)]
    takeover: bool,
}

impl Identity {
    fn hello(&self, project: &Project) -> Result<Hello, Failure> {
        let mut hello = current_project::hello(project)?;
        hello.toolsets = vec!["mail".to_owned()];
        if self.name.is_some() {
            hello.name.clone_from(&self.name);
        }
        hello.takeover = self.takeover;
        // Each process is a new run, so that messages delivered but not shown are delivered again.
        hello.run = Some(client::new_run());
        Ok(hello)
    }

    /// Returns true if a person acts, not an agent.
    fn is_user(&self) -> bool {
        self.name.as_deref() == Some("user")
    }

    fn connect(&self, project: &Project) -> Result<Control, Failure> {
        current_project::connect_or_start(project, &self.hello(project)?)
    }

    /// Calls a tool and prints its answer.
    fn call(&self, project: &Project, tool: &str, arguments: Value, as_json: bool) -> Result<Exit, Failure> {
        let mut control = self.connect(project)?;
        let result = ask(&mut control, tool, arguments)?;
        finish(&result, as_json)
    }

    /// Calls a tool and prints its answer; at a terminal, `shown` renders it.
    fn show(
        &self,
        project: &Project,
        tool: &str,
        arguments: Value,
        (as_json, shown): (bool, fn(&Value)),
    ) -> Result<Exit, Failure> {
        let mut result = ask(&mut self.connect(project)?, tool, arguments)?;
        first_in_commands(&mut result);
        print(&result, as_json, shown)
    }

    /// Sends a message and prints the result. It always has an idempotency key: if the daemon exits during the call, the call is
    /// repeated with the next daemon, and the message is sent once.
    fn send(&self, project: &Project, mut control: Control, arguments: Value, as_json: bool) -> Result<Exit, Failure> {
        let mut arguments = arguments;
        let key = &mut arguments["idempotency_key"];
        if key.is_null() {
            *key = client::new_run().into();
        }
        for _ in 1..DAEMONS {
            match self.send_once(&mut control, arguments.clone()) {
                Err(ControlError::Lost { .. }) => control = self.connect(project)?,
                answer => return finish(&answer.map_err(refused)?, as_json),
            }
        }
        finish(&self.send_once(&mut control, arguments).map_err(refused)?, as_json)
    }

    fn send_once(&self, control: &mut Control, mut arguments: Value) -> Result<Value, ControlError> {
        if !self.is_user() {
            return called(control, "send_message", arguments);
        }
        if let Value::Object(arguments) = &mut arguments {
            arguments.retain(|_, value| !value.is_null());
        }
        control.request("mail/write", arguments, |_, _| {})
    }
}

/// Returns all agents and groups, as the tools list them; nulls if no daemon runs.
pub(crate) fn list_recipients(project: &Project) -> Result<(Value, Value), Failure> {
    let hello = Identity::default().hello(project)?;
    let control = Control::connect(project, &hello).map_err(|error| super::sandbox::no_daemon(&error))?;
    let Some(mut control) = control else { return Ok((Value::Null, Value::Null)) };
    let mut list =
        |tool, arguments| ask(&mut control, tool, arguments).map(|mut result| result["structuredContent"].take());
    Ok((list("list_agents", Value::Null)?, list("groups", json!({"action": "list"}))?))
}

/// Calls a tool, omitting null arguments.
fn ask(control: &mut Control, tool: &str, arguments: Value) -> Result<Value, Failure> {
    called(control, tool, arguments).map_err(control_failure)
}

fn called(control: &mut Control, tool: &str, arguments: Value) -> Result<Value, ControlError> {
    let arguments: Map<String, Value> = match arguments {
        Value::Object(arguments) => arguments.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    };
    let mut result = control.call(tool, arguments, |_| {}, |_, _| {})?;
    if result["isError"] == true {
        replace_texts(&mut result, |text| with_variable(&in_commands(text)));
    }
    Ok(result)
}

/// Names the variable if an unknown agent is the one that it sets.
fn with_variable(text: &str) -> String {
    let name = std::env::var("HOB_AGENT").unwrap_or_default();
    match text.strip_prefix(&format!("Unknown agent {name:?}.")) {
        Some(rest) => format!("Unknown agent {name:?}, which HOB_AGENT sets.{rest}"),
        None => text.to_owned(),
    }
}

/// Replaces each text of a result.
fn replace_texts(result: &mut Value, replace: impl Fn(&str) -> String) {
    for block in result["content"].as_array_mut().into_iter().flatten() {
        block["text"] = replace(block["text"].as_str().unwrap_or_default()).into();
    }
}

/// Replaces tool calls in the first line of a text. The other lines were written by agents.
fn first_in_commands(result: &mut Value) {
    const NEXT: &str = "To answer one: send_message with reply_to. Your next check_messages lists unanswered messages \
                        once.";
    replace_texts(result, |text| {
        let (first, rest) = text.split_once('\n').map_or((text, None), |(first, rest)| (first, Some(rest)));
        let first = first.replace(NEXT, "`hob reply ID TEXT` answers one.").replace("get_thread", "`hob thread ID`");
        rest.map_or_else(|| first.clone(), |rest| format!("{first}\n{rest}"))
    });
}

/// Prints a result; at a terminal, `shown` renders it.
fn print(result: &Value, as_json: bool, shown: impl Fn(&Value)) -> Result<Exit, Failure> {
    if as_json || !terminal_format::reads() || result["isError"] == true {
        return finish(result, as_json);
    }
    shown(&result["structuredContent"]);
    Ok(Exit::Done)
}

/// Converts a refusal of a control request, with commands in its hints.
fn refused(error: ControlError) -> Failure {
    match error {
        ControlError::Refused { message, .. } => Failure::new(in_commands(&message)).exit(Exit::ToolError),
        other => control_failure(other),
    }
}

/// Returns the text of a message: the argument, or the content of a file (`-` for stdin), which needs no quoting.
fn text(given: Option<String>, file: Option<PathBuf>) -> Result<String, Failure> {
    let text = whole_text(given, file)?;
    if text.trim().is_empty() {
        Err(Failure::new("the message is empty and was not sent")
            .hint("Give TEXT, or `--file FILE`, or `--file -` to read stdin.")
            .exit(Exit::Usage))
    } else {
        Ok(text)
    }
}

fn whole_text(given: Option<String>, file: Option<PathBuf>) -> Result<String, Failure> {
    let from = match (given, file) {
        (Some(text), None) => return Ok(text),
        (None, Some(file)) => file,
        _ => {
            return Err(Failure::new("no message given; use TEXT or --file FILE (`-` for stdin)").exit(Exit::Usage));
        }
    };
    let read = if from.as_os_str() == "-" {
        read_at_most(std::io::stdin().lock(), READ_MAX_MIB)
    } else {
        project::regular::open(&from).and_then(|file| read_at_most(file, READ_MAX_MIB))
    };
    read.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::FileTooLarge => "Send the path of the file instead.",
            _ => "Give a UTF-8 text file; use `--file -` to read from a pipe.",
        };
        Failure::new(format_args!("cannot read {}: {}", visible::path(&from), visible::cause(&error))).hint(hint)
    })
}

/// Reads a text completely; a longer one is an error, since the rest would be lost.
pub(super) fn read_at_most(from: impl Read, mib: u64) -> std::io::Result<String> {
    let mut read = Vec::new();
    let max = mib << 20;
    if from.take(max + 1).read_to_end(&mut read)? as u64 > max {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, format!("it is longer than {mib} MiB")));
    }
    String::from_utf8(read).map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "it is not valid UTF-8"))
}
