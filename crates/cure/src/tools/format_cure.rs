//! `format_cure`: formats a text or a file.

use std::path::PathBuf;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{file_error, given, work};
use crate::files;
use crate::report::{self, Reported, reported};

/// Format Cure code, or a file of the project in place. Changes white space only; comments stay. With `check`, only says
/// whether it is formatted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code; or give `file_path`.
    pub code: Option<String>,
    /// A file of the project, relative to its root, that is formatted in place.
    pub file_path: Option<PathBuf>,
    /// Whether nothing is changed. Default: false.
    pub check: Option<bool>,
}

/// What came out.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether the syntax is valid.
    pub ok: bool,
    /// Whether formatting changes anything.
    pub changed: bool,
    /// Whether the file was changed.
    pub written: bool,
    /// The formatted code; not for a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// Syntax errors, which leave everything as it is.
    pub diagnostics: Vec<Reported>,
}

pub(super) struct FormatCure;

impl Tool for FormatCure {
    const NAME: &'static str = "format_cure";
    const TITLE: &'static str = "Format Cure";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let check = args.check.unwrap_or(false);
        let (code, path) = given(&cx, args.code, args.file_path.as_deref())?;
        work(code.len(), move || {
            let output = formatted(&code);
            let Some(path) = path else { return Ok(output) };
            if let (Some(text), true, false) = (&output.code, output.changed, check) {
                files::write(&path, text).map_err(file_error)?;
            }
            Ok(Output { code: None, written: output.changed && !check, ..output })
        })
        .await?
    }

    fn text(output: &Output) -> String {
        match (&output.code, output.ok, output.changed) {
            (_, false, _) => report::under("✗ Syntax error", &output.diagnostics),
            (Some(code), ..) => code.clone(),
            (None, _, true) if output.written => "✓ Formatted".to_owned(),
            (None, _, true) => "✗ Not formatted; nothing was changed".to_owned(),
            (None, _, false) => "✓ Already formatted".to_owned(),
        }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do def f(): Int=1 end" });
        let text = Some("module T do\n  def f(): Int = 1\nend\n");
        vec![Example { title: "One line", arguments, text }]
    }
}

fn formatted(code: &str) -> Output {
    match crate::syntax::format(code) {
        Ok(text) => {
            Output { ok: true, changed: text != code, written: false, code: Some(text), diagnostics: Vec::new() }
        }
        Err(errors) => {
            Output { ok: false, changed: false, written: false, code: None, diagnostics: reported(&errors, code) }
        }
    }
}
