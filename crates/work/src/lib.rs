//! The state of the work in a worktree: branch, base, changes, operations in progress, other worktrees, pull request, issue,
//! and hand-over notes between agents.
//!
//! - [`git`]: git's state, by plumbing commands and one `status --porcelain=v2`; `shared_queries` shares a query among callers.
//! - [`pull`]: the pull request of a branch, through `gh`; `network_cache` caches such answers.
//! - [`tracker`]: issues in the repository and on GitHub, and which one a branch is about.
//! - [`sources`]: the source of each part of an answer, or the reason why it is missing.
//! - `run`, `gh`: how programs are run: environment, limits, and protection against programs that a repository names.
//! - [`notes`]: hand-over notes. [`other_parts`]: information from other parts of the daemon.
//! - [`state`]: [`Work`], the state. `status` collects all parts, `briefing` builds a brief, `sync` fetches.
//! - [`changes`]: changes since the previous call; `changed_lines`: the lines of a diff; [`rule_facts`]: facts for policy rules; [`brief`] and `rendering`: the texts.
//! - [`tools`]: the tools, one file each; [`control`]: the method for the command line.
//!
//! Nothing here writes to a working tree, an index or a branch; a sync only fetches.

pub mod brief;
mod briefing;
mod changed_lines;
pub mod changes;
pub mod control;
mod gh;
pub mod git;
mod network_cache;
pub mod notes;
pub mod other_parts;
pub mod pull;
mod rendering;
pub mod rule_facts;
mod run;
mod settings;
mod shared_queries;
pub mod sources;
pub mod state;
mod status;
mod sync;
pub mod tools;
pub mod tracker;
mod truncation;

pub use briefing::{Brief, Moment};
pub use changed_lines::{ChangedLines, Difference, changed_lines};
pub use git::Git;
pub use settings::WorkSettings;
pub use sources::{Source, State};
pub use state::{Work, WorkOptions};
