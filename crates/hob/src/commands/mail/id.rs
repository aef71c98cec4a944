//! The ids of messages as people type them: any beginning that no other message in the mailbox has.

use client::Control;
use serde_json::json;

use super::refused;
use crate::exit::{Exit, Failure};

/// The length of a whole id.
const WHOLE: usize = "msg_".len() + 26;
/// The fewest characters after `msg_` that are looked up.
const FEWEST: usize = 4;
/// How many ids are shown of those that begin alike.
const SHOWN: usize = 5;

/// The ids that are meant. One that nothing in the mailbox begins with stays as it is: the tool knows the messages that
/// this agent wrote, too, and says what is wrong.
pub(super) fn whole(control: &mut Control, ids: Vec<String>) -> Result<Vec<String>, Failure> {
    if ids.iter().all(|id| id.len() >= WHOLE) {
        return Ok(ids);
    }
    let shown = control.request("mail/inbox", json!({"all": true}), |_, _| {}).map_err(refused)?;
    let messages = shown["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let known: Vec<&str> = messages.iter().filter_map(|message| message["message_id"].as_str()).collect();
    ids.into_iter().map(|id| one(&known, id)).collect()
}

fn one(known: &[&str], typed: String) -> Result<String, Failure> {
    let digits = typed.strip_prefix("msg_").unwrap_or(&typed);
    if typed.len() >= WHOLE || digits.len() < FEWEST {
        return Ok(typed);
    }
    let begins = |id: &&&str| {
        let of = id.strip_prefix("msg_").unwrap_or(id).as_bytes();
        of.get(..digits.len()).is_some_and(|start| start.eq_ignore_ascii_case(digits.as_bytes()))
    };
    let mut found: Vec<&str> = known.iter().filter(begins).copied().collect();
    match found.as_slice() {
        [] => Ok(typed),
        [id] => Ok((*id).to_owned()),
        _ => {
            let count = found.len();
            found.truncate(SHOWN);
            Err(Failure::new(format_args!("{count} messages begin with {}", project::visible(&typed)))
                .hint(format_args!("Type more of it: {}{}.", found.join(", "), if count > SHOWN { " …" } else { "" }))
                .exit(Exit::Usage))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_beginning_is_enough() {
        let known =
            ["msg_01M888TAGKBFAH69XY0QYVQ96R", "msg_01M888TAGKBFAH69XY0QYVQ97R", "msg_01M999TAGKBFAH69XY0QYVQ96R"];
        let one = |typed: &str| one(&known, typed.to_owned()).map_err(|failure| failure.message);
        assert_eq!(one("msg_01M9").as_deref(), Ok(known[2]));
        assert_eq!(one("01m9").as_deref(), Ok(known[2]));
        assert_eq!(one("01M888TAGKBFAH69XY0QYVQ96").as_deref(), Ok(known[0]));
        assert_eq!(one("01M888").unwrap_err(), "2 messages begin with 01M888");
        // What is too short, unknown or whole is left to the tool.
        for typed in ["01M", "msg_0199", known[0], ""] {
            assert_eq!(one(typed).as_deref(), Ok(typed));
        }
    }
}
