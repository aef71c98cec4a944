//! [`tool_fn`]: a tool made of a function, for tools of a few lines.

use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::registry::{default_text, parse, wrong_arguments};
use super::{AnyTool, BoxFuture, Content, Context, Declaration, Effect, Outcome, ToolError, schema};

/// A tool of this name that runs a function of its context and arguments. The doc comment of the arguments' type is the
/// description that models read, and that of each field describes the argument. The result is shown as text if it is a
/// string, else as JSON; an object is structured content too. A tool with more to declare implements
/// [`Tool`](super::Tool).
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
    let (description, input_schema) = schema::input_schema::<A>();
    let output_schema = Some(schema::output_schema::<O>()).filter(schema::is_object);
    let declaration = Declaration { output_schema, ..Declaration::new(name, description, input_schema, effect) };
    Arc::new(Function { declaration, call, takes: PhantomData })
}

struct Function<A, F> {
    declaration: Declaration,
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
        &self.declaration
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let parsed = parse::<A>(arguments);
        Box::pin(async move {
            let args = match parsed {
                Ok(args) => args,
                Err(error) => return Ok(wrong_arguments(&self.declaration, &error)),
            };
            let output = (self.call)(cx, args).await?;
            let structured = self.declaration.output_schema.as_ref().map(|_| serde_json::value::to_raw_value(&output));
            let structured = structured.transpose().map_err(ToolError::internal)?;
            Ok(Outcome { content: vec![Content::Text(default_text(&output))], structured, is_error: false })
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
    struct Said {
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
    async fn a_text_is_a_text_and_an_object_is_structured_content_too() {
        let text = || tool_fn("t", Effect::READ, |_, args: Args| async move { Ok(args.text) });
        let object = tool_fn("t", Effect::READ, |_, args: Args| async move { Ok(Said { said: args.text }) });
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
            -
            User { message: "no", hints: [] }"#]],
        )
        .await;
    }
}
