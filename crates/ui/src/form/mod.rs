//! A form on a terminal: [`fill`] shows a question and lets a person fill in its fields.
//!
//! `question.rs` is what is asked, `state.rs` what the person did so far (keys in, steps out; it knows no terminal),
//! `draft.rs` what is left unsent, `editor.rs` a text under a cursor, `draw.rs` the picture, `screen.rs` the terminal.

mod draft;
mod draw;
mod editor;
mod question;
mod screen;
mod state;

pub use draft::Draft;
pub use question::Question;
pub use screen::fill;

use serde_json::{Map, Value};

/// What a person gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Values by field, options by their ids.
    Values { values: Map<String, Value>, note: Option<String> },
    /// They refuse to answer.
    Decline { note: Option<String> },
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It can be mended: the form stays, with what was typed. The field is named where one is at fault.
    Again { field: Option<String>, why: String },
    /// It comes too late, or cannot be given at all.
    Closed { why: String },
}

/// Where answers go, and what is heard of the question meanwhile.
pub trait Questioner {
    /// Gives the answer. Blocks until it is stored.
    fn give(&mut self, answer: &Answer) -> Result<(), Refusal>;

    /// The person is at it. Called for every key.
    fn typed(&mut self) {}

    /// Why the form is of no use any more, such as an answer that was given elsewhere. Asked several times a second; must
    /// not block for longer than some milliseconds.
    fn closed(&mut self) -> Option<String>;
}

/// How a form was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was taken.
    Given,
    /// The person left; nothing was answered. The draft is what they had filled in.
    Left { draft: Option<Draft> },
    /// The question closed under the form. What the person had typed is given back, by the names of the fields.
    Closed { why: String, typed: Vec<(String, String)> },
}

#[cfg(test)]
mod tests;
