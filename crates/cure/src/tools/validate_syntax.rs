//! `validate_syntax`: reports every syntax error of a text.

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work;
use crate::report::{self, Reported, reported};

/// Check the syntax of Cure code: every error with its place and what to do, not only the first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
}

/// What is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether the syntax is valid.
    pub ok: bool,
    /// Every error.
    pub diagnostics: Vec<Reported>,
}

pub(super) struct ValidateSyntax;

impl Tool for ValidateSyntax {
    const NAME: &'static str = "validate_syntax";
    const TITLE: &'static str = "Validate Cure syntax";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        let size = args.code.len();
        let check = move || reported(&crate::syntax::parse(&args.code).diagnostics, &args.code);
        let diagnostics = work(size, check).await?;
        Ok(Output { ok: !report::has_errors(&diagnostics), diagnostics })
    }

    fn text(output: &Output) -> String {
        let title = if output.ok { "✓ Syntax is valid" } else { "✗ Syntax error" };
        report::under(title, &output.diagnostics)
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module Test do\nend" });
        vec![Example { title: "An empty module", arguments, text: Some("✓ Syntax is valid") }]
    }
}
