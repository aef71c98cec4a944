//! `type_check_cure`: checks types, refinements, exhaustiveness and machines of a text, and lists its signatures.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{modules, work};
use crate::answer::Room;
use crate::part::Cure;
use crate::report::{self, Diagnosis, diagnose};

/// Check Cure code: names, types, lengths, refinements, exhaustiveness, state machines. Gives the signatures of its
/// functions, errors with counter-examples, and warnings. Modules of the project can be imported.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
}

/// Result of the type check.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the program has no errors.
    pub ok: bool,
    /// The functions with their types, sorted, as many as fit.
    pub signatures: Vec<String>,
    /// How many functions there are.
    pub functions: usize,
    /// Errors and warnings.
    #[serde(flatten)]
    pub said: Diagnosis,
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
            let mut room = Room::new();
            let said = diagnose(&compiled.diagnostics, &args.code, &mut room, Self::NAME);
            let signatures = compiled.signatures();
            Output { ok: compiled.is_ok(), functions: signatures.len(), signatures: room.first(signatures), said }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let title = if output.ok { "✓ Type checking passed" } else { "✗ Type error" };
        let mut text = report::titled_diagnostics(title, &output.said);
        if output.ok {
            output.signatures.iter().for_each(|signature| text.push_str(&format!("\n{signature}")));
            let left = output.functions - output.signatures.len();
            if left > 0 {
                let all = output.functions;
                text.push_str(&format!("\n… {left} of {all} signatures are left out: check one module at a time"));
            }
        }
        text
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do\n  def inc(x: Int): Int = x + 1\nend" });
        let text = Some("✓ Type checking passed\nT.inc(x: Int): Int");
        vec![Example { title: "A function", arguments, text }]
    }
}
