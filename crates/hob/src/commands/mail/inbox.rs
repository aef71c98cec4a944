//! `hob inbox`: the messages that wait. Those shown count as read once they are printed.

use clap::Args;
use project::Project;
use serde_json::json;

use super::{Who, ask};
use crate::commands::call::{confirm, finish};
use crate::exit::{Exit, Failure};

/// Show the messages that wait, and mark them as read
#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Show all messages, read ones too, and mark nothing
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    who: Who,
}

impl Inbox {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut control = self.who.connect(project)?;
        if self.all {
            let arguments = json!({"after": 0, "max": self.limit, "timeout": 0});
            return finish(&ask(&mut control, "wait_for_message", arguments)?, self.json);
        }
        let result = ask(&mut control, "check_messages", json!({"limit": self.limit}))?;
        let exit = finish(&result, self.json)?;
        // Printed: from here on they are read.
        confirm(&mut control, exit)
    }
}
