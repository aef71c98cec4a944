//! Terminal forms: [`fill`] shows a question and lets a person fill in its fields.
//!
//! Modules: `question.rs` (the question), `state.rs` (keys in, steps out; no terminal access), `draft.rs` (unsent
//! contents), `draw.rs` (rendering), `screen.rs` (the loop).

mod draft;
mod draw;
mod question;
mod screen;
mod state;

pub use draft::{Draft, FieldDraft};
pub(crate) use draft::{Problem, defaults, label, typed, values};
pub use question::{Attachment, Choice, Field, Kind, Question, ShowIf};
pub use screen::fill;

use serde_json::{Map, Value};

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Values by field; options by their ids.
    Values { values: Map<String, Value>, note: Option<String> },
    /// The person declines to answer.
    Decline { note: Option<String> },
}

/// Reason why an answer was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The answer can be corrected. The form stays open with its contents. The field is named if one is at fault.
    Again { field: Option<String>, why: String },
    /// The question is closed, or cannot be answered at all.
    Closed { why: String },
}

/// Receiver of answers, and source of news about the question.
pub trait Questioner {
    /// Submits the answer. Blocks until it is stored.
    fn give(&mut self, answer: &Answer) -> Result<(), Refusal>;

    /// Reports activity of the person. Called for every key.
    fn typed(&mut self) {}

    /// Returns why the form is obsolete, such as an answer given elsewhere. Called several times a second; must not
    /// block for more than a few milliseconds.
    fn closed(&mut self) -> Option<String>;
}

/// How the form ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was accepted.
    Given,
    /// The person left without answering. The draft holds the contents of the form.
    Left { draft: Option<Draft> },
    /// The question closed while the form was open. The typed texts are returned by field name.
    Closed { why: String, typed: Vec<(String, String)> },
}

#[cfg(test)]
pub(crate) mod tests;
