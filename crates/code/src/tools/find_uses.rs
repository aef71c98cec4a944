//! `find_uses`: every use of a name, by what it does there.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::find_callers::shown_lines;
use super::uses::{Use, Uses, head_line, lines, rest_line};
use super::{DefinitionOut, MOST_DEFINITIONS, Questions, defined};
use super::{Question, answer};
use crate::head::Head;
use crate::syntax::Class;

/// Every use of a name by class: where a type is constructed or matched, a field read or written, who imports it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub name: String,
    /// All but mention if none.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Look only there.
    pub path: Option<String>,
    /// 1.
    pub context_lines: Option<usize>,
    /// 50.
    pub max_results: Option<usize>,
    /// Also those that mean something else.
    #[serde(default)]
    pub refuted: bool,
    /// 10000.
    pub wait_ms: Option<u64>,
}

/// The uses.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    name: String,
    definitions: Vec<DefinitionOut>,
    uses: Vec<Use>,
    /// How many of each class there are, shown or not.
    counts: BTreeMap<&'static str, usize>,
    total: usize,
    truncated: bool,
    /// The head in a sentence; null if the answer is final.
    warning: Option<String>,
    #[serde(skip)]
    text: Vec<String>,
}

pub(super) struct FindUses(pub(super) Arc<Questions>);

impl Tool for FindUses {
    const NAME: &'static str = "find_uses";
    const TITLE: &'static str = "Find uses";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let lines_of = shown_lines(args.context_lines, args.max_results);
        let is_wanted = |class: &Class| match &args.classes[..] {
            [] => *class != Class::Mention,
            named => named.contains(class),
        };
        let wanted: Vec<Class> = Class::ALL.into_iter().filter(is_wanted).collect();
        let asked = Question { name: &args.name, path: args.path.as_deref(), shown: lines_of, wait_ms: args.wait_ms };
        let answered = answer(&self.0, &cx, &asked, |_| wanted.clone()).await?;
        let found = &answered.found;
        let uses = Uses::of(&answered, &wanted, lines_of.most, args.refuted);
        let head = head_line(&uses, &wanted, "no uses");
        let mut text = vec![head.clone()];
        text.extend(defined(found));
        text.extend(lines(&uses.shown, args.context_lines.is_some_and(|lines| lines > 0)));
        text.extend(rest_line("find_uses", &args.name, &uses.rest, uses.total));
        Ok(Output {
            name: found.question.name.clone(),
            definitions: found.definitions.iter().take(MOST_DEFINITIONS).map(DefinitionOut::of).collect(),
            counts: uses.counts.iter().map(|(class, count)| (class.word(), *count)).collect(),
            total: uses.total,
            truncated: uses.truncated,
            warning: (!uses.head.is_final).then_some(head),
            uses: uses.shown,
            head: uses.head,
            text,
        })
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"name": "Circle", "classes": ["construct", "pattern"]});
        vec![Example { title: "Where a type is made and matched", arguments, text: None }]
    }
}
