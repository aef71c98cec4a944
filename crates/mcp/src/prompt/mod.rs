//! What a person may start a conversation with: the [`Prompt`] trait, the [`Prompts`] that serves them, and the values
//! that are offered while an argument is typed. Declared like tools: one file per prompt holds `Args`, `impl Prompt`
//! and its tests. No type here is tied to a protocol revision.

mod registry;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use registry::{AnyPrompt, Argument, Declaration, Prompts, prompt};

use crate::tool::{Content, Context, Icon, Role, ToolError};

/// One prompt, declared once. Listing, argument checks and completion derive from it.
///
/// The doc comment of `Args` is the description, the doc comment of each field is that argument's. On the wire every
/// argument is a string; fields that are numbers or truth values are read from it.
pub trait Prompt: Send + Sync + 'static {
    /// The name on the wire.
    const NAME: &'static str;
    /// A short title for people; empty for none.
    const TITLE: &'static str = "";

    /// The arguments. Unknown fields should be denied (`#[serde(deny_unknown_fields)]`).
    type Args: DeserializeOwned + JsonSchema + Send;

    /// Writes the messages. An error is an error of the request.
    fn get(&self, cx: Context, args: Self::Args) -> impl Future<Output = Result<Vec<Message>, ToolError>> + Send;

    /// Offers values for an argument that is being typed.
    fn complete(&self, cx: Context, asked: Completing) -> impl Future<Output = Result<Completion, ToolError>> + Send {
        let _ = (cx, asked);
        async { Ok(Completion::default()) }
    }

    /// Pictures that stand for it.
    fn icons() -> Vec<Icon> {
        Vec::new()
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who is to have said it.
    pub role: Role,
    /// What.
    pub content: Content,
}

impl Message {
    /// A message of the person.
    pub fn user(content: impl Into<Content>) -> Message {
        Message { role: Role::User, content: content.into() }
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> Message {
        Message { role: Role::Assistant, content: content.into() }
    }
}

/// An argument of a prompt, or a variable of a template, while it is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completing {
    /// Which.
    pub argument: String,
    /// What was typed of it.
    pub value: String,
    /// Those that were given already (since 2025-06-18).
    pub others: BTreeMap<String, String>,
}

/// Values on offer. A client gets the first hundred and hears how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// The best first.
    pub values: Vec<String>,
    /// How many there are, if more than these.
    pub total: Option<u64>,
}

impl Completing {
    /// Those of these values that begin with what was typed, whatever the case.
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
