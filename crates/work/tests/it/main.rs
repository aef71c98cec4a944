//! What is said of a worktree, compared with git's own plumbing.

mod absent;
mod beside;
mod generated;
mod hostile;
mod issues;
mod notes;
mod repository;
