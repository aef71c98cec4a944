//! `scout`: what breaks if a definition changes.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use serde_json::json;

use crate::lookups::{Unresolved, head_line};
use crate::scout::{Evidence, Impact, Pointer, Request, impact};
use crate::sources::Sources;

pub(super) struct Scout<const JSON: bool>(pub(super) Arc<Sources>);

impl<const JSON: bool> Tool for Scout<JSON> {
    const NAME: &'static str = "scout";
    const TITLE: &'static str = "What breaks";
    const EFFECT: Effect = Effect::READ.open_world();
    type Args = Request;
    type Output = Impact;

    async fn call(&self, cx: Context, request: Request) -> Result<Impact, ToolError> {
        impact(&self.0, &cx, request, JSON).await
    }

    fn text(impact: &Impact) -> String {
        if JSON { serde_json::to_string(impact).unwrap_or_default() } else { lines(impact).join("\n") }
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"query": "What breaks if I add a variant to Shape?", "depth": "low"});
        vec![Example { title: "One more variant", arguments, text: None }]
    }
}

/// The maximum number of tests and mentions in the text.
const MOST_LINES: usize = 10;

fn lines(impact: &Impact) -> Vec<String> {
    let mut lines = vec![impact.summary.clone(), head_line(&impact.head)];
    lines.extend(impact.selected.lines());
    let changes = impact.entries.iter();
    lines.extend(changes.map(|one| format!("changes: {} {} {}", one.location, one.kind, one.name)));
    lines.extend(impact.unresolved.iter().map(Unresolved::line));
    lines.extend(impact.pointers.iter().flat_map(pointer_lines));
    if !impact.tests.is_empty() {
        lines.push(format!("tests that reach it, the nearest first ({}):", shown_of(impact.tests.len())));
    }
    for test in impact.tests.iter().take(MOST_LINES) {
        let command = test.command.as_deref().map(|command| format!("  {command}")).unwrap_or_default();
        lines.push(format!("  {} {}{command}", test.location, test.name));
    }
    if !impact.beyond.is_empty() {
        lines.push(format!("mentions beyond the code ({}):", shown_of(impact.beyond.len())));
    }
    lines.extend(impact.beyond.iter().take(MOST_LINES).map(|one| format!("  {} {}", one.location, one.text)));
    lines
}

/// Formats the number of lines in the text, and that of all.
fn shown_of(count: usize) -> String {
    if count > MOST_LINES { format!("{MOST_LINES} of {count}") } else { count.to_string() }
}

/// Formats a pointer: `5 src/main.rs:9 match in side: …  [Exhaustive] verified`, and its action.
fn pointer_lines(one: &Pointer) -> Vec<String> {
    let tags: Vec<String> = one.tags.iter().map(|tag| format!("{tag:?}")).collect();
    let tags = if tags.is_empty() { String::new() } else { format!(" [{}]", tags.join(" ")) };
    let doubt = match one.evidence {
        Evidence::Proved => ", proved",
        Evidence::Verified => "",
        Evidence::Possible => ", by syntax only",
    };
    let first = format!("risk {} {} {}{tags} ({}{doubt})", one.risk, one.position.location(), one.what, one.why);
    let text = if one.text.is_empty() { String::new() } else { format!(": {}", one.text) };
    let action = one.action.map(|action| format!("  → {action}{text}"));
    [Some(first), action].into_iter().flatten().collect()
}
