//! The scripted model through real HTTP, in each protocol.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{Exchange, Script, ScriptedModel};

/// An evaluation, a text, an evaluation.
fn model() -> ScriptedModel {
    let script = json!({
        "turns": [
            { "tool": "repl_eval", "arguments": { "code": "1+1" } },
            { "text": "Two." },
            { "tool": "repl_eval", "arguments": { "code": "2+2" } },
        ],
        "closing": "Done.",
    });
    ScriptedModel::start(Script::parse(&script.to_string()).unwrap()).unwrap()
}

/// Sends bytes; returns the status and the body.
fn send(model: &ScriptedModel, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    stream.write_all(request).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.rsplit_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(head.contains("connection: close"), "{head}");
    (status, body.to_owned())
}

fn post(model: &ScriptedModel, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    let (status, answer) = send(model, format!("{head}{body}").as_bytes());
    assert_eq!(status, 200, "{answer}");
    answer
}

fn get(model: &ScriptedModel, path: &str) -> (u16, String) {
    send(model, format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())
}

/// Returns the tested parts of the record: how each request was answered, and the results in the last one.
fn record(model: &ScriptedModel) -> String {
    let lines: Vec<Value> = model.exchanges().iter().map(Exchange::to_json).collect();
    let turns: Vec<String> = lines.iter().map(|line| line["turn"].to_string()).collect();
    let last = lines.last().unwrap();
    let each = |key: &str| last[key].as_array().unwrap().iter().map(|one| format!("\n{one}")).collect::<String>();
    format!("{}: {}{}{}\n", last["protocol"], turns.join(" "), each("tools"), each("results"))
}

fn shows(expected: &Expect, model: &ScriptedModel, path: &str, body: &Value) {
    let answer = post(model, path, body);
    let events = answer.trim_end().split("\n\n").map(data).collect::<Vec<_>>();
    expected.assert_eq(&format!("{}\n", events.join("\n")));
}

/// Returns an event without its name, which its data must repeat.
fn data(event: &str) -> &str {
    let Some((name, data)) = event.strip_prefix("event: ").and_then(|named| named.split_once('\n')) else {
        return event;
    };
    assert!(data.starts_with(&format!(r#"data: {{"type":"{name}""#)), "{event}");
    data
}

#[test]
fn anthropic_messages() {
    let model = model();
    let tool =
        json!({ "name": "mcp__hob__repl_eval", "description": "Evaluate.", "input_schema": { "type": "object" } });
    let mut body = json!({
        "model": "m", "max_tokens": 9, "tools": [tool], "messages": [{ "role": "user", "content": "Begin." }],
    });
    shows(
        &expect![[r#"
        {"id":"msg_scripted_0","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"call_scripted_0","name":"mcp__hob__repl_eval","input":{"code":"1+1"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}
    "#]],
        &model,
        "/v1/messages?beta=true",
        &body,
    );
    body["stream"] = json!(true);
    shows(
        &expect![[r#"
        data: {"type":"message_start","message":{"id":"msg_scripted_0","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}
        data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_scripted_0","name":"mcp__hob__repl_eval","input":{}}}
        data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"code\":\"1+1\"}"}}
        data: {"type":"content_block_stop","index":0}
        data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":1}}
        data: {"type":"message_stop"}
    "#]],
        &model,
        "/v1/messages",
        &body,
    );
    body["messages"] = json!([
        { "role": "user", "content": "Begin." },
        { "role": "assistant", "content": [
            { "type": "tool_use", "id": "a", "name": "mcp__hob__repl_eval", "input": { "code": "1+1" } },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "2" }] },
        ] },
    ]);
    shows(
        &expect![[r#"
        data: {"type":"message_start","message":{"id":"msg_scripted_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}
        data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
        data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Two."}}
        data: {"type":"content_block_stop","index":0}
        data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}
        data: {"type":"message_stop"}
    "#]],
        &model,
        "/v1/messages",
        &body,
    );
    expect![[r#"
        "anthropic-messages": 0 0 1
        {"name":"mcp__hob__repl_eval","namespace":null,"description":"Evaluate.","schema":{"type":"object"},"is_deferred":false,"bytes":45}
        {"tool":"mcp__hob__repl_eval","text":"2","raw":{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"2"}]}}
    "#]]
    .assert_eq(&record(&model));
}

#[test]
fn openai_responses() {
    let model = model();
    let inner = json!({ "type": "function", "name": "repl_eval", "description": "Evaluate.", "parameters": {} });
    let mut body = json!({
        "model": "m", "input": [{ "type": "message", "role": "user", "content": "Begin." }],
        "tools": [{ "type": "namespace", "name": "mcp__hob__", "description": "", "tools": [inner] }],
    });
    shows(
        &expect![[r#"
        {"id":"resp_scripted_0","object":"response","created_at":0,"status":"completed","model":"m","output":[{"type":"function_call","id":"item_scripted_0","status":"completed","call_id":"call_scripted_0","name":"repl_eval","arguments":"{\"code\":\"1+1\"}","namespace":"mcp__hob__"}],"error":null,"incomplete_details":null,"parallel_tool_calls":false,"tools":[],"tool_choice":"auto","metadata":{},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}
    "#]],
        &model,
        "/responses",
        &body,
    );
    body["stream"] = json!(true);
    shows(
        &expect![[r#"
        data: {"type":"response.created","response":{"id":"resp_scripted_0","object":"response","created_at":0,"status":"in_progress","model":"m","output":[],"error":null,"incomplete_details":null,"parallel_tool_calls":false,"tools":[],"tool_choice":"auto","metadata":{},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}},"sequence_number":0}
        data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"item_scripted_0","status":"in_progress","call_id":"call_scripted_0","name":"repl_eval","arguments":"","namespace":"mcp__hob__"},"sequence_number":1}
        data: {"type":"response.function_call_arguments.delta","item_id":"item_scripted_0","output_index":0,"delta":"{\"code\":\"1+1\"}","sequence_number":2}
        data: {"type":"response.function_call_arguments.done","item_id":"item_scripted_0","output_index":0,"arguments":"{\"code\":\"1+1\"}","sequence_number":3}
        data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"item_scripted_0","status":"completed","call_id":"call_scripted_0","name":"repl_eval","arguments":"{\"code\":\"1+1\"}","namespace":"mcp__hob__"},"sequence_number":4}
        data: {"type":"response.completed","response":{"id":"resp_scripted_0","object":"response","created_at":0,"status":"completed","model":"m","output":[{"type":"function_call","id":"item_scripted_0","status":"completed","call_id":"call_scripted_0","name":"repl_eval","arguments":"{\"code\":\"1+1\"}","namespace":"mcp__hob__"}],"error":null,"incomplete_details":null,"parallel_tool_calls":false,"tools":[],"tool_choice":"auto","metadata":{},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}},"sequence_number":5}
    "#]],
        &model,
        "/v1/responses",
        &body,
    );
    body["input"] = json!([
        { "type": "message", "role": "user", "content": "Begin." },
        { "type": "function_call", "call_id": "a", "namespace": "mcp__hob__", "name": "repl_eval", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "a", "output": "[{\"text\":\"2\"}]" },
    ]);
    shows(
        &expect![[r#"
        data: {"type":"response.created","response":{"id":"resp_scripted_1","object":"response","created_at":0,"status":"in_progress","model":"m","output":[],"error":null,"incomplete_details":null,"parallel_tool_calls":false,"tools":[],"tool_choice":"auto","metadata":{},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}},"sequence_number":0}
        data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"item_scripted_1","status":"in_progress","role":"assistant","content":[]},"sequence_number":1}
        data: {"type":"response.content_part.added","item_id":"item_scripted_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]},"sequence_number":2}
        data: {"type":"response.output_text.delta","item_id":"item_scripted_1","output_index":0,"content_index":0,"delta":"Two.","sequence_number":3}
        data: {"type":"response.output_text.done","item_id":"item_scripted_1","output_index":0,"content_index":0,"text":"Two.","sequence_number":4}
        data: {"type":"response.content_part.done","item_id":"item_scripted_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Two.","annotations":[]},"sequence_number":5}
        data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"item_scripted_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Two.","annotations":[]}]},"sequence_number":6}
        data: {"type":"response.completed","response":{"id":"resp_scripted_1","object":"response","created_at":0,"status":"completed","model":"m","output":[{"type":"message","id":"item_scripted_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Two.","annotations":[]}]}],"error":null,"incomplete_details":null,"parallel_tool_calls":false,"tools":[],"tool_choice":"auto","metadata":{},"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}},"sequence_number":7}
    "#]],
        &model,
        "/v1/responses",
        &body,
    );
    expect![[r#"
        "openai-responses": 0 0 1
        {"name":"repl_eval","namespace":"mcp__hob__","description":"Evaluate.","schema":{},"is_deferred":false,"bytes":20}
        {"tool":"repl_eval","text":"[{\"text\":\"2\"}]","raw":"[{\"text\":\"2\"}]"}
    "#]]
    .assert_eq(&record(&model));
}

#[test]
fn openai_responses_with_a_search_and_with_code() {
    let script = json!({ "turns": [
        { "tool": "tool_search", "arguments": { "query": "eval" } },
        { "server": "hob", "tool": "repl_eval", "arguments": {} },
        { "tool": "exec", "arguments": "text(await tools.mcp__hob__repl_eval({}))" },
    ] });
    let model = ScriptedModel::start(Script::parse(&script.to_string()).unwrap()).unwrap();
    let found = json!({ "type": "namespace", "name": "mcp__hob", "tools": [
        { "type": "function", "name": "repl_eval", "description": "Evaluate.", "parameters": {}, "defer_loading": true },
    ] });
    let exec = json!({ "type": "namespace", "name": "functions", "tools": [{ "type": "custom", "name": "exec" }] });
    let item = |body: &Value| {
        let answer: Value = serde_json::from_str(&post(&model, "/responses", body)).unwrap();
        answer["output"][0].clone()
    };
    let mut body = json!({ "tools": [{ "type": "tool_search", "parameters": {} }], "input": [
        { "type": "additional_tools", "tools": [exec] },
    ] });
    let search = item(&body);
    expect![[r#"{"type":"tool_search_call","id":"item_scripted_0","status":"completed","call_id":"call_scripted_0","execution":"client","arguments":{"query":"eval"}}"#]].assert_eq(&search.to_string());
    let output = json!({ "type": "tool_search_output", "call_id": search["call_id"], "tools": [found] });
    body["input"].as_array_mut().unwrap().extend([search, output]);
    let call = item(&body);
    expect![[r#"{"type":"function_call","id":"item_scripted_1","status":"completed","call_id":"call_scripted_1","name":"repl_eval","arguments":"{}","namespace":"mcp__hob"}"#]].assert_eq(&call.to_string());
    let output = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "2" });
    body["input"].as_array_mut().unwrap().extend([call, output]);
    let code = item(&body);
    expect![[r#"{"type":"custom_tool_call","id":"item_scripted_2","status":"completed","call_id":"call_scripted_2","name":"exec","input":"text(await tools.mcp__hob__repl_eval({}))"}"#]].assert_eq(&code.to_string());
    let part = json!({ "type": "input_text", "text": "2" });
    let output = json!({ "type": "custom_tool_call_output", "call_id": code["call_id"], "output": [part] });
    body["input"].as_array_mut().unwrap().extend([code, output]);
    body["stream"] = json!(true);
    assert!(post(&model, "/responses", &body).contains("The script ends here."));
    expect![[r#"
        "openai-responses": 0 1 2 "closing"
        {"name":"tool_search","namespace":null,"description":"","schema":{},"is_deferred":false,"bytes":13}
        {"name":"exec","namespace":"functions","description":"","schema":null,"is_deferred":false,"bytes":4}
        {"name":"repl_eval","namespace":"mcp__hob","description":"Evaluate.","schema":{},"is_deferred":false,"bytes":20}
        {"tool":"tool_search","text":"[{\"type\":\"namespace\",\"name\":\"mcp__hob\",\"tools\":[{\"type\":\"function\",\"name\":\"repl_eval\",\"description\":\"Evaluate.\",\"parameters\":{},\"defer_loading\":true}]}]","raw":[{"type":"namespace","name":"mcp__hob","tools":[{"type":"function","name":"repl_eval","description":"Evaluate.","parameters":{},"defer_loading":true}]}]}
        {"tool":"repl_eval","text":"2","raw":"2"}
        {"tool":"exec","text":"2","raw":[{"type":"input_text","text":"2"}]}
    "#]].assert_eq(&record(&model));
}

#[test]
fn openai_chat_completions() {
    let model = model();
    let function = json!({ "name": "hob_repl_eval", "description": "Evaluate.", "parameters": { "type": "object" } });
    let mut body = json!({
        "model": "m", "messages": [{ "role": "user", "content": "Begin." }],
        "tools": [{ "type": "function", "function": function }],
    });
    shows(
        &expect![[r#"
        {"id":"chatcmpl-scripted-0","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"hob_repl_eval","arguments":"{\"code\":\"1+1\"}"},"id":"call_scripted_0","type":"function"}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}
    "#]],
        &model,
        "/v1/chat/completions",
        &body,
    );
    body["stream"] = json!(true);
    shows(
        &expect![[r#"
        data: {"id":"chatcmpl-scripted-0","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_scripted_0","type":"function","function":{"name":"hob_repl_eval","arguments":"{\"code\":\"1+1\"}"}}]},"finish_reason":null}],"usage":null}
        data: {"id":"chatcmpl-scripted-0","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}
        data: {"id":"chatcmpl-scripted-0","object":"chat.completion.chunk","created":0,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}
        data: [DONE]
    "#]],
        &model,
        "/chat/completions",
        &body,
    );
    body["messages"] = json!([
        { "role": "user", "content": "Begin." },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "hob_repl_eval", "arguments": "{\"code\":\"1+1\"}" } },
        ] },
        { "role": "tool", "tool_call_id": "a", "content": "2" },
        { "role": "assistant", "content": "Two." },
        { "role": "user", "content": "Go on." },
    ]);
    shows(
        &expect![[r#"
        data: {"id":"chatcmpl-scripted-2","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_scripted_2","type":"function","function":{"name":"hob_repl_eval","arguments":"{\"code\":\"2+2\"}"}}]},"finish_reason":null}],"usage":null}
        data: {"id":"chatcmpl-scripted-2","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}
        data: {"id":"chatcmpl-scripted-2","object":"chat.completion.chunk","created":0,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}
        data: [DONE]
    "#]],
        &model,
        "/chat/completions",
        &body,
    );
    expect![[r#"
        "openai-chat": 0 0 2
        {"name":"hob_repl_eval","namespace":null,"description":"Evaluate.","schema":{"type":"object"},"is_deferred":false,"bytes":39}
        {"tool":"hob_repl_eval","text":"2","raw":"2"}
    "#]]
    .assert_eq(&record(&model));
}

#[test]
fn gemini() {
    let model = model();
    let declaration = json!({ "name": "mcp_hob_repl_eval", "description": "Evaluate.", "parametersJsonSchema": {} });
    let mut body = json!({
        "contents": [{ "role": "user", "parts": [{ "text": "Begin." }] }],
        "tools": [{ "functionDeclarations": [declaration] }],
    });
    shows(
        &expect![[r#"
        {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"mcp_hob_repl_eval","args":{"code":"1+1"}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2},"modelVersion":"m","responseId":"scripted-0"}
    "#]],
        &model,
        "/v1beta/models/m:generateContent",
        &body,
    );
    let stream = "/v1beta/models/m:streamGenerateContent?alt=sse";
    shows(
        &expect![[r#"
        data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"mcp_hob_repl_eval","args":{"code":"1+1"}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2},"modelVersion":"m","responseId":"scripted-0"}
    "#]],
        &model,
        stream,
        &body,
    );
    let call = json!({ "name": "mcp_hob_repl_eval", "args": { "code": "1+1" } });
    let result = json!({ "name": "mcp_hob_repl_eval", "response": { "output": "2" } });
    body["contents"] = json!([
        { "role": "user", "parts": [{ "text": "Begin." }] },
        { "role": "model", "parts": [{ "functionCall": call }] },
        { "role": "user", "parts": [{ "functionResponse": result }] },
        { "role": "model", "parts": [{ "text": "Two." }] },
        { "role": "model", "parts": [{ "functionCall": call }] },
        { "role": "user", "parts": [{ "functionResponse": result }] },
    ]);
    shows(
        &expect![[r#"
        data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Done."}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2},"modelVersion":"m","responseId":"scripted-3"}
    "#]],
        &model,
        stream,
        &body,
    );
    expect![[r#"
        "gemini": 0 0 "closing"
        {"name":"mcp_hob_repl_eval","namespace":null,"description":"Evaluate.","schema":{},"is_deferred":false,"bytes":28}
        {"tool":"mcp_hob_repl_eval","text":"2","raw":{"output":"2"}}
        {"tool":"mcp_hob_repl_eval","text":"2","raw":{"output":"2"}}
    "#]]
    .assert_eq(&record(&model));
}

#[test]
fn what_agents_ask_besides_uses_up_no_turn() {
    let model = model();
    let title = json!({ "model": "small", "messages": [{ "role": "user", "content": "A title for: Begin." }] });
    assert!(post(&model, "/v1/messages", &title).contains(r#""text":"Scripted""#));
    let schema = json!({ "type": "object", "properties": {
        "why": { "type": "string" }, "which": { "enum": ["flash", "pro"] }, "sure": { "type": "BOOLEAN" },
    } });
    let router = json!({ "contents": [], "generationConfig": { "responseJsonSchema": schema } });
    let answer: Value = serde_json::from_str(&post(&model, "/v1beta/models/m:generateContent", &router)).unwrap();
    expect![[r#"{"why":"Scripted","which":"flash","sure":false}"#]]
        .assert_eq(answer["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap());
    let other = json!({ "name": "repl_eval2", "input_schema": {} });
    let missing = json!({ "messages": [], "tools": [other] });
    assert!(post(&model, "/v1/messages", &missing).contains("No tool here is named repl_eval."));
    let turns: Vec<Value> = model.exchanges().iter().map(|exchange| exchange.to_json()["turn"].clone()).collect();
    assert_eq!(turns, ["auxiliary", "auxiliary", "not offered: repl_eval"]);

    assert_eq!(post(&model, "/v1/messages/count_tokens", &json!({})), r#"{"input_tokens":1}"#);
    assert_eq!(post(&model, "/v1beta/models/m:countTokens", &json!({})), r#"{"totalTokens":1}"#);
    for path in ["/v1/models?client_version=1", "/models", "/v1beta/models", "/v1/models/m", "/"] {
        assert_eq!(get(&model, path).0, 200, "{path}");
    }
    assert_eq!(get(&model, "/v1/nothing").0, 404);
    assert_eq!(send(&model, b"HEAD / HTTP/1.1\r\n\r\n"), (200, String::new()));
}

#[test]
fn bodies_come_in_chunks_and_within_bounds() {
    let model = model();
    let chunked = b"POST /v1/messages/count_tokens HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
        4\r\n{\"a\"\r\n3;x=y\r\n:1}\r\n0\r\n\r\n";
    assert_eq!(send(&model, chunked).0, 200);
    assert_eq!(model.exchanges()[0].body, json!({ "a": 1 }));
    let waiting = b"POST /x/count_tokens HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(send(&model, waiting), (100, r#"{"input_tokens":1}"#.to_owned()));

    let refused = |request: &[u8]| {
        let (status, body) = send(&model, request);
        assert_eq!(status, 400);
        serde_json::from_str::<Value>(&body).unwrap()["error"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused(b"POST / HTTP/1.1\r\nContent-Length: 67108865\r\n\r\n"), "the body has more than 64 MiB");
    assert_eq!(refused(&[b'a'; 256 * 1024]), "the head has more than 256 KiB");
    assert_eq!(refused(b"POST / HTTP/1.1\r\nContent-Encoding: zstd\r\n\r\n"), "the body is compressed");
    assert_eq!(refused(b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n"), "content-length is no number");
}

#[test]
fn a_tool_of_a_server_is_not_one_of_the_agents_own() {
    let script = r#"{"turns":[{"server":"hob","tool":"send_message","arguments":{}}]}"#;
    let model = ScriptedModel::start(Script::parse(script).unwrap()).unwrap();
    let asks = |tools: Value| {
        let body = json!({ "messages": [], "tools": tools });
        let answer: Value = serde_json::from_str(&post(&model, "/v1/messages", &body)).unwrap();
        answer["content"][0]["name"].clone()
    };
    assert_eq!(
        asks(json!([{ "name": "send_message" }, { "name": "mcp__hob__send_message" }])),
        "mcp__hob__send_message"
    );
    assert_eq!(asks(json!([{ "name": "send_message" }])), Value::Null);
}

#[test]
fn a_deferred_tool_is_offered_once_it_was_found() {
    let model = model();
    let tool = json!({ "name": "hob-repl_eval", "input_schema": {}, "defer_loading": true });
    let mut body = json!({ "messages": [], "tools": [tool, { "name": "search" }] });
    assert!(post(&model, "/v1/messages", &body).contains("No tool here is named repl_eval."));
    let found = json!({ "type": "tool_reference", "tool_name": "hob-repl_eval" });
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": [found] });
    body["messages"] = json!([{ "role": "user", "content": [result] }]);
    assert!(post(&model, "/v1/messages", &body).contains(r#""name":"hob-repl_eval","input":{"code":"1+1"}"#));
}

#[test]
fn arguments_take_what_a_result_said() {
    let script = r#"{"turns":[{"tool":"ask","arguments":{}},{"tool":"submit","arguments":{"ticket":{"$after":"`ticket`"},"n":[1]}}]}"#;
    let model = ScriptedModel::start(Script::parse(script).unwrap()).unwrap();
    let called = |name: &str| json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": name, "input": {} }] });
    let text = r#"Answer with `ticket` \"AbC-_0123456789.AbCdEfGhI\" and value"#;
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": text });
    let body = json!({ "messages": [called("ask"), { "role": "user", "content": [result] }], "tools": [{ "name": "ask" }, { "name": "submit" }] });
    let answer: Value = serde_json::from_str(&post(&model, "/v1/messages", &body)).unwrap();
    assert_eq!(answer["content"][0]["input"], json!({ "ticket": "AbC-_0123456789.AbCdEfGhI", "n": [1] }));
    // A program is substituted as well.
    let code = r#"{"turns":[{"tool":"ask"},{"tool":"run","arguments":"f({\"t\":{\"$after\":\"`ticket`\"}}) + 1"}]}"#;
    let writes = ScriptedModel::start(Script::parse(code).unwrap()).unwrap();
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": text });
    let asked =
        json!({ "messages": [called("ask"), { "role": "user", "content": [result] }], "tools": [{ "name": "run" }] });
    assert!(post(&writes, "/v1/messages", &asked).contains(r#"f({\"t\":\"AbC-_0123456789.AbCdEfGhI\"}) + 1"#));
    // No result contains this text.
    let body = json!({ "messages": [called("ask")], "tools": [{ "name": "submit" }] });
    let answer: Value = serde_json::from_str(&post(&model, "/v1/messages", &body)).unwrap();
    assert_eq!(answer["content"][0]["input"]["ticket"], "");
}

#[test]
fn the_record_is_lines_of_json() {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let script = Script::parse(r#"{"turns":[]}"#).unwrap();
    let model = ScriptedModel::recording(script, Some(Box::new(lines.clone()))).unwrap();
    post(&model, "/v1/messages", &json!({ "tools": [{ "name": "Bash" }] }));
    get(&model, "/v1/models");
    expect![[r#"
        {"method":"POST","path":"/v1/messages","protocol":"anthropic-messages","turn":"closing","tools":[{"name":"Bash","namespace":null,"description":"","schema":null,"is_deferred":false,"bytes":4}],"results":[],"body":{"tools":[{"name":"Bash"}]}}
        {"method":"GET","path":"/v1/models","protocol":null,"turn":null,"tools":null,"results":null,"body":null}
    "#]].assert_eq(&String::from_utf8(lines.0.lock().unwrap().clone()).unwrap());
}

#[test]
fn a_wrong_script_says_what_is_wrong() {
    let says = |text: &str| Script::parse(text).unwrap_err();
    assert!(says("{").starts_with("the script is no JSON: "));
    assert_eq!(says("{}"), "the script has no list `turns`");
    assert_eq!(says(r#"{"turns":[{"text":"a"},{"text":"a","tool":"b"}]}"#), "turn 1 needs either `text` or `tool`");
}
