//! The state of the work in a worktree: branch, base, changes, operations in progress, other worktrees, pull request, issue,
//! and hand-over notes between agents.
//!
//! - [`git`]: git's state, by plumbing commands and one `status --porcelain=v2`; `looks` shares a query among callers.
//! - [`pull`]: the pull request of a branch, through `gh`; `kept` caches such answers.
//! - [`tracker`]: issues in the repository and on GitHub, and which one a branch is about.
//! - [`sources`]: the source of each part of an answer, or the reason why it is missing.
//! - `run`, `gh`: how programs are run: environment, limits, and protection against programs that a repository names.
//! - [`notes`]: hand-over notes. [`around`]: information from other parts of the daemon.
//! - [`gather`]: [`Work`], the state. `standing` collects all parts, `briefing` builds a brief, `sync` fetches.
//! - [`changed`]: changes since the previous call; `changed_lines`: the lines of a diff; [`for_rules`]: facts for policy rules; [`brief`] and `words`: the texts.
//! - [`tools`]: the tools, one file each; [`control`]: the method for the command line.
//!
//! Nothing here writes to a working tree, an index or a branch; a sync only fetches.

pub mod around;
pub mod brief;
mod briefing;
pub mod changed;
mod changed_lines;
pub mod control;
pub mod for_rules;
pub mod gather;
mod gh;
pub mod git;
mod kept;
mod looks;
pub mod notes;
pub mod pull;
mod run;
mod settings;
mod shortened;
pub mod sources;
mod standing;
mod sync;
pub mod tools;
pub mod tracker;
mod words;

pub use briefing::{Brief, Moment};
pub use changed_lines::{ChangedLines, changed_lines};
pub use gather::{Work, WorkOptions};
pub use git::Git;
pub use settings::WorkSettings;
pub use sources::{Source, State};
