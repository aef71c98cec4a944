//! `format_cure`: a text or a file, formatted.

use std::path::{Component, PathBuf};

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{root, work};
use crate::report::{self, Said, said};

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
    /// The formatted code; not for a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// Syntax errors, which leave everything as it is.
    pub diagnostics: Vec<Said>,
}

/// The tool.
pub(super) struct FormatCure;

impl Tool for FormatCure {
    const NAME: &'static str = "format_cure";
    const TITLE: &'static str = "Format Cure";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let check = args.check.unwrap_or(false);
        match (args.code, args.file_path) {
            (Some(code), None) => work(code.len(), move || formatted(&code, true)).await,
            (None, Some(path)) => {
                let root = root(&cx).ok_or_else(|| ToolError::internal("the connection has no caller"))?;
                let path = inside(&root, &path)?;
                work(usize::MAX, move || file(&path, check)).await?
            }
            _ => Err(ToolError::user("Give either `code` or `file_path`.").hint("`code` is the text itself.")),
        }
    }

    fn text(output: &Output) -> String {
        match (&output.code, output.ok, output.changed) {
            (_, false, _) => report::under("✗ Syntax error", &output.diagnostics),
            (Some(code), ..) => code.clone(),
            (None, _, true) => "✓ Formatted".to_owned(),
            (None, _, false) => "✓ Already formatted".to_owned(),
        }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do def f(): Int=1 end" });
        let text = Some("module T do\n  def f(): Int = 1\nend\n");
        vec![Example { title: "One line", arguments, text }]
    }
}

fn formatted(code: &str, show: bool) -> Output {
    match crate::syntax::format(code) {
        Ok(text) => Output { ok: true, changed: text != code, code: show.then_some(text), diagnostics: Vec::new() },
        Err(errors) => Output { ok: false, changed: false, code: None, diagnostics: said(&errors, code) },
    }
}

fn file(path: &PathBuf, check: bool) -> Result<Output, ToolError> {
    let name = path.display();
    let read = std::fs::read_to_string(path);
    let code = read.map_err(|error| ToolError::user(format!("Could not read {name}: {error}.")))?;
    let output = formatted(&code, true);
    if let (Some(text), true, false) = (&output.code, output.changed, check) {
        let written = std::fs::write(path, text);
        written.map_err(|error| ToolError::user(format!("Could not write {name}: {error}.")))?;
    }
    Ok(Output { code: None, ..output })
}

/// The file in the project. Links are followed first, so that none leads out.
fn inside(root: &std::path::Path, path: &std::path::Path) -> Result<PathBuf, ToolError> {
    let outside = || {
        ToolError::user(format!("{} is outside of the project.", path.display()))
            .hint("Give a path inside the project, relative to its root.")
    };
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(outside());
    }
    let whole = root.join(path);
    let real = whole.canonicalize();
    let real = real.map_err(|error| ToolError::user(format!("Could not read {}: {error}.", path.display())))?;
    let root = root.canonicalize().map_err(ToolError::internal)?;
    if real.starts_with(&root) { Ok(real) } else { Err(outside()) }
}
