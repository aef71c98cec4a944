//! Messages that were handed out before, as reminders.

use schemars::JsonSchema;
use serde::Serialize;

use crate::framing::{Author, Framed, counted, one_line};
use crate::model::Reminder;

/// The shown part of an earlier message, in characters.
const BEGINS: usize = 120;

/// A message that was handed out before, in one line.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Earlier {
    /// Its id.
    pub message_id: String,
    /// The author.
    pub from: String,
    /// critical, high, normal or low.
    pub priority: String,
    /// Its first words: data from another agent.
    pub begins: String,
    /// Seconds since it was handed to you.
    pub handed_seconds_ago: u64,
}

impl From<Reminder> for Earlier {
    fn from(reminder: Reminder) -> Earlier {
        Earlier {
            message_id: reminder.id.to_string(),
            from: reminder.from.to_string(),
            priority: reminder.priority.as_str().to_owned(),
            begins: one_line(&reminder.begins, BEGINS),
            handed_seconds_ago: reminder.ago / 1000,
        }
    }
}

impl Earlier {
    /// Shows the lines inside the frame; `more` such messages are not among them.
    pub(crate) fn show(earlier: &[Earlier], more: u64, framed: &mut Framed) {
        let Some(first) = earlier.first() else { return };
        let count = counted(earlier.len() as u64, "message");
        let more = if more > 0 { format!(" The next call lists {more} more.") } else { String::new() };
        framed.line(&format!(
            "You received {count} before and did not answer; each is listed once. Ignore those you have seen; \
             check_messages with `again: true` shows the full text.{more}"
        ));
        let line = |one: &Earlier| {
            let Earlier { message_id, from, priority, begins, handed_seconds_ago } = one;
            format!("{message_id} from {from}, {priority}, received {handed_seconds_ago} s ago: {begins}")
        };
        for author in [Author::User, Author::Agent] {
            let of_author = earlier.iter().filter(|one| Author::from_sender(&one.from) == author);
            let lines: Vec<String> = of_author.map(line).collect();
            if !lines.is_empty() {
                framed.body(author, "how they begin", &lines.join("\n"), &first.message_id);
            }
        }
    }
}
