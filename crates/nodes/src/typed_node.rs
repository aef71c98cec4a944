//! Nodes with Rust types. One declaration gives a function for a program, and a tool for agents. Schemas and descriptions come
//! from the types.

use std::marker::PhantomData;
use std::sync::Arc;

use mcp::tool::{
    AnyTool, BoxFuture, Content, Context, Declaration, Effect, Outcome, ToolError, input_schema, output_schema,
    wrong_arguments,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::file::{Judge, Policy};
use crate::run::{CheckedValue, Failure};
use crate::{Models, Problem};

/// A function whose body is a prompt.
pub trait Node: Send + Sync + 'static {
    /// The name of the node and its tool: 1 to 64 letters, digits, `_` and `-`.
    const NAME: &'static str;
    /// The description. The default is the doc comment of `Input`.
    const DESCRIPTION: &'static str = "";
    /// The prompt, as the body of a node file: minijinja with the fields of `Input` as variables.
    const TEMPLATE: &'static str;
    /// A struct; unknown fields should be denied (`#[serde(deny_unknown_fields)]`).
    type Input: Serialize + DeserializeOwned + JsonSchema + Send + Sync;
    /// Any type. A model writes its fields in order: put a reason before its score.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + Sync;

    /// Returns the limits of a call.
    fn policy() -> Policy {
        Policy::default()
    }

    /// Checks conditions that a schema cannot express. Returns a sentence for the model for each problem.
    fn check(_input: &Self::Input, _output: &Self::Output) -> Vec<String> {
        Vec::new()
    }
}

/// Builds and checks the node of a type. Its template is rendered with the fields of its input.
///
/// # Errors
/// The problems. Lines count from the template's first line, after three lines of front matter.
pub fn checked<N: Node>() -> Result<crate::Node, Vec<Problem>> {
    let (description, input) = input_schema::<N::Input>();
    let description = if N::DESCRIPTION.is_empty() { description } else { N::DESCRIPTION.to_owned() };
    // JSON is valid YAML, so it serves as the front matter.
    let front = json!({
        "description": description,
        "input": {"schema": input},
        "output": {"schema": output_schema::<N::Output>()},
    });
    let mut node = crate::Node::parse(N::NAME, &format!("---\n{front}\n---\n{}", N::TEMPLATE))?;
    node.policy = N::policy();
    node.judge = Some(Judge::new(|input, output| {
        let input = serde_json::from_value::<N::Input>(Value::Object(input.clone()));
        match (input, serde_json::from_value::<N::Output>(output.clone())) {
            (Ok(input), Ok(output)) => N::check(&input, &output),
            // The schema accepts the value, so only the type has this constraint.
            (_, Err(error)) => vec![error.to_string()],
            (Err(error), _) => vec![format!("the input: {error}")],
        }
    }));
    Ok(node)
}

/// Runs a node on these models. Its value has the output type.
///
/// # Errors
/// [`Failure`] has the reason and the cost of the attempts.
///
/// # Panics
/// If the node is invalid, which is a bug in the program; [`checked`] finds it in a test.
pub async fn run<N: Node>(input: &N::Input, models: &Models) -> Result<(N::Output, CheckedValue), Failure> {
    let node = checked::<N>().unwrap_or_else(|problems| panic!("{}", listed::<N>(&problems)));
    let given = match serde_json::to_value(input) {
        Ok(Value::Object(given)) => given,
        _ => Map::new(),
    };
    let done = crate::run(&node, given, models).await?;
    match serde_json::from_value(done.value.clone()) {
        Ok(output) => Ok((output, done)),
        Err(error) => Err(Failure {
            kind: crate::run::FailureKind::Model(crate::outcome::Class::Invalid),
            why: error.to_string(),
            ledger: done.ledger,
        }),
    }
}

/// Creates the tool of a node.
///
/// # Panics
/// If the node is invalid, which is a bug in the program; [`checked`] finds it in a test.
pub fn node_tool<N: Node>(models: Arc<Models>) -> Arc<dyn AnyTool> {
    let node = checked::<N>().unwrap_or_else(|problems| panic!("{}", listed::<N>(&problems)));
    let output = Some(node.output.json.clone()).filter(|schema| schema["type"] == "object");
    let input = node.input.json.clone();
    let declaration = Declaration {
        output_schema: output,
        ..Declaration::new(N::NAME, node.description.clone(), input, Effect::READ.open_world())
    };
    Arc::new(TypedTool::<N> { declaration, node, models, types: PhantomData })
}

fn listed<N: Node>(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("{}:{problem}", N::NAME)).collect();
    lines.join("\n")
}

struct TypedTool<N> {
    declaration: Declaration,
    node: crate::Node,
    models: Arc<Models>,
    types: PhantomData<N>,
}

impl<N: Node> AnyTool for TypedTool<N> {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let given = serde_json::from_str::<Map<String, Value>>(arguments.map_or("{}", RawValue::get));
        Box::pin(async move {
            let Ok(given) = given else {
                return Ok(wrong_arguments(&self.declaration, "the arguments must be an object"));
            };
            let ran = tokio::select! {
                ran = crate::run(&self.node, given, &self.models) => ran,
                () = cx.cancelled() => return Ok(Outcome::error("the call was cancelled")),
            };
            match ran {
                Ok(CheckedValue { value, ledger }) => {
                    let is_structured = self.declaration.output_schema.is_some();
                    let structured = is_structured.then(|| serde_json::value::to_raw_value(&value)).transpose();
                    Ok(Outcome {
                        content: vec![Content::Text(value.to_string())],
                        structured: structured.map_err(ToolError::internal)?,
                        meta: Some(ledger.meta()),
                        is_error: false,
                    })
                }
                Err(Failure { why, ledger, .. }) => Ok(Outcome { meta: Some(ledger.meta()), ..Outcome::error(why) }),
            }
        })
    }
}
