//! The registry of prompts, by name, and the erasure of their types.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde_json::Value;
use tokio::sync::watch;

use super::{Completing, Completion, Message, Prompt};
use crate::catalog::Catalog;
use crate::tool::{BoxFuture, Context, Icon, ToolError, input_schema, takes_nothing};

/// The description of a prompt, as it is listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Declaration {
    /// The name on the wire.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// A description of its use.
    pub description: String,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// Icons for people.
    pub icons: Vec<Icon>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    /// The name on the wire.
    pub name: String,
    /// A description of its meaning.
    pub description: String,
    /// True if the argument is required.
    pub required: bool,
}

/// A prompt with its types erased. Made by [`prompt`], or implemented by hand for prompts that are made at run time.
pub trait AnyPrompt: Send + Sync {
    /// Returns the description.
    fn declaration(&self) -> &Declaration;
    /// Checks the arguments and writes the messages. Wrong arguments are a [`ToolError::User`].
    fn get(
        self: Arc<Self>,
        cx: Context,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<Result<Vec<Message>, ToolError>>;
    /// Offers values for an argument that is being typed.
    fn complete(self: Arc<Self>, cx: Context, asked: Completing) -> BoxFuture<Result<Completion, ToolError>>;
}

/// Erases a prompt's types.
pub fn prompt<P: Prompt>(prompt: P) -> Arc<dyn AnyPrompt> {
    Arc::new(Typed { declaration: declare::<P>(), prompt })
}

/// The prompts of a server, sorted by name. Shared and changed at run time.
#[derive(Default)]
pub struct Prompts {
    pub(crate) prompts: Catalog<dyn AnyPrompt>,
    revision: watch::Sender<u64>,
}

impl Prompts {
    /// Returns a registry of these prompts. A later one replaces an earlier one of the same name.
    pub fn new(prompts: impl IntoIterator<Item = Arc<dyn AnyPrompt>>) -> Prompts {
        let all = Prompts::default();
        prompts.into_iter().for_each(|prompt| all.add(prompt));
        all
    }

    /// Adds a prompt, or replaces the one of the same name, and announces the change.
    pub fn add(&self, prompt: Arc<dyn AnyPrompt>) {
        self.prompts.insert(prompt.declaration().name.clone(), prompt);
        self.revision.send_modify(|revision| *revision += 1);
    }

    /// Removes a prompt and announces the change. Returns whether it existed.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.prompts.remove(name);
        if removed {
            self.revision.send_modify(|revision| *revision += 1);
        }
        removed
    }

    /// Removes the prompts of these names and adds these prompts, replacing those of the same names, as one change with
    /// one announcement. Nothing is announced if the list stays the same.
    pub fn replace<'a>(
        &self,
        removed: impl IntoIterator<Item = &'a str>,
        added: impl IntoIterator<Item = Arc<dyn AnyPrompt>>,
    ) {
        let added: Vec<Arc<dyn AnyPrompt>> = added.into_iter().collect();
        let is_added = |name: &&str| added.iter().any(|prompt| prompt.declaration().name == *name);
        let removed: Vec<&str> = removed.into_iter().filter(|name| !is_added(name)).collect();
        let is_news = |prompt: &Arc<dyn AnyPrompt>| {
            self.get(&prompt.declaration().name).is_none_or(|former| former.declaration() != prompt.declaration())
        };
        let is_change = removed.iter().any(|name| self.get(name).is_some()) || added.iter().any(is_news);
        let added = added.into_iter().map(|prompt| (prompt.declaration().name.clone(), prompt));
        self.prompts.replace(&removed, added.collect());
        if is_change {
            self.revision.send_modify(|revision| *revision += 1);
        }
    }

    /// Returns the prompt of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn AnyPrompt>> {
        self.prompts.get(name)
    }

    /// Returns the number of changes of the list.
    pub(crate) fn revision(&self) -> u64 {
        *self.revision.borrow()
    }

    /// Counts changes of the list; a receiver wakes on each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}

struct Typed<P> {
    declaration: Declaration,
    prompt: P,
}

impl<P: Prompt> AnyPrompt for Typed<P> {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn get(
        self: Arc<Self>,
        cx: Context,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<Result<Vec<Message>, ToolError>> {
        Box::pin(async move {
            let args = read::<P::Args>(arguments).map_err(|error| self.declaration.wrong_arguments(&error))?;
            self.prompt.get(cx, args).await
        })
    }

    fn complete(self: Arc<Self>, cx: Context, asked: Completing) -> BoxFuture<Result<Completion, ToolError>> {
        Box::pin(async move { self.prompt.complete(cx, asked).await })
    }
}

impl Declaration {
    fn wrong_arguments(&self, error: &serde_json::Error) -> ToolError {
        let arguments = self.arguments.iter().map(|argument| {
            let required = if argument.required { " (required)" } else { "" };
            format!("{}{required}", argument.name)
        });
        let usage = if self.arguments.is_empty() {
            "It takes no arguments.".to_owned()
        } else {
            format!("Arguments: {}.", arguments.collect::<Vec<_>>().join(", "))
        };
        ToolError::user(format!("prompt {}: {error}", self.name)).hint(usage)
    }
}

fn declare<P: Prompt>() -> Declaration {
    let (description, schema) = input_schema::<P::Args>();
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|required| required == name))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let arguments = properties.map(|(name, schema)| Argument {
        name: name.clone(),
        description: schema["description"].as_str().unwrap_or_default().to_owned(),
        required: required(name),
    });
    Declaration {
        name: P::NAME.to_owned(),
        title: (!P::TITLE.is_empty()).then(|| P::TITLE.to_owned()),
        description: if P::DESCRIPTION.is_empty() { description } else { P::DESCRIPTION.to_owned() },
        arguments: arguments.collect(),
        icons: P::icons(),
    }
}

/// Strings → typed arguments: a value whose schema is not a string is parsed as JSON.
fn read<T: serde::de::DeserializeOwned + JsonSchema>(
    arguments: BTreeMap<String, String>,
) -> Result<T, serde_json::Error> {
    if takes_nothing::<T>() && arguments.is_empty() {
        return serde_json::from_value(Value::Null);
    }
    let (_, schema) = input_schema::<T>();
    let object = arguments.into_iter().map(|(name, text)| {
        let is_string = matches!(schema["properties"][&name]["type"].as_str(), None | Some("string"));
        let value = if is_string { None } else { serde_json::from_str(&text).ok() };
        (name, value.unwrap_or(Value::String(text)))
    });
    serde_json::from_value(Value::Object(object.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde::Deserialize;

    /// Asks for a review.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        /// The code.
        code: String,
        /// How many remarks, at most.
        remarks: Option<u32>,
    }

    struct Review;

    impl Prompt for Review {
        const NAME: &'static str = "review";
        type Args = Args;
        async fn get(&self, _: Context, args: Args) -> Result<Vec<Message>, ToolError> {
            Ok(vec![Message::user(format!("{}: {:?}", args.code, args.remarks))])
        }
    }

    async fn check(arguments: &[(&str, &str)], expected: Expect) {
        let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let got = prompt(Review).get(Context::detached(Arc::new(())), arguments).await;
        expected.assert_eq(&match got {
            Ok(messages) => messages[0].content.as_text().expect("a text").to_owned(),
            Err(error) => error.to_string(),
        });
    }

    #[tokio::test]
    async fn arguments_are_typed() {
        check(&[("code", "7"), ("remarks", "3")], expect!["7: Some(3)"]).await;
        check(&[("code", "x")], expect!["x: None"]).await;
        check(
            &[("remarks", "many"), ("code", "")],
            expect![[r#"
                prompt review: invalid type: string "many", expected u32
                Arguments: code (required), remarks."#]],
        )
        .await;
        check(
            &[],
            expect![[r#"
                prompt review: missing field `code`
                Arguments: code (required), remarks."#]],
        )
        .await;
    }

    struct Greet;

    impl Prompt for Greet {
        const NAME: &'static str = "greet";
        const DESCRIPTION: &'static str = "Greets.";
        type Args = ();
        async fn get(&self, _: Context, (): ()) -> Result<Vec<Message>, ToolError> {
            Ok(vec![Message::user("hello")])
        }
    }

    #[tokio::test]
    async fn the_unit_type_means_no_arguments() {
        let declaration = prompt(Greet).declaration().clone();
        assert_eq!((declaration.description.as_str(), declaration.arguments.len()), ("Greets.", 0));
        let got = prompt(Greet).get(Context::detached(Arc::new(())), BTreeMap::new()).await;
        assert_eq!(got.expect("no fault"), [Message::user("hello")]);
        let more = BTreeMap::from([("name".to_owned(), "Ada".to_owned())]);
        assert!(prompt(Greet).get(Context::detached(Arc::new(())), more).await.is_err());
    }

    #[test]
    fn the_declaration_comes_from_the_type() {
        expect![[r#"
            Declaration {
                name: "review",
                title: None,
                description: "Asks for a review.",
                arguments: [
                    Argument {
                        name: "code",
                        description: "The code.",
                        required: true,
                    },
                    Argument {
                        name: "remarks",
                        description: "How many remarks, at most.",
                        required: false,
                    },
                ],
                icons: [],
            }
        "#]]
        .assert_debug_eq(prompt(Review).declaration());
    }
}
