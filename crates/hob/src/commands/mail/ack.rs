//! `hob ack`: says of messages that they are done with.

use clap::Args;
use project::Project;
use serde_json::json;

use super::Who;
use crate::exit::{Exit, Failure};

/// Tell the senders of messages that you are done with them
#[derive(Debug, Args)]
pub(crate) struct Ack {
    /// The messages
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// That you will not act on them
    #[arg(long)]
    reject: bool,
    /// A remark for the senders
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Who,
}

impl Ack {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let outcome = if self.reject { "rejected" } else { "acked" };
        let arguments = json!({"ids": self.ids, "outcome": outcome, "note": self.note});
        self.who.call(project, "ack_message", arguments, self.json)
    }
}
