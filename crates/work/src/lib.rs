//! Where the work in a worktree stands: branch, base, changes, operations under way, the other worktrees, and what agents
//! leave for each other.
//!
//! - [`git`]: what git says, by its plumbing and one `status --porcelain=v2`; `looks` shares it among many who ask.
//! - [`pull`]: the pull request of a branch, through `gh`; `kept` keeps such answers for a while.
//! - [`tracker`]: issues beside the code and of GitHub, and which one a branch is about.
//! - [`sources`]: where each part of an answer comes from, and why one is missing.
//! - `run`, `gh`: how programs are asked: their environment, their bounds, and what may not run on their behalf.
//! - [`notes`]: hand-over notes. [`around`]: what other parts of the daemon know.
//! - [`gather`]: [`Work`], which keeps all that; `standing` asks for it, `briefing` says it to who begins or ends, `sync` fetches, [`changed`] compares with the call
//!   before, [`for_rules`] has what rules of policies may ask; [`brief`] and `words` say it.
//! - [`tools`]: what agents call, one file each; [`control`]: what the command line calls.
//!
//! Nothing here writes to a working tree, an index or a branch; a sync fetches, and no more.

pub mod around;
pub mod brief;
mod briefing;
pub mod changed;
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
pub mod sources;
mod standing;
mod sync;
pub mod tools;
pub mod tracker;
mod words;

pub use briefing::{Brief, Moment};
pub use gather::{Work, WorkOptions};
pub use git::Git;
pub use settings::WorkSettings;
pub use sources::{Source, State};
