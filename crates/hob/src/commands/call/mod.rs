//! `hob call`: calls any tool from a shell. Flags, help and completion derive from the tool's declaration; [`flags`] converts
//! it to a command line and back. A mistyped call does not start the daemon.

pub(crate) mod command_texts;
pub(crate) mod flags;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use clap::builder::StyledStr;
use clap::error::ErrorKind;
use client::control::{Control, ControlError};
use serde_json::{Map, Value, json};

use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style};

/// Call a tool; `hob call TOOL --help` lists its flags
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Call {
    /// The name of the tool; `hob tools` lists all
    #[arg(value_name = "TOOL", allow_hyphen_values = true)]
    tool: Option<String>,
    /// The tool's flags, or all arguments as one JSON object; --json prints JSON, --as NAME sets the agent's name
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<OsString>,
}

/// A tool's declaration.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
    /// True if the next call confirms delivery of the result.
    pub(crate) hands_out: bool,
    /// Example arguments with titles.
    pub(crate) examples: Vec<(&'static str, Value)>,
}

impl Tool {
    /// Renders its examples as shell commands.
    fn help(&self) -> StyledStr {
        match &self.examples[..] {
            [] => StyledStr::new(),
            examples => super::help_sections::examples(
                examples.iter().map(|(title, arguments)| (self.line(arguments), (*title).to_owned())),
            ),
        }
    }

    /// Renders the example at the end of an error as a shell command.
    fn show_example(&self, result: &mut Value) {
        if result["isError"] == true
            && let Some((before, example)) = text(result).split_once("\nFor example: ")
            && let Ok(arguments) = serde_json::from_str::<Value>(example)
        {
            let text = format!("{before}\nFor example: {}", self.line(&arguments));
            result["content"] = json!([{"type": "text", "text": text}]);
        }
    }

    /// Renders a call with these arguments as a shell command.
    fn line(&self, arguments: &Value) -> String {
        let words = flags::to_words(&self.name, &self.input_schema, arguments);
        words.iter().map(|word| flags::quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// The tools whose result is an evaluation; its status becomes the exit code.
const EVALUATING: [&str; 3] = ["repl_eval", "repl_wait", "repl_reload"];

/// The tool whose rejection is a normal result for an agent but a failure for a script.
const SUBMITTING: &str = "node_submit";

const GENERAL_HELP: &str = "\
Call a tool

Usage: hob call TOOL [FLAGS]
       hob call TOOL JSON

`hob tools` lists the tools, `hob call TOOL --help` lists a tool's flags. Flags of every tool:
  --args <JSON>  All arguments as one JSON object, or - to read it from stdin
  --json         Print JSON: the structured result
  --as <NAME>    The name to act as

Examples:
  hob call repl_eval --code '1 + 1' --json
  echo '{\"code\": \"1 + 1\"}' | hob call repl_eval --args -
  hob call list_agents --as planner";

impl Call {
    pub(crate) fn run(mut self, explicit: Option<PathBuf>) -> Result<Exit, Failure> {
        let explicit = take_project(&mut self.flags).or(explicit);
        let name = match self.tool.as_deref() {
            None => {
                return Err(Failure::new("no tool given")
                    .hint("Write `hob call TOOL`; `hob tools` lists the tools, and `hob call --help` shows examples.")
                    .exit(Exit::Usage));
            }
            Some("--help" | "-h") => {
                terminal::line(GENERAL_HELP);
                return Ok(Exit::Done);
            }
            Some(name) => name,
        };
        let tools = tools(Choice::All)?;
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else { return Err(unknown(name, &tools)) };
        let command = flags::command(&tool.name, &tool.description, &tool.input_schema).after_help(tool.help());
        let line = std::iter::once(OsString::from("hob call")).chain(flags::in_present_form(self.flags));
        let matches = match command.try_get_matches_from(line) {
            Ok(matches) => matches,
            Err(error) => {
                let kind = error.kind();
                terminal::answer(error);
                if let (false, Some((_, arguments))) = (kind == ErrorKind::DisplayHelp, tool.examples.first()) {
                    terminal::note(format!("For example: {}", tool.line(arguments)));
                }
                return Ok(if kind == ErrorKind::DisplayHelp { Exit::Done } else { Exit::Usage });
            }
        };
        let arguments = flags::arguments(&matches, &tool.input_schema)?;
        let as_json = flags::wants_json(&matches);
        let watched = std::io::stderr().is_terminal();
        let progress = |progress: client::control::Progress| {
            if let (true, Some(message)) = (watched, progress.message) {
                terminal::note(terminal::paint_note(&message, Style::Dim));
            }
        };
        let project = current_project::find_project(explicit.as_deref())?;
        // The tool was named, so the default toolsets do not matter.
        let mut hello = current_project::hello(&project)?;
        hello.toolsets = vec!["all".to_owned()];
        if let Some(name) = flags::name(&matches) {
            hello.name = Some(name.clone());
        }
        let mut control = current_project::connect_or_start(&project, &hello)?;
        let mut result = control.call(name, arguments, progress, |_, _| {}).map_err(control_failure)?;
        if !as_json {
            command_texts::result(&mut result, flags::are_json(&matches));
            tool.show_example(&mut result);
        }
        let is_rejected = name == SUBMITTING && result["structuredContent"]["status"] != "accepted";
        if is_rejected && !as_json {
            return Err(Failure::new(text(&result)).exit(Exit::ToolError));
        }
        let exit = match finish(&result, as_json)? {
            Exit::Done if EVALUATING.contains(&name) => Exit::of_evaluation(&result["structuredContent"]),
            Exit::Done if is_rejected => Exit::ToolError,
            exit => exit,
        };
        if tool.hands_out { confirm(&mut control, exit) } else { Ok(exit) }
    }
}

/// Confirms that a result was printed, since a shell makes no further call that would. If it was not printed completely or
/// the confirmation fails, the result will be delivered again.
pub(crate) fn confirm(control: &mut Control, exit: Exit) -> Result<Exit, Failure> {
    if terminal::lost_output().is_some() {
        return Ok(exit);
    }
    match control.request("mail/confirm", json!({}), |_, _| {}) {
        Ok(_) | Err(ControlError::Lost { .. }) => Ok(exit),
        Err(error) => Err(control_failure(error)),
    }
}

/// Removes `--project DIR` from the tool's flags, where people also write it.
fn take_project(flags: &mut Vec<OsString>) -> Option<PathBuf> {
    if let Some(index) = flags.iter().position(|flag| flag == "--project").filter(|index| index + 1 < flags.len()) {
        return flags.drain(index..index + 2).nth(1).map(PathBuf::from);
    }
    let index = flags.iter().position(|flag| flag.as_encoded_bytes().starts_with(b"--project="))?;
    flags.remove(index).to_str().map(|flag| PathBuf::from(&flag["--project=".len()..]))
}

/// The tools to list.
pub(crate) enum Choice<'a> {
    /// All there are.
    All,
    /// The tools of a toolset.
    Toolset(&'a str),
    /// The tools that imitate another system.
    Profile(&'a str),
    /// The tools of several toolsets.
    Enabled(Vec<String>),
}

/// Returns the chosen tools. Starts nothing, and needs no project.
pub(crate) fn tools(choice: Choice<'_>) -> Result<Vec<Tool>, Failure> {
    let declared = match choice {
        Choice::All => daemon::declared(&["all".to_owned()], None, Vec::new()),
        Choice::Toolset(name) => daemon::declared(&[name.to_owned()], None, Vec::new()),
        Choice::Profile(name) => daemon::declared(&[], Some(name), Vec::new()),
        Choice::Enabled(names) => daemon::declared(&[], None, names),
    };
    let declared = declared.map_err(|error| super::choice::failure(error, "tools"))?;
    let tool = declared.into_iter().map(|tool| Tool {
        name: tool.name,
        description: tool.description,
        input_schema: with_unlisted_arguments(tool.input_schema, tool.unlisted),
        hands_out: tool.repeat.hands_out(),
        examples: tool.examples.into_iter().map(|example| (example.title, example.arguments)).collect(),
    });
    Ok(tool.collect())
}

/// Adds the arguments that agents do not see to an input schema, so that the command line has flags for them.
fn with_unlisted_arguments(mut input_schema: Value, unlisted: Map<String, Value>) -> Value {
    if let Some(properties) = input_schema["properties"].as_object_mut() {
        properties.extend(unlisted);
    }
    input_schema
}

/// Converts a failed control request, with its exit code.
pub(crate) fn control_failure(error: ControlError) -> Failure {
    let exit = match error {
        ControlError::Connect(_) | ControlError::Lost { .. } => Exit::NoDaemon,
        _ => Exit::Failed,
    };
    let hint = super::sandbox::hint(&error);
    let failure = Failure::new(error).exit(exit);
    hint.into_iter().fold(failure, Failure::hint)
}

/// Prints a result: as text for people, or as JSON for programs.
pub(crate) fn finish(result: &Value, as_json: bool) -> Result<Exit, Failure> {
    let is_error = result["isError"] == true;
    if as_json {
        terminal::json(&as_value(result));
    } else if is_error {
        return Err(Failure::new(text(result)).exit(Exit::ToolError));
    } else {
        terminal::line(text(result).trim_end_matches('\n'));
    }
    Ok(if is_error { Exit::ToolError } else { Exit::Done })
}

/// Returns a result as JSON for programs.
pub(crate) fn as_value(result: &Value) -> Value {
    match (&result["structuredContent"], result["isError"] == true) {
        (Value::Null, true) => json!({"error": text(result)}),
        (Value::Null, false) => json!({"text": text(result)}),
        (structured, _) => structured.clone(),
    }
}

fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn unknown(name: &str, tools: &[Tool]) -> Failure {
    if name.starts_with('-') {
        return Failure::new(format_args!("unknown tool {name}; the tool comes before its flags"))
            .hint(format_args!("Write `hob call TOOL {name}`; `hob tools` lists the tools."))
            .exit(Exit::Usage);
    }
    let failure = Failure::new(format_args!("unknown tool {name}")).exit(Exit::Usage);
    match super::choice::nearest(name, tools.iter().map(|tool| &*tool.name)) {
        Some(near) => failure.hint(format_args!("Did you mean `{near}`? `hob tools` lists all.")),
        None => failure.hint("`hob tools` lists all."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_a_tool_is_a_command_line() {
        for tool in tools(Choice::All).unwrap() {
            let command = flags::command(&tool.name, &tool.description, &tool.input_schema);
            for (title, arguments) in &tool.examples {
                let words = flags::to_words(&tool.name, &tool.input_schema, arguments);
                let matches = match command.clone().try_get_matches_from(&words[2..]) {
                    Ok(matches) => matches,
                    Err(error) => panic!("{title}: {error}"),
                };
                let read = flags::arguments(&matches, &tool.input_schema).unwrap();
                assert_eq!(Value::from(read), *arguments, "{}: {title}", tool.name);
            }
        }
    }

    /// Parses the argument names in a table cell; true marks those in italics, which agents do not see.
    fn named(cell: &str) -> Vec<(String, bool)> {
        let mut bare = String::new();
        let mut depth = 0;
        for c in cell.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                c if depth == 0 => bare.push(c),
                _ => {}
            }
        }
        let name = |name: &str| (name.trim().trim_matches('*').to_owned(), name.trim().starts_with('*'));
        let mut all: Vec<_> = bare.split(',').map(name).collect();
        all.sort();
        all
    }

    #[test]
    fn the_documentation_of_questions_about_code_names_all_arguments() {
        let page = include_str!("../../../../../docs/reference/code.md");
        let rows = page.split("\n## Tools\n").nth(1).unwrap().split("\n## ").next().unwrap();
        // Only the first table; the second one describes the fields of `head`.
        let table = rows.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let rows: Vec<Vec<&str>> = table.skip(2).map(|line| line.split('|').collect()).collect();
        let declared = daemon::declared(&["code".to_owned()], None, Vec::new()).unwrap();
        assert_eq!(rows.len(), declared.len());
        for tool in declared {
            let row = rows.iter().find(|row| row[1].trim() == format!("`{}`", tool.name)).unwrap();
            let listed = tool.input_schema["properties"].as_object().unwrap().keys().map(|name| (name.clone(), false));
            let mut all: Vec<_> = listed.chain(tool.unlisted.keys().map(|name| (name.clone(), true))).collect();
            all.sort();
            assert_eq!(named(row[2]), all, "{}", tool.name);
        }
    }

    #[test]
    fn the_nearest_name_is_offered() {
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            description: String::new(),
            input_schema: Value::Null,
            hands_out: false,
            examples: Vec::new(),
        };
        let tools = [tool("repl_eval"), tool("repl_wait")];
        assert!(unknown("repl_evla", &tools).hints[0].contains("`repl_eval`"));
        assert_eq!(unknown("frobnicate", &tools).hints, ["`hob tools` lists all."]);
    }
}
