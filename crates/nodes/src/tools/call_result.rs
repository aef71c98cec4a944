//! The result of a node call as a tool: the value, a task for the caller, or an error. The ledger is attached to each.

use std::sync::Arc;

use mcp::tool::{Case, Content, Context, Outcome, Progress, ToolError, wrapped};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::Nodes;
use crate::delegate::{DelegateError, Delegated};
use crate::run::{FailureKind, Ledger};
use crate::{Node, Record, TokenProgress};

/// Returns the schema of the structured content for a call with this value schema.
pub fn output_schema(value: Value) -> Value {
    let text = json!({"type": "string"});
    let delegate = json!({
        "type": "object",
        "description": "The call waits for your answer: answer these messages, then call node_submit.",
        "properties": {
            "ticket": text,
            "messages": {
                "type": "array",
                "items": {"type": "object", "properties": {"role": text, "content": text}, "required": ["role", "content"]},
            },
            "schema": {"description": "JSON Schema of the value."},
            "expires": {"type": "integer", "description": "Seconds since 1970."},
        },
        "required": ["ticket", "messages", "schema", "expires"],
    });
    wrapped(value, [Case::new("delegate", "delegate", delegate), Case::running()])
}

/// Calls a node.
pub(super) async fn call(
    nodes: &Arc<Nodes>,
    cx: &Context,
    node: Arc<Node>,
    input: Map<String, Value>,
    fresh: bool,
) -> Result<Outcome, ToolError> {
    if nodes.delegates(&node) {
        return delegate(nodes, cx, node, input).await;
    }
    let worktree = Nodes::worktree(cx)?;
    // The answer is streamed if the client wants progress messages.
    let heard_so_far = Mutex::new((0, 0));
    let say = |tokens: u64| {
        let (before, last) = &mut *heard_so_far.lock();
        if tokens < *last {
            // A new attempt.
            *before += *last;
        }
        *last = tokens;
        let all = *before + tokens;
        let message = Some(format!("{all} tokens so far"));
        cx.progress(Progress { progress: all as f64, total: None, message });
    };
    let heard = cx.wants_progress().then_some(TokenProgress(&say));
    let ran = tokio::select! {
        ran = nodes.run(&node, input, &worktree, (fresh, heard)) => ran,
        // The connection to the model closes at once, without the grace period of a cancelled call.
        () = cx.cancelled() => return Ok(Outcome::error("the call was cancelled")),
    };
    match ran {
        Ok(done) => {
            record(nodes, &node, "done".to_owned(), &done.ledger);
            value(&done.value, &done.ledger)
        }
        Err(failure) => {
            record(nodes, &node, failure.kind.word(), &failure.ledger);
            let spent = match failure.ledger.attempts.len() {
                0 => String::new(),
                attempts => format!(" (attempts: {attempts}, tokens: {})", failure.ledger.tokens()),
            };
            let hint = match failure.kind {
                FailureKind::Input => format!("\nThe node's input: {}", node.input.json),
                _ => String::new(),
            };
            let outcome = Outcome::error(format!("{}{spent}{hint}", failure.why));
            Ok(Outcome { meta: Some(failure.ledger.meta()), ..outcome })
        }
    }
}

pub(super) fn record(nodes: &Nodes, node: &Node, outcome: String, ledger: &Ledger) {
    nodes.record(Record::NodeCalled {
        node: node.name.clone(),
        hash: node.hash.clone(),
        outcome,
        attempts: ledger.attempts.len(),
        tokens: ledger.tokens(),
    });
}

/// Returns the result with a value.
fn value(value: &Value, ledger: &Ledger) -> Result<Outcome, ToolError> {
    let mended = if ledger.is_repaired() { " (repaired: it was not valid JSON)" } else { "" };
    let content = json!({"state": "done", "result": value});
    structured(format!("A model's answer{mended}: {value}"), &content, Some(ledger.meta()))
}

fn structured(text: String, content: &Value, meta: Option<Map<String, Value>>) -> Result<Outcome, ToolError> {
    let structured = serde_json::value::to_raw_value(content).map_err(ToolError::internal)?;
    Ok(Outcome { content: vec![Content::Text(text)], structured: Some(structured), meta, is_error: false })
}

async fn delegate(
    nodes: &Arc<Nodes>,
    cx: &Context,
    node: Arc<Node>,
    input: Map<String, Value>,
) -> Result<Outcome, ToolError> {
    let (principal, kept, asked) = (cx.principal(), nodes.clone(), node.clone());
    let begun = tokio::task::spawn_blocking(move || kept.delegation.begin(&asked, input, &principal));
    let delegated = match begun.await.map_err(ToolError::internal)? {
        Ok(delegated) => delegated,
        Err(error) => {
            let hint = match &error {
                DelegateError::Input { .. } => format!("\nThe node's input: {}", node.input.json),
                _ => String::new(),
            };
            return Ok(Outcome::error(format!("{error}{hint}")));
        }
    };
    let ledger = Ledger { node_hash: node.hash.clone(), ..Ledger::default() };
    record(nodes, &node, "delegated".to_owned(), &ledger);
    let messages: Vec<Value> =
        delegated.messages.iter().map(|message| json!({"role": message.role, "content": message.text})).collect();
    let content = json!({"state": "delegate", "delegate": {
        "ticket": delegated.ticket,
        "messages": messages,
        "schema": delegated.schema,
        "expires": delegated.expires,
    }});
    structured(delegated_text(&delegated), &content, Some(ledger.meta()))
}

/// Returns the text of a delegated call for an agent's model.
fn delegated_text(delegated: &Delegated) -> String {
    let mut text = format!(
        "Answer this prompt yourself, then call node_submit within an hour with `ticket` {:?} and, as \
         `value`, JSON that conforms to {}\n",
        delegated.ticket, delegated.schema
    );
    for message in &delegated.messages {
        text.push_str(&format!("\n[{}]\n{}", message.role, message.text));
    }
    text
}
