//! `hob brief`: the brief for an agent that starts or ends work here.

use clap::Args;
use project::Project;
use serde_json::{Map, json};

use super::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};

/// Show the brief of this worktree for an agent that starts: work in progress, the last note, pending items
#[derive(Debug, Args)]
pub(crate) struct Brief {
    /// Show what is unfinished instead, with the command that finishes each item
    #[arg(long)]
    end: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Brief {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut hello = current_project::hello(project)?;
        hello.toolsets = vec!["work".to_owned()];
        let mut control = current_project::connect_or_start(project, &hello)?;
        let at = if self.end { "end" } else { "start" };
        let arguments = Map::from_iter([("at".to_owned(), json!(at))]);
        let mut result = control.call("work_brief", arguments, |_| {}, |_, _| {}).map_err(control_failure)?;
        for block in result["content"].as_array_mut().into_iter().flatten() {
            let text = block["text"].as_str().unwrap_or_default();
            block["text"] = text.replace("ask_list shows more", "`hob questions` shows all").into();
        }
        finish(&result, self.json)
    }
}
