//! Node files through the real binary: files that become tools, models, keys and recordings.
//! `transcripts/commands/node.md` has the texts of commands, and `crates/nodes/tests` has files, schemas, calls and tools.

mod live;
mod recorded;
mod secrets;

use serde_json::{Value, json};
use testkit::McpPeer;

const RATE: &str = r#"---
description: Rates a text.
input: { schema: { text: string } }
output: { schema: { reason: string ..50, score: integer 1..5 } }
policy: { attempts: 2 }
---
{% block system %}You rate texts.{% endblock %}
{% block user %}{{ text | data }}{% endblock %}
"#;

/// Returns the listed tool of that name.
fn tool(peer: &mut McpPeer, name: &str) -> Option<Value> {
    let listed = peer.result("tools/list", json!({}));
    listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned()
}
