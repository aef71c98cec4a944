//! `hob ack`: acknowledges messages.

use clap::Args;
use project::Project;
use serde_json::{Value, json};

use super::{Identity, ask};
use crate::commands::call::finish;
use crate::exit::{Exit, Failure};

/// Acknowledge messages: tell the senders that you are done with them
#[derive(Debug, Args)]
pub(crate) struct Ack {
    /// The ids of the messages, or unique prefixes
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Tell the senders that you will not act on them
    #[arg(long)]
    reject: bool,
    /// A comment for the senders
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Identity,
}

impl Ack {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let outcome = if self.reject { "rejected" } else { "acked" };
        let mut control = self.who.connect(project)?;
        let arguments = json!({"ids": self.ids, "outcome": outcome, "note": self.note});
        let result = ask(&mut control, "ack_message", arguments)?;
        let results = result["structuredContent"]["results"].as_array();
        let ids = |field: &str, value: &Value| -> Vec<String> {
            let of_it = results.into_iter().flatten().filter(|item| item[field] == *value);
            of_it.filter_map(|item| item["id"].as_str()).map(project::visible).collect()
        };
        let (unknown, before) = (ids("state", &"unknown".into()), ids("settled_before", &true.into()));
        // For one unknown id, the error below says the same as the text.
        let exit = match (&*self.ids, &*unknown) {
            ([_], [_]) if !self.json => Exit::ToolError,
            _ => finish(&result, self.json)?,
        };
        match (&*unknown, &*before) {
            ([], []) => Ok(exit),
            ([], before) => Err(Failure::new(format_args!("already settled, so unchanged: {}", before.join(", ")))
                .exit(Exit::ToolError)
                .hint("Use `hob reply ID TEXT` to send its sender a message.")),
            (unknown, _) => Err(Failure::new(format_args!("not in this agent's mailbox: {}", unknown.join(", ")))
                .exit(Exit::ToolError)
                .hint("`hob inbox --all` lists the messages with their ids.")),
        }
    }
}
