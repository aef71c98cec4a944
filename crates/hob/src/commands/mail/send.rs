//! `hob send`: sends a message to agents.

use std::path::PathBuf;

use clap::Args;
use project::Project;
use serde_json::json;

use super::Identity;
use super::priority::Priority;
use crate::exit::{Exit, Failure};

/// Send a message to an agent, a group or a role
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The text of the message
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// The recipient: a name, @name, group:X, role:X, everyone, or user: the person
    #[arg(long, value_name = "WHO")]
    to: String,
    /// The priority of the message
    #[arg(long, short, value_name = "P", value_parser = Priority::ONE)]
    priority: Option<String>,
    /// The id of the message that this one answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// Read the text from a file; `-` for stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// An idempotency key: sending again with the same key has no effect
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Identity,
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
