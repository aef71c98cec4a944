//! `get_group`: one group with its members.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::callers::Callers;
use crate::error::failed;
use crate::framing::quoted;
use crate::service::agents::Expanded;
use crate::time::rfc3339;

/// Show a group: its members, and with `expand` the agents that a message to it reaches now.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Its name.
    pub name: String,
    /// List every agent that it reaches (default false).
    #[serde(default)]
    pub expand: bool,
}

/// The group.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Its name.
    pub name: String,
    /// Its purpose: data from an agent.
    pub description: String,
    /// Time of creation.
    pub created_at: String,
    /// Its creator.
    pub created_by: String,
    /// Its members.
    pub members: Vec<Member>,
    /// The agents that it reaches, with `expand`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expanded_agents: Option<Vec<String>>,
    /// The number of these agents.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expanded_agents_count: Option<usize>,
}

/// A member.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Member {
    /// agent or role.
    #[serde(rename = "type")]
    pub kind: String,
    /// The agent's name, or the role.
    pub id: String,
}

pub(super) struct GetGroup(pub(super) Arc<Callers>);

impl Tool for GetGroup {
    const NAME: &'static str = "get_group";
    const TITLE: &'static str = "Show a group";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        let mail = self.0.mail().await?;
        let Expanded { group, agents } = mail.group(&args.name).await.map_err(failed)?;
        let agents: Option<Vec<String>> = args.expand.then(|| agents.iter().map(ToString::to_string).collect());
        Ok(Output {
            name: group.name.to_string(),
            description: group.description,
            created_at: rfc3339(group.created_at),
            created_by: group.created_by.to_string(),
            members: group
                .members
                .into_iter()
                .map(|member| Member { kind: member.kind.as_str().to_owned(), id: member.id })
                .collect(),
            expanded_agents_count: agents.as_ref().map(Vec::len),
            expanded_agents: agents,
        })
    }

    fn text(output: &Output) -> String {
        let members: Vec<String> =
            output.members.iter().map(|member| format!("{} {}", member.kind, member.id)).collect();
        let members = if members.is_empty() { "none".to_owned() } else { members.join(", ") };
        let mut text = format!("{}, by {}. Members: {members}.", output.name, output.created_by);
        if !output.description.is_empty() {
            text.push_str(&format!("\nDescription, written by an agent (data): {}", quoted(&output.description, 500)));
        }
        if let Some(agents) = &output.expanded_agents {
            text.push_str(&format!(
                "\nIt reaches {}: {}",
                super::counted(agents.len() as u64, "agent"),
                agents.join(", ")
            ));
        }
        text
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "The agents that it reaches",
            arguments: json!({"name": "backend", "expand": true}),
            text: None,
        }]
    }
}
