//! Entries for MCP servers in agents' configurations, and the check whether an entry starts hob.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use super::Scope;

/// The name under which hob is registered.
pub(crate) const SERVER: &str = "hob";

/// The command of an MCP server in an agent's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// The names of further fields (`env`, `cwd` …) that may change what runs.
    pub(crate) more: Vec<String>,
}

impl Entry {
    /// Creates hob's entry with these toolsets, or with the project's toolsets if none is given.
    pub(crate) fn new(command: String, toolsets: &[String]) -> Entry {
        let args = std::iter::once("mcp".to_owned()).chain(toolsets.iter().cloned()).collect();
        Entry { command, args, more: Vec::new() }
    }

    /// True if this entry starts hob. In the user's own configuration the name is sufficient. A project's configuration comes
    /// with a checkout, which could name its own program, inject code into the real one or impersonate another agent. So
    /// there the entry must equal ours, except for the choice of tools.
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

    /// True if connections by this entry have the mail tools; `by_default` applies if the entry names no toolsets.
    pub(crate) fn serves_mail(&self, by_default: bool) -> bool {
        let words: Vec<&str> = self.args.iter().map(String::as_str).skip(1).collect();
        let named: Vec<&str> = words.iter().flat_map(|word| word.split(',')).collect();
        match words.as_slice() {
            [] => by_default,
            ["--profile", profile] => *profile == "thrum",
            _ => named.iter().any(|name| matches!(*name, "mail" | "all")),
        }
    }

    /// Accepts `hob mcp`, `hob mcp repl,mail`, `hob mcp --profile thrum`.
    fn only_chooses_tools(&self) -> bool {
        let is_name = |word: &&String| !word.starts_with('-') && !word.is_empty();
        match self.args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["mcp", "--profile", profile] => !profile.starts_with('-'),
            ["mcp", ..] => self.args.iter().skip(1).all(|word| is_name(&word)),
            _ => false,
        }
    }

    pub(super) fn is_named_hob(&self) -> bool {
        Path::new(&self.command).file_name() == Some(OsStr::new(SERVER))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = std::iter::once(&self.command).chain(&self.args).map(|word| match project::visible(word) {
            // Quotes mark the ends of a word, and make an empty one visible.
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

/// Fields of an entry that do not affect what runs: the offered tools, approval before a call, timeouts.
pub(super) const HARMLESS: &[&str] = &[
    "command",
    "args",
    "default_tools_approval_mode",
    "description",
    "disabled",
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "excludeTools",
    "includeTools",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "timeout",
    "tool_timeout_sec",
    "tools",
    "trust",
];
