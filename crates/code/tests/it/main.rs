//! Answers about code, requested through the tools as by an agent.

#![allow(clippy::unwrap_used)]

mod answers;
mod back_dated;
mod callees;
mod commonjs;
mod configurations;
mod construction;
mod definitions;
mod disturbed;
mod expanded_results;
mod external_names;
mod haskell;
mod hostile;
mod implicit_callers;
mod judged_project;
mod matches;
mod matches_judged;
mod members;
mod misbehaving_server;
mod missing_servers;
mod overridden;
mod predecessor;
mod projects;
mod prototypes;
mod question_locations;
mod receivers;
mod rust;
mod servers;
mod syntax_classes;
mod temporary_files;
mod unsearched_files;
mod verdict_store;
mod worktree;
mod wrong_use;
