//! `show_fields` and `show_constructors`: the parts of a type.

use std::marker::PhantomData;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tidepool::OfType;
use super::{DefinitionOut, Questions, display_path, doubt, searched, syntactic};
use crate::completeness::Head;
use crate::resolved_type::{ResolvedType, followed, types};
use crate::shape::{Constructor, Field, Shape};

/// A type.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub type_name: String,
    /// A file or folder to look into.
    #[schemars(extend("x-unlisted" = true))]
    pub path: Option<String>,
}

/// The parts of a type that a tool shows.
pub(super) trait Parts: Serialize + JsonSchema + Send + Sync + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    /// The title of an example, and its type.
    const EXAMPLE: (&'static str, &'static str);

    /// Collects the parts of all types.
    fn collect(types: &[ResolvedType]) -> Self;

    /// Formats the parts of one type.
    fn lines(shape: &Shape) -> Vec<String>;
}

/// The fields.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Fields {
    /// True if the fields have names.
    is_record: bool,
    fields: Vec<Field>,
}

impl Parts for Fields {
    const NAME: &'static str = "show_fields";
    const TITLE: &'static str = "Show the fields of a type";
    const DESCRIPTION: &'static str = "The fields of a type.";
    const EXAMPLE: (&'static str, &'static str) = ("A record", "Circle");

    fn collect(types: &[ResolvedType]) -> Fields {
        let fields: Vec<Field> = types.iter().flat_map(|one| one.shape.fields.clone()).collect();
        let is_record = fields.iter().any(|field| !field.name.starts_with(|c: char| c.is_ascii_digit()));
        Fields { is_record, fields }
    }

    fn lines(shape: &Shape) -> Vec<String> {
        match &shape.fields[..] {
            [] => vec!["  no fields of its own".to_owned()],
            fields => fields.iter().map(field_line).collect(),
        }
    }
}

/// The constructors.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Constructors {
    constructors: Vec<Constructor>,
    is_gadt: bool,
}

impl Parts for Constructors {
    const NAME: &'static str = "show_constructors";
    const TITLE: &'static str = "Show the constructors of a type";
    const DESCRIPTION: &'static str = "The constructors, variants or members of a type.";
    const EXAMPLE: (&'static str, &'static str) = ("An enum", "Shape");

    fn collect(types: &[ResolvedType]) -> Constructors {
        Constructors {
            constructors: types.iter().flat_map(|one| one.shape.constructors.clone()).collect(),
            is_gadt: types.iter().any(|one| one.shape.is_gadt),
        }
    }

    fn lines(shape: &Shape) -> Vec<String> {
        // A class lists its constructors as members; a record is constructed from its fields.
        let made = shape.made_by.iter().map(|made| format!("  {}  line {}", made.signature, made.line));
        let fields = if shape.fields.is_empty() { " and no fields" } else { "; show_fields shows its fields" };
        let none = shape.constructors.is_empty().then(|| format!("  no variants{fields}"));
        shape.constructors.iter().map(constructor_line).chain(made).chain(none).collect()
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output<P> {
    head: Head,
    type_name: String,
    #[serde(flatten)]
    parts: P,
    definitions: Vec<DefinitionOut>,
    #[serde(flatten)]
    tidepool: Option<OfType>,
    #[serde(skip)]
    text: Vec<String>,
}

/// The tool for some parts. If `JSON`, its text is its JSON.
pub(super) struct ShowType<P, const JSON: bool>(Arc<Questions>, PhantomData<P>);

impl<P, const JSON: bool> ShowType<P, JSON> {
    pub(super) fn new(questions: Arc<Questions>) -> Self {
        ShowType(questions, PhantomData)
    }
}

impl<P: Parts, const JSON: bool> Tool for ShowType<P, JSON> {
    const NAME: &'static str = P::NAME;
    const TITLE: &'static str = P::TITLE;
    const DESCRIPTION: &'static str = P::DESCRIPTION;
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output<P>;

    async fn call(&self, cx: Context, args: Args) -> Result<Output<P>, ToolError> {
        searched(&self.0, &cx, args.path.clone(), move |scope| {
            let (mut found, types) = types(scope, &args.type_name)?;
            let types = followed(scope, &mut found, types);
            let head = syntactic(scope, &found);
            let mut text: Vec<String> = doubt(&head).into_iter().collect();
            if let [first, _, ..] = &types[..] {
                let (name, file) = (&found.question.name, display_path(&first.definition.path));
                text.push(format!("{} types are named {name}; for one of them: `{file}:{name}`", types.len()));
            }
            for one in &types {
                text.extend(one.aliases.iter().map(|alias| format!("{} is", alias.describe())));
                text.push(one.definition.describe());
                text.extend(P::lines(&one.shape));
            }
            Ok(Output {
                type_name: found.question.name,
                parts: P::collect(&types),
                definitions: types.iter().map(|one| DefinitionOut::new(&one.definition)).collect(),
                tidepool: JSON.then(|| OfType::new(&types, &head)),
                head,
                text,
            })
        })
        .await
    }

    fn text(output: &Output<P>) -> String {
        if JSON {
            return serde_json::to_string(output).unwrap_or_default();
        }
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let (title, name) = P::EXAMPLE;
        vec![Example { title, arguments: json!({"type_name": name}), text: None }]
    }
}

/// Formats a field: `  radius: f64`.
fn field_line(field: &Field) -> String {
    let strict = if field.strict == Some(true) { "!" } else { "" };
    let optional = if field.optional { "?" } else { "" };
    let of = if field.of.is_empty() { String::new() } else { format!(": {strict}{}", field.of) };
    let default = field.default.as_deref().map(|value| format!(" = {value}")).unwrap_or_default();
    let constructor = field.constructor.as_deref().map(|name| format!("{name}.")).unwrap_or_default();
    project::visible(&format!("  {constructor}{}{optional}{of}{default}", field.name))
}

/// Formats a constructor: `  Circle {radius: f64}`, `  Square(f64)`.
fn constructor_line(constructor: &Constructor) -> String {
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
