//! The reported state of a worktree, compared with git's plumbing and the real `gh`.

mod absent;
mod concurrent_commits;
mod fixture;
mod generated;
mod github_issues;
mod hostile;
mod issues;
mod listing;
mod notes;
mod pulls;
mod pulls_absent;
mod repository;
mod sync;
mod table;
mod tidepool;
mod trackers;
