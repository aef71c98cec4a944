//! `work_sync`: fetches, then reports the state of the work.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use project::Caller;
use serde_json::json;

use super::work_status::{Output, Section, answer, render};
use crate::state::Work;

/// Fetches from git's remotes and the issue tracker, then answers like work_status. Merges, rebases and checks out nothing.
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Args {
    /// The sections to show, as for work_status (default `git`, `pull` and `issue`).
    pub sections: Vec<Section>,
    /// The id of an issue (default: the issue that the branch names).
    pub issue: Option<String>,
}

pub(super) struct WorkSync(pub Arc<Work>);

impl Tool for WorkSync {
    const NAME: &'static str = "work_sync";
    const TITLE: &'static str = "Fetch, and state of the work";
    const EFFECT: Effect = Effect::WRITE.idempotent().open_world();
    const REPEAT: Repeat = Repeat::Visible { advice: "Call it again: a second fetch does no harm." };
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        // A failed fetch is reported in `sources`, together with the state that is known.
        let synced = self.0.sync(caller).await;
        let args = super::work_status::Args { sections: args.sections, issue: args.issue, refresh: true };
        let mut output = answer(&self.0, caller, &args).await?;
        output.sources.extend(synced);
        Ok(output)
    }

    fn text(output: &Output) -> String {
        render(output)
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Pushed changes of others", arguments: json!({}), text: None }]
    }
}
