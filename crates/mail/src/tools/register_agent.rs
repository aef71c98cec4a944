//! `register_agent`: gives the caller's worktree a name.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::callers::{Callers, OtherName, Registration, waits};
use crate::framing::quoted;

/// Take a name that other agents write to, before other mail tools. It belongs to this worktree and outlives you. Call it
/// again to change your profile; another name renames you, and your mail moves along.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// a-z, 0-9, _ and -.
    #[serde(alias = "agent", alias = "agent_name", alias = "as", alias = "from")]
    pub name: String,
    /// Your role: planner, reviewer, dev. Messages can go to a role.
    pub role: Option<String>,
    /// The part of the code that you work on.
    pub module: Option<String>,
    /// Your current work, in a sentence.
    #[serde(alias = "description", alias = "task")]
    pub intent: Option<String>,
}

/// Your registration.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// `registered`, `updated`, or `renamed`.
    pub status: String,
    /// Your name, which is your id.
    pub name: String,
    /// Your role.
    pub role: String,
    /// The part of the code that you work on.
    pub module: String,
    /// Your current work.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intent: Option<String>,
    /// The worktree that the name is bound to.
    pub worktree: String,
    /// The former holder, if the name was taken over.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub taken_from: Option<String>,
    /// Your former name, which is free now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub renamed_from: Option<String>,
    /// Your former name, which was removed because it had no mail.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forgotten: Option<String>,
    /// The number of messages that wait for you.
    pub waiting: u64,
    /// Other processes that go by this name.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_pids: Vec<u32>,
    /// Another name of this worktree.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beside: Option<Other>,
}

/// Another name of the worktree.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Other {
    /// The name.
    pub name: String,
    /// The number of messages that wait for it.
    pub waiting: u64,
    /// A process that goes by it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pid: Option<u32>,
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
        let status = match (&done.renamed_from, done.is_new) {
            (Some(_), _) => "renamed",
            (None, true) => "registered",
            (None, false) => "updated",
        };
        Ok(Output {
            status: status.to_owned(),
            renamed_from: done.renamed_from.map(|name| name.to_string()),
            forgotten: done.forgotten.map(|name| name.to_string()),
            waiting: done.waiting,
            other_pids: done.others,
            beside: done.beside.map(|OtherName { name, waiting, pid }| Other { name: name.to_string(), waiting, pid }),
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
        let module =
            if output.module.is_empty() { String::new() } else { format!(", module {}", quoted(&output.module, 200)) };
        let mut text = format!("{status}: {name} ({role}{module}), in {}.", quoted(worktree, 300));
        if let Some(from) = &output.taken_from {
            text.push_str(&format!(" It was taken from {}.", quoted(from, 300)));
        }
        if let Some(former) = &output.renamed_from {
            text.push_str(&format!(" The name {former} is free now; its mail and its groups are yours."));
        }
        if let Some(forgotten) = &output.forgotten {
            text.push_str(&format!(" The name {forgotten} is free now; it had no mail."));
        }
        if output.waiting > 0 {
            text.push_str(&format!(" {} for you: check_messages.", waits(output.waiting)));
        }
        if let [pid, ..] = output.other_pids[..] {
            text.push_str(&format!(
                "\nAnother process, {pid}, uses {name} here too: each message reaches only one of you. Register \
                 another name to receive your own."
            ));
        }
        match &output.beside {
            Some(Other { name: other, pid: Some(pid), .. }) => {
                text.push_str(&format!("\n{other} remains the name of process {pid} in this worktree."));
            }
            Some(Other { name: other, waiting, pid: None }) => text.push_str(&format!(
                "\nThis worktree's name was {other}, which no process uses now; {} for it. `hob inbox --as {other}` \
                 shows them; `hob agents forget {other}` removes it and informs the senders.",
                waits(*waiting)
            )),
            None => {}
        }
        text
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "A planner",
            arguments: json!({"name": "planner", "role": "planner", "module": "all", "intent": "splitting the work"}),
            text: None,
        }]
    }
}
