//! `teach-graph`: the definitions to read for a topic.

use std::sync::Arc;

use code::facts::Symbol;
use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Sources, available, check_count, selector};
use crate::lookups::{Head, Unresolved, head_line};
use crate::select::{Choice, ModelUse, SELECT_SYMBOLS};
use crate::teach::{Follow, ReadingList, Request, Unit, reading_list};

/// What to read to understand a topic: the seeds, then the types and functions that they need, each with its signature and documentation, in an order in which every definition follows those that it needs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The topic. Definitions with its words in their names come first.
    pub topic: String,
    /// The definitions to start from: `Shape`, `Shape::area`, `src/geo.rs:41`. All definitions of a name count.
    pub seeds: Vec<String>,
    /// The maximum number of definitions, 1 to 200 (default 20).
    pub budget: Option<i64>,
    /// The names to follow (default both).
    #[serde(default)]
    pub follow: Vec<FollowedNames>,
    /// The maximum number of steps from a seed, 0 to 20 (default 5).
    pub max_depth: Option<i64>,
    /// Look for the seeds only in this file or folder.
    pub path: Option<String>,
    /// Who selects the definitions: auto (a model where the project has one, else rules; the default), rules or model. A model may order and drop definitions, never add one.
    #[serde(default)]
    pub selector: Choice,
    /// Record each selection for `hob explore export` (default false).
    #[serde(default)]
    pub record: bool,
    /// The time limit in ms, at most 50000 (default 10000).
    pub wait_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum FollowedNames {
    Types,
    Calls,
}

/// The reading list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    head: Head,
    title: String,
    topic: String,
    /// The seeds.
    core: Vec<UnitView>,
    /// One or two steps from a seed.
    prereqs: Vec<UnitView>,
    /// Three or more steps from a seed.
    support: Vec<UnitView>,
    /// The places of all units, each one after the units that it needs.
    order: Vec<String>,
    /// Names that the project does not define.
    external: Vec<String>,
    unresolved: Vec<Unresolved>,
    /// The best definitions that the budget left out.
    next: Vec<NextView>,
    /// done, budget or time.
    stopped: &'static str,
    /// Who selected the units: rules or model.
    selector: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelUse>,
    /// The name of the recorded run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    #[serde(skip)]
    text: Vec<String>,
}

/// A definition to read.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct UnitView {
    symbol: SymbolView,
    depth: usize,
    why: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct SymbolView {
    name: String,
    kind: &'static str,
    location: LocationView,
    signature: String,
    doc_comment: Option<String>,
    /// The line of the name.
    text: String,
}

/// A declaration in a file, with lines counted from 1.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct LocationView {
    file: String,
    /// The line of the name.
    line: usize,
    start_line: usize,
    end_line: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct NextView {
    name: String,
    file: String,
    line: usize,
}

pub(super) struct TeachGraph<const JSON: bool>(pub(super) Arc<Sources>);

const BUDGET: i64 = 20;
const MOST_BUDGET: i64 = 200;
const DEPTH: i64 = 5;
const MOST_DEPTH: i64 = 20;

impl<const JSON: bool> Tool for TeachGraph<JSON> {
    const NAME: &'static str = "teach-graph";
    const TITLE: &'static str = "What to read";
    const EFFECT: Effect = Effect::READ.open_world();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let seeds: Vec<String> = args.seeds.iter().map(|seed| seed.trim().to_owned()).collect();
        let seeds: Vec<String> = seeds.into_iter().filter(|seed| !seed.is_empty()).collect();
        if seeds.is_empty() {
            return Err(ToolError::user("`seeds` is empty").hint("Name a definition to start from, such as `Shape`."));
        }
        check_count(&seeds, "seeds")?;
        let has = |names| args.follow.is_empty() || args.follow.contains(&names);
        let request = Request {
            topic: args.topic,
            seeds,
            budget: within(args.budget.unwrap_or(BUDGET), 1, MOST_BUDGET, "budget")?,
            max_depth: within(args.max_depth.unwrap_or(DEPTH), 0, MOST_DEPTH, "max_depth")?,
            follow: Follow { types: has(FollowedNames::Types), calls: has(FollowedNames::Calls) },
            path: args.path,
            wait_ms: args.wait_ms,
        };
        let questions = available(&self.0)?;
        let by = (args.selector, args.record);
        let selector = selector(&self.0, &cx, (Self::NAME, SELECT_SYMBOLS), by, request.budget).await?;
        let list = reading_list(&questions, &cx, &request, selector).await?;
        Ok(output(request.topic, list))
    }

    fn text(output: &Output) -> String {
        if JSON {
            return serde_json::to_string(output).unwrap_or_default();
        }
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"topic": "how areas are computed", "seeds": ["Shape::area"], "budget": 10});
        vec![Example { title: "A topic", arguments, text: None }]
    }
}

fn within(value: i64, least: i64, most: i64, argument: &str) -> Result<usize, ToolError> {
    let value = Some(value).filter(|value| (least..=most).contains(value));
    value
        .and_then(|value| usize::try_from(value).ok())
        .ok_or_else(|| ToolError::user(format!("`{argument}` must be between {least} and {most}")))
}

fn output(topic: String, list: ReadingList) -> Output {
    let mut text = vec![format!(
        "{} definitions to read ({}), {}",
        list.units.len(),
        match list.stopped.word() {
            "done" => "everything in reach",
            "budget" => "the budget is used up",
            _ => "the time limit was reached",
        },
        head_line(&list.head)
    )];
    text.extend(list.selected.lines());
    text.extend(list.unresolved.iter().map(|one| format!("unresolved: {}: {}", one.name, one.problem)));
    text.push("in reading order:".to_owned());
    for (number, unit) in list.order.iter().filter_map(|index| list.units.get(*index)).enumerate() {
        text.extend(lines(number + 1, unit));
    }
    if !list.next.is_empty() {
        let next: Vec<String> = list.next.iter().map(|one| format!("{} {}", one.label, location(one))).collect();
        text.push(format!("next: {}", next.join(", ")));
    }
    if !list.external.is_empty() {
        text.push(format!("external: {}", list.external.join(", ")));
    }
    let part = |from: usize, to: usize| {
        let units = list.units.iter().filter(|unit| (from..=to).contains(&unit.depth));
        units.map(view).collect()
    };
    Output {
        title: format!("Reading list: {topic}"),
        core: part(0, 0),
        prereqs: part(1, 2),
        support: part(3, usize::MAX),
        order: list.order.iter().filter_map(|index| Some(location(&list.units.get(*index)?.symbol))).collect(),
        external: list.external,
        unresolved: list.unresolved,
        next: list.next.into_iter().map(|one| NextView { name: one.label, file: one.file, line: one.line }).collect(),
        stopped: list.stopped.word(),
        selector: list.selected.word(),
        model: list.selected.model,
        run: list.selected.run,
        head: list.head,
        topic,
        text,
    }
}

/// The maximum length of a documentation comment in the text, in characters.
const MAX_DOC: usize = 200;

fn lines(number: usize, unit: &Unit) -> Vec<String> {
    let symbol = &unit.symbol;
    let mut lines = vec![format!(
        "{number}. {}-{} {} {}  depth {}, {}",
        location(symbol),
        symbol.lines.1,
        symbol.kind.word(),
        symbol.label,
        unit.depth,
        unit.why
    )];
    let doc = symbol.doc.as_deref().and_then(|doc| doc.trim().lines().next());
    lines.extend(doc.map(|doc| format!("   > {}", project::visible(&doc.chars().take(MAX_DOC).collect::<String>()))));
    lines.push(format!("   {}", project::visible(&symbol.signature)));
    lines
}

fn location(symbol: &Symbol) -> String {
    format!("{}:{}", symbol.file, symbol.line)
}

fn view(unit: &Unit) -> UnitView {
    let symbol = &unit.symbol;
    UnitView {
        symbol: SymbolView {
            name: symbol.label.clone(),
            kind: symbol.kind.word(),
            location: LocationView {
                file: symbol.file.clone(),
                line: symbol.line,
                start_line: symbol.lines.0,
                end_line: symbol.lines.1,
            },
            signature: symbol.signature.clone(),
            doc_comment: symbol.doc.clone(),
            text: symbol.text.clone(),
        },
        depth: unit.depth,
        why: unit.why.clone(),
    }
}
