//! The tool of an event: its kind in all agents, with its command and paths.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::code::{Code, code_of};

/// The tool of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub kind: ToolKind,
    /// The agent's name for it.
    pub native: String,
    /// For an MCP tool: its server, and its name there.
    pub mcp: Option<(String, String)>,
    /// The shell text of a shell tool, or of another tool that takes one.
    pub command: Option<Command>,
    /// Code in another or an unknown language.
    pub code: Option<Code>,
    /// The files that its input names, unchanged.
    pub paths: Vec<String>,
    pub input: Value,
}

/// The command of a shell tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A shell text.
    Text(String),
    /// A program and its arguments, which are not parsed by a shell.
    Words(Vec<String>),
}

impl Command {
    /// Returns the command, truncated to fit on a line.
    pub fn display(&self) -> String {
        let text = match self {
            Command::Text(text) => text.clone(),
            Command::Words(words) => words.join(" "),
        };
        text.chars().take(300).collect()
    }
}

/// The kind of a tool.
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

/// The tools of all agents, by lowercase name.
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
/// The fields of a search that name its files.
const SEARCH_FIELDS: &[&str] = &["glob", "include", "include_pattern"];
/// The fields that name several files.
const LIST_FIELDS: &[&str] = &["paths", "file_paths", "files"];
/// The maximum number of files of a tool that are examined.
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

    /// Returns the name in rules.
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

    /// Returns true if the tool changes the files that it names.
    pub fn changes_files(self) -> bool {
        matches!(self, ToolKind::Write | ToolKind::Edit)
    }
}

impl Tool {
    /// Returns true if the tool runs shell text.
    pub fn is_shell(&self) -> bool {
        self.kind == ToolKind::Shell || self.command.is_some()
    }

    /// Creates the tool of that name and input. `server` is the MCP server, if the payload names it.
    pub(crate) fn new(native: &str, input: Value, server: Option<(String, String)>) -> Tool {
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

/// Returns the kind of an agent's own tool by its name.
pub(crate) fn kind_of_tool(name: &str) -> Option<ToolKind> {
    let lower = name.to_lowercase();
    KNOWN.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(kind, _)| *kind)
}

/// Splits `mcp__server__tool`, the form of most agents for tools of MCP servers.
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

/// Returns the files that a patch in Codex's format changes.
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
