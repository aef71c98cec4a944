//! `show_fields`: the fields of a type.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tidepool::OfType;
use super::{DefinitionOut, Questions, TypesAnswer, searched};
use crate::completeness::Head;
use crate::resolved_type::ResolvedType;
use crate::shape::Field;

/// The fields of a type.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub type_name: String,
    /// A file or folder to look into.
    #[schemars(extend("x-unlisted" = true))]
    pub path: Option<String>,
}

/// The fields.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    type_name: String,
    /// True if the fields have names.
    is_record: bool,
    fields: Vec<Field>,
    definitions: Vec<DefinitionOut>,
    #[serde(flatten)]
    tidepool: Option<OfType>,
    #[serde(skip)]
    text: Vec<String>,
}

pub(super) struct ShowFields<const JSON: bool>(pub(super) Arc<Questions>);

impl<const JSON: bool> Tool for ShowFields<JSON> {
    const NAME: &'static str = "show_fields";
    const TITLE: &'static str = "Show the fields of a type";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        searched(&self.0, &cx, args.path.clone(), move |scope| {
            let lines = |one: &ResolvedType| match &one.shape.fields[..] {
                [] => vec!["  no fields of its own".to_owned()],
                fields => fields.iter().map(line).collect(),
            };
            let all = TypesAnswer::find(scope, &args.type_name, lines)?;
            let fields: Vec<Field> = all.types.iter().flat_map(|one| one.shape.fields.clone()).collect();
            Ok(Output {
                is_record: fields.iter().any(|field| !field.name.starts_with(|c: char| c.is_ascii_digit())),
                fields,
                tidepool: JSON.then(|| OfType::new(&all)),
                definitions: all.definitions(),
                type_name: all.type_name,
                head: all.head,
                text: all.text,
            })
        })
        .await
    }

    fn text(output: &Output) -> String {
        if JSON {
            return serde_json::to_string(output).unwrap_or_default();
        }
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "A record", arguments: json!({"type_name": "Circle"}), text: None }]
    }
}

/// Formats a field: `  radius: f64`.
fn line(field: &Field) -> String {
    let strict = if field.strict == Some(true) { "!" } else { "" };
    let optional = if field.optional { "?" } else { "" };
    let of = if field.of.is_empty() { String::new() } else { format!(": {strict}{}", field.of) };
    let default = field.default.as_deref().map(|value| format!(" = {value}")).unwrap_or_default();
    let constructor = field.constructor.as_deref().map(|name| format!("{name}.")).unwrap_or_default();
    project::visible(&format!("  {constructor}{}{optional}{of}{default}", field.name))
}
