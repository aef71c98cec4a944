//! `hob work`: shows the state of the work in this worktree.

use clap::Args;
use project::Project;
use serde_json::{Map, json};

use super::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};

/// Show the state of the work in this worktree: branch, changes, pull request, issue
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// Show all worktrees of the repository, one line each
    #[arg(long)]
    all: bool,
    /// First fetch from git's remotes and the issue tracker; merges nothing
    #[arg(long)]
    sync: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Work {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut hello = current_project::hello(project)?;
        hello.toolsets = vec!["work".to_owned()];
        let mut control = current_project::connect_or_start(project, &hello)?;
        let sections: &[&str] = if self.all { &["worktrees"] } else { &[] };
        let arguments = Map::from_iter([("sections".to_owned(), json!(sections))]);
        let tool = if self.sync { "work_sync" } else { "work_status" };
        let result = control.call(tool, arguments, |_| {}, |_, _| {}).map_err(control_failure)?;
        finish(&result, self.json)
    }
}
