//! `find_callers`: the callers of a function.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use syntax::{Class, Kind, SCRIPTS, family};

use super::uses::{FileUses, Uses};
use super::verified_uses::{JudgedAnswer, Question, answer};
use super::{Questions, most_results};
use crate::answer::{Candidates, LineOptions};
use crate::definition::Definition;
use crate::judgement::is_zero;

/// Who calls a function or passes it as a value, without imports, signatures, comments and strings. Verified callers come first. A complete answer has all that a language server sees: no reflection, generated code or other repositories. In a project that the user trusts, a language server may run its build scripts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// `area`, `Shape::area`, `src/geo.rs:area`, `src/geo.rs:41`.
    pub name: String,
    /// Only calls or only values (default both).
    #[serde(default)]
    pub uses: Vec<UsedAs>,
    /// A file or folder to look into.
    pub path: Option<String>,
    /// Lines around each place (default 0).
    pub context_lines: Option<usize>,
    /// Places in the answer (default 50).
    pub max_results: Option<usize>,
    /// List places that mean another definition too (default false).
    #[schemars(extend("x-unlisted" = true))]
    #[serde(default)]
    pub refuted: bool,
    /// Wait for a language server, in ms (default 10000).
    pub wait_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum UsedAs {
    Call,
    Value,
}

/// The callers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    uses: Uses,
    /// By file, verified places first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    callers: Vec<FileUses>,
    /// The number of other places with the name: imports, signatures, comments …
    #[serde(default, skip_serializing_if = "is_zero")]
    filtered_count: usize,
}

pub(super) struct FindCallers(pub(super) Arc<Questions>);

/// The upper limit of the lines around a place.
const MOST_CONTEXT: usize = 20;

/// Returns the context options within their limits.
pub(super) fn shown_lines(context_lines: Option<usize>, max_results: Option<usize>) -> LineOptions {
    LineOptions { context_lines: context_lines.unwrap_or_default().min(MOST_CONTEXT), most: most_results(max_results) }
}

/// Answers a question about callers.
pub(super) async fn callers(
    questions: &Questions,
    cx: &Context,
    args: &Args,
    shown: LineOptions,
) -> Result<JudgedAnswer, ToolError> {
    let asked =
        Question { name: &args.name, path: args.path.as_deref(), shown, wait_ms: args.wait_ms, is_listed: false };
    answer(questions, cx, &asked, |found| classes(found, &args.uses)).await
}

impl Tool for FindCallers {
    const NAME: &'static str = "find_callers";
    const TITLE: &'static str = "Find callers";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let shown = shown_lines(args.context_lines, args.max_results);
        let answered = callers(&self.0, &cx, &args, shown).await?;
        let mut uses = Uses::new(&answered, args.refuted, ("find_callers", "caller", &args.name));
        let callers = std::mem::take(&mut uses.files);
        Ok(Output { filtered_count: uses.filtered_count(), callers, uses })
    }

    fn text(output: &Output) -> String {
        output.uses.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Calls alone", arguments: json!({"name": "Shape::area", "uses": ["call"]}), text: None }]
    }
}

/// Returns the classes that count as calls.
fn classes(found: &Candidates, uses: &[UsedAs]) -> Vec<Class> {
    // A constructor is called when its type is constructed; so is any type that is not a function.
    let name = &found.question.name;
    // Functions and variables in JavaScript may be constructed too.
    let is_constructed = |one: &Definition| {
        one.kind == Kind::Constructor
            || one.kind.is_type()
            || one.is_constructor(name)
            || family(one.language) == SCRIPTS && matches!(one.kind, Kind::Function | Kind::Variable)
    };
    let constructs = found.definitions.iter().any(is_constructed);
    let called: &[Class] = if constructs { &[Class::Call, Class::Construct] } else { &[Class::Call] };
    let is_wanted = |wanted: UsedAs| uses.is_empty() || uses.contains(&wanted);
    let called = called.iter().filter(|_| is_wanted(UsedAs::Call)).copied();
    called.chain(is_wanted(UsedAs::Value).then_some(Class::Value)).collect()
}
