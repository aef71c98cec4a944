//! The registry of tools, by name, which announces changes; the erasure of their types, and the check of arguments.

use parking_lot::RwLock;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::near::unknown_field;
use super::{Asks, Context, Declaration, DeclarationError, Outcome, Tool, ToolError, schema};
use crate::catalog::Catalog;

/// A boxed future.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A tool with its types erased. Made by [`tool`], or implemented by hand for tools that are made at run time.
pub trait AnyTool: Send + Sync {
    /// The description.
    fn declaration(&self) -> &Declaration;
    /// Checks the arguments and runs the tool. Wrong arguments are an `Ok` outcome with `is_error`.
    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>>;
}

/// Erases a tool's types.
pub fn tool<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    Arc::new(Typed { declaration: declare::<T>(), tool })
}

/// The tools of a server or of one kind of connection, sorted by name. Shared and changed at run time.
#[derive(Default)]
pub struct Registry {
    pub(crate) tools: Catalog<dyn AnyTool>,
    /// The groups of the unlisted tools, by the tools' names.
    unlisted: RwLock<BTreeMap<String, String>>,
    revision: watch::Sender<u64>,
}

impl Registry {
    /// A registry of a program's own tools. A later tool replaces an earlier one of the same name.
    ///
    /// # Panics
    ///
    /// If a tool cannot be served ([`Declaration::check`]), which is a bug in the program. Use [`Registry::add`] for
    /// tools that are made of input.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Registry {
        let registry = Registry::default();
        for tool in tools {
            if let Err(error) = registry.add(tool) {
                panic!("{error}");
            }
        }
        registry
    }

    /// Adds a tool, or replaces the one of the same name, and announces the change. An error if it cannot be served.
    pub fn add(&self, tool: Arc<dyn AnyTool>) -> Result<(), DeclarationError> {
        tool.declaration().check()?;
        let name = tool.declaration().name.clone();
        self.tools.insert(name, tool);
        self.revision.send_modify(|revision| *revision += 1);
        Ok(())
    }

    /// Removes a tool and announces the change. Returns whether it existed.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.tools.remove(name);
        if removed {
            self.revision.send_modify(|revision| *revision += 1);
        }
        removed
    }

    /// Serves these tools without listing them, until a call on the connection asks for their group
    /// ([`Context::list_more`]): a client's model reads every listed tool at every turn, and rarely needs all.
    pub fn unlist(&self, group: &str, tools: impl IntoIterator<Item = String>) {
        self.unlisted.write().extend(tools.into_iter().map(|tool| (tool, group.to_owned())));
        self.revision.send_modify(|revision| *revision += 1);
    }

    /// Whether a client that was given these groups has the tool in its listing.
    pub(crate) fn is_listed(&self, tool: &str, given: &BTreeSet<String>) -> bool {
        self.unlisted.read().get(tool).is_none_or(|group| given.contains(group))
    }

    /// Whether a call can change what is listed.
    pub(crate) fn has_unlisted(&self) -> bool {
        !self.unlisted.read().is_empty()
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        self.tools.get(name)
    }

    /// All tools, sorted by name.
    pub fn list(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.list()
    }

    /// How often the list has changed.
    pub(crate) fn revision(&self) -> u64 {
        *self.revision.borrow()
    }

    /// Counts changes of the list; a receiver wakes on each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}

struct Typed<T> {
    declaration: Declaration,
    tool: T,
}

impl<T: Tool> AnyTool for Typed<T> {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let parsed = parse::<T::Args>(arguments);
        Box::pin(async move {
            let args = match parsed {
                Ok(args) => args,
                Err(error) => return Ok(wrong_arguments(&self.declaration, &error)),
            };
            let output = self.tool.call(cx, args).await?;
            let structured = match (self.declaration.output_schema.is_some(), is_wrapped::<T>()) {
                (true, false) => Some(serde_json::value::to_raw_value(&output).map_err(ToolError::internal)?),
                (true, true) => {
                    let done = Done { state: "done", result: &output };
                    Some(serde_json::value::to_raw_value(&done).map_err(ToolError::internal)?)
                }
                (false, _) => None,
            };
            Ok(Outcome { content: T::content(&output), structured, is_error: false })
        })
    }
}

/// Reads arguments; `Err` says what is wrong with them.
pub(super) fn parse<A: DeserializeOwned>(arguments: Option<&RawValue>) -> Result<A, String> {
    let arguments = arguments.map_or("{}", RawValue::get);
    // serde also reads a struct from an array, by position, which no schema allows.
    match arguments.starts_with('{') {
        true => serde_json::from_str(arguments).map_err(|error| parse_problem::<A>(arguments, error)),
        false => Err("the arguments must be an object".to_owned()),
    }
}

/// The default text of a result: a string as it is, anything else as JSON.
pub(super) fn default_text(output: &impl Serialize) -> String {
    match serde_json::to_value(output) {
        Ok(Value::String(text)) => text,
        Ok(value) => value.to_string(),
        Err(error) => format!("the result cannot be written: {error}"),
    }
}

/// The structured content of a finished call of a tool that may ask or become a job.
#[derive(Serialize)]
struct Done<'a, T> {
    state: &'static str,
    result: &'a T,
}

fn declare<T: Tool>() -> Declaration {
    let (description, mut input_schema) = schema::input_schema::<T::Args>();
    let output_schema = T::STRUCTURED.then(schema::output_schema::<T::Output>);
    if T::ASKS == Asks::Person {
        schema::add_resume(&mut input_schema);
    }
    let output_schema = match is_wrapped::<T>() {
        true => output_schema.map(|result| schema::wrapped(result, T::ASKS == Asks::Person, T::JOB_AFTER.is_some())),
        false => output_schema.filter(schema::is_object),
    };
    Declaration {
        name: T::NAME.to_owned(),
        title: (!T::TITLE.is_empty()).then(|| T::TITLE.to_owned()),
        description,
        input_schema,
        output_schema,
        effect: T::EFFECT,
        asks: T::ASKS,
        job_after: T::JOB_AFTER,
        tasks_only: T::TASKS_ONLY,
        repeat: T::REPEAT,
        icons: T::icons(),
        meta: T::meta(),
        examples: T::examples(),
    }
}

/// Whether the structured content says first whether there is a result yet.
const fn is_wrapped<T: Tool>() -> bool {
    matches!(T::ASKS, Asks::Person) || T::JOB_AFTER.is_some()
}

/// The limits of the search for a wrong field, in bytes of arguments and in fields.
const MAX_SEARCHED: usize = 1 << 20;
const MAX_FIELDS: usize = 64;

/// serde's message with the name of the wrong field instead of a position, which means nothing to a model.
fn parse_problem<A: DeserializeOwned>(arguments: &str, error: serde_json::Error) -> String {
    let whole = error.to_string();
    let said = whole.split(" at line ").next().unwrap_or_default();
    let message = ["u64", "u32", "usize", "i64", "i32"].into_iter().find_map(|number| {
        let head = said.strip_suffix(number)?.strip_suffix("expected ")?;
        let wanted = if head.contains("integer `-") { "a whole number from 0 on" } else { "a whole number" };
        Some(format!("{head}expected {wanted}"))
    });
    let message = message.unwrap_or_else(|| said.to_owned());
    let names_it = said.starts_with("unknown field") || said.starts_with("missing field");
    if names_it || arguments.len() > MAX_SEARCHED {
        return message;
    }
    match wrong_field::<A>(arguments, &whole) {
        Some(field) => format!("`{field}`: {message}"),
        None => message,
    }
}

/// The first field that gives the same error alone: serde reports a wrong value before a missing field.
fn wrong_field<A: DeserializeOwned>(arguments: &str, error: &str) -> Option<String> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
    let said = |text: &str| text.split(" at line ").next().unwrap_or_default().to_owned();
    let wrong = |(name, value): &(&String, &&RawValue)| {
        let alone = serde_json::to_string(&BTreeMap::from([(name, value)])).unwrap_or_default();
        serde_json::from_str::<A>(&alone).is_err_and(|other| said(&other.to_string()) == said(error))
    };
    fields.iter().take(MAX_FIELDS).find(wrong).map(|(name, _)| name.clone())
}

/// The outcome that says what is wrong with the arguments and what would be right.
pub(crate) fn wrong_arguments(declaration: &Declaration, problem: &str) -> Outcome {
    let schema = &declaration.input_schema;
    let unknown = unknown_field(problem, schema);
    let problem = unknown.as_deref().unwrap_or(problem);
    Outcome::error(format!("{}: {problem}\n{}", declaration.name, schema::usage(schema)))
}

#[cfg(test)]
mod tests {
    use super::super::Effect;
    use super::*;
    use expect_test::{Expect, expect};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// Adds numbers.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct AddArgs {
        /// The first.
        a: i64,
        /// The second, 0 if absent.
        b: Option<i64>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Sum {
        /// What they are together.
        sum: i64,
    }

    struct Add;

    impl Tool for Add {
        const NAME: &'static str = "add";
        const EFFECT: Effect = Effect::READ;
        type Args = AddArgs;
        type Output = Sum;
        async fn call(&self, _: Context, args: AddArgs) -> Result<Sum, ToolError> {
            Ok(Sum { sum: args.a + args.b.unwrap_or(0) })
        }
        fn text(output: &Sum) -> String {
            output.sum.to_string()
        }
    }

    async fn check(arguments: &str, expected: Expect) {
        let arguments = serde_json::value::RawValue::from_string(arguments.to_owned()).expect("valid JSON");
        let outcome = tool(Add).call(Context::detached(Arc::new(())), Some(&arguments)).await.expect("no fault");
        let text = outcome.content[0].as_text().expect("a text");
        let structured = outcome.structured.as_ref().map_or("-", |raw| raw.get());
        expected.assert_eq(&format!("error: {}\n{text}\n{structured}", outcome.is_error));
    }

    #[tokio::test]
    async fn arguments_are_checked_and_named() {
        check(
            r#"{"a":1,"b":2}"#,
            expect![[r#"
            error: false
            3
            {"sum":3}"#]],
        )
        .await;
        check(
            r#"{"b":2}"#,
            expect![[r#"
            error: true
            add: missing field `a`
            Arguments: a: integer (required), b: integer.
            -"#]],
        )
        .await;
        check(
            r#"{"a":1,"c":2}"#,
            expect![[r#"
            error: true
            add: unknown field `c`, expected `a` or `b`
            Arguments: a: integer (required), b: integer.
            -"#]],
        )
        .await;
        check(
            r#"{"a":1,"b":"2"}"#,
            expect![[r#"
            error: true
            add: `b`: invalid type: string "2", expected a whole number
            Arguments: a: integer (required), b: integer.
            -"#]],
        )
        .await;
        check(
            r#"{"b":1.5,"a":1}"#,
            expect![[r#"
            error: true
            add: `b`: invalid type: floating point `1.5`, expected a whole number
            Arguments: a: integer (required), b: integer.
            -"#]],
        )
        .await;
        check(
            r#"{"a":null}"#,
            expect![[r#"
            error: true
            add: `a`: invalid type: null, expected a whole number
            Arguments: a: integer (required), b: integer.
            -"#]],
        )
        .await;
        check(
            r#"{"a":"x","b":"x"}"#,
            expect![[r#"
                error: true
                add: `a`: invalid type: string "x", expected a whole number
                Arguments: a: integer (required), b: integer.
                -"#]],
        )
        .await;
    }

    #[test]
    fn the_declaration_is_plain() {
        let tool = tool(Add);
        let declaration = tool.declaration();
        expect![[r#"
            Adds numbers.
            {"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","description":"The first."},"b":{"type":"integer","description":"The second, 0 if absent."}},"required":["a"]}
            {"type":"object","properties":{"sum":{"type":"integer","description":"What they are together."}},"required":["sum"]}"#]]
        .assert_eq(&format!(
            "{}\n{}\n{}",
            declaration.description,
            declaration.input_schema,
            declaration.output_schema.as_ref().expect("structured"),
        ));
    }
}
