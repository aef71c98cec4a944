//! The state of hob in an agent's own files, apart from the list of servers: folder trust, disabled servers, approval before
//! calls. One file per agent; each was verified with the real program.
//!
//! The files are read as the agents read them, and nothing is started. An unreadable file is an error.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod hooks;
mod opencode;
mod plugin;

pub(crate) use claude::LOCAL as CLAUDE_LOCAL;
pub(super) use claude::steps as claude;
pub(super) use codex::steps as codex;
pub(super) use copilot::steps as copilot;
pub(super) use gemini::steps as gemini;
pub(crate) use hooks::hooks_off;
pub(super) use opencode::steps as opencode;
pub(crate) use plugin::Plugin;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Allows, Change, Edits, Format, SERVER, Scope, Shape};

/// The directories of a worktree and a home, in which an agent's files are read.
pub(crate) struct Site {
    /// The top of the worktree, which contains the project's files.
    pub(crate) top: PathBuf,
    /// The repository's main worktree: some agents extend trust in it to all worktrees.
    pub(crate) main: PathBuf,
    pub(crate) home: PathBuf,
}

/// A step that is missing before an agent uses hob.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) need: Need,
    /// The problem, as the predicate of a sentence about the agent.
    pub(crate) what: String,
    /// The step that a person can take.
    pub(crate) by_hand: String,
    /// The change that hob can write instead, after a confirmation.
    pub(crate) writes: Option<Writing>,
}

/// The consequence of a missing step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The agent does not start hob because it was disabled.
    SwitchedOff,
    /// The agent does not start hob because it was not approved yet.
    Start,
    /// The agent asks before calls of hob's tools, and refuses them without a person.
    Call,
}

/// A value to write into a file of the agent.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) scope: Scope,
    pub(crate) file: PathBuf,
    pub(crate) change: Change,
}

/// Reads an agent's files and returns the steps missing for the entry in a file of a scope.
pub(super) type Reader = fn(Scope, &Path, &Site) -> Result<Vec<Step>, String>;

/// The format of agents' settings, apart from their lists of servers: every agent reads this JSON.
const SETTINGS: Format = Format::Json { key: "", shape: Shape::Plain, allows: Allows::CommentsAndTrailingCommas };

impl Site {
    /// Returns the base directory of a scope.
    pub(crate) fn base(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Project => &self.top,
            Scope::User => &self.home,
        }
    }

    /// Reads a file of the worktree; `null` if it does not exist.
    fn project(&self, file: &str, format: Format) -> Result<Value, String> {
        read(&self.top, &self.top.join(file), Scope::Project, format)
    }

    /// Reads a file of the home; `null` if it does not exist.
    fn user(&self, file: &str, format: Format) -> Result<Value, String> {
        read(&self.home, &self.home.join(file), Scope::User, format)
    }

    /// Returns the paths of the worktree and, if it differs, of the main one, as agents write them.
    pub(super) fn worktree_paths(&self) -> Vec<&str> {
        let mut places: Vec<&str> = [&self.top, &self.main].into_iter().filter_map(|path| path.to_str()).collect();
        places.dedup();
        places
    }
}

fn read(base: &Path, path: &Path, scope: Scope, format: Format) -> Result<Value, String> {
    let text = Edits::read_below(base, path, scope.links()).map_err(|error| format!("{error:#}"))?;
    let shown = project::visible::path(path);
    format.value(&text.unwrap_or_default()).map_err(|error| format!("{shown}: {error}; repair the file"))
}

impl Step {
    fn new(need: Need, what: impl Into<String>, by_hand: impl Into<String>) -> Step {
        Step { need, what: what.into(), by_hand: by_hand.into(), writes: None }
    }

    /// Adds a change that hob can write, to a file in the site's folder of this scope.
    fn writes(self, site: &Site, scope: Scope, file: impl AsRef<Path>, change: Change) -> Step {
        Step { writes: Some(Writing { scope, file: site.base(scope).join(file), change }), ..self }
    }
}

/// True if a list contains this text.
fn lists(list: &Value, text: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|element| element == text))
}

/// True if a list of server names contains ours.
fn names_us(list: &Value) -> bool {
    lists(list, SERVER)
}

#[cfg(test)]
mod tests;
