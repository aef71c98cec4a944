//! `more_tools`: lists the tools that the default listing leaves out.
//!
//! A model reads every listed tool at every turn. So a connection that names no toolsets lists the core of each, and
//! this tool adds the rest of one. All of them can be called at any time, listed or not.

use std::sync::Arc;

use mcp::tool::{AnyTool, BoxFuture, Context, Declaration, Effect, Outcome, Repeat, ToolError};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Toolset;

pub(super) const NAME: &str = "more_tools";

/// The unlisted tools of a toolset.
struct Rest {
    toolset: &'static str,
    about: &'static str,
    /// A line for each tool: its name and the first sentence of its description.
    lines: Vec<String>,
}

struct MoreTools {
    declaration: Declaration,
    rests: Vec<Rest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoreToolsArgs {
    toolset: Option<String>,
}

/// Returns the tool, for these toolsets.
pub(super) fn more_tools(toolsets: &[&Toolset]) -> Arc<dyn AnyTool> {
    let rests: Vec<Rest> = toolsets.iter().map(|set| rest_of(set)).filter(|rest| !rest.lines.is_empty()).collect();
    let names: Vec<&str> = rests.iter().map(|rest| rest.toolset).collect();
    let about: Vec<String> = toolsets.iter().filter(|set| names.contains(&set.name)).map(|set| about(set)).collect();
    let description = format!("Adds tools to your list. {}.", about.join("; "));
    let schema = json!({
        "type": "object",
        "properties": {"toolset": {"type": "string", "enum": names, "description": "The toolset whose tools are added."}},
        "additionalProperties": false,
    });
    let declaration =
        Declaration { repeat: Repeat::Lasting, ..Declaration::new(NAME, description, schema, Effect::READ) };
    Arc::new(MoreTools { declaration, rests })
}

/// Describes the available additions: the names of a toolset's other tools, or, if none of it is listed, its description.
fn about(set: &Toolset) -> String {
    if set.listed().is_empty() {
        return format!("{}: {}", set.name, set.about);
    }
    let short = |name: &'_ str| name.strip_prefix(set.name).unwrap_or(name).trim_start_matches('_').to_owned();
    let names: Vec<String> = set.rest().map(|tool| short(&tool.declaration().name)).collect();
    format!("{}: {}", set.name, names.join(", "))
}

fn rest_of(set: &Toolset) -> Rest {
    let line = |tool: &Arc<dyn AnyTool>| {
        let Declaration { name, description, .. } = tool.declaration();
        let first = description.split_once(". ").map_or(description.as_str(), |(first, _)| first);
        format!("{name}: {}.", first.trim_end_matches('.'))
    };
    Rest { toolset: set.name, about: set.about, lines: set.rest().map(line).collect() }
}

impl AnyTool for MoreTools {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let args = serde_json::from_str::<MoreToolsArgs>(arguments.map_or("{}", RawValue::get)).ok();
        let names = || self.rests.iter().map(|rest| format!("{:?}", rest.toolset)).collect::<Vec<_>>().join(", ");
        let outcome = match args {
            Some(MoreToolsArgs { toolset: None }) => {
                let line = |rest: &Rest| format!("{}: {} ({} more)", rest.toolset, rest.about, rest.lines.len());
                let lines: Vec<String> = self.rests.iter().map(line).collect();
                Outcome::text(format!("Toolsets with more tools; name one in `toolset`:\n{}", lines.join("\n")))
            }
            Some(MoreToolsArgs { toolset: Some(toolset) }) => {
                match self.rests.iter().find(|rest| rest.toolset == toolset) {
                    Some(rest) => {
                        cx.list_more(rest.toolset);
                        let lines = rest.lines.join("\n");
                        Outcome::text(format!("Listed from now on; each can be called at once:\n{lines}"))
                    }
                    None => Outcome::error(format!("Unknown toolset {toolset:?}; available: {}.", names())),
                }
            }
            None => Outcome::error(format!("{NAME} takes `toolset`, one of {}.", names())),
        };
        Box::pin(async move { Ok(outcome) })
    }
}
