//! The fixed texts for models and people.

use serde_json::Value;

use crate::answer::{confirmed, guidance, selected};
use crate::question::{Kind, Question, QuestionState, Via, rfc3339};

/// The advice after a wait that timed out.
pub(crate) const TIMED_OUT: &str = "The person has not answered yet. Do not ask again: the answer will arrive with a \
                                    later tool result. Continue with work that does not depend on it, or stop and \
                                    report what is open.";

/// Returns the advice of [`TIMED_OUT`] for a caller that gets no pushed answers.
pub(crate) fn timed_out_for_script(id: &str) -> String {
    format!(
        "The person has not answered yet. Do not ask again: call ask_wait with {id} for the answer. Continue with \
         work that does not depend on it, or stop and report what is open."
    )
}

/// Returns the advice after a call that does not wait. `is_seen` is true if a person can see the question or was notified.
/// `is_script` is true if answers are not pushed to the caller.
pub(crate) fn stored(id: &str, is_seen: bool, is_script: bool) -> String {
    let seen = if is_seen {
        "The question is stored and shown.".to_owned()
    } else {
        format!(
            "The question is stored, but no person can see it now: tell your user to run `hob answer {id}` in this project."
        )
    };
    if is_script {
        return format!("{seen} Call ask_wait with {id} for the answer.");
    }
    format!("{seen} The answer will arrive with a later tool result; ask_wait waits for it.")
}

/// The advice for an expired question.
pub(crate) const EXPIRED: &str =
    "The question expired without an answer. That does not mean no: stop, and report what is open.";

/// Returns the advice if no person can see the question.
pub(crate) fn unavailable(id: &str) -> String {
    format!(
        "No person can see the question now. That does not mean no. It stays open: do not ask again; tell your user \
         to run `hob answer {id}` in this project, and continue with work that does not depend on it, or stop."
    )
}

/// Returns the advice if this program accepted the dialog twice without an answer.
pub(crate) fn undrawn_dialog_advice(id: &str) -> String {
    format!(
        "This program accepted the dialog twice without an answer: it cannot show the question. That does not mean \
         no. The question stays open: do not ask again; tell your user to run `hob answer {id}` in this project, and \
         continue with work that does not depend on it, or stop."
    )
}

/// The advice for a question of another run.
pub(crate) const ANOTHER_RUN: &str = "An answer belongs to the run that asked. If you need one, ask the question yourself: your user gets a new question.";

/// The advice for a question whose answer went to another call of the same run.
pub(crate) const ANOTHER_CALL: &str = "An answer goes to one call, and another call of this run has it: do not act on it twice. If \
                                       you need another answer, ask again: your user gets a new question.";

/// Describes an earlier answer as history. `asker` names its recipient.
pub(crate) fn earlier(question: &Question, asker: &str) -> String {
    let id = &question.id;
    let Some(said) = question.response() else {
        return format!("History: another run asked {id}, which ended without an answer ({}).", question.status());
    };
    let what = match (question.kind, question.values()) {
        (_, None) => "declined to answer".to_owned(),
        (Kind::Confirm, Some(_)) => format!("said {}", if confirmed(question) { "yes" } else { "no" }),
        (Kind::Select, Some(_)) => match selected(question) {
            (Some(chosen), None) => format!("chose {}", Value::from(chosen)),
            (_, custom) => format!("answered {}", Value::from(custom)),
        },
        (Kind::Guide, Some(_)) => format!("answered {}", Value::from(guidance(question))),
        (Kind::Form, Some(values)) => format!("answered {}", Value::from(values.clone())),
    };
    let way = match said.via {
        Via::Dialog => "in its program's own dialog",
        via => via.way(),
    };
    format!("History: {asker} asked {id}, and {} {what}, {way}, at {}.", said.by, rfc3339(said.at_ms))
}

/// The advice after a person declined the question. The next one is for a dismissed question.
pub(crate) const DECLINED: &str = "The person declined to answer. That is neither yes nor no: do not ask the same \
                                   question again, and do not do what needed the answer.";
pub(crate) const DISMISSED: &str = "The question was closed without an answer. That is neither yes nor no: do not do what \
                                    needed the answer.";

/// Returns the first line of a late answer.
pub(crate) fn late_head(question: &Question, age: &str, redelivered: bool) -> String {
    let said = question.response();
    let by = said.map_or("the person", |said| said.by.as_str());
    let way = said.map_or(Via::Command, |said| said.via).way();
    let what = match question.standing {
        QuestionState::Answered { .. } => "answered",
        QuestionState::Declined { .. } => "declined to answer",
        _ => "closed without an answer",
    };
    let again = if redelivered { "; redelivered: you may have seen this before" } else { "" };
    format!("Late answer: {by} {what} your question {} of {age} ago, {way}{again}.", question.id)
}

/// Returns the line that counts the answers that did not fit.
pub(crate) fn more_answers(count: usize) -> String {
    let (answers, wait) = if count == 1 { ("answer", "waits") } else { ("answers", "wait") };
    format!("{count} more {answers} from your user {wait}; ask_wait gives them.")
}
