//! `get_stdlib_docs`: documentation of the standard library, taken from its comments.

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::standard;
use crate::syntax::ast::{Def, Item, Module};

/// Show the documentation of Cure's standard library: functions with their types and descriptions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// A module, such as List or Std.List, or `all` for a list of the modules.
    pub module: String,
}

/// The documentation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The modules.
    pub modules: Vec<Documented>,
}

/// One module.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Documented {
    /// Its name.
    pub name: String,
    /// Purpose of the module.
    pub about: String,
    /// Its functions, types and classes; empty in a list of all modules.
    pub entries: Vec<Entry>,
}

/// One definition.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    /// Its head.
    pub head: String,
    /// Description of the function.
    pub about: String,
}

pub(super) struct GetStdlibDocs;

impl Tool for GetStdlibDocs {
    const NAME: &'static str = "get_stdlib_docs";
    const TITLE: &'static str = "Cure standard library";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        let wanted = args.module.trim();
        let all = wanted.eq_ignore_ascii_case("all");
        let meant = |name: &str| {
            let short = name.strip_prefix("Std.").unwrap_or(name);
            name.eq_ignore_ascii_case(wanted) || short.eq_ignore_ascii_case(wanted)
        };
        let names: Vec<_> = standard::names().filter(|name| all || meant(name)).collect();
        if names.is_empty() {
            let known: Vec<_> = standard::names().collect();
            let asked: String = wanted.chars().take(100).collect();
            let error = ToolError::user(format!("Unknown module {asked:?} of the standard library."));
            return Err(error.hint(format!("Available: {}; and `all`.", known.join(", "))));
        }
        Ok(Output { modules: names.into_iter().filter_map(|name| documented(name, !all)).collect() })
    }

    fn text(output: &Output) -> String {
        let module = |module: &Documented| {
            let mut text = format!("{}: {}", module.name, module.about);
            for entry in &module.entries {
                text.push_str(&format!("\n  {}", entry.head));
                if !entry.about.is_empty() {
                    text.push_str(&format!("\n      {}", entry.about.replace('\n', "\n      ")));
                }
            }
            text
        };
        output.modules.iter().map(module).collect::<Vec<_>>().join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Lists", arguments: json!({ "module": "Std.List" }), text: None }]
    }
}

/// The documentation of one module as text.
pub(crate) fn library(name: &str) -> Option<String> {
    let modules = vec![documented(name, true)?];
    Some(GetStdlibDocs::text(&Output { modules }))
}

fn documented(name: &str, whole: bool) -> Option<Documented> {
    let text = standard::source(name)?;
    let modules = crate::syntax::modules(&crate::syntax::parse(text).tree());
    let module = modules.first()?;
    let entries = if whole { entries(module, text) } else { Vec::new() };
    Some(Documented { name: name.to_owned(), about: module.doc.clone(), entries })
}

fn entries(module: &Module, text: &str) -> Vec<Entry> {
    let head = |start: u32, end: u32| {
        let words: Vec<_> = text.get(start as usize..end as usize).unwrap_or("").split_whitespace().collect();
        words.join(" ").trim_end_matches(['=', ' ']).to_owned()
    };
    let function = |def: &Def| {
        let end = def.body.as_ref().map_or(def.span.end, |body| body.span.start);
        let text = head(def.name.span.start, end);
        Entry { head: text.split(" = {").next().unwrap_or(&text).to_owned(), about: def.doc.clone() }
    };
    let mut entries = Vec::new();
    for item in &module.items {
        match item {
            Item::Def(def) if !def.doc.is_empty() => entries.push(function(def)),
            Item::Curify(foreign) if !foreign.head.doc.is_empty() => entries.push(function(&foreign.head)),
            Item::Type(def) => entries.push(Entry { head: head(def.span.start, def.span.end), about: def.doc.clone() }),
            Item::Class(class) => {
                entries.push(Entry { head: format!("typeclass {}", class.name.name), about: class.doc.clone() });
                entries.extend(class.methods.iter().map(function));
            }
            _ => {}
        }
    }
    entries
}
