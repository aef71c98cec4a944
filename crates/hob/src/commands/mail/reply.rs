//! `hob reply`: an answer to who wrote a message.

use std::path::PathBuf;

use clap::Args;
use project::Project;
use serde_json::json;

use super::{Who, ask, id};
use crate::commands::call::finish;
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
    #[arg(long, short, value_name = "P", value_parser = ["critical", "high", "normal", "low"])]
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
        let mut control = self.who.connect(project)?;
        let id = id::whole(&mut control, vec![self.id])?.remove(0);
        let thread = ask(&mut control, "get_thread", json!({"id": id}))?;
        let messages = thread["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
        let Some(answered) = messages.iter().find(|message| message["message_id"] == id.as_str()) else {
            // The tool says why there is no such message.
            return finish(&thread, self.json);
        };
        let arguments = json!({
            "to": format!("agent:{}", answered["from"].as_str().unwrap_or_default()),
            "content": content, "priority": self.priority, "reply_to": id,
        });
        self.who.send(project, control, arguments, self.json)
    }
}
