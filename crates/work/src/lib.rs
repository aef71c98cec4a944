//! Where the work in a worktree stands: branch, base, changes, operations under way, the other worktrees, and what agents
//! leave for each other.
//!
//! - [`git`]: what git says, by its plumbing and one `status --porcelain=v2`.
//! - [`sources`]: where each part of an answer comes from, and why one is missing.
//! - `run`: how a program is asked: its environment, its bounds, and what may not run on its behalf.
//! - [`tracker`]: issues that are kept beside the code, and which one a branch is about.
//! - [`notes`]: hand-over notes. [`around`]: what other parts of the daemon know.
//! - [`gather`]: [`Work`], which gathers what is known; [`brief`] and `words` say it.
//! - [`facts`]: what rules for agents' hooks can ask for.
//! - [`tools`]: what agents call, one file each; [`control`]: what the command line calls.
//!
//! Nothing here writes to a working tree, an index, a branch or a remote.

pub mod around;
pub mod brief;
pub mod control;
pub mod facts;
pub mod gather;
pub mod git;
pub mod notes;
mod run;
pub mod sources;
pub mod tools;
pub mod tracker;
mod words;

pub use gather::{Brief, Moment, Work, WorkOptions};
pub use git::Git;
pub use sources::{Source, State};
