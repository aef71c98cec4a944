//! Parses a payload to an [`Event`]. Agents use different names for its fields. A field that is null or of another type counts
//! as absent; parsing never fails.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{Agent, kind_of};
use crate::event::{Event, Kind, Tool};

/// Parses a payload. Bytes that are not UTF-8 become U+FFFD. So do unpaired surrogates, which JavaScript programs write when they
/// truncate a text.
pub(crate) fn parse(raw: &[u8]) -> Option<Map<String, Value>> {
    let text = String::from_utf8_lossy(raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw));
    serde_json::from_str(&text).or_else(|_| serde_json::from_str(&replace_lone_surrogates(&text))).ok()
}

/// Replaces escapes of unpaired surrogates in a JSON text.
fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let unit = |at: usize| -> Option<u16> {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let length = match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                mended.push_str(&text[copied..at]);
                mended.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            _ => 2,
        };
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[copied..]);
    Cow::Owned(mended)
}

/// Reads the event of a payload. `named` is the event of the command line; the payload's own name takes precedence.
pub(crate) fn read(agent: Agent, named: &str, raw: &[u8]) -> Event {
    let parsed = parse(raw);
    let is_unreadable = parsed.is_none();
    let payload = parsed.unwrap_or_default();
    let text = |names: &[&str]| {
        let found = names.iter().filter_map(|name| payload.get(*name)?.as_str());
        found.map(str::to_owned).find(|text| !text.is_empty())
    };
    let own = text(&["hook_event_name", "hookEventName", "hook_name"]);
    let row = own.as_deref().and_then(|own| agent.row(own)).or_else(|| agent.row(named));
    let (name, kind) = match row {
        Some(row) => (row.name.to_owned(), row.kind),
        // Another agent's spelling still determines the kind.
        None => {
            let given = own.unwrap_or_else(|| named.to_owned());
            let kind = kind_of(&given).or_else(|| kind_of(named)).unwrap_or(Kind::Other);
            (given, kind)
        }
    };
    let mut event = Event {
        agent: agent.name(),
        kind,
        session: text(&["session_id", "sessionId", "conversation_id", "sessionID", "thread_id"]),
        subagent: text(&["agent_id", "agentId", "subagent_id", "agent_type", "subagent_type"]),
        turn: text(&["prompt_id", "turn_id", "generation_id", "turnId"]),
        cwd: text(&["cwd", "working_directory"]).map(PathBuf::from).filter(|cwd| cwd.is_absolute()),
        mode: text(&["permission_mode", "permissionMode"]),
        prompt: text(&["prompt", "user_prompt", "userPrompt", "initialPrompt"]),
        reason: text(&["source", "reason", "trigger"]),
        is_held: ["stop_hook_active", "stopHookActive"]
            .iter()
            .any(|name| payload.get(*name) == Some(&Value::Bool(true)))
            || payload.get("loop_count").and_then(Value::as_u64).is_some_and(|count| count > 0),
        tool: None,
        name,
        is_unreadable,
    };
    event.tool = tool(&event.name, kind, payload);
    event
}

/// The field names of a tool's input.
const INPUTS: [&str; 5] = ["tool_input", "toolInput", "toolArgs", "tool_args", "args"];

fn tool(event: &str, kind: Kind, mut payload: Map<String, Value>) -> Option<Tool> {
    let of_tool = [Kind::ToolBefore, Kind::ToolAfter, Kind::ToolFailed, Kind::PermissionRequest];
    if !of_tool.contains(&kind) {
        return None;
    }
    let name = ["tool_name", "toolName", "tool"].iter().find_map(|name| payload.get(*name)?.as_str());
    let name = name.or(match event {
        "beforeShellExecution" | "afterShellExecution" => Some("Shell"),
        "beforeReadFile" | "beforeTabFileRead" => Some("Read"),
        "afterFileEdit" | "afterTabFileEdit" => Some("Edit"),
        _ => None,
    })?;
    let name = name.to_owned();
    let server = || -> Option<(String, String)> {
        let of_gemini = payload.get("mcp_context").and_then(|context| {
            Some((context.get("server_name")?.as_str()?.to_owned(), context.get("tool_name")?.as_str()?.to_owned()))
        });
        let of_cursor = || {
            let is_mcp = matches!(event, "beforeMCPExecution" | "afterMCPExecution");
            let server = payload.get("server_name").or_else(|| payload.get("server")).and_then(Value::as_str);
            is_mcp.then(|| (server.unwrap_or_default().to_owned(), name.clone()))
        };
        let by_prefix = || name.strip_prefix("MCP:").map(|tool| (String::new(), tool.to_owned()));
        of_gemini.or_else(of_cursor).or_else(by_prefix)
    };
    let server = server();
    // An input may be large, so it is moved instead of copied.
    let input = INPUTS.iter().find_map(|name| payload.get_mut(*name).map(Value::take));
    let input = match input {
        // Some agents encode an object as a text.
        Some(Value::String(text)) => parse(text.as_bytes()).map_or(Value::String(text), Value::Object),
        Some(input) => input,
        // Cursor's tool-specific events have the input fields at the top level.
        None => Value::Object(payload),
    };
    Some(Tool::new(&name, input, server))
}
