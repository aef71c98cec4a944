//! `ack_message`: settles messages.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Ids;
use crate::callers::Callers;
use crate::error::failed;
use crate::framing::quoted;
use crate::model;
use crate::whole_id::whole_id;

/// Tell the senders of messages that you are done with them, or will not act on them. Reading and answering need no ack.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Ids of messages, at most 1000; a unique prefix is enough.
    #[serde(alias = "id", alias = "message_id", alias = "message_ids")]
    pub ids: Ids,
    /// acked (done, the default) or rejected (you will not act).
    #[serde(default, alias = "status", alias = "state")]
    pub outcome: Outcome,
    /// A remark for the senders.
    #[serde(alias = "message", alias = "comment", alias = "reason")]
    pub note: Option<String>,
}

/// The outcome of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    #[default]
    #[serde(alias = "done")]
    Acked,
    Rejected,
}

/// The state of each message.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// In the order of `ids`.
    pub results: Vec<Item>,
}

/// One message.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Item {
    /// Its id as given.
    pub id: String,
    /// Its state now; `unknown` if no such message is in your mailbox.
    pub state: String,
    /// True if it was settled otherwise before, which remains.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub settled_before: bool,
}

pub(super) struct AckMessage(pub(super) Arc<Callers>);

impl Tool for AckMessage {
    const NAME: &'static str = "ack_message";
    const TITLE: &'static str = "Acknowledge messages";
    const EFFECT: Effect = Effect::WRITE.idempotent();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let (mail, session) = self.0.enter(&cx).await?;
        let outcome = match args.outcome {
            Outcome::Acked => model::Outcome::Acked,
            Outcome::Rejected => model::Outcome::Rejected,
        };
        let mut ids = Vec::with_capacity(args.ids.0.len());
        for id in &args.ids.0 {
            ids.push(whole_id(&mail, &session.agent, id).await?);
        }
        let settled = mail.ack(&session, &ids, outcome, args.note).await.map_err(failed)?;
        let state = |state: Option<model::DeliveryState>| state.map_or("unknown", |state| state.as_str()).to_owned();
        let results = settled.into_iter().map(|item| Item {
            id: item.id.to_string(),
            settled_before: item.state.is_some_and(|state| state != outcome.state()),
            state: state(item.state),
        });
        Ok(Output { results: results.collect() })
    }

    fn text(output: &Output) -> String {
        output
            .results
            .iter()
            .map(|item| match &*item.state {
                "unknown" => format!("{}: unknown; it is not in your mailbox", quoted(&item.id, 80)),
                state if item.settled_before => format!(
                    "{}: already {state}, and its sender was told; to add something, use send_message with reply_to",
                    quoted(&item.id, 80)
                ),
                state => format!("{}: {state}", quoted(&item.id, 80)),
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "Done",
            arguments: json!({"ids": ["msg_01JD0000000000000000000000"], "note": "merged"}),
            text: None,
        }]
    }
}
