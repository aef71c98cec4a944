//! `format_cure`: formats a text or a file.

use std::path::PathBuf;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{file_error, load, work};
use crate::answer::Room;
use crate::files;
use crate::report::{self, Diagnosis, diagnose};

/// Format Cure code, or a file of the project in place. Changes white space only; comments stay. With `check`, only says
/// whether it is formatted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code; or give `file_path`.
    pub code: Option<String>,
    /// A file of the project, relative to its root, that is formatted in place.
    pub file_path: Option<PathBuf>,
    /// Only report, without changing the file. Default: false.
    pub check: Option<bool>,
}

/// Result of formatting.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the syntax is valid.
    pub ok: bool,
    /// True if formatting changes anything.
    pub changed: bool,
    /// True if the file was changed.
    pub written: bool,
    /// The formatted code; not for a file, nor if it does not fit into an answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// The size of the formatted code in bytes, if it is too large for an answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub too_large: Option<usize>,
    /// Syntax errors, which leave everything as it is.
    #[serde(flatten)]
    pub said: Diagnosis,
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
        let (code, path) = load(&cx, args.code, args.file_path.as_deref())?;
        work(code.len(), move || {
            let output = formatted(&code);
            let Some(path) = path else {
                let too_large = output.code.as_ref().filter(|text| !Room::new().takes(text)).map(String::len);
                let code = output.code.filter(|_| too_large.is_none());
                return Ok(Output { code, too_large, ..output });
            };
            if let (Some(text), true, false) = (&output.code, output.changed, check) {
                files::write(&path, text).map_err(file_error)?;
            }
            Ok(Output { code: None, written: output.changed && !check, ..output })
        })
        .await?
    }

    fn text(output: &Output) -> String {
        if let Some(bytes) = output.too_large {
            let said = if output.changed { "✗ Not formatted" } else { "✓ Already formatted" };
            return format!(
                "{said}. The formatted text has {bytes} bytes, more than an answer holds: put it into a file of the \
                 project and call format_cure with its `file_path`."
            );
        }
        match (&output.code, output.ok, output.changed) {
            (_, false, _) => report::titled_diagnostics("✗ Syntax error", &output.said),
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
    let nothing =
        Output { ok: false, changed: false, written: false, code: None, too_large: None, said: Diagnosis::default() };
    match crate::syntax::format(code) {
        Ok(text) => Output { ok: true, changed: text != code, code: Some(text), ..nothing },
        Err(errors) => Output { said: diagnose(&errors, code, &mut Room::new(), FormatCure::NAME), ..nothing },
    }
}
