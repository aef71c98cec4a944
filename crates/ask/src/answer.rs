//! Converts an answer for the asking tool, and to lines for a model. A person's words are quoted as JSON.

use serde_json::{Map, Value};

use crate::form::{CHOICE, CONFIRM, GUIDANCE};
use crate::question::{Kind, Question, QuestionState};

/// The guidance text of an empty answer.
const NO_GUIDANCE: &str = "No guidance provided";

/// Returns true only if a person confirmed.
pub(crate) fn confirmed(question: &Question) -> bool {
    question.values().and_then(|values| values.get(CONFIRM)) == Some(&Value::Bool(true))
}

/// Returns the chosen option, `custom` or `cancelled`, and the custom text.
pub(crate) fn selected(question: &Question) -> (Option<String>, Option<String>) {
    let chosen = question.values().and_then(|values| values.get(CHOICE)).and_then(Value::as_str);
    let is_option = |id: &str| question.form.0.iter().flat_map(|field| &field.options).any(|option| option.id == id);
    match (chosen, &question.standing) {
        (Some(id), _) if is_option(id) => (Some(id.to_owned()), None),
        (Some(text), _) => (Some("custom".to_owned()), Some(text.to_owned())),
        (None, QuestionState::Declined { .. } | QuestionState::Dismissed { .. } | QuestionState::Withdrawn { .. }) => {
            (Some("cancelled".to_owned()), None)
        }
        (None, _) => (None, None),
    }
}

/// Returns the guidance; `None` without an answer.
pub(crate) fn guidance(question: &Question) -> Option<String> {
    let text = question.values()?.get(GUIDANCE).and_then(Value::as_str);
    Some(text.unwrap_or(NO_GUIDANCE).to_owned())
}

/// Returns the answer by fields; `None` without one.
pub(crate) fn values(question: &Question) -> Option<Map<String, Value>> {
    question.values().cloned()
}

/// Returns the answer in lines, without its author.
pub(crate) fn result_lines(question: &Question) -> Vec<String> {
    let json = |value: &dyn Fn() -> Value| value().to_string();
    let mut lines = match (question.kind, question.values()) {
        (_, None) => Vec::new(),
        (Kind::Confirm, _) => vec![format!("confirmed: {}", confirmed(question))],
        (Kind::Select, _) => match selected(question) {
            (Some(id), None) => vec![format!("selected: {}", json(&|| id.clone().into()))],
            (_, custom) => vec![format!("selected: \"custom\", custom: {}", json(&|| custom.clone().into()))],
        },
        (Kind::Guide, _) => vec![format!("guidance: {}", json(&|| guidance(question).into()))],
        (Kind::Form, Some(values)) => values.iter().map(|(field, value)| format!("{field}: {value}")).collect(),
    };
    if let Some(note) = question.response().and_then(|said| said.note.clone()) {
        lines.push(format!("note: {}", Value::from(note)));
    }
    lines
}
