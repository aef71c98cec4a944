//! Drafts: the unsent contents of a form, on a terminal or on the page, and the values that they mean.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::question::{Choice, Field, Kind, Question};

/// The unsent contents of a form. A typed yes or no to a dangerous question is never restored from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// Contents by field.
    pub fields: BTreeMap<String, FieldDraft>,
    pub note: Option<String>,
}

/// The unsent contents of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FieldDraft {
    pub text: String,
    /// The ids of the chosen options.
    pub chosen: Vec<String>,
}

/// A rejected answer: the field at fault, if one is, and the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) field: Option<String>,
    pub(crate) why: String,
}

/// Returns the draft with the defaults of all fields.
pub(crate) fn defaults(question: &Question) -> Draft {
    let filled = |field: &Field| (field.id.clone(), FieldDraft::from_default(question, field));
    Draft { fields: question.fields.iter().map(filled).collect(), note: None }
}

/// Returns the texts that the person typed, by field name, and the note.
pub(crate) fn typed(question: &Question, draft: &Draft) -> Vec<(String, String)> {
    let fields = question.fields.iter().filter_map(|field| {
        let text = &draft.fields.get(&field.id)?.text;
        (*text != FieldDraft::from_default(question, field).text).then(|| (field.name().to_owned(), text.clone()))
    });
    let note = draft.note.iter().map(|note| ("Note".to_owned(), note.clone()));
    fields.chain(note).filter(|(_, text)| !text.trim().is_empty()).collect()
}

impl FieldDraft {
    /// Returns the default of a field. A yes or no to a dangerous question is always typed.
    pub(super) fn from_default(question: &Question, field: &Field) -> FieldDraft {
        let id = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match (&field.default, field.kind) {
            (Value::Null, _) => FieldDraft::default(),
            (_, Kind::Boolean) if question.is_dangerous() => FieldDraft::default(),
            (Value::Array(ids), _) => FieldDraft { text: String::new(), chosen: ids.iter().map(id).collect() },
            (one, Kind::Choice | Kind::Multichoice) => FieldDraft { text: String::new(), chosen: vec![id(one)] },
            (value, _) => FieldDraft { text: label(field, value), chosen: Vec::new() },
        }
    }
}

/// Returns the values of the fields whose conditions hold.
///
/// # Errors
/// If a choice has both an option and another text.
pub(crate) fn values(question: &Question, draft: &Draft) -> Result<Map<String, Value>, Problem> {
    let mut values = Map::new();
    for (at, field) in question.fields.iter().enumerate() {
        if let Some(draft) = draft.fields.get(&field.id).filter(|_| question.is_asked(at, &values)) {
            values.extend(value(field, draft)?.map(|value| (field.id.clone(), value)));
        }
    }
    Ok(values)
}

fn value(field: &Field, draft: &FieldDraft) -> Result<Option<Value>, Problem> {
    let word = draft.text.trim();
    let typed = || Some(word).filter(|word| !word.is_empty()).map(Value::from);
    Ok(match field.kind {
        Kind::Note => None,
        // The receiver reports an invalid number, date or word.
        Kind::Integer | Kind::Number => serde_json::from_str(word).ok().filter(Value::is_number).or_else(typed),
        Kind::Boolean => yes_or_no(word).map(Value::Bool).or_else(typed),
        Kind::Date => typed(),
        Kind::Text | Kind::Multiline => typed().map(|_| draft.text.as_str().into()),
        Kind::Choice => match (draft.chosen.as_slice(), word) {
            ([id], "") => Some(id.as_str().into()),
            ([], _) => typed(),
            _ => {
                let why = "an option is chosen and another text is typed: keep one of them".to_owned();
                return Err(Problem { field: Some(field.id.clone()), why });
            }
        },
        Kind::Multichoice => {
            let all: Vec<Value> = draft.chosen.iter().map(|id| id.as_str().into()).chain(typed()).collect();
            (!all.is_empty()).then(|| all.into())
        }
    })
}

/// Parses a word as yes or no.
pub(super) fn yes_or_no(word: &str) -> Option<bool> {
    match word.trim().to_lowercase().as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Returns a value of a field as a person sees it.
pub(crate) fn label(field: &Field, value: &Value) -> String {
    match value {
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(id) => {
            field.options.iter().find(|option| option.id == *id).map_or(id.as_str(), Choice::name).to_owned()
        }
        Value::Array(all) => all.iter().map(|value| label(field, value)).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
