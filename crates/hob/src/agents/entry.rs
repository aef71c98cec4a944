//! How an agent starts an MCP server, as its configuration says, and whether that is hob.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use super::Scope;

/// The name under which hob is registered.
pub(crate) const SERVER: &str = "hob";

/// How an agent starts an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// The names of other fields of the entry (`env`, `cwd` …) that may change what runs.
    pub(crate) more: Vec<String>,
}

impl Entry {
    /// Our own entry, with these toolsets; without, those that the project chooses.
    pub(crate) fn new(command: String, toolsets: &[String]) -> Entry {
        let args = std::iter::once("mcp".to_owned()).chain(toolsets.iter().cloned()).collect();
        Entry { command, args, more: Vec::new() }
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

    /// Whether the entry's connections have the tools of the mail, where the project's `toolsets` do.
    pub(crate) fn serves_mail(&self, by_default: bool) -> bool {
        let words: Vec<&str> = self.args.iter().map(String::as_str).skip(1).collect();
        let named: Vec<&str> = words.iter().flat_map(|word| word.split(',')).collect();
        match words.as_slice() {
            [] => by_default,
            ["--profile", profile] => *profile == "thrum",
            _ => named.iter().any(|name| matches!(*name, "mail" | "all")),
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

    pub(super) fn is_named_hob(&self) -> bool {
        Path::new(&self.command).file_name() == Some(OsStr::new(SERVER))
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

/// Fields of an entry, besides command and arguments, that do not affect what runs: which tools are offered, whether the
/// agent asks before a call, how long it waits.
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
