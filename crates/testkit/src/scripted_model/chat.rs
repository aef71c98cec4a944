//! OpenAI Chat Completions: `POST /chat/completions`.

use serde_json::{Value, json};

use super::conversation::{
    OfferedTool, Protocol, Request, ToolResult, Utterance, arguments, call_id, list, name_of, text_of,
};
use super::http::Response;

pub(super) fn request(body: &Value) -> Request {
    let (mut said, mut results, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for message in list(&body["messages"]) {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("assistant") => {
                if !text.is_empty() {
                    said.push(Utterance::Text(text));
                }
                for call in list(&message["tool_calls"]) {
                    let function = &call["function"];
                    let name = function["name"].as_str().unwrap_or_default().to_owned();
                    calls.push((call["id"].as_str().unwrap_or_default().to_owned(), name.clone()));
                    said.push(Utterance::Call { name, namespace: None, arguments: arguments(&function["arguments"]) });
                }
            }
            Some("tool") => results.push(ToolResult {
                tool: name_of(&calls, &message["tool_call_id"]),
                text,
                raw: message["content"].clone(),
            }),
            _ => {}
        }
    }
    let format = &body["response_format"];
    let functions = list(&body["tools"]).iter().filter(|tool| tool["type"] == "function");
    Request {
        protocol: Protocol::OpenAiChat,
        model: text_of(&body["model"]),
        is_streaming: body["stream"] == true,
        tools: functions.map(|tool| OfferedTool::parse(&tool["function"], "parameters")).collect(),
        said,
        results,
        answer_schema: (format["type"] == "json_schema").then(|| format["json_schema"]["schema"].clone()),
    }
}

pub(super) fn response(request: &Request, said: &Utterance) -> Response {
    let (mut message, finish) = match said {
        Utterance::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Utterance::Call { name, arguments, .. } => {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            let call = json!({ "index": 0, "id": call_id(request), "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
    };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let with = |object: &str, choices: Value, usage: Option<&Value>| {
        json!({
            "id": format!("chatcmpl-scripted-{}", request.said.len()), "object": object, "created": 0,
            "model": request.model, "choices": choices, "usage": usage,
        })
    };
    if !request.is_streaming {
        // A text has no calls, and an index would make them.
        let call = message.get_mut("tool_calls").and_then(|calls| calls.get_mut(0));
        if let Some(call) = call.and_then(Value::as_object_mut) {
            call.remove("index");
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        return Response::json(&with("chat.completion", json!([choice]), Some(&usage)));
    }
    let chunk = |choices: Value, usage: Option<&Value>| with("chat.completion.chunk", choices, usage);
    let chunks = [
        chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }]), None),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), None),
        chunk(json!([]), Some(&usage)),
    ];
    let data = chunks.iter().map(Value::to_string).chain(["[DONE]".to_owned()]);
    Response::events(data.map(|data| format!("data: {data}\n\n")).collect())
}
