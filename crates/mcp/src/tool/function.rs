//! [`tool_fn`]: a tool made of a function, for tools of a few lines; and [`ToolFn`], with which such a tool declares more.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::typed_tool::{Types, default_text};
use super::{
    AnyTool, Asks, BoxFuture, Content, Context, Declaration, DeclarationError, Effect, Example, Icon, Outcome, Repeat,
    ToolError,
};

/// Returns a tool of this name that runs a function of its context and arguments. The doc comment of the arguments'
/// type is the description that models read, and that of each field describes the argument. The result is shown as text
/// if it is a string, else as JSON; an object is structured content too. A tool with more to declare is made by
/// [`ToolFn`], or implements [`Tool`](super::Tool).
///
/// ```
/// use mcp::tool::{Effect, ToolError, tool_fn};
///
/// /// Adds two numbers.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Args {
///     /// The first.
///     a: i64,
///     /// The second.
///     b: i64,
/// }
///
/// let add = tool_fn("add", Effect::READ, |_, args: Args| async move {
///     args.a.checked_add(args.b).ok_or_else(|| ToolError::user("the sum is too large").hint("add smaller numbers"))
/// });
/// assert_eq!(add.declaration().description, "Adds two numbers.");
/// ```
pub fn tool_fn<A, O, F, Fut>(name: &str, effect: Effect, call: F) -> Arc<dyn AnyTool>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    O: Serialize + JsonSchema + Send + 'static,
    F: Fn(Context, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    ToolFn::new(name, effect).build(call)
}

/// The declaration of a tool made of a function. Each method stands for the constant or method of the same name of
/// [`Tool`](super::Tool), which has the details.
///
/// ```
/// use mcp::tool::{Ask, Asks, Effect, ToolFn};
///
/// /// Whether it is meant.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sure {
///     /// Whether to delete it all.
///     sure: bool,
/// }
///
/// let delete = ToolFn::new("delete", Effect::DESTRUCTIVE)
///     .description("Deletes everything.")
///     .asks(Asks::Person)
///     .build(|cx, (): ()| async move {
///         Ok(match cx.ask(Ask::form::<Sure>("Delete everything?")).await?.accepted::<Sure>()? {
///             Some(Sure { sure: true }) => "it is gone",
///             _ => "nothing was deleted",
///         })
///     });
/// # assert!(delete.declaration().input_schema["properties"]["resume"].is_object());
/// ```
#[must_use = "`build` makes the tool"]
pub struct ToolFn {
    declaration: Declaration,
    is_structured: bool,
}

impl ToolFn {
    /// Returns a tool of this name.
    pub fn new(name: &str, effect: Effect) -> ToolFn {
        ToolFn { declaration: Declaration::new(name, "", Value::Null, effect), is_structured: true }
    }

    /// Returns a title for people.
    pub fn title(mut self, title: &str) -> ToolFn {
        self.declaration.title = Some(title.to_owned());
        self
    }

    /// Returns the description, instead of the doc comment of the arguments' type.
    pub fn description(mut self, description: &str) -> ToolFn {
        self.declaration.description = description.to_owned();
        self
    }

    /// Sets whether results carry structured content, if the output is an object.
    pub fn structured(mut self, is_structured: bool) -> ToolFn {
        self.is_structured = is_structured;
        self
    }

    /// Sets the person or program that a call may ask.
    pub fn asks(mut self, asks: Asks) -> ToolFn {
        self.declaration.asks = asks;
        self
    }

    /// After how long a call becomes a job.
    pub fn job_after(mut self, time: Duration) -> ToolFn {
        self.declaration.job_after = Some(time);
        self
    }

    /// How a call may be repeated whose answer was lost.
    pub fn repeat(mut self, repeat: Repeat) -> ToolFn {
        self.declaration.repeat = repeat;
        self
    }

    /// Icons for people.
    pub fn icons(mut self, icons: impl IntoIterator<Item = Icon>) -> ToolFn {
        self.declaration.icons.extend(icons);
        self
    }

    /// Example calls.
    pub fn examples(mut self, examples: impl IntoIterator<Item = Example>) -> ToolFn {
        self.declaration.examples.extend(examples);
        self
    }

    /// Hints for particular clients, sent as the declaration's `_meta`.
    pub fn meta(mut self, meta: Map<String, Value>) -> ToolFn {
        self.declaration.meta = Some(meta);
        self
    }

    /// Returns the tool that runs this function.
    pub fn build<A, O, F, Fut>(self, call: F) -> Arc<dyn AnyTool>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + 'static,
        F: Fn(Context, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let types = Types::complete::<A, O>(self.declaration, self.is_structured);
        Arc::new(Function { types, call, takes: PhantomData })
    }
}

struct Function<A, F> {
    types: Types,
    call: F,
    takes: PhantomData<fn(A)>,
}

impl<A, O, F, Fut> AnyTool for Function<A, F>
where
    A: DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
    F: Fn(Context, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    fn declaration(&self) -> &Declaration {
        &self.types.declaration
    }

    fn check(&self) -> Result<(), DeclarationError> {
        self.types.check()
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let parsed = self.types.parse::<A>(arguments);
        Box::pin(async move {
            let args = match parsed {
                Ok(args) => args,
                Err(wrong) => return Ok(wrong),
            };
            let output = (self.call)(cx, args).await?;
            self.types.outcome(&output, vec![Content::Text(default_text(&output))])
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde::Deserialize;

    use super::*;

    /// Says something.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        /// What to say.
        text: String,
    }

    #[derive(Serialize, JsonSchema)]
    struct Echo {
        /// What was said.
        said: String,
    }

    async fn check(tool: Arc<dyn AnyTool>, arguments: &str, expected: Expect) {
        let arguments = RawValue::from_string(arguments.to_owned()).expect("JSON");
        let declared = tool.declaration().output_schema.as_ref().map_or("-".to_owned(), ToString::to_string);
        let said = match tool.call(Context::detached(Arc::new(())), Some(&arguments)).await {
            Ok(outcome) => format!("{:?} {:?} {}", outcome.content, outcome.structured, outcome.is_error),
            Err(error) => format!("{error:?}"),
        };
        expected.assert_eq(&format!("{declared}\n{said}"));
    }

    #[tokio::test]
    async fn a_tool_fn_takes_options() {
        let tool = ToolFn::new("t", Effect::WRITE)
            .title("A tool")
            .description("Does it.")
            .asks(Asks::Person)
            .job_after(Duration::from_secs(5))
            .repeat(Repeat::Lasting)
            .icons([Icon::new("https://example.com/t.png")])
            .examples([Example { title: "Once", arguments: serde_json::json!({"text": "hi"}), text: None }])
            .meta(Map::from_iter([("a".to_owned(), 1.into())]))
            .build(|_, args: Args| async move { Ok(Echo { said: args.text }) });
        let Declaration { title, description, asks, job_after, repeat, icons, examples, meta, .. } = tool.declaration();
        assert_eq!((title.as_deref(), description.as_str(), *asks), (Some("A tool"), "Does it.", Asks::Person));
        assert_eq!((*job_after, *repeat, icons.len()), (Some(Duration::from_secs(5)), Repeat::Lasting, 1));
        assert_eq!((examples.len(), meta.as_ref().map(Map::len)), (1, Some(1)));
        assert!(tool.declaration().input_schema["properties"]["resume"].is_object());
        tool.check().expect("it can be served");
        // Its structured content is as its schema says.
        let arguments = RawValue::from_string(r#"{"text":"hi"}"#.to_owned()).expect("JSON");
        let outcome = tool.call(Context::detached(Arc::new(())), Some(&arguments)).await.expect("no fault");
        let structured = outcome.structured.expect("an object");
        assert_eq!(structured.get(), r#"{"state":"done","result":{"said":"hi"}}"#);
        let text = ToolFn::new("t", Effect::READ)
            .structured(false)
            .build(|_, args: Args| async move { Ok(Echo { said: args.text }) });
        assert!(text.declaration().output_schema.is_none());
    }

    #[tokio::test]
    async fn the_unit_type_means_no_arguments() {
        let tool = || {
            ToolFn::new("t", Effect::READ).description("Does it.").build(|_, (): ()| async { Ok("done".to_owned()) })
        };
        tool().check().expect("it can be served");
        let schema = tool().declaration().input_schema.to_string();
        expect![[r#"{"type":"object","additionalProperties":false}"#]].assert_eq(&schema);
        check(
            tool(),
            "{}",
            expect![[r#"
            -
            [Text("done")] None false"#]],
        )
        .await;
        check(
            tool(),
            r#"{"text":"hi"}"#,
            expect![[r#"
            -
            [Text("t: unknown field `text`\nIt takes no arguments.")] None true"#]],
        )
        .await;
        check(
            tool(),
            "null",
            expect![[r#"
            -
            [Text("t: the arguments must be an object\nIt takes no arguments.")] None true"#]],
        )
        .await;
        let outcome = tool().call(Context::detached(Arc::new(())), None).await.expect("no fault");
        assert_eq!(outcome.content, [Content::text("done")]);
    }

    #[tokio::test]
    async fn a_text_is_a_text_and_an_object_is_structured_content_too() {
        let text = || tool_fn("t", Effect::READ, |_, args: Args| async move { Ok(args.text) });
        let object = tool_fn("t", Effect::READ, |_, args: Args| async move { Ok(Echo { said: args.text }) });
        let number = tool_fn("t", Effect::READ, |_, args: Args| async move { Ok(args.text.len()) });
        let refuses = tool_fn("t", Effect::READ, |_, _: Args| async { Err::<(), _>(ToolError::user("no")) });
        check(
            text(),
            r#"{"text":"hi"}"#,
            expect![[r#"
            -
            [Text("hi")] None false"#]],
        )
        .await;
        check(
            text(),
            r#"{"txt":"hi"}"#,
            expect![[r#"
            -
            [Text("t: unknown field `txt`: did you mean `text`?\nArguments: text: string (required).")] None true"#]],
        )
        .await;
        check(
            object,
            r#"{"text":"hi"}"#,
            expect![[r#"
            {"type":"object","properties":{"said":{"type":"string","description":"What was said."}},"required":["said"]}
            [Text("{\"said\":\"hi\"}")] Some(RawValue({"said":"hi"})) false"#]],
        )
        .await;
        check(
            number,
            r#"{"text":"hi"}"#,
            expect![[r#"
            -
            [Text("2")] None false"#]],
        )
        .await;
        check(
            refuses,
            r#"{"text":"hi"}"#,
            expect![[r#"
                {"type":"object","additionalProperties":false}
                User { message: "no", hints: [] }"#]],
        )
        .await;
    }
}
