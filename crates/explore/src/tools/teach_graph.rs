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
    let more = match (list.stopped, list.left_out) {
        (Stopped::Done, _) => "everything in reach".to_owned(),
        (Stopped::Budget, left) => format!("{left} more were found, raise `budget`"),
        (Stopped::Time, left) => format!("{left} more were found until the time limit"),
    };
    let by = list.head.checked_by.join(", ");
    // A definition that names nothing is complete without a language server.
    let is_resolved = list.head.complete && !by.is_empty();
    let names = if is_resolved { format!("all names resolved by {by}") } else { head_line(&list.head) };
    let mut lines = vec![format!(
        "{} definition{} to read; {more} · {names}",
        units.len(),
        if units.len() == 1 { "" } else { "s" }
    )];
    lines.extend(list.selected.lines());
    lines.extend(list.unresolved.iter().map(Unresolved::line));
    lines.push("in reading order:".to_owned());
    for (number, unit) in list.reading_order.iter().filter_map(|index| units.get(*index)).enumerate() {
        lines.extend(unit_lines(number + 1, unit));
    }
    if !list.next.is_empty() {
        lines.push(format!("next: {}", list.next.join(", ")));
    }
    lines
}

/// The number of lines after which only the parts of a definition are read.
const LONG: usize = 60;
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
    if place.end_line - place.start_line > LONG && unit.depth > 0 {
        let parts: String = unit.parts.iter().map(|part| format!(", {part}")).collect();
        lines.push(format!("   read {}-{}{parts}", place.start_line, place.beginning_end));
    }
    lines
}
