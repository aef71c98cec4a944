//! `hob reply`: an answer to who wrote a message.

use std::path::PathBuf;

use clap::Args;
use project::Project;
use serde_json::json;

use super::Who;
use super::priority::Priority;
use crate::exit::{Exit, Failure};

/// Answer a message: to its sender, in its conversation
#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// The message, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
    /// What to say
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// How urgent it is
    #[arg(long, short, value_name = "P", value_parser = Priority::ONE)]
    priority: Option<String>,
    /// Read the text from a file; `-` for stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Who,
}

impl Reply {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let content = super::text(self.text, self.file)?;
        let control = self.who.connect(project)?;
        let arguments = json!({"content": content, "priority": self.priority, "reply_to": self.id});
        self.who.send(project, control, arguments, self.json)
    }
}
