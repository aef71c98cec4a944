//! `hob work`: where the work in this worktree stands.

use clap::Args;
use project::Project;
use serde_json::{Map, json};

use super::call::{control_failure, finish};
use crate::exit::{Exit, Failure};

/// Show where the work in this worktree stands
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// All worktrees of the repository, a line each
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Work {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut hello = super::hello(project)?;
        hello.toolsets = vec!["work".to_owned()];
        let mut control = super::connect_or_start(project, &hello)?;
        let section = if self.all { "worktrees" } else { "git" };
        let arguments = Map::from_iter([("sections".to_owned(), json!([section]))]);
        let result = control.call("work_status", arguments, |_| {}, |_, _| {}).map_err(control_failure)?;
        finish(&result, self.json)
    }
}
