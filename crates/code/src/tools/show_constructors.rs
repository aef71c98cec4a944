//! `show_constructors`: the constructors of a type.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tidepool::OfType;
use super::{DefinitionOut, Questions, TypesAnswer, searched};
use crate::completeness::Head;
use crate::resolved_type::ResolvedType;
use crate::shape::Constructor;

/// The constructors, variants or members of a type.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub type_name: String,
    /// A file or folder to look into.
    #[schemars(extend("x-unlisted" = true))]
    pub path: Option<String>,
}

/// The constructors.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    type_name: String,
    constructors: Vec<Constructor>,
    is_gadt: bool,
    definitions: Vec<DefinitionOut>,
    #[serde(flatten)]
    tidepool: Option<OfType>,
    #[serde(skip)]
    text: Vec<String>,
}

pub(super) struct ShowConstructors<const JSON: bool>(pub(super) Arc<Questions>);

impl<const JSON: bool> Tool for ShowConstructors<JSON> {
    const NAME: &'static str = "show_constructors";
    const TITLE: &'static str = "Show the constructors of a type";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        searched(&self.0, &cx, args.path.clone(), move |scope| {
            let lines = |one: &ResolvedType| {
                let shape = &one.shape;
                // A class lists its constructors as members; a record is constructed from its fields.
                let made = shape.made_by.iter().map(|made| format!("  {}  line {}", made.signature, made.line));
                let fields = if shape.fields.is_empty() { " and no fields" } else { "; show_fields shows its fields" };
                let none = shape.constructors.is_empty().then(|| format!("  no variants{fields}"));
                shape.constructors.iter().map(line).chain(made).chain(none).collect()
            };
            let all = TypesAnswer::find(scope, &args.type_name, lines)?;
            Ok(Output {
                constructors: all.types.iter().flat_map(|one| one.shape.constructors.clone()).collect(),
                is_gadt: all.types.iter().any(|one| one.shape.is_gadt),
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
        vec![Example { title: "An enum", arguments: json!({"type_name": "Shape"}), text: None }]
    }
}

/// Formats a constructor: `  Circle {radius: f64}`, `  Square(f64)`.
fn line(constructor: &Constructor) -> String {
    let named = constructor.field_names.iter().zip(&constructor.fields).map(|(name, of)| format!("{name}: {of}"));
    let fields = match (constructor.is_record, constructor.fields.is_empty()) {
        (true, _) => format!(" {{{}}}", named.collect::<Vec<_>>().join(", ")),
        (false, true) => String::new(),
        (false, false) => format!("({})", constructor.fields.join(", ")),
    };
    let result = constructor.result.as_deref().map(|result| format!(" -> {result}")).unwrap_or_default();
    let constraints = constructor.constraints.as_deref().map(|of| format!(" ({of})")).unwrap_or_default();
    project::visible(&format!("  {}{fields}{result}{constraints}", constructor.name))
}
