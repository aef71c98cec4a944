//! The transport of 2024-11-05.

use super::*;

/// Opens a conversation; returns the path for its messages.
pub(super) async fn open(served: &Served) -> (Client, Request) {
    let mut client = served.connect().await;
    client.begin(&Request::new("GET").path("/sse").field("accept", "text/event-stream")).await;
    let (status, head) = client.head().await;
    assert!(status == 200 && head.contains("text/event-stream"), "{head}");
    let first = client.chunk().await.expect("an event");
    let path = first.strip_prefix("event: endpoint\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
    (client, Request::post("").path(path.unwrap_or_else(|| panic!("no endpoint: {first}"))))
}

#[tokio::test]
async fn a_conversation() {
    let server = everything();
    let served = Served::new(server.clone(), HttpOptions { sse: true, ..HttpOptions::default() }).await;
    let (mut stream, post) = open(&served).await;
    let mut client = served.connect().await;
    let begin = post.clone().body(initialize("2024-11-05").text());
    assert_eq!(client.send(&begin).await.status, 202);
    assert_eq!(stream.event().await["result"]["protocolVersion"], "2024-11-05");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.send(&post.clone().body(initialized.to_string())).await;
    client.send(&post.clone().body(call(1, "report", json!({"count": 1})).to_string())).await;
    assert_eq!(stream.event().await["method"], "notifications/progress");
    assert_eq!(stream.event().await["id"], 1);
    server.registry().remove("echo");
    assert_eq!(stream.event().await["method"], "notifications/tools/list_changed");
    let response = client.send(&post.clone().body("{")).await;
    assert_eq!((response.status, response.code()), (400, -32700));

    // Another principal has no access to the conversation.
    let (mut other, elsewhere) = open(&served).await;
    client.send(&elsewhere.body(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)).await;
    assert_eq!(other.event().await["id"], 2);
    // The conversation ends with its stream.
    client.send(&post.clone().body(call(3, "hold", json!({})).to_string())).await;
    drop(stream);
    while client.send(&post.clone().body(initialized.to_string())).await.status == 202 {
        tokio::task::yield_now().await;
    }
    let unknown = Request::post("{}").path("/messages?sessionId=x");
    assert_eq!(client.send(&unknown).await.status, 404);
    let ended = tokio::spawn(served.end());
    assert_eq!(other.chunk().await, None, "it ends with the server");
    ended.await.expect("no panic");
}

#[tokio::test]
async fn it_is_not_there_unless_asked_for() {
    let served = served().await;
    for path in ["/sse", "/messages", "/ws"] {
        assert_eq!(served.send(&Request::new("GET").path(path)).await.status, 404, "{path}");
    }
    served.end().await;
    let options = HttpOptions { sse: true, ..HttpOptions::default() }.bearer("sesame");
    let served = Served::new(everything(), options).await;
    for path in ["/sse", "/messages"] {
        assert_eq!(served.send(&Request::new("GET").path(path)).await.status, 401, "{path}");
        let evil = Request::new("GET").path(path).field("origin", "http://evil.example");
        assert_eq!(served.send(&evil).await.status, 403, "{path}");
    }
    served.end().await;
}
