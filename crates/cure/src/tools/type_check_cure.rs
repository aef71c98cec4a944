//! `type_check_cure`: checks types, refinements, exhaustiveness and machines of a text, and lists its signatures.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{modules, work};
use crate::part::Cure;
use crate::report::{self, Reported, reported};

/// Check Cure code: names, types, lengths, refinements, exhaustiveness, state machines. Gives the signatures of its
/// functions, errors with counter-examples, and warnings. Modules of the project can be imported.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
}

/// What came out.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether the program stands.
    pub ok: bool,
    /// The functions with their types, sorted.
    pub signatures: Vec<String>,
    /// Errors and warnings.
    pub diagnostics: Vec<Reported>,
}

pub(super) struct TypeCheckCure(pub Arc<Cure>);

impl Tool for TypeCheckCure {
    const NAME: &'static str = "type_check_cure";
    const TITLE: &'static str = "Type-check Cure";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let sources = modules(&self.0, &cx);
        work(args.code.len(), move || {
            let compiled = crate::compile(&args.code, &sources);
            let diagnostics = reported(&compiled.diagnostics, &args.code);
            Output { ok: compiled.is_ok(), signatures: compiled.signatures(), diagnostics }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let title = if output.ok { "✓ Type checking passed" } else { "✗ Type error" };
        let text = report::under(title, &output.diagnostics);
        if output.signatures.is_empty() || !output.ok {
            text
        } else {
            format!("{text}\n{}", output.signatures.join("\n"))
        }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do\n  def inc(x: Int): Int = x + 1\nend" });
        let text = Some("✓ Type checking passed\nT.inc(x: Int): Int");
        vec![Example { title: "A function", arguments, text }]
    }
}
