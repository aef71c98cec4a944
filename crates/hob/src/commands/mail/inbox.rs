//! `hob inbox`: shows unread messages. Changes nothing, except with --take: printed messages then count as read.

use clap::Args;
use project::Project;
use serde_json::{Value, json};

use super::{Identity, ask, first_in_commands, print, refused, terminal_format};
use crate::commands::call::confirm;
use crate::exit::{Exit, Failure};

/// Show unread messages; they stay unread unless --take is given
#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Receive messages as an agent does: most urgent first, and mark them as read
    #[arg(long)]
    take: bool,
    /// Show all messages, including read ones
    #[arg(long, conflicts_with = "take")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How many messages to show
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    limit: u32,
    #[command(flatten)]
    who: Identity,
}

impl Inbox {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut control = self.who.connect(project)?;
        if !self.take || self.who.is_user() {
            let asked = json!({"all": self.all, "limit": self.limit, "user": self.who.is_user()});
            let shown = control.request("mail/inbox", asked, |_, _| {}).map_err(refused)?;
            let ids: Vec<&Value> = match &shown["structuredContent"]["messages"] {
                Value::Array(messages) if self.take => messages.iter().map(|message| &message["message_id"]).collect(),
                _ => Vec::new(),
            };
            if !ids.is_empty() {
                control.request("mail/seen", json!({"ids": ids}), |_, _| {}).map_err(refused)?;
            }
            let next = match self.take {
                true => "`hob reply ID TEXT --as user` answers one.",
                false => "They stay unread: `hob inbox --take` marks them as read; `hob reply ID TEXT` answers one.",
            };
            return print(&shown, self.json, |shown| terminal_format::mailbox(shown, next));
        }
        let mut result = ask(&mut control, "check_messages", json!({"limit": self.limit}))?;
        first_in_commands(&mut result);
        let next = "`hob reply ID TEXT` answers one; a unique prefix of the ID is enough.";
        let exit = print(&result, self.json, |shown| terminal_format::mailbox(shown, next))?;
        // They were printed, so mark them as read.
        confirm(&mut control, exit)
    }
}
