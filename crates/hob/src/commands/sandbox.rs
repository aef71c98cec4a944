//! Advice for commands that an agent's sandbox blocks from the daemon: use the agent's MCP tools, which run outside of it.

use client::ConnectError;
use client::control::ControlError;

use crate::exit::{Exit, Failure};

/// Converts a failure to reach the daemon.
pub(super) fn no_daemon(error: &ConnectError) -> Failure {
    let failure = Failure::new(error).exit(Exit::NoDaemon);
    if error.is_sandbox() { failure.hint(corresponding_tool(&command_words())) } else { failure }
}

/// Returns the hint for a failed call, if the sandbox blocked it.
pub(super) fn hint(error: &ControlError) -> Option<String> {
    matches!(error, ControlError::Connect(error) if error.is_sandbox()).then(|| corresponding_tool(&command_words()))
}

/// Returns the subcommand and the word after it.
fn command_words() -> Vec<String> {
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).peekable();
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        if word == "--project" {
            words.next();
        } else if !word.starts_with('-') {
            command.push(word);
        }
    }
    command
}

/// Returns the MCP tool that corresponds to the command.
fn corresponding_tool(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let tool = match words.as_slice() {
        ["call", tool, ..] => Some(*tool),
        ["status", ..] => Some("repl_list"),
        ["send" | "reply", ..] => Some("send_message"),
        ["inbox", ..] => Some("check_messages"),
        ["wait", ..] => Some("wait_for_message"),
        ["ack", ..] => Some("ack_message"),
        ["agents", ..] => Some("list_agents"),
        ["group", "create", ..] => Some("create_group"),
        ["group", ..] => Some("list_groups"),
        ["thread", ..] => Some("get_thread"),
        ["search", ..] => Some("search_messages"),
        ["quickstart", ..] => Some("register_agent"),
        _ => None,
    };
    match tool {
        Some(tool) => format!(
            "As an agent, call the tool `{}` of the MCP server `hob` instead, which runs outside the sandbox; as a person, run this in your own terminal.",
            project::visible(tool)
        ),
        None => "Ask your user to run this in their own terminal, outside the sandbox.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_names_its_tool() {
        let said =
            |words: &[&str]| corresponding_tool(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert!(said(&["call", "repl_eval", "--code"]).contains("the tool `repl_eval`"));
        assert!(said(&["inbox"]).contains("the tool `check_messages`"));
        assert!(said(&["stop"]).starts_with("Ask your user"));
    }
}
