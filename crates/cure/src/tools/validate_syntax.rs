//! `validate_syntax`: reports every syntax error of a text.

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work;
use crate::answer::Room;
use crate::report::{self, Diagnosis, diagnose};

/// Check the syntax of Cure code: every error with its place and what to do, not only the first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
}

/// Result of the validation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the syntax is valid.
    pub ok: bool,
    /// Every error.
    #[serde(flatten)]
    pub said: Diagnosis,
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
        let check =
            move || diagnose(&crate::syntax::parse(&args.code).diagnostics, &args.code, &mut Room::new(), Self::NAME);
        let said = work(size, check).await?;
        Ok(Output { ok: said.is_ok(), said })
    }

    fn text(output: &Output) -> String {
        let title = if output.ok { "✓ Syntax is valid" } else { "✗ Syntax error" };
        report::titled_diagnostics(title, &output.said)
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module Test do\nend" });
        vec![Example { title: "An empty module", arguments, text: Some("✓ Syntax is valid") }]
    }
}
