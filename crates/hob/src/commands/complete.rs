//! The hidden `hob complete`: what may come next in `hob call …`. The completion scripts ask it, because tools and
//! their flags are known to the daemon only.

use clap::Args;
use project::Project;

use super::call::{self, Tool, flags};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Print what may come next in a `hob call` line
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The words after `hob call`, the unfinished one last
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Complete {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        // A shell waits for this, so what cannot be told is nothing; the command itself will say why.
        let tools = call::tools(project, Some("all"), None).unwrap_or_default();
        for candidate in candidates(&tools, &self.words) {
            terminal::line(candidate);
        }
        Ok(Exit::Done)
    }
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
        check("repl_read ", expect!["--json --output --stream --eof --help"]);
        check("repl_read --str", expect!["--stream"]);
        check("repl_read --stream ", expect!["stdout stderr"]);
        check("repl_read --eof ", expect!["--json --output --stream --eof --help"]);
        check("repl_read --stream stdout --e", expect!["--eof"]);
        check("nothing ", expect![[""]]);
    }
}
