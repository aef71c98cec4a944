//! Code in the arguments of tools other than shell tools: hob's own sessions, and tools of other servers with a command
//! argument.

use serde_json::Value;

use super::{Command, ToolKind};

/// The code that a tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    pub language: Language,
    pub text: String,
}

/// The language of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Shell,
    Other,
    /// Possibly shell code.
    Unknown,
}

/// hob's tools that take code, the fields with it, and true if it is never shell code.
const HOB_TOOLS: &[(&str, &[&str], bool)] = &[
    ("repl_eval", &["code", "expr", "expression", "command"], false),
    ("repl_input", &["text", "input", "stdin"], false),
    ("repl_query", &["target", "name", "expr", "expression"], true),
];
/// The fields of other servers' tools that contain shell text.
const SHELL_FIELDS: [&str; 3] = ["command", "cmd", "script"];
/// hob's own session profiles except `bash` and `terminal`.
const OTHER_PROFILES: [&str; 5] = ["python", "node", "ghci", "cabal", "stack"];

/// Returns the code that a tool runs; `None` if it runs none.
pub(crate) fn code_of(tool: &str, kind: ToolKind, input: &Value) -> Option<(Option<Command>, Option<Code>)> {
    let text = |fields: &[&str]| fields.iter().find_map(|field| input.get(*field)?.as_str()).map(str::to_owned);
    if let Some((name, fields, is_other)) = HOB_TOOLS.iter().find(|(name, ..)| is_named(tool, name)) {
        let language = if *is_other { Language::Other } else { language(input) };
        // The code may run a shell that reads this input.
        let stdin = if *name == "repl_eval" { text(&["stdin"]) } else { None };
        return Some(match (text(fields), language) {
            (Some(code), Language::Shell) if *name == "repl_eval" => {
                let stdin = stdin.map(|text| Code { language: Language::Unknown, text });
                (Some(Command::Text(code)), stdin)
            }
            (code, language) => {
                // A program's input may be in any language.
                let language = if *name == "repl_input" { Language::Unknown } else { language };
                let language = if stdin.is_some() { Language::Unknown } else { language };
                let text = [code, stdin].into_iter().flatten().collect::<Vec<_>>().join("\n");
                (None, Some(Code { language, text }))
            }
        });
    }
    if is_named(tool, "repl_start") {
        return Some((parse_command(input.get("command")?, None), None));
    }
    if matches!(tool, "send" | "send_sync") {
        return Some((None, Some(Code { language: Language::Unknown, text: text(&["command"])? })));
    }
    // A tool that calls another one with these arguments.
    let nested = input.get("arguments").or_else(|| input.get("args")).filter(|value| !value.is_array());
    if let (Some(inner), Some(nested)) = (text(&["tool_name", "toolName", "tool", "name"]), nested) {
        let parsed = nested.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let nested = parsed.as_ref().unwrap_or(nested);
        let is_nested_again =
            nested.get("arguments").or_else(|| nested.get("args")).is_some_and(|value| !value.is_array());
        if !is_nested_again && let Some(code) = code_of(&inner, ToolKind::Mcp, nested) {
            return Some(code);
        }
    }
    if !matches!(kind, ToolKind::Mcp | ToolKind::Other) {
        return None;
    }
    let (field, value) = SHELL_FIELDS.iter().find_map(|field| Some((*field, input.get(*field)?)))?;
    match value.as_str() {
        // It may be in any language.
        Some(text) if field == "script" => {
            Some((None, Some(Code { language: Language::Unknown, text: text.to_owned() })))
        }
        _ => Some((Some(parse_command(value, input.get("args"))?), None)),
    }
}

/// Returns true if a tool has this name after its agent's prefix: `mcp__hob__`, `hob_`, `hob-`, `MCP:`.
fn is_named(tool: &str, name: &str) -> bool {
    tool.strip_suffix(name).is_some_and(|before| !before.ends_with(char::is_alphanumeric))
}

/// Parses a program with its arguments, or a single text.
fn parse_command(value: &Value, more: Option<&Value>) -> Option<Command> {
    let list = |value: &Value| -> Option<Vec<String>> {
        Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    match (value, more.and_then(list)) {
        (Value::String(program), Some(more)) if !more.is_empty() => {
            Some(Command::Words([vec![program.clone()], more].concat()))
        }
        (Value::String(text), _) => Some(Command::Text(text.clone())),
        (value, more) => Some(Command::Words([list(value)?, more.unwrap_or_default()].concat())),
    }
}

/// Returns the language of a session according to the arguments. A session of another profile refuses the code.
fn language(input: &Value) -> Language {
    let text = |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let (profile, session) = (text("profile"), [text("session"), text("name")].concat());
    match profile.as_str() {
        "bash" | "terminal" => Language::Shell,
        profile if OTHER_PROFILES.contains(&profile) => Language::Other,
        _ if ["bash", "shell"].iter().any(|name| session.contains(name)) || session == "sh" => Language::Shell,
        _ => Language::Unknown,
    }
}
