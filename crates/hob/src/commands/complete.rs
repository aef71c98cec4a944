//! The hidden `hob complete -- WORDS`: suggests the next words of a command line. The completion scripts call it for the
//! tools of `hob call`, their flags, and mail addresses, which a running daemon knows.

use std::ffi::OsString;

use serde_json::Value;

use super::call::{self, Choice, Tool, flags};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Prints the possible next words. The words are those after `hob`, with the unfinished one last.
pub(crate) fn run(words: &[OsString]) -> Result<Exit, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // A shell waits for this, so a failure gives an empty list; the command itself will report it.
    let found = match &words[..] {
        [command, words @ ..] if command == "call" => candidates(&call::tools(Choice::All).unwrap_or_default(), words),
        [.., option, unfinished] if option == "--to" => {
            addresses().into_iter().filter(|address| address.starts_with(unfinished)).collect()
        }
        _ => Vec::new(),
    };
    found.into_iter().for_each(terminal::line);
    Ok(Exit::Done)
}

/// Returns the possible recipients of a message.
fn addresses() -> Vec<String> {
    let known = current_project::find_project(None).and_then(|project| super::mail::list_recipients(&project));
    let (agents, groups) = known.unwrap_or_default();
    let texts = |list: &Value, field: &str| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.filter_map(|item| item[field].as_str()).filter(|text| !text.is_empty()).map(str::to_owned).collect()
    };
    let mut roles = texts(&agents["agents"], "role");
    roles.sort();
    roles.dedup();
    let group = |name: String| if name == "everyone" { name } else { format!("group:{name}") };
    let groups = texts(&groups["groups"], "name").into_iter().map(group);
    texts(&agents["agents"], "name")
        .into_iter()
        .chain(groups)
        .chain(roles.iter().map(|role| format!("role:{role}")))
        .collect()
}

fn candidates(tools: &[Tool], words: &[String]) -> Vec<String> {
    let Some((unfinished, before)) = words.split_last() else { return Vec::new() };
    let all: Vec<String> = match before {
        [] => tools.iter().map(|tool| tool.name.clone()).collect(),
        [name, given @ ..] => {
            let Some(tool) = tools.iter().find(|tool| tool.name == *name) else { return Vec::new() };
            let command = flags::command(&tool.name, &tool.description, &tool.input_schema);
            let long = |word: &String| word.strip_prefix("--").map(str::to_owned);
            let open = given.last().and_then(long).and_then(|long| {
                command.get_arguments().find(|arg| arg.get_long() == Some(&long) && arg.get_num_args().is_none())
            });
            match open {
                Some(arg) => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
                None => command
                    .get_arguments()
                    .filter(|arg| !arg.is_hide_set())
                    .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
                    .chain(std::iter::once("--help".to_owned()))
                    .collect(),
            }
        }
    };
    all.into_iter().filter(|candidate| candidate.starts_with(unfinished.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(words: &str, expected: Expect) {
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            description: String::new(),
            hands_out: false,
            examples: Vec::new(),
            input_schema: json!({"type": "object", "properties": {
                "stream": {"type": "string", "enum": ["stdout", "stderr"]},
                "eof": {"type": "boolean"},
            }}),
        };
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        expected.assert_eq(&candidates(&[tool("repl_eval"), tool("repl_read")], &words).join(" "));
    }

    #[test]
    fn tools_then_flags_then_choices() {
        check("", expect!["repl_eval repl_read"]);
        check("repl_r", expect!["repl_read"]);
        check("repl_read ", expect!["--args --json --as --stream --eof --help"]);
        check("repl_read --str", expect!["--stream"]);
        check("repl_read --stream ", expect!["stdout stderr"]);
        check("repl_read --eof ", expect!["--args --json --as --stream --eof --help"]);
        check("repl_read --stream stdout --e", expect!["--eof"]);
        check("nothing ", expect![[""]]);
    }
}
