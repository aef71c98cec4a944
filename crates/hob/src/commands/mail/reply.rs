//! `hob reply`: replies to a message.

use std::path::PathBuf;

use clap::Args;
use project::Project;
use serde_json::json;

use super::Identity;
use super::priority::Priority;
use crate::exit::{Exit, Failure};

/// Reply to the sender of a message, in its conversation
#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// The id of the message, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// The text of the reply
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// The priority of the reply
    #[arg(long, short, value_name = "P", value_parser = Priority::ONE)]
    priority: Option<String>,
    /// Read the text from a file; `-` for stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Identity,
}

impl Reply {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let content = super::text(self.text, self.file)?;
        let control = self.who.connect(project)?;
        let arguments = json!({"content": content, "priority": self.priority, "reply_to": self.id});
        self.who.send(project, control, arguments, self.json)
    }
}
