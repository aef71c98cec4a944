//! Answers about code, asked as an agent asks: by the tools.

#![allow(clippy::unwrap_used)]

mod disturbed;
mod judged;
mod lies;
mod marked;
mod predecessor;
mod servers;
mod worktree;
mod wrong_use;
