//! The supported agents: the file and format of each one's MCP servers, the traces that show that it is in use, and the
//! steps missing before it uses hob. Stateless; `commands/init` edits, `commands/doctor` reads.
//!
//! Start with [`AGENTS`]. [`Format`] edits a file's text, `change` a single value; `edits` writes files and records the
//! originals; `hook_entries` handles hooks; `integration` reads trust, approvals and switches in an agent's own files.

mod change;
mod edits;
mod entry;
mod format;
mod hook_entries;
mod integration;
mod jsonc;
mod toml;
mod version;

pub(crate) use change::Change;
pub(crate) use edits::{Edits, Links, Undone, missing_dirs};
pub(crate) use entry::{Entry, SERVER};
pub(crate) use format::{Added, Allows, Broken, Format, Shape};
pub(crate) use hook_entries::{HookFile, HookScope, WriteOutcome, without_hooks};
pub(crate) use integration::{CLAUDE_LOCAL, Need, Plugin, Site, Step, hooks_off};
pub(crate) use version::version;

use std::ffi::OsStr;
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
    /// Returns how to treat symbolic links in the paths of the files.
    pub(crate) fn links(self) -> Links {
        match self {
            Scope::Project => Links::Refuse,
            Scope::User => Links::Follow,
        }
    }

    /// Returns the prefix of paths in this scope, as people write them.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Scope::Project => "",
            Scope::User => "~/",
        }
    }
}

/// A coding agent that starts MCP servers.
pub(crate) struct Agent {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The name for people.
    pub(crate) title: &'static str,
    /// Its programs: the agent is installed if one of them is on `PATH`.
    programs: &'static [&'static str],
    /// The agent's files and directories in a home.
    home_traces: &'static [&'static str],
    /// Files and directories of the agent or its users in a project.
    project_traces: &'static [&'static str],
    /// The configuration files in a project. A new file gets the last name.
    project_files: &'static [&'static str],
    /// The configuration files in a home.
    user_files: &'static [&'static str],
    /// The formats of its list of servers, in a project and in a home.
    formats: [Format; 2],
    /// The reader for trust and approvals in its files, if it has any.
    standing: Option<integration::Reader>,
    /// The variable that relocates its files, and the default directory in the home.
    home_variable: Option<(&'static str, &'static str)>,
}

const fn json(key: &'static str, allows: Allows) -> Format {
    Format::Json { key, shape: Shape::Plain, allows }
}

const LAX: Allows = Allows::CommentsAndTrailingCommas;

/// All supported agents, in the order of reports.
pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        title: "Claude Code",
        programs: &["claude"],
        home_traces: &[".claude", ".claude.json"],
        project_traces: &[".mcp.json", ".claude", "CLAUDE.md"],
        project_files: &[".mcp.json"],
        user_files: &[".claude.json"],
        formats: [json("mcpServers", Allows::Nothing); 2],
        standing: Some(integration::claude),
        home_variable: Some(("CLAUDE_CONFIG_DIR", ".claude")),
    },
    Agent {
        name: "codex",
        title: "Codex",
        programs: &["codex"],
        home_traces: &[".codex"],
        project_traces: &[".codex"],
        project_files: &[".codex/config.toml"],
        user_files: &[".codex/config.toml"],
        formats: [Format::Toml { table: "mcp_servers" }; 2],
        standing: Some(integration::codex),
        home_variable: Some(("CODEX_HOME", ".codex")),
    },
    Agent {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        home_traces: &[".cursor"],
        project_traces: &[".cursor", ".cursorrules"],
        project_files: &[".cursor/mcp.json"],
        user_files: &[".cursor/mcp.json"],
        formats: [json("mcpServers", LAX); 2],
        standing: None,
        home_variable: None,
    },
    Agent {
        name: "vscode",
        title: "VS Code",
        programs: &["code"],
        home_traces: &[".config/Code/User", ".vscode-server"],
        project_traces: &[".vscode"],
        project_files: &[".vscode/mcp.json"],
        user_files: &[".config/Code/User/mcp.json"],
        formats: [Format::Json { key: "servers", shape: Shape::Typed, allows: LAX }; 2],
        standing: None,
        home_variable: Some(("XDG_CONFIG_HOME", ".config")),
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        programs: &["gemini"],
        home_traces: &[".gemini"],
        project_traces: &[".gemini", "GEMINI.md"],
        project_files: &[".gemini/settings.json"],
        user_files: &[".gemini/settings.json"],
        formats: [json("mcpServers", Allows::Comments); 2],
        standing: Some(integration::gemini),
        home_variable: Some(("GEMINI_CLI_HOME", "")),
    },
    Agent {
        name: "copilot",
        title: "Copilot CLI",
        programs: &["copilot"],
        home_traces: &[".copilot"],
        project_traces: &[".github/mcp.json", ".github/copilot", ".github/copilot-instructions.md"],
        project_files: &[".github/mcp.json", ".mcp.json"],
        user_files: &[".copilot/mcp-config.json"],
        formats: [json("mcpServers", Allows::Nothing); 2],
        standing: Some(integration::copilot),
        home_variable: Some(("COPILOT_HOME", ".copilot")),
    },
    Agent {
        name: "opencode",
        title: "opencode",
        programs: &["opencode"],
        home_traces: &[".config/opencode", ".opencode"],
        project_traces: &["opencode.json", "opencode.jsonc", ".opencode"],
        project_files: &["opencode.jsonc", "opencode.json"],
        user_files: &[".config/opencode/opencode.jsonc", ".config/opencode/opencode.json"],
        formats: [Format::Json { key: "mcp", shape: Shape::List, allows: LAX }; 2],
        standing: Some(integration::opencode),
        home_variable: Some(("XDG_CONFIG_HOME", ".config")),
    },
];

impl Agent {
    /// True if the agent lists the tools again when a server reports a change, so that `more_tools` takes effect
    /// (`docs/generated/agents.md`).
    pub(crate) fn lists_again(&self) -> bool {
        self.name != "codex"
    }

    /// Returns the files that may hold the list of servers.
    pub(crate) fn files(&self, scope: Scope, site: &Site) -> Vec<PathBuf> {
        let files = if scope == Scope::Project { self.project_files } else { self.user_files };
        files.iter().map(|file| site.base(scope).join(file)).collect()
    }

    /// Returns the agent that these hooks belong to.
    pub(crate) fn of_hooks(agent: ::hooks::Agent) -> Option<&'static Agent> {
        AGENTS.iter().find(|known| known.name == agent.name())
    }

    /// Returns the version that the agent's program on this search path reports, if it does.
    pub(crate) fn says_version(&self, search: &OsStr) -> Option<String> {
        let program = self.programs.iter().find_map(|program| find_program(program, search))?;
        version(&program, "--version")
    }

    /// Chooses the file to register in: one that has a server of our name, else an existing one, else the default.
    pub(crate) fn file(&self, scope: Scope, site: &Site) -> PathBuf {
        let mut files = self.files(scope, site);
        let has_entry = |file: &PathBuf| {
            let text = Edits::read_below(site.base(scope), file, scope.links()).ok().flatten();
            text.is_some_and(|text| self.format(scope).entry(&text).is_ok_and(|entry| entry.is_some()))
        };
        let is_there = |file: &PathBuf| file.symlink_metadata().is_ok();
        let at = files.iter().position(has_entry).or_else(|| files.iter().position(is_there));
        files.swap_remove(at.unwrap_or(files.len() - 1))
    }

    /// Returns the entry by which the agent starts hob in this worktree only, from the user's per-project settings.
    pub(crate) fn local_entry(&self, site: &Site) -> Option<Result<Entry, Broken>> {
        if self.name != "claude" {
            return None;
        }
        let file = &self.files(Scope::User, site)[0];
        let text = Edits::read_below(&site.home, file, Links::Follow).ok().flatten()?;
        site.worktree_paths().iter().find_map(|place| {
            jsonc::entry(&text, &["projects", place, self.format(Scope::User).servers()], LAX).transpose()
        })
    }

    /// Explains that a variable makes the agent read other user files than those that hob edits, if it is set.
    pub(crate) fn reads_elsewhere(&self, site: &Site) -> Option<String> {
        let (variable, usual) = self.home_variable?;
        let dir = PathBuf::from(std::env::var_os(variable).filter(|dir| !dir.is_empty())?);
        let is_usual = dir.components().eq(site.home.join(usual).components());
        (!is_usual).then(|| {
            format!(
                "{variable} is set, so it reads its own files in {}, where hob does not look: the findings are about the files in your home",
                project::visible::path(&dir)
            )
        })
    }

    /// Returns the format of its list of servers.
    pub(crate) fn format(&self, scope: Scope) -> Format {
        self.formats[usize::from(scope == Scope::User)]
    }

    /// True if the agent is used here: it is installed, or has left traces in the home or (in project scope) in the project.
    pub(crate) fn is_used(&self, scope: Scope, site: &Site, search: &OsStr) -> bool {
        let exists = |base: &Path, traces: &[&str]| traces.iter().any(|trace| base.join(trace).exists());
        self.programs.iter().any(|program| find_program(program, search).is_some())
            || exists(&site.home, self.home_traces)
            || (scope == Scope::Project && exists(&site.top, self.project_traces))
    }

    /// True if this file belongs to another agent and this one only reads it too.
    pub(crate) fn reads_anothers(&self, file: &Path, site: &Site) -> bool {
        let others = AGENTS.iter().take_while(|other| other.name != self.name);
        others.into_iter().any(|other| other.files(Scope::Project, site).iter().any(|theirs| theirs == file))
    }

    /// Returns the steps missing before the agent starts hob by the entry in `file` and calls it without asking. An unreadable
    /// file is an error.
    pub(crate) fn steps(&self, scope: Scope, file: &Path, site: &Site) -> Result<Vec<Step>, String> {
        match self.standing {
            Some(standing) => standing(scope, file, site),
            None => Ok(Vec::new()),
        }
    }
}

/// Finds an executable on a search path. A name with a slash is a path.
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

#[cfg(test)]
mod tests;
