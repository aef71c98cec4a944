//! `register_agent`: gives the caller's worktree a name.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::callers::{Callers, Registration};
use crate::framing::quoted;

/// Register yourself as an agent under a name that others write to, and bind the name to this worktree. Calling it again
/// changes role, module and intent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Your name: a-z, 0-9, _ and -.
    pub name: String,
    /// What you are for: planner, reviewer, dev, …
    pub role: String,
    /// What you work on.
    #[serde(default)]
    pub module: String,
    /// What you are doing now, in a sentence.
    pub intent: Option<String>,
}

/// Who you are now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `registered` or `updated`.
    pub status: String,
    /// Your name, which is your id.
    pub name: String,
    /// What you are for.
    pub role: String,
    /// What you work on.
    pub module: String,
    /// What you are doing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intent: Option<String>,
    /// The worktree that the name is bound to.
    pub worktree: String,
    /// From whom the name was taken, if it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub taken_from: Option<String>,
}

pub(super) struct RegisterAgent(pub(super) Arc<Callers>);

impl Tool for RegisterAgent {
    const NAME: &'static str = "register_agent";
    const TITLE: &'static str = "Register as an agent";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let registration =
            Registration { name: args.name, role: args.role, module: args.module, intent: args.intent.clone() };
        let done = self.0.register(&cx, registration).await?;
        Ok(Output {
            status: if done.is_new { "registered" } else { "updated" }.to_owned(),
            name: done.identity.name,
            role: done.identity.role,
            module: done.identity.module,
            intent: args.intent,
            worktree: done.identity.worktree.map(|path| path.display().to_string()).unwrap_or_default(),
            taken_from: done.taken_from,
        })
    }

    fn text(output: &Output) -> String {
        let Output { status, name, role, worktree, .. } = output;
        let module = match output.module.is_empty() {
            true => String::new(),
            false => format!(", module {}", quoted(&output.module, 200)),
        };
        let taken = output.taken_from.as_ref().map(|from| format!(" It was taken from {}.", quoted(from, 300)));
        format!("{status}: {name} ({role}{module}), in {}.{}", quoted(worktree, 300), taken.unwrap_or_default())
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "A planner",
            arguments: json!({"name": "planner", "role": "planner", "module": "all", "intent": "splitting the work"}),
            text: None,
        }]
    }
}
