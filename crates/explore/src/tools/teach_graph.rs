//! `teach-graph`: the definitions to read for a topic.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use serde_json::json;

use crate::lookups::{Unresolved, head_line};
use crate::sources::Sources;
use crate::teach::{ReadingList, Request, Unit, reading_list};
use crate::walk::Stopped;

pub(super) struct TeachGraph<const JSON: bool>(pub(super) Arc<Sources>);

impl<const JSON: bool> Tool for TeachGraph<JSON> {
    const NAME: &'static str = "teach-graph";
    const TITLE: &'static str = "What to read";
    const EFFECT: Effect = Effect::READ.open_world();
    type Args = Request;
    type Output = ReadingList;

    async fn call(&self, cx: Context, request: Request) -> Result<ReadingList, ToolError> {
        reading_list(&self.0, &cx, request).await
    }

    fn text(list: &ReadingList) -> String {
        if JSON { serde_json::to_string(list).unwrap_or_default() } else { lines(list).join("\n") }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"topic": "how areas are computed", "seeds": ["Shape::area"], "budget": 10});
        vec![Example { title: "A topic", arguments, text: None }]
    }
}

fn lines(list: &ReadingList) -> Vec<String> {
    let units: Vec<&Unit> = list.core.iter().chain(&list.prereqs).chain(&list.support).collect();
    let mut lines = vec![format!(
        "{} definitions to read ({}), {}",
        units.len(),
        match list.stopped {
            Stopped::Done => "everything in reach",
            Stopped::Budget => "the budget is used up",
            Stopped::Time => "the time limit was reached",
        },
        head_line(&list.head)
    )];
    lines.extend(list.selected.lines());
    lines.extend(list.unresolved.iter().map(Unresolved::line));
    lines.push("in reading order:".to_owned());
    for (number, unit) in list.reading_order.iter().filter_map(|index| units.get(*index)).enumerate() {
        lines.extend(unit_lines(number + 1, unit));
    }
    if !list.next.is_empty() {
        let next: Vec<String> = list.next.iter().map(|one| format!("{} {}:{}", one.name, one.file, one.line)).collect();
        lines.push(format!("next: {}", next.join(", ")));
    }
    if !list.external.is_empty() {
        lines.push(format!("external: {}", list.external.join(", ")));
    }
    lines
}

/// The maximum length of a documentation comment in the text, in characters.
const MAX_DOC: usize = 200;

fn unit_lines(number: usize, unit: &Unit) -> Vec<String> {
    let symbol = &unit.symbol;
    let place = &symbol.location;
    let mut lines = vec![format!(
        "{number}. {}:{}-{} {} {}  depth {}, {}",
        place.file, place.line, place.end_line, symbol.kind, symbol.name, unit.depth, unit.why
    )];
    let doc = symbol.doc_comment.as_deref().and_then(|doc| doc.trim().lines().next());
    lines.extend(doc.map(|doc| format!("   > {}", project::visible(&doc.chars().take(MAX_DOC).collect::<String>()))));
    lines.push(format!("   {}", project::visible(&symbol.signature)));
    lines
}
