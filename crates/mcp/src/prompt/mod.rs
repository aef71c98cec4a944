//! Prompts, with which a person may start a conversation: the [`Prompt`] trait, the [`Prompts`] that serves them, and
//! the completion of arguments. Prompts are declared like tools: one file per prompt holds `Args`, `impl Prompt` and
//! its tests. No type here is tied to a protocol revision.

mod registry;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use registry::{AnyPrompt, Argument, Declaration, Prompts, prompt};

use crate::tool::{Content, Context, Icon, Role, ToolError};

/// One prompt, declared once. Listing, argument checks and completion derive from it.
///
/// The doc comment of `Args` is the description, and that of each field describes the argument. On the wire every
/// argument is a string; fields that are numbers or booleans are parsed from it.
pub trait Prompt: Send + Sync + 'static {
    /// The name on the wire.
    const NAME: &'static str;
    /// A short title for people; empty for none.
    const TITLE: &'static str = "";
    /// The description, instead of the doc comment of `Args`; empty for that comment.
    const DESCRIPTION: &'static str = "";

    /// The arguments, or `()` for none. Unknown fields should be denied (`#[serde(deny_unknown_fields)]`).
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Writes the messages. An error becomes an error of the request.
    fn get(&self, cx: Context, args: Self::Args) -> impl Future<Output = Result<Vec<Message>, ToolError>> + Send;

    /// Offers values for an argument that is being typed.
    fn complete(&self, cx: Context, asked: Completing) -> impl Future<Output = Result<Completion, ToolError>> + Send {
        let _ = (cx, asked);
        async { Ok(Completion::default()) }
    }

    /// Icons for people.
    fn icons() -> Vec<Icon> {
        Vec::new()
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The side that speaks.
    pub role: Role,
    /// The content.
    pub content: Content,
}

impl Message {
    /// Returns a message of the person.
    pub fn user(content: impl Into<Content>) -> Message {
        Message { role: Role::User, content: content.into() }
    }

    /// Returns a message of the model.
    pub fn assistant(content: impl Into<Content>) -> Message {
        Message { role: Role::Assistant, content: content.into() }
    }
}

/// A request for completions: an argument of a prompt, or a variable of a template, that is being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completing {
    /// The name of the argument.
    pub argument: String,
    /// The text typed so far.
    pub value: String,
    /// The arguments that are already given (since 2025-06-18).
    pub others: BTreeMap<String, String>,
}

/// Completions. A client gets the first hundred, and their total.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// The values, best first.
    pub values: Vec<String>,
    /// The total, if there are more than `values`.
    pub total: Option<u64>,
}

impl Completing {
    /// Those of the values that begin with the typed text, ignoring case.
    pub fn choose<I>(&self, values: I) -> Completion
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let typed = self.value.to_lowercase();
        let begins = |value: &String| value.to_lowercase().starts_with(&typed);
        Completion { values: values.into_iter().map(Into::into).filter(begins).collect(), total: None }
    }
}
