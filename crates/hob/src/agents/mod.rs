//! The agents that hob can be registered with: the file and format of each one's list of MCP servers, and the traces
//! that show it is in use. Holds no state; `commands/init` edits, `commands/doctor` looks.
//!
//! Start with [`AGENTS`]. [`Format`] edits a file's text; `edits` writes files and remembers what they were.

mod edits;
mod jsonc;
mod toml;

pub(crate) use edits::{Edits, Links, Undone, missing_dirs};

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The owner of a configuration: the project, shared by all who work on it, or the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Files inside the project.
    Project,
    /// Files in the user's home.
    User,
}

impl Scope {
    /// Whose links may be on the way to the files.
    pub(crate) fn links(self) -> Links {
        match self {
            Scope::Project => Links::Refuse,
            Scope::User => Links::Follow,
        }
    }
}

/// A coding agent that starts MCP servers.
pub(crate) struct Agent {
    /// The name on our command line.
    pub(crate) name: &'static str,
    /// The name for people.
    pub(crate) title: &'static str,
    /// Its programs: one of them on `PATH` means that it is installed.
    programs: &'static [&'static str],
    /// The agent's traces in a home.
    home_traces: &'static [&'static str],
    /// Traces of the agent or its users in a project.
    project_traces: &'static [&'static str],
    project_file: &'static str,
    user_file: &'static str,
    /// The format of its list of servers.
    pub(crate) format: Format,
}

/// All agents we know, in the order they are reported.
pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        title: "Claude Code",
        programs: &["claude"],
        home_traces: &[".claude", ".claude.json"],
        project_traces: &[".mcp.json", ".claude", "CLAUDE.md"],
        project_file: ".mcp.json",
        user_file: ".claude.json",
        format: Format::Jsonc { key: "mcpServers", typed: false },
    },
    Agent {
        name: "codex",
        title: "Codex",
        programs: &["codex"],
        home_traces: &[".codex"],
        project_traces: &[".codex"],
        project_file: ".codex/config.toml",
        user_file: ".codex/config.toml",
        format: Format::Toml { table: "mcp_servers" },
    },
    Agent {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        home_traces: &[".cursor"],
        project_traces: &[".cursor", ".cursorrules"],
        project_file: ".cursor/mcp.json",
        user_file: ".cursor/mcp.json",
        format: Format::Jsonc { key: "mcpServers", typed: false },
    },
    Agent {
        name: "vscode",
        title: "VS Code",
        programs: &["code"],
        home_traces: &[".config/Code/User", ".vscode-server"],
        project_traces: &[".vscode"],
        project_file: ".vscode/mcp.json",
        user_file: ".config/Code/User/mcp.json",
        format: Format::Jsonc { key: "servers", typed: true },
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        programs: &["gemini"],
        home_traces: &[".gemini"],
        project_traces: &[".gemini", "GEMINI.md"],
        project_file: ".gemini/settings.json",
        user_file: ".gemini/settings.json",
        format: Format::Jsonc { key: "mcpServers", typed: false },
    },
];

impl Agent {
    /// The file with the list of servers.
    pub(crate) fn file(&self, scope: Scope, root: &Path, home: &Path) -> PathBuf {
        match scope {
            Scope::Project => root.join(self.project_file),
            Scope::User => home.join(self.user_file),
        }
    }

    /// Whether the agent is used here: it is installed, or has left traces in the home or (for the project's scope) in
    /// the project.
    pub(crate) fn is_used(&self, scope: Scope, root: &Path, home: &Path, search: &OsStr) -> bool {
        let exists = |base: &Path, traces: &[&str]| traces.iter().any(|trace| base.join(trace).exists());
        self.programs.iter().any(|program| find_program(program, search).is_some())
            || exists(home, self.home_traces)
            || (scope == Scope::Project && exists(root, self.project_traces))
    }
}

/// The executable of that name on a search path. A name with a slash is a path.
pub(crate) fn find_program(name: &str, search: &OsStr) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(executable);
    }
    std::env::split_paths(search).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name)).find(executable)
}

/// How an agent starts an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// The names of other fields of the entry (`env`, `cwd` …) that may change what runs.
    pub(crate) more: Vec<String>,
}

impl Entry {
    /// Our own entry.
    pub(crate) fn new(command: String) -> Entry {
        Entry { command, args: vec!["mcp".to_owned()], more: Vec::new() }
    }

    /// Whether this starts hob. In the user's own configuration the name is enough. A project's configuration came with
    /// a checkout, which can bring a program of that name, have the real one load something, or serve another project
    /// under another agent's name: there the entry must be exactly what we would write, apart from the choice of tools.
    pub(crate) fn is_hob(&self, scope: Scope) -> bool {
        match scope {
            Scope::User => self.is_named_hob(),
            Scope::Project => {
                let ours = || std::env::current_exe().and_then(|path| path.canonicalize()).ok();
                let is_ours = |path: &Path| {
                    path.is_absolute() && path.canonicalize().ok().is_some_and(|path| Some(path) == ours())
                };
                (self.command == "hob" || is_ours(Path::new(&self.command)))
                    && self.only_chooses_tools()
                    && self.more.is_empty()
            }
        }
    }

    /// `hob mcp`, `hob mcp repl,mail`, `hob mcp --profile thrum`.
    fn only_chooses_tools(&self) -> bool {
        let is_name = |word: &&String| !word.starts_with('-') && !word.is_empty();
        match self.args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["mcp", "--profile", profile] => !profile.starts_with('-'),
            ["mcp", ..] => self.args.iter().skip(1).all(|word| is_name(&word)),
            _ => false,
        }
    }

    fn is_named_hob(&self) -> bool {
        Path::new(&self.command).file_name() == Some(OsStr::new("hob"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = std::iter::once(&self.command).chain(&self.args).map(|word| match project::visible(word) {
            // Quotes show where a word ends, and that an empty one exists.
            word if word.is_empty() || word.contains(' ') => format!("\"{word}\""),
            word => word,
        });
        write!(f, "`{}`", words.collect::<Vec<_>>().join(" "))?;
        match &*self.more {
            [] => Ok(()),
            more => {
                let more: Vec<String> = more.iter().map(|name| format!("`{}`", project::visible(name))).collect();
                write!(f, " with {}", more.join(", "))
            }
        }
    }
}

/// Fields of an entry, besides command and arguments, that do not affect what runs.
const HARMLESS: &[&str] = &[
    "command",
    "args",
    "description",
    "disabled",
    "enabled",
    "timeout",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tool_timeout_sec",
];

/// The name under which hob is registered.
pub(crate) const SERVER: &str = "hob";

/// The format of a list of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, perhaps with comments; `key` holds the servers by name, and `typed` says whether an entry names its
    /// transport.
    Jsonc { key: &'static str, typed: bool },
    /// TOML; `table` holds the servers by name.
    Toml { table: &'static str },
}

/// The effect of adding our entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// Our entry exists; there is nothing to write.
    Already,
    /// Another entry has our name.
    Taken(Entry),
    /// The file's new text.
    Text(String),
}

/// Why a file was left alone.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    /// The file does not parse.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
        /// The parser's message.
        message: String,
    },
    /// The file parses, but the place for servers holds something else.
    #[error("`{0}` is not a table of servers")]
    Shape(String),
    /// The file parses, but readers may choose either of two entries.
    #[error("`{0}` stands there twice")]
    Twice(String),
}

impl Broken {
    fn at(text: &str, offset: usize, message: impl Into<String>) -> Broken {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Broken::Syntax {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

impl Format {
    /// Adds the entry to the text of a file of this scope (empty for a new file). All other bytes are kept.
    pub(crate) fn add(self, text: &str, entry: &Entry, scope: Scope) -> Result<Added, Broken> {
        if let Some(present) = self.entry(text)? {
            return Ok(match present.is_hob(scope) {
                true => Added::Already,
                false => Added::Taken(present),
            });
        }
        match self {
            Format::Jsonc { key, typed } => jsonc::add(text, key, typed, entry),
            Format::Toml { table } => toml::add(text, table, entry),
        }
        .map(Added::Text)
    }

    /// The text without our entry; `None` if it has none.
    pub(crate) fn remove(self, text: &str) -> Result<Option<String>, Broken> {
        if !self.entry(text)?.is_some_and(|entry| entry.is_named_hob()) {
            return Ok(None);
        }
        match self {
            Format::Jsonc { key, .. } => jsonc::remove(text, key),
            Format::Toml { table } => toml::remove(text, table),
        }
        .map(Some)
    }

    /// The entry under our name, ours or not.
    pub(crate) fn entry(self, text: &str) -> Result<Option<Entry>, Broken> {
        match self {
            Format::Jsonc { key, .. } => jsonc::entry(text, key),
            Format::Toml { table } => toml::entry(text, table),
        }
    }
}

#[cfg(test)]
mod tests;
