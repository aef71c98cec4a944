//! `parse_cure`: outline of a source text.

use std::collections::HashSet;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::work;
use crate::answer::Room;
use crate::report::{self, Diagnosis, diagnose};
use crate::syntax::ast::{Item, Module};

/// Parse Cure code and sum it up: modules, exports, functions, types, classes and state machines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
}

/// Contents of the module.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the syntax is valid.
    pub ok: bool,
    /// The modules, as many as fit.
    pub modules: Vec<Summary>,
    /// How many names of definitions and modules are left out, because they do not fit.
    pub left_out: usize,
    /// Syntax errors.
    #[serde(flatten)]
    pub said: Diagnosis,
}

/// One module.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Summary {
    /// Its name.
    pub name: String,
    /// Exported names; all names if there is no export list.
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

impl Summary {
    fn lists(&mut self) -> [&mut Vec<String>; 6] {
        let Summary { exports, imports, functions, types, classes, machines, .. } = self;
        [exports, imports, functions, types, classes, machines]
    }
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
            let mut room = Room::new();
            let said = diagnose(&parsed.diagnostics, &args.code, &mut room, Self::NAME);
            let (mut modules, mut left_out) = (Vec::new(), 0);
            for module in &crate::syntax::modules(&parsed.tree()) {
                let (summary, left) = fit_summary(summary(module), &mut room);
                modules.extend(summary);
                left_out += left;
            }
            Output { ok: said.is_ok(), modules, left_out, said }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let mut text =
            report::titled_diagnostics(if output.ok { "✓ Parse successful" } else { "✗ Syntax error" }, &output.said);
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
        if output.left_out > 0 {
            text.push_str(&format!("\n… {} more names are left out: parse one module at a time", output.left_out));
        }
        text
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({ "code": "module T do\n  export [f/1]\n  def f(x: Int): Int = x\nend" });
        let text = Some("✓ Parse successful\nmodule T\n  exports: f/1\n  functions: f/1");
        vec![Example { title: "A module", arguments, text }]
    }
}

/// As much of a summary as fits, and how many names that leaves out.
fn fit_summary(mut whole: Summary, room: &mut Room) -> (Option<Summary>, usize) {
    let mut summary = Summary { name: std::mem::take(&mut whole.name), ..Summary::default() };
    let fits = room.takes(&summary);
    let mut left = usize::from(!fits);
    for (list, names) in summary.lists().into_iter().zip(whole.lists()) {
        let count = names.len();
        if fits {
            *list = room.first(std::mem::take(names));
        }
        left += count - list.len();
    }
    (fits.then_some(summary), left)
}

fn summary(module: &Module) -> Summary {
    let mut summary = Summary { name: module.name.name.to_string(), ..Summary::default() };
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
