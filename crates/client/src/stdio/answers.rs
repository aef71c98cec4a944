//! What the front-end says itself, when no daemon can: the texts, and their form.

use mcp::wire::{Envelope, Id, build, code};
use serde_json::json;

use super::peek;

/// What became of the daemon that had the calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// Another one runs now.
    Replaced,
    /// The same one still runs; only the connection broke.
    SameLife,
    /// None could be reached, for this reason.
    Unreachable(String),
    /// One was reached and takes no such caller, for this reason.
    Refused(String),
    /// Nobody waits any longer: the agent ended the input.
    InputEnded,
}

impl Fate {
    fn of_sessions(&self, tool: Option<&str>, session: Option<&str>) -> String {
        let what = match session {
            Some(session) => format!("The session `{session}`"),
            None => "Every session that it held".to_owned(),
        };
        let repl = tool.is_none_or(|tool| tool.starts_with("repl_"));
        match (self, repl) {
            (Fate::Replaced, true) => format!(
                "A new daemon runs. {what} ended with the old one: what was printed can still be read with repl_read, \
                 repl_list shows what there is, and repl_start or the next repl_eval starts a session anew."
            ),
            (Fate::Replaced, false) => format!("A new daemon runs. {what} ended with the old one; start it anew."),
            (Fate::SameLife, true) => format!(
                "The daemon runs on, only the connection broke. {what} lives on: repl_list shows it, repl_wait waits \
                 for what still runs, repl_read gives what it printed."
            ),
            (Fate::SameLife, false) => format!("The daemon runs on, only the connection broke. {what} lives on."),
            (Fate::Unreachable(reason) | Fate::Refused(reason), _) => {
                format!("{what} ended with it, and no new daemon could be reached: {reason}.")
            }
            (Fate::InputEnded, _) => format!("{what} lives on if the daemon does."),
        }
    }
}

/// A tool call that a daemon had when it went away: a result that models read.
pub(super) fn may_have_run(out: &mut Vec<u8>, id: &Id, line: &[u8], fate: &Fate) {
    let (tool, session) = peek::call(line);
    let name = tool.as_deref().unwrap_or("the call");
    let next = match name {
        "send_message" if peek::sends_once(line) => {
            "Call it again with the same `idempotency_key` and content: what was stored already is not sent twice.".to_owned()
        }
        "send_message" => {
            "search_messages, or `hob search` in a shell, shows whether it was stored; send it again only if not. With an \
             `idempotency_key` a send can be repeated without harm: give the next one a key, and repeat it with the same."
                .to_owned()
        }
        "broadcast_message" => {
            "search_messages, or `hob search` in a shell, shows whether it was stored; send it again only if not."
                .to_owned()
        }
        _ => format!(
            "{} Before you repeat the call, make sure that running it twice does no harm.",
            fate.of_sessions(tool.as_deref(), session.as_deref())
        ),
    };
    let text = match fate {
        Fate::InputEnded => {
            format!("The input ended before `{name}` was answered: it may have run, and its result is lost.")
        }
        _ => format!(
            "The hob daemon went away while it had `{name}`: the call may have run, wholly or in part, and its result is lost."
        ),
    };
    let text = match fate {
        Fate::Unreachable(reason) | Fate::Refused(reason) if ["send_message", "broadcast_message"].contains(&name) => {
            format!("{text} No new daemon could be reached: {reason}. {next}")
        }
        _ => format!("{text} {next}"),
    };
    let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    let params = Envelope::peek(line).and_then(|envelope| envelope.params());
    if params.is_some_and(peek::is_modern) {
        result["resultType"] = "complete".into();
    }
    build::result(out, id, &result.to_string());
}

/// A request that was not answered and did nothing.
pub(super) fn unanswered(out: &mut Vec<u8>, id: &Id, fate: &Fate) {
    build::error(out, Some(id), &error(false, fate));
}

/// A request under an id that is in flight.
pub(super) fn duplicate(out: &mut Vec<u8>, id: &Id) {
    let error = build::RpcError::new(code::INVALID_REQUEST, "a request with this id is still in flight");
    build::error(out, Some(id), &error);
}

/// A batch: each of its requests, in one array.
pub(super) fn batch(out: &mut Vec<u8>, ids: &[Id], may_have_run: bool, fate: &Fate) {
    let error = error(may_have_run, fate);
    let mut lines = Vec::new();
    ids.iter().for_each(|id| build::error(&mut lines, Some(id), &error));
    lines.pop();
    lines.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b',');
    out.push(b'[');
    out.extend_from_slice(&lines);
    out.extend_from_slice(b"]\n");
}

fn error(may_have_run: bool, fate: &Fate) -> build::RpcError {
    let text = match (fate, may_have_run) {
        (Fate::Unreachable(reason), false) => format!("hob has no daemon to ask: {reason}"),
        (Fate::Refused(reason), false) => reason.clone(),
        (Fate::InputEnded, false) => "the input ended before the request was answered; it did nothing".to_owned(),
        (_, false) => {
            "the daemon went away over this request again and again; `hob status` and the log that it names say more"
                .to_owned()
        }
        (_, true) => format!("the daemon went away: the calls may have run. {}", fate.of_sessions(None, None)),
    };
    let reason = match fate {
        Fate::Unreachable(_) => "no_daemon",
        Fate::Refused(_) => "refused",
        Fate::InputEnded => "input_ended",
        Fate::Replaced | Fate::SameLife => "daemon_lost",
    };
    build::RpcError::new(code::INTERNAL, text).with_data(&json!({"reason": reason, "mayHaveRun": may_have_run}))
}
