//! The ids of messages as people type them: any beginning that no other message has, of those this agent wrote or received.

use client::Control;
use serde_json::json;

use super::refused;
use crate::exit::{Exit, Failure};

const PREFIX: &str = "msg_";
/// The length of a whole id.
const WHOLE: usize = PREFIX.len() + 26;
/// The fewest characters after [`PREFIX`]: the first ones are alike for years.
const FEWEST: usize = 4;
/// How many ids are shown of those that begin alike.
const SHOWN: usize = 5;

/// The ids that are meant. One that no message begins with stays as it is: the tool says what is wrong.
pub(super) fn whole(control: &mut Control, ids: Vec<String>) -> Result<Vec<String>, Failure> {
    ids.into_iter().map(|id| one(control, id)).collect()
}

fn one(control: &mut Control, typed: String) -> Result<String, Failure> {
    let bare = typed.trim();
    let is_prefixed = bare.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX));
    let digits = if is_prefixed { &bare[PREFIX.len()..] } else { bare };
    match PREFIX.len() + digits.len() {
        length if length <= PREFIX.len() => return Ok(typed),
        length if length >= WHOLE => return Ok(if is_prefixed { typed } else { format!("{PREFIX}{digits}") }),
        _ => {}
    }
    let asked = json!({"beginning": format!("{PREFIX}{digits}"), "limit": SHOWN + 1});
    let found = control.request("mail/ids", asked, |_, _| {}).map_err(refused)?;
    let found: Vec<&str> =
        found["ids"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
    chosen(&typed, digits, &found)
}

/// The id that is meant, of those that begin so.
fn chosen(typed: &str, digits: &str, found: &[&str]) -> Result<String, Failure> {
    if let Some(same) = found.iter().find(|id| id.len() == PREFIX.len() + digits.len()) {
        return Ok((*same).to_owned());
    }
    let shown = project::visible(typed);
    match found {
        [] => Ok(typed.to_owned()),
        _ if digits.len() < FEWEST => {
            let failure = Failure::new(format_args!("{shown} is too short to say which message is meant"));
            let hint = format!("Type at least {FEWEST} characters after `{PREFIX}`: {}", list(found));
            Err(failure.hint(hint).exit(Exit::Usage))
        }
        [id] => Ok((*id).to_owned()),
        _ => {
            let count = if found.len() > SHOWN { format!("more than {SHOWN}") } else { found.len().to_string() };
            let failure = Failure::new(format_args!("{count} messages begin with {shown}"));
            Err(failure.hint(format_args!("Type more of it: {}", list(found))).exit(Exit::Usage))
        }
    }
}

fn list(found: &[&str]) -> String {
    let more = if found.len() > SHOWN { " …" } else { "." };
    format!("{}{more}", found[..found.len().min(SHOWN)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_must_say_which_is_meant() {
        let known = ["msg_01M888TAGKBFAH69XY0QYVQ96R", "msg_01M888TAGKBFAH69XY0QYVQ97R"];
        let chosen = |typed: &str, found: &[&str]| {
            chosen(typed, typed.trim_start_matches(PREFIX), found).map_err(|failure| failure.message)
        };
        assert_eq!(chosen("01m888TAGKBFAH69XY0QYVQ96", &known[..1]).as_deref(), Ok(known[0]));
        assert_eq!(chosen("01M888", &known).unwrap_err(), "2 messages begin with 01M888");
        assert_eq!(chosen("msg_01M8", &[known[0]; 6]).unwrap_err(), "more than 5 messages begin with msg_01M8");
        for (typed, found) in [("01M", &known[..1]), ("msg_0", &known)] {
            assert_eq!(
                chosen(typed, found).unwrap_err(),
                format!("{typed} is too short to say which message is meant")
            );
        }
        // One of another system's, which is the beginning of another, and one that there is not.
        assert_eq!(chosen("msg_9", &["msg_9", "msg_90"]).as_deref(), Ok("msg_9"));
        assert_eq!(chosen("msg_0199", &[]).as_deref(), Ok("msg_0199"));
    }
}
