//! Answers of the front-end itself, to calls that no daemon can answer: texts and format.

use mcp::wire::{Envelope, Id, build, code};
use project::Repeat;
use serde_json::json;

use super::peek;
use super::repeat::Rules;

/// The fate of the daemon that had the calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LossReason {
    /// Another daemon runs now.
    Replaced,
    /// The same daemon still runs; only the connection broke.
    SameLife,
    /// No daemon could be reached, for this reason.
    Unreachable(String),
    /// The daemon refuses this caller, for this reason.
    Refused(String),
    /// The agent closed its end and no longer waits.
    InputEnded,
}

impl LossReason {
    /// Describes the state of the sessions and adds the tool's own advice.
    fn of_sessions(&self, rule: Option<&Repeat>, session: Option<&str>) -> String {
        let what = match session {
            Some(session) => format!("The session `{session}`"),
            None => "Every session of the daemon".to_owned(),
        };
        let (restarted, reconnected) = match rule {
            Some(Repeat::Unsafe { restarted, reconnected }) => (restarted.as_str(), reconnected.as_str()),
            _ => ("", ""),
        };
        let more = |text: &str, otherwise: &str| match text {
            "" => otherwise.to_owned(),
            text => format!(": {text}"),
        };
        match self {
            LossReason::Replaced => {
                let more = more(restarted, "; start it again.");
                format!("A new daemon is running. {what} ended with the old one{more}")
            }
            LossReason::SameLife => {
                let more = more(reconnected, ".");
                format!("The daemon is still running; only the connection broke. {what} continues{more}")
            }
            LossReason::Unreachable(reason) | LossReason::Refused(reason) => {
                format!("{what} ended with it, and no new daemon could be reached: {reason}.")
            }
            LossReason::InputEnded => format!("{what} continues if the daemon does."),
        }
    }
}

/// Answers a tool call that a lost daemon had, with a result for the model to read.
pub(super) fn may_have_run(out: &mut Vec<u8>, id: &Id, line: &[u8], loss: &LossReason, rules: &Rules) {
    let (tool, session) = peek::call(line);
    let name = tool.as_deref().unwrap_or("the call");
    let rule = tool.as_deref().and_then(|tool| rules.rule(tool));
    let advice = match rule {
        Some(Repeat::Keyed { keyed_advice, .. }) if rules.is_keyed(line) => Some(keyed_advice),
        Some(Repeat::Keyed { advice, .. } | Repeat::Visible { advice }) => Some(advice),
        _ => None,
    };
    let text = match loss {
        LossReason::InputEnded => {
            format!("The input ended before `{name}` was answered: it may have run, and its result is lost.")
        }
        _ => format!(
            "The connection to the hob daemon was lost during `{name}`: the call may have run in full or in part, and \
             its result is lost."
        ),
    };
    let text = match (loss, advice) {
        (LossReason::Unreachable(reason) | LossReason::Refused(reason), Some(advice)) => {
            format!("{text} No new daemon could be reached: {reason}. {advice}")
        }
        (_, Some(advice)) => format!("{text} {advice}"),
        (_, None) => format!(
            "{text} {} Before you repeat the call, make sure that running it twice does no harm.",
            loss.of_sessions(rule, session.as_deref())
        ),
    };
    let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    let params = Envelope::peek(line).and_then(|envelope| envelope.params());
    if params.is_some_and(peek::is_modern) {
        result["resultType"] = "complete".into();
    }
    build::result(out, id, &result.to_string());
}

/// Answers a request that was not answered and had no effect.
pub(super) fn unanswered(out: &mut Vec<u8>, id: &Id, loss: &LossReason) {
    build::error(out, Some(id), &error(false, loss));
}

/// Answers a request whose id is already in flight.
pub(super) fn duplicate(out: &mut Vec<u8>, id: &Id) {
    let error = build::RpcError::new(code::INVALID_REQUEST, "a request with this id is still in flight");
    build::error(out, Some(id), &error);
}

/// Answers a batch: one array with an answer to each of its requests.
pub(super) fn batch(out: &mut Vec<u8>, ids: &[Id], may_have_run: bool, loss: &LossReason) {
    let error = error(may_have_run, loss);
    let mut lines = Vec::new();
    ids.iter().for_each(|id| build::error(&mut lines, Some(id), &error));
    lines.pop();
    lines.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b',');
    out.push(b'[');
    out.extend_from_slice(&lines);
    out.extend_from_slice(b"]\n");
}

fn error(may_have_run: bool, loss: &LossReason) -> build::RpcError {
    let text = match (loss, may_have_run) {
        (LossReason::Unreachable(reason), false) => format!("no hob daemon is reachable: {reason}"),
        (LossReason::Refused(reason), false) => reason.clone(),
        (LossReason::InputEnded, false) => {
            "the input ended before the request was answered; it had no effect".to_owned()
        }
        (_, false) => "the daemon repeatedly ended during this request; see the log that `hob status` names".to_owned(),
        (_, true) => {
            format!("the connection to the daemon was lost: the calls may have run. {}", loss.of_sessions(None, None))
        }
    };
    let reason = match loss {
        LossReason::Unreachable(_) => "no_daemon",
        LossReason::Refused(_) => "refused",
        LossReason::InputEnded => "input_ended",
        LossReason::Replaced | LossReason::SameLife => "daemon_lost",
    };
    build::RpcError::new(code::INTERNAL, text).with_data(&json!({"reason": reason, "mayHaveRun": may_have_run}))
}
