//! `hob brief`: what an agent that begins here is told, or one that ends.

use clap::Args;
use project::Project;
use serde_json::{Map, json};

use super::call::{control_failure, finish};
use crate::exit::{Exit, Failure};

/// Show what an agent that begins in this worktree is told: what is under way, the last note, what waits
#[derive(Debug, Args)]
pub(crate) struct Brief {
    /// What is unfinished, each with what finishes it
    #[arg(long)]
    end: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Brief {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut hello = super::hello(project)?;
        hello.toolsets = vec!["work".to_owned()];
        let mut control = super::connect_or_start(project, &hello)?;
        let at = if self.end { "end" } else { "start" };
        let arguments = Map::from_iter([("at".to_owned(), json!(at))]);
        let result = control.call("work_brief", arguments, |_| {}, |_, _| {}).map_err(control_failure)?;
        finish(&result, self.json)
    }
}
