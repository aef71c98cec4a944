//! Gemini: `POST /v1beta/models/M:generateContent` and `:streamGenerateContent`.

use serde_json::{Value, json};

use super::conversation::{OfferedTool, Protocol, Request, ToolResult, Utterance, list, text_of};
use super::http::Response;

/// Returns the request of a path that ends in `last`, if it asks for generated text.
pub(super) fn request(last: &str, with_query: &str, body: &Value) -> Option<Request> {
    let (model, method) = last.split_once(':')?;
    let is_streaming = match method {
        "generateContent" => false,
        // Without `alt=sse` Gemini streams a JSON array; no agent uses that.
        "streamGenerateContent" if with_query.contains("alt=sse") => true,
        _ => return None,
    };
    let (mut said, mut results) = (Vec::new(), Vec::new());
    for content in list(&body["contents"]) {
        for part in list(&content["parts"]) {
            let (call, result) = (&part["functionCall"], &part["functionResponse"]);
            if call.is_object() {
                let (name, arguments) = (text_of(&call["name"]), call["args"].clone());
                said.push(Utterance::Call { name, namespace: None, arguments });
            } else if result.is_object() {
                results.push(ToolResult {
                    tool: text_of(&result["name"]),
                    text: ["output", "error"].map(|key| text_of(&result["response"][key])).concat(),
                    raw: result["response"].clone(),
                });
            } else if content["role"] == "model" && part["thought"] != true {
                said.push(Utterance::Text(text_of(&part["text"])));
            }
        }
    }
    let config = &body["generationConfig"];
    let schema = ["responseJsonSchema", "responseSchema"].into_iter().find_map(|key| config.get(key));
    let declared = list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    let tool = |tool: &Value| {
        let schema = if tool["parametersJsonSchema"].is_null() { "parameters" } else { "parametersJsonSchema" };
        OfferedTool::parse(tool, schema)
    };
    Some(Request {
        protocol: Protocol::Gemini,
        model: model.to_owned(),
        is_streaming,
        tools: declared.map(tool).collect(),
        said,
        results,
        answer_schema: schema.cloned(),
    })
}

pub(super) fn response(request: &Request, said: &Utterance) -> Response {
    let part = match said {
        Utterance::Text(text) => json!({ "text": text }),
        Utterance::Call { name, arguments, .. } => json!({ "functionCall": { "name": name, "args": arguments } }),
    };
    let body = json!({
        "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
        "modelVersion": request.model,
        "responseId": format!("scripted-{}", request.said.len()),
    });
    if request.is_streaming { Response::events(format!("data: {body}\n\n")) } else { Response::json(&body) }
}
