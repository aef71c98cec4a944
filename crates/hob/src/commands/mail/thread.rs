//! `hob thread`: shows a conversation.

use clap::Args;
use project::Project;
use serde_json::json;

use super::{Identity, ask, first_in_commands, print, terminal_format};
use crate::exit::{Exit, Failure};

/// Show the conversation that a message belongs to
#[derive(Debug, Args)]
pub(crate) struct Thread {
    /// The id of any of its messages, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Identity,
}

impl Thread {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut control = self.who.connect(project)?;
        let mut result = ask(&mut control, "get_thread", json!({"id": self.id}))?;
        first_in_commands(&mut result);
        print(&result, self.json, terminal_format::thread)
    }
}
