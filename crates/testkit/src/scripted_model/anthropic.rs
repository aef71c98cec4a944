//! Anthropic Messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::conversation::{
    OfferedTool, Protocol, Request, ToolResult, Utterance, call_id, event, list, name_of, text_of,
};
use super::http::Response;

pub(super) fn request(body: &Value) -> Request {
    let (mut said, mut results, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Vec::new();
    for message in list(&body["messages"]) {
        if message["role"] == "assistant" && message["content"].is_string() {
            said.push(Utterance::Text(text_of(&message["content"])));
        }
        for block in list(&message["content"]) {
            match block["type"].as_str() {
                Some("text") if message["role"] == "assistant" => said.push(Utterance::Text(text_of(&block["text"]))),
                Some("tool_use") => {
                    let name = block["name"].as_str().unwrap_or_default().to_owned();
                    calls.push((block["id"].as_str().unwrap_or_default().to_owned(), name.clone()));
                    said.push(Utterance::Call { name, namespace: None, arguments: block["input"].clone() });
                }
                Some("tool_result") => {
                    found.extend(list(&block["content"]).iter().filter_map(|inner| inner["tool_name"].as_str()));
                    results.push(ToolResult {
                        tool: name_of(&calls, &block["tool_use_id"]),
                        text: text_of(&block["content"]),
                        // With `is_error`.
                        raw: block.clone(),
                    });
                }
                _ => {}
            }
        }
    }
    let tool = |tool: &Value| {
        let tool = OfferedTool::parse(tool, "input_schema");
        OfferedTool { is_deferred: tool.is_deferred && !found.contains(&tool.name.as_str()), ..tool }
    };
    let format = &body["output_config"]["format"];
    let format = if format.is_null() { &body["output_format"] } else { format };
    Request {
        protocol: Protocol::AnthropicMessages,
        model: text_of(&body["model"]),
        is_streaming: body["stream"] == true,
        tools: list(&body["tools"]).iter().map(tool).collect(),
        said,
        results,
        answer_schema: (format["type"] == "json_schema").then(|| format["schema"].clone()),
    }
}

pub(super) fn response(request: &Request, said: &Utterance) -> Response {
    let (block, opening, delta, stop) = match said {
        Utterance::Text(text) => (
            json!({ "type": "text", "text": text }),
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
        Utterance::Call { name, arguments, .. } => {
            let call =
                |input: &Value| json!({ "type": "tool_use", "id": call_id(request), "name": name, "input": input });
            let delta = json!({ "type": "input_json_delta", "partial_json": arguments.to_string() });
            (call(arguments), call(&json!({})), delta, "tool_use")
        }
    };
    let message = |content: Value, stop: Option<&str>| {
        json!({
            "id": format!("msg_scripted_{}", request.said.len()), "type": "message", "role": "assistant",
            "model": request.model, "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {
                "input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            },
        })
    };
    if !request.is_streaming {
        return Response::json(&message(json!([block]), Some(stop)));
    }
    let events = [
        json!({ "type": "message_start", "message": message(json!([]), None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": opening }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": { "output_tokens": 1 },
        }),
        json!({ "type": "message_stop" }),
    ];
    Response::events(events.iter().map(event).collect())
}
