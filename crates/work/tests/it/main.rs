//! What is said of a worktree, compared with git's own plumbing and with the real `gh`.

mod absent;
mod beside;
mod generated;
mod github_issues;
mod here;
mod hostile;
mod issues;
mod listing;
mod notes;
mod pulls;
mod pulls_absent;
mod repository;
mod sync;
mod table;
mod trackers;
