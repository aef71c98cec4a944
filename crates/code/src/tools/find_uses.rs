//! `find_uses`: every use of a name by class.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use syntax::Class;

use super::Questions;
use super::find_callers::shown_lines;
use super::uses::{FileUses, Uses};
use super::verified_uses::{Question, answer};
use crate::answer::Candidates;

/// Every use of a name by class: where a type is constructed or matched, a field read or written, who imports it. A complete answer has all that a language server sees: no reflection, generated code or other repositories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub name: String,
    /// Only uses of these classes (default all but mention).
    #[serde(default)]
    pub classes: Vec<Class>,
    /// A file or folder to look into.
    pub path: Option<String>,
    /// As in find_callers.
    pub context_lines: Option<usize>,
    /// As in find_callers.
    pub max_results: Option<usize>,
    /// List places that mean another definition too (default false).
    #[serde(default)]
    pub refuted: bool,
    /// As in find_callers.
    pub wait_ms: Option<u64>,
}

/// The uses.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    all: Uses,
    /// By file, verified places first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uses: Vec<FileUses>,
    /// The number of places for each class, requested or not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    counts: BTreeMap<&'static str, usize>,
}

pub(super) struct FindUses(pub(super) Arc<Questions>);

impl Tool for FindUses {
    const NAME: &'static str = "find_uses";
    const TITLE: &'static str = "Find uses";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let shown = shown_lines(args.context_lines, args.max_results);
        let asked =
            Question { name: &args.name, path: args.path.as_deref(), shown, wait_ms: args.wait_ms, is_listed: false };
        let is_wanted = |class: &&Class| match &args.classes[..] {
            [] => **class != Class::Mention,
            named => named.contains(class),
        };
        let wanted = |_: &Candidates| Class::ALL.iter().filter(is_wanted).copied().collect();
        let answered = answer(&self.0, &cx, &asked, wanted).await?;
        let mut all = Uses::new(&answered, args.refuted, ("find_uses", "use", &args.name));
        let counts = all.counts.iter().map(|(class, count)| (class.word(), *count)).collect();
        Ok(Output { uses: std::mem::take(&mut all.files), counts, all })
    }

    fn text(output: &Output) -> String {
        output.all.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"name": "Circle", "classes": ["construct", "pattern"]});
        vec![Example { title: "Where a type is made and matched", arguments, text: None }]
    }
}
