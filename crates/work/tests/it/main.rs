//! What is said of a worktree, compared with git's own plumbing.

mod absent;
mod generated;
mod hostile;
mod notes;
mod repository;
