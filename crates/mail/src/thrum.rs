//! The tools of Thrum where they differ from those of the toolset `mail`: a hint names only tools that its reader has.

use std::sync::Arc;

use mcp::tool::{AnyTool, BoxFuture, Context, Declaration, Outcome, ToolError};
use serde_json::value::RawValue;

/// Names of the toolset's tools in hints, and their replacements for readers with the profile. Longer texts come first.
const INSTEAD: [(&str, &str); 10] = [
    ("Call register_agent with {\"name\": \"", "Run `hob quickstart --name "),
    ("\"} first", " --role ROLE` in this worktree first"),
    ("register_agent", "`hob quickstart`"),
    ("groups (action list)", "list_groups"),
    ("groups (action show)", "get_group"),
    ("groups (action create)", "create_group"),
    ("groups (action add)", "add_group_member"),
    ("search_messages", "`hob search`"),
    ("delivery_status", "`hob call delivery_status`"),
    ("get_thread", "`hob thread`"),
];

/// A tool of the profile `thrum`.
pub(crate) struct ThrumTool(pub(crate) Arc<dyn AnyTool>);

impl AnyTool for ThrumTool {
    fn declaration(&self) -> &Declaration {
        self.0.declaration()
    }

    fn call(self: Arc<Self>, cx: Context, arguments: Option<&RawValue>) -> BoxFuture<Result<Outcome, ToolError>> {
        let called = self.0.clone().call(cx, arguments);
        Box::pin(async move { called.await.map_err(adapt_hints) })
    }
}

fn adapt_hints(error: ToolError) -> ToolError {
    let ToolError::User { message, hints } = error else { return error };
    let instead = |hint: String| INSTEAD.iter().fold(hint, |hint, (ours, its)| hint.replace(ours, its));
    ToolError::User { message, hints: hints.into_iter().map(instead).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::register_first;

    #[test]
    fn a_hint_names_what_its_reader_has() {
        let hint = format!("{}. groups (action list) shows all; search_messages finds it.", register_first("x"));
        let error = ToolError::user("There is no register_agent.").hint(hint);
        assert_eq!(
            adapt_hints(error).to_string(),
            "There is no register_agent.\nRun `hob quickstart --name x --role ROLE` in this worktree first. list_groups \
             shows all; `hob search` finds it."
        );
    }
}
