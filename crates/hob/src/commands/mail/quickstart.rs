//! `hob quickstart`: gives this worktree an agent's name.

use clap::Args;
use project::Project;
use serde_json::json;

use super::Who;
use crate::exit::{Exit, Failure};

/// Register an agent and bind it to this worktree
#[derive(Debug, Args)]
pub(crate) struct Quickstart {
    /// Its name: a-z, 0-9, _ and -
    #[arg(long, value_name = "NAME")]
    name: String,
    /// What it is for: planner, reviewer, …
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// What it works on
    #[arg(long, value_name = "MODULE", default_value = "")]
    module: String,
    /// What it is doing now
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// Take the name from whoever holds it elsewhere
    #[arg(long)]
    takeover: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Quickstart {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let who = Who { name: Some(self.name.clone()), takeover: self.takeover };
        let arguments = json!({"name": self.name, "role": self.role, "module": self.module, "intent": self.intent});
        who.call(project, "register_agent", arguments, self.json)
    }
}
