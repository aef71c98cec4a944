//! A tool that an event is about: what kind it is, whatever its agent calls it, with its command and paths.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::code::{Code, code_of};

/// The tool of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub kind: ToolKind,
    /// Its name, as its agent says it.
    pub native: String,
    /// Of an MCP tool: its server, and its name there.
    pub mcp: Option<(String, String)>,
    /// The text for a shell, of a shell's tool or of another that takes one.
    pub command: Option<Command>,
    /// Code in another language, or in one that is not known.
    pub code: Option<Code>,
    /// The files it names, as they stand in its input.
    pub paths: Vec<String>,
    pub input: Value,
}

/// What a shell tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A text for a shell.
    Text(String),
    /// A program and its arguments, which no shell reads.
    Words(Vec<String>),
}

impl Command {
    /// As it is shown, cut to what fits on a line.
    pub fn shown(&self) -> String {
        let text = match self {
            Command::Text(text) => text.clone(),
            Command::Words(words) => words.join(" "),
        };
        text.chars().take(300).collect()
    }
}

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Shell,
    Read,
    Write,
    Edit,
    Search,
    Fetch,
    Mcp,
    Agent,
    Other,
}

/// The tools of all agents, by their names in lower case.
const KNOWN: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Shell,
        &[
            "bash",
            "shell",
            "local_shell",
            "exec_command",
            "unified_exec",
            "run_shell_command",
            "powershell",
            "run_in_terminal",
            "monitor",
        ],
    ),
    (ToolKind::Read, &["read", "read_file", "read_many_files", "view", "notebookread", "view_image"]),
    (ToolKind::Write, &["write", "write_file", "create", "create_file"]),
    (
        ToolKind::Edit,
        &[
            "edit",
            "multiedit",
            "notebookedit",
            "replace",
            "apply_patch",
            "patch",
            "str_replace",
            "str_replace_editor",
            "insert",
            "delete",
            "edit_file",
        ],
    ),
    (
        ToolKind::Search,
        &["grep", "glob", "ls", "list", "list_directory", "search_file_content", "grep_search", "rg", "find"],
    ),
    (ToolKind::Fetch, &["webfetch", "websearch", "web_fetch", "google_web_search", "web_search", "fetch"]),
    (ToolKind::Agent, &["task", "agent", "spawn_agent", "delegate_to_agent", "invoke_agent"]),
];

/// The fields that name a file.
const PATH_FIELDS: &[&str] =
    &["file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "filepath"];
/// The fields by which a search names the files that it reads.
const SEARCH_FIELDS: &[&str] = &["glob", "include", "include_pattern"];
/// The fields that name several.
const LIST_FIELDS: &[&str] = &["paths", "file_paths", "files"];
/// The most files of one tool that are looked at.
const PATHS_MAX: usize = 1000;

impl ToolKind {
    /// Every kind.
    pub const ALL: [ToolKind; 9] = [
        ToolKind::Shell,
        ToolKind::Read,
        ToolKind::Write,
        ToolKind::Edit,
        ToolKind::Search,
        ToolKind::Fetch,
        ToolKind::Mcp,
        ToolKind::Agent,
        ToolKind::Other,
    ];

    /// Its name in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolKind::Shell => "shell",
            ToolKind::Read => "read",
            ToolKind::Write => "write",
            ToolKind::Edit => "edit",
            ToolKind::Search => "search",
            ToolKind::Fetch => "fetch",
            ToolKind::Mcp => "mcp",
            ToolKind::Agent => "agent",
            ToolKind::Other => "other",
        }
    }

    /// Returns true if it changes the files that it names.
    pub fn changes_files(self) -> bool {
        matches!(self, ToolKind::Write | ToolKind::Edit)
    }
}

impl Tool {
    /// Returns true if it runs a text for a shell.
    pub fn is_shell(&self) -> bool {
        self.kind == ToolKind::Shell || self.command.is_some()
    }

    /// The tool of that name, with its input. `server` is the MCP server, where the payload says it.
    pub(crate) fn of(native: &str, input: Value, server: Option<(String, String)>) -> Tool {
        let mcp = server.or_else(|| mcp_name(native));
        let known = kind_of_tool(native);
        let kind = match (&mcp, known) {
            (Some(_), _) => ToolKind::Mcp,
            (None, known) => known.unwrap_or(ToolKind::Other),
        };
        let (command, code) = match kind {
            ToolKind::Shell => (command_of(&input), None),
            kind => code_of(mcp.as_ref().map_or(native, |(_, tool)| tool), kind, &input).unwrap_or_default(),
        };
        let mut paths = paths_of(&input);
        if kind == ToolKind::Search {
            paths.extend(SEARCH_FIELDS.iter().filter_map(|name| input.get(*name)?.as_str()).map(str::to_owned));
        }
        if kind == ToolKind::Edit {
            paths.extend(patched(&input));
        }
        paths.truncate(PATHS_MAX);
        Tool { kind, native: native.to_owned(), mcp, command, code, paths, input }
    }
}

/// The kind of an agent's own tool, by its name.
pub(crate) fn kind_of_tool(name: &str) -> Option<ToolKind> {
    let lower = name.to_lowercase();
    KNOWN.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(kind, _)| *kind)
}

/// `mcp__server__tool`, as most agents name the tools of servers.
fn mcp_name(native: &str) -> Option<(String, String)> {
    let (server, tool) = native.strip_prefix("mcp__")?.split_once("__")?;
    Some((server.to_owned(), tool.to_owned()))
}

fn command_of(input: &Value) -> Option<Command> {
    let named = ["command", "cmd", "script"].iter().find_map(|name| input.get(name));
    match named.unwrap_or(input) {
        Value::String(text) => Some(Command::Text(text.clone())),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            Some(Command::Words(words))
        }
        _ => None,
    }
}

fn paths_of(input: &Value) -> Vec<String> {
    let one = PATH_FIELDS.iter().filter_map(|name| input.get(name)?.as_str());
    let lists = LIST_FIELDS.iter().filter_map(|name| input.get(name)?.as_array());
    let several = lists.flatten().filter_map(|value| value.as_str());
    one.chain(several).filter(|path| !path.is_empty()).take(PATHS_MAX).map(str::to_owned).collect()
}

/// The files that a patch in the form of Codex changes.
fn patched(input: &Value) -> Vec<String> {
    let texts = ["command", "patch", "input", "patchText"].iter().filter_map(|name| input.get(name));
    let mut paths = Vec::new();
    let texts = texts.flat_map(|value| match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    });
    for line in texts.flat_map(str::lines) {
        let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
        paths.extend(heads.iter().find_map(|head| line.strip_prefix(head)).map(|path| path.trim().to_owned()));
    }
    paths
}
