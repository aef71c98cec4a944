//! `parse_cure`: outline of a source text.

use std::collections::HashSet;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work;
use crate::report::{self, Reported, reported};
use crate::syntax::ast::{Item, Module};

/// Parse Cure code and sum it up: modules, exports, functions, types, classes and state machines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
}

/// What stands in it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether the syntax is valid.
    pub ok: bool,
    /// The modules.
    pub modules: Vec<Summary>,
    /// Syntax errors.
    pub diagnostics: Vec<Reported>,
}

/// One module.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Summary {
    /// Its name.
    pub name: String,
    /// What it exports; everything, where it has no list.
    pub exports: Vec<String>,
    /// Imported modules.
    pub imports: Vec<String>,
    /// Functions with their number of parameters.
    pub functions: Vec<String>,
    /// Types and records.
    pub types: Vec<String>,
    /// Classes.
    pub classes: Vec<String>,
    /// State machines.
    pub machines: Vec<String>,
}

pub(super) struct ParseCure;

impl Tool for ParseCure {
    const NAME: &'static str = "parse_cure";
    const TITLE: &'static str = "Parse Cure";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        work(args.code.len(), move || {
            let parsed = crate::syntax::parse(&args.code);
            let diagnostics = reported(&parsed.diagnostics, &args.code);
            let modules = crate::syntax::modules(&parsed.tree()).iter().map(summary).collect();
            Output { ok: !report::has_errors(&diagnostics), modules, diagnostics }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let mut text =
            report::under(if output.ok { "✓ Parse successful" } else { "✗ Syntax error" }, &output.diagnostics);
        for module in &output.modules {
            text.push_str(&format!("\nmodule {}", module.name));
            let parts = [
                ("exports", &module.exports),
                ("imports", &module.imports),
                ("functions", &module.functions),
                ("types", &module.types),
                ("classes", &module.classes),
                ("machines", &module.machines),
            ];
            for (what, names) in parts {
                if !names.is_empty() {
                    text.push_str(&format!("\n  {what}: {}", names.join(", ")));
                }
            }
        }
        text
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do\n  export [f/1]\n  def f(x: Int): Int = x\nend" });
        let text = Some("✓ Parse successful\nmodule T\n  exports: f/1\n  functions: f/1");
        vec![Example { title: "A module", arguments, text }]
    }
}

fn summary(module: &Module) -> Summary {
    let mut summary = Summary {
        name: module.name.name.to_string(),
        exports: Vec::new(),
        imports: Vec::new(),
        functions: Vec::new(),
        types: Vec::new(),
        classes: Vec::new(),
        machines: Vec::new(),
    };
    for export in module.exports.iter().flatten() {
        let name = &export.name.name;
        summary.exports.push(export.arity.map_or_else(|| name.to_string(), |arity| format!("{name}/{arity}")));
    }
    let mut seen = HashSet::new();
    let mut function = |def: &crate::syntax::ast::Def| {
        let text = format!("{}/{}", def.name.name, def.params.len());
        if seen.insert(text.clone()) {
            summary.functions.push(text);
        }
    };
    for item in &module.items {
        match item {
            Item::Def(def) => function(def),
            Item::Curify(foreign) => function(&foreign.head),
            Item::Import(import) => summary.imports.push(import.module.name.to_string()),
            Item::Record(record) => summary.types.push(record.name.name.to_string()),
            Item::Type(def) => summary.types.push(def.name.name.to_string()),
            Item::Class(class) => summary.classes.push(class.name.name.to_string()),
            Item::Fsm(fsm) => summary.machines.push(fsm.name.name.to_string()),
            Item::Instance(_) => {}
        }
    }
    summary
}
