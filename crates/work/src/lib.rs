//! Where the work in a worktree stands: branch, base, changes, operations under way, and the other worktrees.
//!
//! - [`git`]: what git says, by its plumbing and one `status --porcelain=v2`.
//! - [`sources`]: where each part of an answer comes from, and why one is missing.
//! - `run`: how a program is asked: its environment, its bounds, and what may not run on its behalf.
//! - [`tools`]: what agents call, one file each.
//!
//! Nothing here writes to a working tree, an index, a branch or a remote.

pub mod git;
mod run;
pub mod sources;
pub mod tools;

pub use git::Git;
pub use sources::{Source, State};
