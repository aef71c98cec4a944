//! Standalone requests (2026-07-28).

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::*;
use crate::server::tests::made_job;
use crate::server::{Server, ServerInfo};
use crate::tool::{Context, Effect, Outcome, Registry, Tool, ToolError, tool};

#[tokio::test]
async fn an_answer_is_json_or_a_stream() {
    let served = served().await;
    let mut client = served.connect().await;
    let response =
        client.send(&Request::modern(1, "tools/call", json!({"name": "echo", "arguments": {"text": "a\nb"}}))).await;
    assert_eq!((response.status, response.field("content-type")), (200, Some("application/json")));
    assert_eq!(response.json()["result"]["content"][0]["text"], "a\nb");
    assert_eq!(response.field("mcp-session-id"), None);

    // All on the same connection.
    let report = json!({"name": "report", "arguments": {"count": 2}, "_meta": {"progressToken": "p"}});
    let response = client.send(&Request::modern(2, "tools/call", report)).await;
    assert_eq!(response.field("content-type"), Some("text/event-stream"));
    assert_eq!(response.field("x-accel-buffering"), Some("no"));
    let messages = response.messages();
    assert_eq!(messages[0]["method"], "notifications/progress");
    let last = messages.last().expect("the answer");
    assert_eq!((last["id"].clone(), last["result"]["content"][0]["text"].clone()), (json!(2), json!("reported")));

    let log =
        json!({"name": "log", "arguments": {"text": "x"}, "_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
    let messages = client.send(&Request::modern(3, "tools/call", log)).await.messages();
    let methods: Vec<_> = messages.iter().map(|message| message["method"].as_str().unwrap_or("answer")).collect();
    assert_eq!(methods, ["notifications/message", "notifications/message", "answer"]);
    served.end().await;
}

#[tokio::test]
async fn errors_of_the_protocol_have_a_status() {
    let served = served().await;
    let discover = Request::modern(1, "server/discover", json!({}));
    let bare = |params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 9, "method": "server/discover", "params": params});
        Request::post(body.to_string())
            .field("mcp-protocol-version", "2026-07-28")
            .field("mcp-method", "server/discover")
    };
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let echo = Request::modern(1, "tools/call", json!({"name": "echo", "arguments": {"text": "x"}}));
    for (request, status, code) in [
        (discover.clone(), 200, 0),
        (Request::modern(1, "no/such", json!({})), 404, -32601),
        (Request::modern(1, "initialize", json!({})), 404, -32601),
        (Request::modern(1, "ping", json!({})), 404, -32601),
        (Request::modern(1, "resources/subscribe", json!({})), 404, -32601),
        (Request::modern(1, "tools/call", json!({"name": "no such"})), 200, -32602),
        (bare(json!({})), 400, -32602),
        (bare(json!({"_meta": {capabilities: {}}})), 400, -32602),
        (bare(json!({"_meta": {version: "2026-07-28"}})), 400, -32602),
        (bare(json!({"_meta": {version: "v9", capabilities: {}}})), 400, -32020),
        (bare(json!({"_meta": {version: "v9", capabilities: {}}})).field("mcp-protocol-version", "v9"), 400, -32022),
        (discover.clone().field("mcp-protocol-version", "2025-11-25"), 400, -32020),
        (discover.clone().without("mcp-protocol-version"), 400, -32020),
        (discover.clone().without("mcp-method"), 400, -32020),
        (discover.clone().field("mcp-method", "server/Discover"), 400, -32020),
        (echo.clone().without("mcp-name"), 400, -32020),
        (echo.clone().field("mcp-name", "ech0"), 400, -32020),
        (echo.clone().field("mcp-name", "=?base64?ZWNobw?="), 400, -32020),
        (echo.clone().field("mcp-name", "=?base64?ZWNobw==?="), 200, 0),
        (echo.clone().field("mcp-name", "\u{e9}cho"), 400, -32020),
        (echo.field("mcp-session-id", "made-up"), 200, 0),
    ] {
        let response = served.send(&request).await;
        assert_eq!((response.status, response.code()), (status, code), "{response:?}");
    }
    let response = served.send(&bare(json!({})).field("mcp-protocol-version", "v9")).await;
    assert_eq!(response.json()["error"]["data"]["requested"], "v9");
    for method in ["GET", "DELETE"] {
        let response = served.send(&Request::new(method).field("mcp-protocol-version", "2026-07-28")).await;
        assert_eq!((response.status, response.field("allow")), (405, Some("POST")));
    }
    let sample = json!({"name": "inquire", "arguments": {"about": "model"}});
    let response = served.send(&Request::modern(1, "tools/call", sample)).await;
    assert_eq!((response.status, response.code()), (400, -32021), "{response:?}");
    served.end().await;
}

#[tokio::test]
async fn a_closed_response_cancels() {
    let (sender, mut cancelled) = tokio::sync::mpsc::channel::<bool>(1);
    let server = Server::new(ServerInfo::new("test", "1"), Arc::new(Registry::default()));
    let server = server.method("test/hold", move |cx, _| {
        let sender = sender.clone();
        async move {
            let guard = DropNotice(sender);
            cx.progress(crate::tool::Progress { progress: 1.0, total: None, message: None });
            cx.cancelled().await;
            drop(guard);
            std::future::pending().await
        }
    });
    struct DropNotice(tokio::sync::mpsc::Sender<bool>);
    impl Drop for DropNotice {
        fn drop(&mut self) {
            let _ = self.0.try_send(true);
        }
    }
    let served = Served::new(server, HttpOptions::default()).await;
    let mut client = served.connect().await;
    client.begin(&Request::modern(1, "test/hold", json!({"_meta": {"progressToken": 1}}))).await;
    assert_eq!(client.head().await.0, 200);
    assert_eq!(client.event().await["method"], "notifications/progress");
    drop(client);
    assert_eq!(cancelled.recv().await, Some(true));
    // The same before there is any response.
    let mut client = served.connect().await;
    client.begin(&Request::modern(1, "test/hold", json!({}))).await;
    drop(client);
    assert_eq!(cancelled.recv().await, Some(true));
    served.end().await;
}

#[tokio::test]
async fn a_question_is_answered_by_the_next_request() {
    let served = served().await;
    let arguments = json!({"about": "form"});
    let asked =
        served.send(&Request::modern(1, "tools/call", json!({"name": "inquire", "arguments": arguments}))).await;
    let asked = asked.json()["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    let answer = json!({"action": "accept", "content": {"color": "red"}});
    let again = json!({
        "name": "inquire",
        "arguments": arguments,
        "requestState": asked["requestState"],
        "inputResponses": {"answer": answer},
    });
    let answered = served.send(&Request::modern(2, "tools/call", again)).await;
    assert_eq!(answered.messages().last().expect("an answer")["result"]["content"][0]["text"], "red", "{answered:?}");
    served.end().await;
}

#[tokio::test]
async fn a_subscription_is_a_stream_until_either_side_ends_it() {
    let server = everything();
    let served = Served::new(server.clone(), HttpOptions::default()).await;
    let listen = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["memo://one"]}});
    let mut listening = served.connect().await;
    listening.begin(&Request::modern(7, "subscriptions/listen", listen)).await;
    assert_eq!(listening.head().await.0, 200);
    assert_eq!(listening.event().await["method"], "notifications/subscriptions/acknowledged");
    server.registry().remove("echo");
    let changed = listening.event().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    let ended = tokio::spawn(served.end());
    assert_eq!(listening.event().await["id"], 7, "the end is an answer");
    assert_eq!(listening.chunk().await, None);
    ended.await.expect("no panic");
}

#[tokio::test]
async fn where_asked_for_every_answer_is_a_stream_unless_it_has_a_status() {
    let options = HttpOptions { always_stream: true, ..HttpOptions::default() };
    let served = Served::new(crate::server::tests::everything(), options).await;
    let echo = Request::modern(1, "tools/call", json!({"name": "echo", "arguments": {"text": "x"}}));
    let wrong = Request::modern(1, "tools/call", json!({"name": "no such"}));
    for (request, kind) in [
        (Request::modern(1, "server/discover", json!({})), "text/event-stream"),
        (echo, "text/event-stream"),
        (wrong, "text/event-stream"),
        (Request::modern(1, "no/such", json!({})), "application/json"),
    ] {
        let response = served.send(&request).await;
        assert_eq!(response.field("content-type"), Some(kind), "{response:?}");
        let messages = response.messages();
        assert_eq!((messages.len(), messages[0]["id"].clone()), (1, json!(1)), "{response:?}");
    }
    // The same in a session: a client that lost such an answer with its connection reconnects for it.
    let session = session(&served, "2025-11-25").await;
    let ping = in_session(&session, &json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}));
    let response = served.send(&ping).await;
    assert_eq!(response.field("content-type"), Some("text/event-stream"));
    assert_eq!(response.messages(), [json!({"jsonrpc": "2.0", "id": 5, "result": {}})]);
    let event = response.body.lines().find_map(|line| line.strip_prefix("id: ")).expect("an event");
    let back = Request::new("GET")
        .field("accept", "text/event-stream")
        .field("mcp-session-id", &session)
        .field("last-event-id", event);
    assert_eq!(served.send(&back).await.messages(), [json!({"jsonrpc": "2.0", "id": 5, "result": {}})]);
    served.end().await;
}

#[tokio::test]
async fn a_task_is_named_by_a_field_too() {
    let work = made_job("work", Duration::ZERO, |cx| async move {
        cx.cancelled().await;
        Ok(Outcome::text("ended"))
    });
    let server = Server::with_tools(ServerInfo::new("test", "1"), [work]).jobs();
    let served = Served::new(server, HttpOptions::default()).await;
    let modern = |method: &str, mut params: Value| {
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
        Request::modern(1, method, params)
    };
    let task =
        served.send(&modern("tools/call", json!({"name": "work", "arguments": {}}))).await.json()["result"].take();
    assert_eq!(task["resultType"], "task", "{task}");
    let id = task["taskId"].as_str().expect("an id");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let request = modern(method, json!({"taskId": id, "inputResponses": {}}));
        for (request, status, code) in [
            (request.clone(), 400, -32020),
            (request.clone().field("mcp-name", "another"), 400, -32020),
            (request.clone().field("mcp-name", id), 200, 0),
        ] {
            let response = served.send(&request).await;
            assert_eq!((response.status, response.code()), (status, code), "{method}: {response:?}");
        }
    }
    served.end().await;
}

/// Looks up a place.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Lookup {
    /// Where.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: Option<String>,
    /// More.
    #[serde(default)]
    detail: Detail,
}

/// More of a place.
#[derive(Default, Deserialize, JsonSchema)]
#[schemars(inline)]
#[allow(dead_code)]
struct Detail {
    /// How high.
    #[schemars(extend("x-mcp-header" = "Floor"))]
    floor: Option<i64>,
}

struct Find;

impl Tool for Find {
    const NAME: &'static str = "find";
    const EFFECT: Effect = Effect::READ;
    const STRUCTURED: bool = false;
    type Args = Lookup;
    type Output = String;

    async fn call(&self, _: Context, _: Lookup) -> Result<String, ToolError> {
        Ok("found".to_owned())
    }

    fn text(output: &String) -> String {
        output.clone()
    }
}

#[tokio::test]
async fn mirrored_arguments_must_match() {
    let server = Server::new(ServerInfo::new("test", "1"), Arc::new(Registry::new([tool(Find)])));
    let served = Served::new(server, HttpOptions::default()).await;
    let listed = served.send(&Request::modern(1, "tools/list", json!({}))).await;
    let properties = listed.json()["result"]["tools"][0]["inputSchema"]["properties"].clone();
    assert_eq!(properties["region"]["x-mcp-header"], "Region", "{properties}");
    assert_eq!(properties["detail"]["properties"]["floor"]["x-mcp-header"], "Floor", "{properties}");
    let call = |arguments: Value| Request::modern(1, "tools/call", json!({"name": "find", "arguments": arguments}));
    for (request, code) in [
        (call(json!({})), 0),
        (call(json!({"region": null})), 0),
        (call(json!({"region": "north"})), -32020),
        (call(json!({"region": "north"})).field("Mcp-Param-Region", "north"), 0),
        (call(json!({"region": "north"})).field("mcp-param-region", "south"), -32020),
        (call(json!({"region": "Köln"})).field("mcp-param-region", "=?base64?S8O2bG4=?="), 0),
        (call(json!({"region": "Köln"})).field("mcp-param-region", "Köln"), -32020),
        (call(json!({})).field("mcp-param-region", "north"), -32020),
        (call(json!({"detail": {"floor": 42}})).field("mcp-param-floor", "42.0"), 0),
        (call(json!({"detail": {"floor": 42}})).field("mcp-param-floor", "41"), -32020),
        (call(json!({"detail": {"floor": 42}})), -32020),
        (call(json!({})).field("mcp-param-other", "whatever"), 0),
    ] {
        let response = served.send(&request).await;
        assert_eq!(response.code(), code, "{response:?}");
        assert_eq!(response.status, if code == 0 { 200 } else { 400 });
    }
    served.end().await;
}
