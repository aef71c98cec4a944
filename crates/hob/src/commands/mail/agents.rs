//! `hob agents`: who there is.

use clap::Args;
use project::Project;
use serde_json::json;

use super::Who;
use crate::exit::{Exit, Failure};

/// List the agents: what they do, whether they are there, what waits for them
#[derive(Debug, Args)]
pub(crate) struct Agents {
    /// Only those that are there
    #[arg(long)]
    active: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Who,
}

impl Agents {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        self.who.call(project, "list_agents", json!({"include_offline": !self.active}), self.json)
    }
}
