//! The description of a tool, its effect, and its result, independent of any revision's JSON.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Asks, Content, Icon, Repeat};

/// The effect of a tool on the world (MCP "Tool annotations").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool may destroy something; only meaningful if not read-only.
    pub destructive: bool,
    /// A second call with the same arguments has no further effect.
    pub idempotent: bool,
    /// The tool reaches beyond the server's own domain (the network, arbitrary programs).
    pub open_world: bool,
}

impl Effect {
    /// Only reads.
    pub const READ: Effect = Effect { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds or changes, destroys nothing.
    pub const WRITE: Effect = Effect { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// May destroy.
    pub const DESTRUCTIVE: Effect =
        Effect { read_only: false, destructive: true, idempotent: false, open_world: false };

    /// Returns the same effect, and a second call with the same arguments has no further effect.
    #[must_use]
    pub const fn idempotent(mut self) -> Effect {
        self.idempotent = true;
        self
    }

    /// Returns the same effect, and the tool reaches beyond the server's own domain.
    #[must_use]
    pub const fn open_world(mut self) -> Effect {
        self.open_world = true;
        self
    }
}

/// The description of a tool, as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The name on the wire.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// The description that models read.
    pub description: String,
    /// JSON Schema of the arguments: a plain object without root combinators.
    pub input_schema: Value,
    /// The schemas of further arguments, which are accepted and not listed, so that a model does not pay for them: those of
    /// [`UNLISTED`](super::UNLISTED).
    pub unlisted: Map<String, Value>,
    /// JSON Schema of the structured content, if the tool has any.
    pub output_schema: Option<Value>,
    /// The effect on the world.
    pub effect: Effect,
    /// The person or program that a call may ask; the schemas must match [`Asks`].
    pub asks: Asks,
    /// After how long a call becomes a job; the output schema must then be as
    /// [`Tool::JOB_AFTER`](super::Tool::JOB_AFTER) says.
    pub job_after: Option<Duration>,
    /// True if only clients that know tasks may call it ([`Tool::TASKS_ONLY`](super::Tool::TASKS_ONLY)).
    pub tasks_only: bool,
    /// How a call may be repeated whose answer was lost.
    pub repeat: Repeat,
    /// Icons for people.
    pub icons: Vec<Icon>,
    /// Hints for particular clients, sent as `_meta`.
    pub meta: Option<Map<String, Value>>,
    /// Example calls.
    pub examples: Vec<Example>,
}

impl Declaration {
    /// Creates a declaration with the required parts, and defaults for the rest.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        effect: Effect,
    ) -> Declaration {
        Declaration {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema,
            unlisted: Map::new(),
            output_schema: None,
            effect,
            asks: Asks::Never,
            job_after: None,
            tasks_only: false,
            repeat: Repeat::UNKNOWN,
            icons: Vec::new(),
            meta: None,
            examples: Vec::new(),
        }
    }
}

/// An example call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// The purpose of the example, as a heading.
    pub title: &'static str,
    /// The arguments.
    pub arguments: Value,
    /// The text of the result, if it is always the same.
    pub text: Option<&'static str>,
}

/// A tool's result, independent of any revision's JSON.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The blocks that a model reads; never empty.
    pub content: Vec<Content>,
    /// The full form, which conforms to the output schema; serialized already, so that this happens once.
    pub structured: Option<Box<RawValue>>,
    /// Further data for programs, as the result's `_meta` (MCP "General fields"); no model reads it.
    pub meta: Option<Map<String, Value>>,
    /// True if the call failed in a way that its caller can act on.
    pub is_error: bool,
}

impl Outcome {
    /// Returns a result that is only text.
    pub fn text(text: impl Into<String>) -> Outcome {
        Outcome { content: vec![Content::Text(text.into())], structured: None, meta: None, is_error: false }
    }

    /// Returns a failure that the caller can act on.
    pub fn error(text: impl Into<String>) -> Outcome {
        Outcome { is_error: true, ..Outcome::text(text) }
    }
}
