//! The question to answer, as received from the daemon over a control connection.

use serde::Deserialize;
use serde_json::{Map, Value};

/// An open question.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Its id.
    pub question: String,
    pub title: String,
    pub message: String,
    /// Agent that asks, and its location.
    pub agent: Option<String>,
    pub worktree: String,
    pub danger: String,
    pub urgent: bool,
    /// Age in seconds, and seconds until it expires.
    pub age_s: u64,
    pub left_s: u64,
    pub fields: Vec<Field>,
    pub attachments: Vec<Attachment>,
}

/// A field of a question.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Field {
    pub id: String,
    pub kind: Kind,
    pub label: String,
    pub help: String,
    pub required: bool,
    pub default: Value,
    pub options: Vec<Choice>,
    /// True if free text is accepted as a choice.
    pub other: bool,
    pub show_if: Option<ShowIf>,
}

/// Kind of value that a field takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Note,
    #[default]
    Text,
    Multiline,
    Integer,
    Number,
    Boolean,
    Choice,
    Multichoice,
    Date,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Choice {
    pub id: String,
    pub label: String,
    pub help: String,
}

/// Condition under which a field is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ShowIf {
    pub field: String,
    pub equals: Value,
}

/// Attachment to look at before answering.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Attachment {
    pub kind: String,
    pub label: String,
    /// Contents of a text or a diff.
    pub text: String,
    /// For a picture: the copy made when the question was asked.
    pub file: Option<String>,
}

impl ShowIf {
    /// True if the value meets the condition. Numbers are compared numerically.
    pub(crate) fn holds(&self, value: &Value) -> bool {
        match (value.as_f64(), self.equals.as_f64()) {
            (Some(is), Some(equals)) => is == equals,
            _ => *value == self.equals,
        }
    }
}

impl Question {
    /// True if the answer must be typed in full.
    pub(crate) fn is_dangerous(&self) -> bool {
        self.danger == "high"
    }

    /// True if the condition of a field holds for these values. It may depend on a field before it.
    pub(super) fn is_asked(&self, at: usize, values: &Map<String, Value>) -> bool {
        self.fields[at].show_if.as_ref().is_none_or(|on| {
            let is_before = self.fields[..at].iter().any(|field| field.id == on.field);
            is_before && values.get(&on.field).is_some_and(|value| on.holds(value))
        })
    }

    /// True if a draft keeps the field. The typed yes or no to a dangerous question is not kept.
    pub(super) fn is_kept(&self, field: &Field) -> bool {
        !(self.is_dangerous() && field.kind == Kind::Boolean)
    }
}

impl Field {
    /// Returns the label, or else the id.
    pub(crate) fn name(&self) -> &str {
        if self.label.is_empty() { &self.id } else { &self.label }
    }
}

impl Choice {
    /// Returns the label, or else the id.
    pub(crate) fn name(&self) -> &str {
        if self.label.is_empty() { &self.id } else { &self.label }
    }
}
