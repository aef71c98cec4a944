//! `hob quickstart`: registers an agent's name for this worktree.

use clap::Args;
use project::Project;
use serde_json::json;

use super::super::mail_hints::in_commands;
use super::{Identity, ask, finish, replace_texts};
use crate::exit::{Exit, Failure};

/// Register an agent and bind it to this worktree
#[derive(Debug, Args)]
pub(crate) struct Quickstart {
    /// The name of the agent: a-z, 0-9, _ and -
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Its role: planner, reviewer, …
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// The module it works on
    #[arg(long, value_name = "MODULE", default_value = "")]
    module: String,
    /// Its current task
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// Take the name over from the process that uses it elsewhere
    #[arg(long)]
    takeover: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Quickstart {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let who = Identity { name: Some(self.name.clone()), takeover: self.takeover };
        let arguments = json!({"name": self.name, "role": self.role, "module": self.module, "intent": self.intent});
        let mut result = ask(&mut who.connect(project)?, "register_agent", arguments)?;
        replace_texts(&mut result, in_commands);
        finish(&result, self.json)
    }
}
