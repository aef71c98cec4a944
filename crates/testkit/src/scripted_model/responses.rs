//! OpenAI Responses: `POST /responses`.

use serde_json::{Value, json};

use super::conversation::{
    OfferedTool, Protocol, Request, Said, ToolResult, arguments, call_id, event, list, name_of, text_of,
};
use super::http::Response;

pub(super) fn request(body: &Value) -> Request {
    let (mut said, mut results, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for item in list(&body["input"]) {
        match item["type"].as_str() {
            Some("message") | None if item["role"] == "assistant" => said.push(Said::Text(text_of(&item["content"]))),
            Some("function_call") => {
                let name = item["name"].as_str().unwrap_or_default().to_owned();
                calls.push((item["call_id"].as_str().unwrap_or_default().to_owned(), name.clone()));
                let namespace = item["namespace"].as_str().map(str::to_owned);
                said.push(Said::Call { name, namespace, arguments: arguments(&item["arguments"]) });
            }
            Some("function_call_output") => results.push(ToolResult {
                tool: name_of(&calls, &item["call_id"]),
                text: text_of(&item["output"]),
                raw: item["output"].clone(),
            }),
            _ => {}
        }
    }
    let format = &body["text"]["format"];
    Request {
        protocol: Protocol::OpenAiResponses,
        model: text_of(&body["model"]),
        is_streaming: body["stream"] == true,
        tools: list(&body["tools"]).iter().flat_map(tools).collect(),
        said,
        results,
        answer_schema: (format["type"] == "json_schema").then(|| format["schema"].clone()),
    }
}

/// The functions of an entry: one, or those of a namespace.
fn tools(entry: &Value) -> Vec<OfferedTool> {
    match entry["type"].as_str() {
        Some("function") => vec![OfferedTool::of(entry, "parameters")],
        Some("namespace") => {
            let of = entry["name"].as_str().map(str::to_owned);
            let inner = list(&entry["tools"]).iter().flat_map(tools);
            inner.map(|tool| OfferedTool { namespace: of.clone(), ..tool }).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn response(request: &Request, said: &Said) -> Response {
    let id = format!("item_scripted_{}", request.said.len());
    let item = |status: &str, is_done: bool| match said {
        Said::Text(text) => {
            let content = if is_done { json!([part(text)]) } else { json!([]) };
            json!({ "type": "message", "id": id, "status": status, "role": "assistant", "content": content })
        }
        Said::Call { name, namespace, arguments } => {
            let text = if is_done { arguments.to_string() } else { String::new() };
            let mut item = json!({
                "type": "function_call", "id": id, "status": status, "call_id": call_id(request),
                "name": name, "arguments": text,
            });
            if let Some(namespace) = namespace {
                item["namespace"] = json!(namespace);
            }
            item
        }
    };
    let whole = |status: &str, output: Value| {
        json!({
            "id": format!("resp_scripted_{}", request.said.len()), "object": "response", "created_at": 0,
            "status": status, "model": request.model, "output": output, "error": null, "incomplete_details": null,
            "parallel_tool_calls": false, "tools": [], "tool_choice": "auto", "metadata": {},
            "usage": {
                "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": 1, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 2,
            },
        })
    };
    let done = item("completed", true);
    if !request.is_streaming {
        return Response::json(&whole("completed", json!([done])));
    }
    let mut events = vec![
        json!({ "type": "response.created", "response": whole("in_progress", json!([])) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("in_progress", false) }),
    ];
    let at = |kind: &str, key: &str, value: Value| {
        let mut event = json!({ "type": kind, "item_id": id, "output_index": 0 });
        event[key] = value;
        event
    };
    match said {
        Said::Text(text) => {
            let of_part = |kind: &str, key: &str, value: Value| {
                let mut event = at(kind, "content_index", json!(0));
                event[key] = value;
                event
            };
            events.extend([
                of_part("response.content_part.added", "part", part("")),
                of_part("response.output_text.delta", "delta", json!(text)),
                of_part("response.output_text.done", "text", json!(text)),
                of_part("response.content_part.done", "part", part(text)),
            ]);
        }
        Said::Call { arguments, .. } => {
            let text = json!(arguments.to_string());
            events.extend([
                at("response.function_call_arguments.delta", "delta", text.clone()),
                at("response.function_call_arguments.done", "arguments", text),
            ]);
        }
    }
    events.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": done }));
    events.push(json!({ "type": "response.completed", "response": whole("completed", json!([done])) }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    Response::events(events.iter().map(event).collect())
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}
