//! Tools made of Rust types: the erasure of their types, their declaration, the check of arguments and the forms of their
//! results. `function.rs` makes one of a function.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::did_you_mean::unknown_name;
use super::wrapper::{Case, wrapped};
use super::{
    AnyTool, Asks, BoxFuture, Content, Context, Declaration, DeclarationError, Outcome, Tool, ToolError, schema,
};

/// Erases a tool's types.
pub fn tool<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    let declaration = Declaration {
        title: (!T::TITLE.is_empty()).then(|| T::TITLE.to_owned()),
        asks: T::ASKS,
        job_after: T::JOB_AFTER,
        tasks_only: T::TASKS_ONLY,
        repeat: T::REPEAT,
        icons: T::icons(),
        meta: T::meta(),
        examples: T::examples(),
        ..Declaration::new(T::NAME, T::DESCRIPTION, Value::Null, T::EFFECT)
    };
    Arc::new(Typed { types: Types::complete::<T::Args, T::Output>(declaration, T::STRUCTURED), tool })
}

struct Typed<T> {
    types: Types,
    tool: T,
}

impl<T: Tool> AnyTool for Typed<T> {
    fn declaration(&self) -> &Declaration {
        &self.types.declaration
    }

    fn check(&self) -> Result<(), DeclarationError> {
        self.types.check()
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let parsed = self.types.parse::<T::Args>(arguments);
        Box::pin(async move {
            let args = match parsed {
                Ok(args) => args,
                Err(wrong) => return Ok(wrong),
            };
            let output = self.tool.call(cx, args).await?;
            let outcome = self.types.outcome(&output, T::content(&output))?;
            Ok(Outcome { meta: T::result_meta(&output), ..outcome })
        })
    }
}

/// A tool's declaration, and further data derived from the types of its arguments and its output.
pub(super) struct Types {
    pub declaration: Declaration,
    /// True if the arguments are of a type without fields, such as `()`.
    takes_nothing: bool,
    /// True if the structured content begins with the state of the call, which may not have a result yet.
    is_wrapped: bool,
}

impl Types {
    /// Completes a declaration. The description of the arguments' type is the default.
    pub(super) fn complete<A: JsonSchema, O: JsonSchema>(declaration: Declaration, structured: bool) -> Types {
        let (description, mut input_schema) = schema::input_schema::<A>();
        let unlisted = schema::take_unlisted(&mut input_schema);
        let output_schema = structured.then(schema::output_schema::<O>);
        let (by_argument, jobs) = (declaration.asks == Asks::Person, declaration.job_after.is_some());
        if by_argument {
            schema::add_resume(&mut input_schema);
        }
        let is_wrapped = by_argument || jobs;
        let output_schema = if is_wrapped {
            output_schema.map(|result| {
                let cases = [by_argument.then(Case::asking), jobs.then(Case::running)];
                wrapped(result, cases.into_iter().flatten())
            })
        } else {
            output_schema.filter(schema::is_object)
        };
        let own = Some(declaration.description).filter(|own| !own.is_empty());
        let declaration = Declaration {
            description: own.unwrap_or(description),
            input_schema,
            unlisted,
            output_schema,
            ..declaration
        };
        Types { declaration, takes_nothing: schema::takes_nothing::<A>(), is_wrapped }
    }

    pub(super) fn check(&self) -> Result<(), DeclarationError> {
        self.declaration.check()?;
        self.declaration.check_types()
    }

    /// Parses arguments; `Err` is the result that describes the problem.
    pub(super) fn parse<A: DeserializeOwned>(&self, arguments: Option<&RawValue>) -> Result<A, Outcome> {
        let arguments = arguments.map_or("{}", RawValue::get);
        let parsed = match (arguments.starts_with('{'), self.takes_nothing) {
            (true, false) => serde_json::from_str(arguments).map_err(|error| parse_problem::<A>(arguments, error)),
            (true, true) => parse_nothing(arguments),
            // serde also reads a struct from an array, by position, which no schema allows.
            (false, _) => Err("the arguments must be an object".to_owned()),
        };
        parsed.map_err(|problem| wrong_arguments(&self.declaration, &problem))
    }

    /// Returns the result of a finished call.
    pub(super) fn outcome<O: Serialize>(&self, output: &O, content: Vec<Content>) -> Result<Outcome, ToolError> {
        let structured = match (self.declaration.output_schema.is_some(), self.is_wrapped) {
            (true, false) => Some(serde_json::value::to_raw_value(output)),
            (true, true) => Some(serde_json::value::to_raw_value(&FinishedCall { state: "done", result: output })),
            (false, _) => None,
        };
        let structured = structured.transpose().map_err(ToolError::internal)?;
        Ok(Outcome { content, structured, meta: None, is_error: false })
    }
}

/// Reads an empty object as a type without fields.
fn parse_nothing<A: DeserializeOwned>(arguments: &str) -> Result<A, String> {
    let fields: Map<String, Value> = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    match fields.keys().next() {
        Some(field) => Err(format!("unknown field `{field}`")),
        None => serde_json::from_str("null").map_err(|error| error.to_string()),
    }
}

/// Returns the default text of a result: a string as it is, anything else as JSON.
pub(super) fn default_text(output: &impl Serialize) -> String {
    match serde_json::to_value(output) {
        Ok(Value::String(text)) => text,
        Ok(value) => value.to_string(),
        Err(error) => format!("the result cannot be written: {error}"),
    }
}

/// The structured content of a finished call of a tool that may ask or become a job.
#[derive(Serialize)]
struct FinishedCall<'a, T> {
    state: &'static str,
    result: &'a T,
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
        let wanted = if head.contains("integer `-") { "a whole number, 0 or more" } else { "a whole number" };
        Some(format!("{head}expected {wanted}"))
    });
    let message = message.unwrap_or_else(|| said.to_owned());
    if arguments.len() > MAX_SEARCHED {
        return message;
    }
    match wrong_place::<A>(arguments, said) {
        Some(place) if !said.starts_with(&format!("unknown field `{place}`")) => format!("`{place}`: {message}"),
        _ => message,
    }
}

/// Returns the first argument that gives the same error alone: serde reports a wrong value before a missing field. In a list,
/// the place has the number of the item.
fn wrong_place<A: DeserializeOwned>(arguments: &str, error: &str) -> Option<String> {
    let arguments: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
    let gives_error = |arguments: &BTreeMap<&String, &RawValue>| {
        let text = serde_json::to_string(arguments).unwrap_or_default();
        let other = serde_json::from_str::<A>(&text).err().map(|other| other.to_string());
        other.is_some_and(|other| other.split(" at line ").next() == Some(error))
    };
    let is_wrong = |(name, value): &(&String, &&RawValue)| {
        // Without a required argument, every other one gives the same error.
        let is_required = || {
            let others = arguments.iter().filter(|(other, _)| other != name);
            gives_error(&others.map(|(name, value)| (name, *value)).collect())
        };
        gives_error(&BTreeMap::from([(*name, **value)])) && !(error.starts_with("missing field") && is_required())
    };
    let (name, value) = arguments.iter().take(MAX_FIELDS).find(is_wrong)?;
    let items: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
    let gives_error_as_list = |item: &str| {
        let list = RawValue::from_string(format!("[{item}]"));
        list.is_ok_and(|list| gives_error(&BTreeMap::from([(name, &*list)])))
    };
    // If an empty list gives the error too, no item does.
    let is_wrong_item = |item: &&RawValue| gives_error_as_list(item.get()) && !gives_error_as_list("");
    Some(match items.iter().take(MAX_FIELDS).position(is_wrong_item) {
        Some(index) => format!("{name}[{index}]"),
        None => name.clone(),
    })
}

/// Returns the outcome that describes invalid arguments and the valid ones. For a tool that parses its arguments by
/// hand; `problem` is its parser's message, without a position.
pub fn wrong_arguments(declaration: &Declaration, problem: &str) -> Outcome {
    let schema = &declaration.input_schema;
    let unknown = unknown_name(problem, schema);
    let problem = unknown.as_deref().unwrap_or(problem);
    let problem =
        problem.replace("recursion limit exceeded", "it is nested too deeply; write it with at most 120 levels");
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
        /// More.
        #[serde(default)]
        more: Vec<Addend>,
    }

    /// A further number.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Addend {
        value: i64,
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
            Ok(Sum { sum: args.a + args.b.unwrap_or(0) + args.more.iter().map(|more| more.value).sum::<i64>() })
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
            Arguments: a: integer (required), b: integer, more: array.
            -"#]],
        )
        .await;
        check(
            r#"{"a":1,"c":2}"#,
            expect![[r#"
            error: true
            add: unknown field `c`
            Arguments: a: integer (required), b: integer, more: array.
            -"#]],
        )
        .await;
        check(
            r#"{"a":1,"b":"2"}"#,
            expect![[r#"
            error: true
            add: `b`: invalid type: string "2", expected a whole number
            Arguments: a: integer (required), b: integer, more: array.
            -"#]],
        )
        .await;
        check(
            r#"{"b":1.5,"a":1}"#,
            expect![[r#"
            error: true
            add: `b`: invalid type: floating point `1.5`, expected a whole number
            Arguments: a: integer (required), b: integer, more: array.
            -"#]],
        )
        .await;
        check(
            r#"{"a":null}"#,
            expect![[r#"
            error: true
            add: `a`: invalid type: null, expected a whole number
            Arguments: a: integer (required), b: integer, more: array.
            -"#]],
        )
        .await;
        check(
            r#"{"a":"x","b":"x"}"#,
            expect![[r#"
                error: true
                add: `a`: invalid type: string "x", expected a whole number
                Arguments: a: integer (required), b: integer, more: array.
                -"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_wrong_field_below_an_argument_is_named_with_its_place() {
        let mut problems = String::new();
        for arguments in [
            r#"{"a":1,"more":[{"value":1},{"size":1}]}"#,
            r#"{"a":1,"b":2,"more":[{"value":1},{}]}"#,
            r#"{"a":1,"more":[{"value":1},{"value":"x"}]}"#,
            r#"{"b":1,"more":[]}"#,
        ] {
            let arguments = RawValue::from_string(arguments.to_owned()).expect("valid JSON");
            let outcome = tool(Add).call(Context::detached(Arc::new(())), Some(&arguments)).await.expect("no fault");
            let text = outcome.content[0].as_text().expect("a text");
            problems.push_str(&format!("{}\n", text.lines().next().unwrap_or_default()));
        }
        expect![[r#"
            add: `more[1]`: unknown field `size`, expected `value`
            add: `more[1]`: missing field `value`
            add: `more[1]`: invalid type: string "x", expected a whole number
            add: missing field `a`
        "#]]
        .assert_eq(&problems);
    }

    #[test]
    fn the_declaration_is_plain() {
        let tool = tool(Add);
        let declaration = tool.declaration();
        expect![[r#"
            Adds numbers.
            {"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","description":"The first."},"b":{"type":"integer","description":"The second, 0 if absent."},"more":{"type":"array","items":{"description":"A further number.","type":"object","properties":{"value":{"type":"integer"}},"additionalProperties":false,"required":["value"]},"description":"More."}},"required":["a"]}
            {"type":"object","properties":{"sum":{"type":"integer","description":"What they are together."}},"required":["sum"]}"#]]
        .assert_eq(&format!(
            "{}\n{}\n{}",
            declaration.description,
            declaration.input_schema,
            declaration.output_schema.as_ref().expect("structured"),
        ));
    }
}
