//! The neutral description of a tool and of its result, before any revision's JSON.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Content, Icon, Repeat};

/// What a tool does to the world (MCP "Tool annotations").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something; only meaningful when not read-only.
    pub destructive: bool,
    /// Calling twice with the same arguments has no further effect.
    pub idempotent: bool,
    /// Reaches things outside the server's own domain (the network, arbitrary programs).
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

    /// The same, and calling twice has no further effect.
    #[must_use]
    pub const fn idempotent(mut self) -> Effect {
        self.idempotent = true;
        self
    }

    /// The same, and it reaches beyond the server.
    #[must_use]
    pub const fn open_world(mut self) -> Effect {
        self.open_world = true;
        self
    }
}

/// Everything there is to say about a tool without calling it.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// The name on the wire.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What models read.
    pub description: String,
    /// JSON Schema of the arguments: a plain object without root combinators.
    pub input_schema: Value,
    /// JSON Schema of the structured content, if the tool has any.
    pub output_schema: Option<Value>,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether it may ask; its schemas must say then what [`Tool::ASKS`](super::Tool::ASKS) says.
    pub asks: bool,
    /// After how long a call of it goes on as a job; its output schema must say then what
    /// [`Tool::JOB_AFTER`](super::Tool::JOB_AFTER) says.
    pub job_after: Option<Duration>,
    /// Whether only clients that know tasks may call it ([`Tool::TASKS_ONLY`](super::Tool::TASKS_ONLY)).
    pub tasks_only: bool,
    /// How a call of it may be made again whose answer was lost.
    pub repeat: Repeat,
    /// Pictures that stand for it.
    pub icons: Vec<Icon>,
    /// Hints for particular clients.
    pub meta: Option<Map<String, Value>>,
    /// Calls that show it.
    pub examples: Vec<Example>,
}

impl Declaration {
    /// What every tool has; it is served as it is.
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
            output_schema: None,
            effect,
            asks: false,
            job_after: None,
            tasks_only: false,
            repeat: Repeat::UNKNOWN,
            icons: Vec::new(),
            meta: None,
            examples: Vec::new(),
        }
    }
}

/// A call that shows a tool.
#[derive(Debug, Clone)]
pub struct Example {
    /// What it shows, as a heading.
    pub title: &'static str,
    /// The arguments.
    pub arguments: Value,
    /// The text of the result, where it is always the same.
    pub text: Option<&'static str>,
}

/// A tool's result, before any revision's JSON.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The blocks a model reads; never empty.
    pub content: Vec<Content>,
    /// The full form, conforming to the output schema; kept serialized so that it is written once.
    pub structured: Option<Box<RawValue>>,
    /// Whether the call failed in a way its caller can act on.
    pub is_error: bool,
}

impl Outcome {
    /// A result that is only text.
    pub fn text(text: impl Into<String>) -> Outcome {
        Outcome { content: vec![Content::Text(text.into())], structured: None, is_error: false }
    }

    /// A failure the caller can act on.
    pub fn error(text: impl Into<String>) -> Outcome {
        Outcome { is_error: true, ..Outcome::text(text) }
    }
}
