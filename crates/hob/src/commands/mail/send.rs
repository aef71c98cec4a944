//! `hob send`: a message to agents.

use std::path::PathBuf;

use clap::Args;
use project::Project;
use serde_json::json;

use super::Who;
use super::priority::Priority;
use crate::exit::{Exit, Failure};

/// Send a message to an agent, a group or a role
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// What to say
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// To whom: a name, @name, group:X, role:X, everyone
    #[arg(long, value_name = "WHO")]
    to: String,
    /// How urgent it is
    #[arg(long, short, value_name = "P", value_parser = Priority::ONE)]
    priority: Option<String>,
    /// The message that it answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// Read the text from a file; `-` for stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Sending again with the same key sends nothing twice
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Who,
}

impl Send {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let content = super::text(self.text, self.file)?;
        let arguments = json!({
            "to": self.to, "content": content, "priority": self.priority, "reply_to": self.reply_to,
            "idempotency_key": self.idempotency_key,
        });
        self.who.send(project, self.who.connect(project)?, arguments, self.json)
    }
}
