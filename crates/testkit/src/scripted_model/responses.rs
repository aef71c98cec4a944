//! OpenAI Responses: `POST /responses`.

use serde_json::{Value, json};

use super::conversation::{
    OfferedTool, Protocol, Request, ToolResult, Utterance, arguments, call_id, event, list, name_of, text_of,
};
use super::http::Response;

/// hob's name for the tool that searches for other tools. The protocol does not name it.
const SEARCH: &str = "tool_search";

pub(super) fn request(body: &Value) -> Request {
    let (mut said, mut results, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let mut offered: Vec<OfferedTool> = list(&body["tools"]).iter().flat_map(tools).collect();
    for item in list(&body["input"]) {
        match item["type"].as_str() {
            Some("message") | None if item["role"] == "assistant" => {
                said.push(Utterance::Text(text_of(&item["content"])))
            }
            Some("function_call" | "custom_tool_call" | "tool_search_call") => {
                let name = item["name"].as_str().unwrap_or(SEARCH).to_owned();
                calls.push((item["call_id"].as_str().unwrap_or_default().to_owned(), name.clone()));
                let namespace = item["namespace"].as_str().map(str::to_owned);
                let arguments = match (&item["input"], &item["arguments"]) {
                    (input @ Value::String(_), _) => input.clone(),
                    (_, text @ Value::String(_)) => arguments(text),
                    (_, object) => object.clone(),
                };
                said.push(Utterance::Call { name, namespace, arguments });
            }
            Some("function_call_output" | "custom_tool_call_output") => results.push(ToolResult {
                tool: name_of(&calls, &item["call_id"]),
                text: text_of(&item["output"]),
                raw: item["output"].clone(),
            }),
            Some("additional_tools") => offered.extend(list(&item["tools"]).iter().flat_map(tools)),
            Some("tool_search_output") => {
                offered.extend(list(&item["tools"]).iter().flat_map(tools));
                let text = item["tools"].to_string();
                results.push(ToolResult { tool: SEARCH.to_owned(), text, raw: item["tools"].clone() });
            }
            _ => {}
        }
    }
    let format = &body["text"]["format"];
    Request {
        protocol: Protocol::OpenAiResponses,
        model: text_of(&body["model"]),
        is_streaming: body["stream"] == true,
        tools: offered,
        said,
        results,
        answer_schema: (format["type"] == "json_schema").then(|| format["schema"].clone()),
    }
}

/// Returns the tools of an entry: one, or those of a namespace. Tools found by a search are still marked as deferred.
fn tools(entry: &Value) -> Vec<OfferedTool> {
    let one = |schema: &str| OfferedTool { is_deferred: false, ..OfferedTool::parse(entry, schema) };
    match entry["type"].as_str() {
        Some("function") => vec![one("parameters")],
        Some("custom") => vec![one("format")],
        Some("tool_search") => vec![OfferedTool { name: SEARCH.to_owned(), ..one("parameters") }],
        Some("namespace") => {
            let of = entry["name"].as_str().map(str::to_owned);
            let inner = list(&entry["tools"]).iter().flat_map(tools);
            inner.map(|tool| OfferedTool { namespace: of.clone(), ..tool }).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn response(request: &Request, said: &Utterance) -> Response {
    let id = format!("item_scripted_{}", request.said.len());
    let item = |status: &str, is_done: bool| match said {
        Utterance::Text(text) => {
            let content = if is_done { json!([part(text)]) } else { json!([]) };
            json!({ "type": "message", "id": id, "status": status, "role": "assistant", "content": content })
        }
        Utterance::Call { name, arguments, .. } if name == SEARCH => json!({
            "type": "tool_search_call", "id": id, "status": status, "call_id": call_id(request),
            "execution": "client", "arguments": arguments,
        }),
        // A tool with input that is not JSON.
        Utterance::Call { name, arguments: Value::String(input), .. } => {
            let input = if is_done { input } else { "" };
            json!({
                "type": "custom_tool_call", "id": id, "status": status, "call_id": call_id(request),
                "name": name, "input": input,
            })
        }
        Utterance::Call { name, namespace, arguments } => {
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
        Utterance::Text(text) => {
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
        Utterance::Call { name, .. } if name == SEARCH => {}
        Utterance::Call { arguments: Value::String(input), .. } => events.extend([
            at("response.custom_tool_call_input.delta", "delta", json!(input)),
            at("response.custom_tool_call_input.done", "input", json!(input)),
        ]),
        Utterance::Call { arguments, .. } => {
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
