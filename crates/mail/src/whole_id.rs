//! Resolves abbreviated message ids: models and people may write any prefix that is unique among the messages that this
//! agent wrote or received. A full id has 26 characters, which are easily mistyped.

use mcp::tool::ToolError;

use crate::error::failed;
use crate::framing::quoted;
use crate::model::{AgentName, MessageId};
use crate::service::Mail;

const PREFIX: &str = "msg_";
/// The length of a whole id.
const WHOLE: usize = PREFIX.len() + 26;
/// The fewest characters after [`PREFIX`]: the first ones are alike for years.
const FEWEST: usize = 4;
/// The number of ids that are shown of those that begin alike.
const SHOWN: usize = 5;

/// Returns the full id. A prefix without a match stays as it is; the store reports the error.
pub(crate) async fn whole_id(mail: &Mail, agent: &AgentName, written: &str) -> Result<String, ToolError> {
    let bare = written.trim();
    if !bare.is_empty() && PREFIX.starts_with(&bare.to_ascii_lowercase()) {
        return Err(ToolError::user(format!("{} is too short to identify a message.", quoted(bare, 80)))
            .hint(format!("Give at least {FEWEST} characters after `{PREFIX}`.")));
    }
    let is_prefixed = bare.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX));
    let digits = if is_prefixed { &bare[PREFIX.len()..] } else { bare };
    match PREFIX.len() + digits.len() {
        length if length <= PREFIX.len() => return Ok(bare.to_owned()),
        length if length >= WHOLE => {
            return Ok(if is_prefixed { bare.to_owned() } else { format!("{PREFIX}{digits}") });
        }
        _ => {}
    }
    let found = mail.ids(agent, &format!("{PREFIX}{digits}"), SHOWN + 1).await.map_err(failed)?;
    chosen(bare, digits, &found.iter().map(MessageId::as_str).collect::<Vec<_>>())
}

/// Returns the full id among those with this prefix.
fn chosen(written: &str, digits: &str, found: &[&str]) -> Result<String, ToolError> {
    if let Some(same) = found.iter().find(|id| id.len() == PREFIX.len() + digits.len()) {
        return Ok((*same).to_owned());
    }
    let shown = quoted(written, 80);
    match found {
        [] => Ok(written.to_owned()),
        _ if digits.len() < FEWEST => Err(ToolError::user(format!("{shown} is too short to identify a message."))
            .hint(format!("Give at least {FEWEST} characters after `{PREFIX}`: {}", list(found)))),
        [id] => Ok((*id).to_owned()),
        _ => {
            let count = if found.len() > SHOWN { format!("more than {SHOWN}") } else { found.len().to_string() };
            Err(ToolError::user(format!("{count} messages begin with {shown}."))
                .hint(format!("Give a longer prefix: {}", list(found))))
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
        let chosen = |written: &str, found: &[&str]| {
            chosen(written, written.trim_start_matches(PREFIX), found).map_err(|error| error.to_string())
        };
        assert_eq!(chosen("01m888TAGKBFAH69XY0QYVQ96", &known[..1]).as_deref(), Ok(known[0]));
        let said = |written: &str, found: &[&str]| chosen(written, found).unwrap_err();
        assert!(said("01M888", &known).contains("2 messages begin with \"01M888\""));
        assert!(said("msg_01M8", &[known[0]; 6]).contains("more than 5 messages begin with \"msg_01M8\""));
        for (written, found) in [("01M", &known[..1]), ("msg_0", &known)] {
            assert!(said(written, found).contains("is too short to identify a message"));
        }
        // One of another system's, which is the beginning of another, and one that there is not.
        assert_eq!(chosen("msg_9", &["msg_9", "msg_90"]).as_deref(), Ok("msg_9"));
        assert_eq!(chosen("msg_0199", &[]).as_deref(), Ok("msg_0199"));
    }
}
