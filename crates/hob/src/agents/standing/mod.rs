//! What an agent's own files decide about hob, beside its list of servers: whether it trusts the folder, whether somebody
//! switched hob off, whether it asks before a call. One file per agent; each was tried with the real program, beside its
//! own list of servers.
//!
//! The files are read as the agents read them, and nothing is started. Where a file cannot be read, that is the answer.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod hooks;
mod opencode;

pub(crate) use claude::LOCAL as CLAUDE_LOCAL;
pub(super) use claude::steps as claude;
pub(super) use codex::steps as codex;
pub(super) use copilot::steps as copilot;
pub(super) use gemini::steps as gemini;
pub(crate) use hooks::hooks_off;
pub(super) use opencode::steps as opencode;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Allows, Change, Edits, Format, SERVER, Scope, Shape};

/// Where an agent is started, and whose files it reads.
pub(crate) struct Site {
    /// The top of the worktree, where it looks for the project's files.
    pub(crate) top: PathBuf,
    /// The repository's main worktree: for some agents, trust in it is trust in all of its worktrees.
    pub(crate) main: PathBuf,
    pub(crate) home: PathBuf,
}

/// Something that stands between an agent and hob.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) need: Need,
    /// What is so, as the rest of a sentence about the agent.
    pub(crate) what: String,
    /// What a person does about it.
    pub(crate) by_hand: String,
    /// What hob can write instead, if a person wants it.
    pub(crate) writes: Option<Writing>,
}

/// What is missing without a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The agent does not start hob, because somebody said so.
    SwitchedOff,
    /// The agent does not start hob, because nobody said yet that it may.
    Start,
    /// The agent asks before hob's tools run, and refuses where nobody can answer.
    Call,
}

/// A value to put into a file of the agent's.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) scope: Scope,
    pub(crate) file: PathBuf,
    pub(crate) change: Change,
}

/// Tells what an agent's files decide about the entry in a file of a scope.
pub(super) type Reader = fn(Scope, &Path, &Site) -> Result<Vec<Step>, String>;

/// The agents' settings, apart from their lists of servers: JSON as they all read it.
const SETTINGS: Format = Format::Json { key: "", shape: Shape::Plain, allows: Allows::CommentsAndTrailingCommas };

impl Site {
    /// What the files of a scope are below.
    pub(crate) fn base(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Project => &self.top,
            Scope::User => &self.home,
        }
    }

    /// A file of the worktree, as a value; `null` where it does not exist.
    fn project(&self, file: &str, format: Format) -> Result<Value, String> {
        read(&self.top, &self.top.join(file), Scope::Project, format)
    }

    /// The same in the home.
    fn user(&self, file: &str, format: Format) -> Result<Value, String> {
        read(&self.home, &self.home.join(file), Scope::User, format)
    }

    /// The worktree, and the main one if that is another: as agents write them down.
    pub(super) fn places(&self) -> Vec<&str> {
        let mut places: Vec<&str> = [&self.top, &self.main].into_iter().filter_map(|path| path.to_str()).collect();
        places.dedup();
        places
    }
}

fn read(base: &Path, path: &Path, scope: Scope, format: Format) -> Result<Value, String> {
    let text = Edits::look(base, path, scope.links()).map_err(|error| format!("{error:#}"))?;
    let shown = project::visible::path(path);
    format.value(&text.unwrap_or_default()).map_err(|error| format!("{shown}: {error}; repair the file"))
}

impl Step {
    fn new(need: Need, what: impl Into<String>, by_hand: impl Into<String>) -> Step {
        Step { need, what: what.into(), by_hand: by_hand.into(), writes: None }
    }

    /// The same step, which hob can take by a change in a file below the site's folder of this scope.
    fn writes(self, site: &Site, scope: Scope, file: impl AsRef<Path>, change: Change) -> Step {
        Step { writes: Some(Writing { scope, file: site.base(scope).join(file), change }), ..self }
    }
}

/// Whether a list has this text in it.
fn lists(list: &Value, text: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|element| element == text))
}

/// Whether a list of servers' names has ours.
fn names_us(list: &Value) -> bool {
    lists(list, SERVER)
}

#[cfg(test)]
mod tests;
