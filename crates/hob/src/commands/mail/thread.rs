//! `hob thread`: a conversation.

use clap::Args;
use project::Project;
use serde_json::json;

use super::Who;
use crate::exit::{Exit, Failure};

/// Show the conversation that a message belongs to
#[derive(Debug, Args)]
pub(crate) struct Thread {
    /// A message of it
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Who,
}

impl Thread {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        self.who.call(project, "get_thread", json!({"id": self.id}), self.json)
    }
}
