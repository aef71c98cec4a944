//! What is asked, as the daemon tells it on a control connection.

use serde::Deserialize;
use serde_json::Value;

/// An open question.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Its id.
    pub question: String,
    pub title: String,
    pub message: String,
    /// Who asks, and where.
    pub agent: Option<String>,
    pub worktree: String,
    pub danger: String,
    pub urgent: bool,
    /// Seconds since it was asked, and until it expires.
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
    /// Whether a choice may be another text.
    pub other: bool,
    pub show_if: Option<ShowIf>,
}

/// What a field takes.
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

/// The condition of a field.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ShowIf {
    pub field: String,
    pub equals: Value,
}

/// Something to look at before answering.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Attachment {
    pub kind: String,
    pub label: String,
    /// Of a text or a diff.
    pub text: String,
    /// Of a picture: the copy that was made when the question was asked.
    pub file: Option<String>,
}

impl ShowIf {
    /// Whether a value is the one; numbers are compared as such.
    pub(super) fn holds(&self, value: &Value) -> bool {
        match (value.as_f64(), self.equals.as_f64()) {
            (Some(is), Some(equals)) => is == equals,
            _ => *value == self.equals,
        }
    }
}

impl Question {
    /// Whether its answer has to be typed.
    pub(super) fn is_dangerous(&self) -> bool {
        self.danger == "high"
    }

    /// Whether a draft keeps what stands in a field: a typed yes to a dangerous question is typed again.
    pub(super) fn is_kept(&self, field: &Field) -> bool {
        !(self.is_dangerous() && field.kind == Kind::Boolean)
    }
}

impl Field {
    /// The text that names it.
    pub(super) fn name(&self) -> &str {
        if self.label.is_empty() { &self.id } else { &self.label }
    }
}

impl Choice {
    pub(super) fn name(&self) -> &str {
        if self.label.is_empty() { &self.id } else { &self.label }
    }
}
