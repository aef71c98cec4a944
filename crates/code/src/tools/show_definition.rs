//! `show_definition`: the place and the source of a definition.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use syntax::{described, shortened};

use super::{Questions, display_path, doubt, searched, syntactic};
use crate::answer::define;
use crate::completeness::Head;
use crate::line_column::Lines;
use crate::search::{NoAnswer, read};

/// The source of a definition by its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub name: String,
    /// Byte limit of each source (default 6000).
    pub max_bytes: Option<usize>,
    /// List the signatures of its members (default true).
    #[schemars(extend("x-unlisted" = true))]
    pub members: Option<bool>,
    /// A file or folder to look into.
    #[schemars(extend("x-unlisted" = true))]
    pub path: Option<String>,
}

/// The definitions of that name.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    definitions: Vec<DefinitionView>,
    #[serde(skip)]
    text: Vec<String>,
}

/// A definition.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct DefinitionView {
    name: String,
    kind: &'static str,
    signature: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<String>,
    file: String,
    line: usize,
    end_line: usize,
    source: String,
    /// True if the source was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// The signatures of its members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    members: Vec<String>,
}

pub(super) struct ShowDefinition(pub(super) Arc<Questions>);

const MAX_BYTES: usize = 6000;
const MOST_BYTES: usize = 200_000;
const MOST_MEMBERS: usize = 200;

impl Tool for ShowDefinition {
    const NAME: &'static str = "show_definition";
    const TITLE: &'static str = "Show a definition";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        searched(&self.0, &cx, args.path.clone(), move |scope| {
            let found = define(scope, &args.name)?;
            if found.definitions.is_empty() {
                return Err(NoAnswer(format!(
                    "`{}` is {}; find_uses shows where it is used",
                    found.question.name,
                    found.undefined()
                )));
            }
            let most = args.max_bytes.unwrap_or(MAX_BYTES).min(MOST_BYTES);
            let head = syntactic(scope, &found);
            let mut definitions = Vec::new();
            let mut text: Vec<String> = doubt(&head).into_iter().collect();
            for definition in &found.definitions {
                let Ok(source) = read(&scope.root.join(&definition.path)) else { continue };
                let lines = Lines::new(&source);
                let bytes = source.get(definition.bytes.clone()).unwrap_or_default();
                let whole = dedented(&source, definition.bytes.start, &String::from_utf8_lossy(bytes));
                let cut = shortened(&whole, most);
                let described = described(definition.language, &source, definition.at, scope.until);
                let members = described.as_ref().filter(|_| args.members != Some(false)).map(|one| &one.members);
                let members: Vec<String> =
                    members.into_iter().flatten().take(MOST_MEMBERS).map(|one| one.signature.clone()).collect();
                let has_docstring = described.as_ref().is_some_and(|one| one.has_docstring);
                let shown = DefinitionView {
                    name: definition.label.clone(),
                    kind: definition.kind.word(),
                    signature: described.as_ref().map(|one| one.signature.clone()).unwrap_or_default(),
                    doc: described.and_then(|one| one.doc),
                    file: display_path(&definition.path),
                    line: definition.line,
                    end_line: lines.line(definition.bytes.end.saturating_sub(1)),
                    truncated: cut.len() != whole.len(),
                    source: project::visible::escaped(&cut.replace("\r\n", "\n")),
                    members,
                };
                text.push(format!("{}:{}-{} {} {}", shown.file, shown.line, shown.end_line, shown.kind, shown.name));
                // A docstring is already part of the source.
                let doc = shown.doc.iter().filter(|_| !has_docstring).flat_map(|doc| doc.lines());
                text.extend(doc.map(|line| format!("> {}", project::visible::escaped(line))));
                text.push(shown.source.clone());
                if shown.truncated {
                    text.push(format!("cut after {most} of {} bytes (max_bytes); it contains:", whole.len()));
                    text.extend(shown.members.iter().map(|member| format!("  {member}")));
                }
                definitions.push(shown);
            }
            Ok(Output { head, definitions, text })
        })
        .await
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "A method", arguments: json!({"name": "Shape::area"}), text: None }]
    }
}

/// Removes the indentation of the first line from a source, which does not include it itself.
fn dedented(text: &[u8], start: usize, source: &str) -> String {
    let line = text[..start].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let indentation = String::from_utf8_lossy(&text[line..start]);
    if indentation.is_empty() || !indentation.trim().is_empty() {
        return source.to_owned();
    }
    let bare = |line| str::strip_prefix(line, &*indentation).unwrap_or(line);
    source.split('\n').map(bare).collect::<Vec<_>>().join("\n")
}
