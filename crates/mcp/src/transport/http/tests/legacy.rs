//! Sessions, and streams to which a client can reconnect (2025-03-26 to 2025-11-25).

use super::*;

/// Returns the numbers of the events in a piece of a stream.
fn ids(chunk: &str) -> Vec<&str> {
    chunk.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

async fn get(served: &Served, session: &str, last: Option<&str>) -> (Client, u16) {
    let mut request = Request::new("GET").field("accept", "text/event-stream").field("mcp-session-id", session);
    if let Some(last) = last {
        request = request.field("last-event-id", last);
    }
    let mut client = served.connect().await;
    client.begin(&request).await;
    let (status, _) = client.head().await;
    (client, status)
}

#[tokio::test]
async fn a_session_from_its_beginning_to_its_end() {
    let served = served().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = session(&served, version).await;
        let mut client = served.connect().await;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = client.send(&in_session(&session, &initialized)).await;
        assert_eq!((response.status, response.body.as_str()), (202, ""));
        let list = json!({"jsonrpc": "2.0", "id": "l", "method": "tools/list"});
        let listed = client.send(&in_session(&session, &list).field("mcp-protocol-version", version)).await;
        assert_eq!(listed.field("content-type"), Some("application/json"));
        assert!(listed.json()["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 10));
        let echoed = client.send(&in_session(&session, &call(1, "echo", json!({"text": "hi"})))).await;
        assert_eq!(echoed.json()["result"]["structuredContent"].is_object(), version != "2025-03-26");
        let wrong = in_session(&session, &list).field("mcp-protocol-version", "v9");
        assert_eq!(client.send(&wrong).await.status, 400);

        let delete = Request::new("DELETE").field("mcp-session-id", &session);
        assert_eq!(served.send(&delete).await.status, 204);
        for gone in [in_session(&session, &list), delete] {
            assert_eq!(client.send(&gone).await.status, 404);
        }
        assert_eq!(get(&served, &session, None).await.1, 404);
    }
    let without = Request::post(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string());
    assert_eq!(served.send(&without).await.status, 400);
    assert_eq!(served.send(&Request::new("GET")).await.status, 400);
    let json_only = Request::new("GET").field("accept", "application/json");
    assert_eq!(served.send(&json_only).await.status, 406);
    served.end().await;
}

#[tokio::test]
async fn a_session_is_its_principals_alone() {
    let options = HttpOptions {
        authorize: Some(std::sync::Arc::new(|headers| super::super::bearer(headers).map(ToOwned::to_owned))),
        ..HttpOptions::default()
    };
    let served = Served::new(everything(), options).await;
    let response = served.send(&initialize("2025-11-25").field("authorization", "Bearer me")).await;
    let session = response.field("mcp-session-id").expect("a session").to_owned();
    let ping = in_session(&session, &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(served.send(&ping.clone().field("authorization", "Bearer you")).await.status, 404);
    let delete = Request::new("DELETE").field("mcp-session-id", &session).field("authorization", "Bearer you");
    assert_eq!(served.send(&delete).await.status, 404);
    assert_eq!(served.send(&ping.field("authorization", "Bearer me")).await.status, 200);
    served.end().await;
}

#[tokio::test]
async fn a_lost_stream_goes_on_where_it_was() {
    let served = served().await;
    let session = session(&served, "2025-11-25").await;
    let mut client = served.connect().await;
    client.begin(&in_session(&session, &call(1, "inquire", json!({"about": "form"})))).await;
    assert_eq!(client.head().await.0, 200);
    let first = client.chunk().await.expect("an event");
    assert_eq!(ids(&first)[0], "1-0", "the client can come back before anything happened");
    let question = match ids(&first).len() {
        1 => client.chunk().await.expect("the question"),
        _ => first,
    };
    let data = question.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| !data.is_empty());
    let asked: Value = serde_json::from_str(data.expect("a message")).expect("JSON");
    assert_eq!(asked["method"], "elicitation/create");
    drop(client);

    // The call runs on, and is answered without a reader.
    let answer =
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"color": "red"}}});
    assert_eq!(served.send(&in_session(&session, &answer)).await.status, 202);
    let (mut client, status) = get(&served, &session, Some("1-1")).await;
    assert_eq!(status, 200);
    let answered = client.event().await;
    assert_eq!((answered["id"].clone(), answered["result"]["content"][0]["text"].clone()), (json!(1), json!("red")));
    assert_eq!(client.chunk().await, None, "that was all");
    // From the beginning, twice: events can be read again.
    for _ in 0..2 {
        let (mut client, _) = get(&served, &session, Some("1-0")).await;
        let replayed = client.chunk().await.expect("events");
        assert_eq!(ids(&replayed), ["1-1", "1-2"]);
    }
    for unknown in ["9-1", "1-99", "x", "1", "-", "1-1-1"] {
        assert_eq!(get(&served, &session, Some(unknown)).await.1, 400, "{unknown}");
    }
    served.end().await;
}

#[tokio::test]
async fn a_lost_connection_cancels_nothing_but_a_notification_does() {
    let served = served().await;
    let session = session(&served, "2025-06-18").await;
    let mut client = served.connect().await;
    client.begin(&in_session(&session, &call(1, "report", json!({"count": 3})))).await;
    drop(client);
    let mut client = served.connect().await;
    client.begin(&in_session(&session, &call(2, "hold", json!({})))).await;
    // Its id is in use as long as it runs.
    let mut again = served.send(&in_session(&session, &call(2, "echo", json!({"text": "x"})))).await;
    while again.code() != -32600 {
        again = served.send(&in_session(&session, &call(2, "echo", json!({"text": "x"})))).await;
    }
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    assert_eq!(served.send(&in_session(&session, &cancel)).await.status, 202);
    let response = client.response().await;
    assert_eq!((response.status, response.body.as_str()), (200, ""), "no answer to what was cancelled");
    served.end().await;
}

#[tokio::test]
async fn what_belongs_to_no_request_comes_by_get() {
    let server = everything();
    let served = Served::new(server.clone(), HttpOptions::default()).await;
    let session = session(&served, "2025-06-18").await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    served.send(&in_session(&session, &initialized)).await;
    let uri = "memo://one";
    let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}});
    let subscribed = served.send(&in_session(&session, &subscribe)).await.json();
    let (mut stream, status) = get(&served, &session, None).await;
    assert_eq!(status, 200);
    if subscribed["error"].is_null() {
        served.send(&in_session(&session, &call(2, "touch", json!({"uri": uri})))).await;
        assert_eq!(stream.event().await["method"], "notifications/resources/updated");
    }
    server.registry().remove("echo");
    let chunk = stream.chunk().await.expect("an event");
    assert!(chunk.contains("notifications/tools/list_changed"), "{chunk}");
    let last = ids(&chunk)[0].to_owned();
    // A second reader takes over, and gets the events that it missed.
    drop(stream);
    server.registry().remove("fail");
    let (mut stream, _) = get(&served, &session, Some(&last)).await;
    assert_eq!(stream.event().await["method"], "notifications/tools/list_changed");
    let (mut second, _) = get(&served, &session, None).await;
    assert_eq!(stream.chunk().await, None, "there is one reader");
    server.registry().remove("hold");
    assert_eq!(second.event().await["method"], "notifications/tools/list_changed");
    // The end of the session ends its streams.
    assert_eq!(served.send(&Request::new("DELETE").field("mcp-session-id", &session)).await.status, 204);
    assert_eq!(second.chunk().await, None);
    served.end().await;
}

#[tokio::test]
async fn batches_where_the_revision_has_them() {
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let hears = heard.clone();
    let server = everything().on_notification("notifications/x", move |_, _| {
        hears.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async {}
    });
    let served = Served::new(server, HttpOptions::default()).await;
    let batch = json!([
        call(1, "echo", json!({"text": "a"})),
        {"jsonrpc": "2.0", "method": "notifications/x"},
        call(2, "later", json!({"text": "b"})),
    ]);
    let old = session(&served, "2025-03-26").await;
    let answers = served.send(&in_session(&old, &batch)).await.messages();
    assert_eq!(answers[0].as_array().map(Vec::len), Some(2), "{answers:?}");
    assert_eq!(heard.load(std::sync::atomic::Ordering::Relaxed), 1, "a part of a batch is dealt with once");
    let silent = json!([{"jsonrpc": "2.0", "method": "notifications/x"}]);
    assert_eq!(served.send(&in_session(&old, &silent)).await.status, 202);
    let new = session(&served, "2025-11-25").await;
    assert_eq!(served.send(&in_session(&new, &batch)).await.code(), -32600);
    served.end().await;
}

#[tokio::test]
async fn a_call_may_let_its_client_go() {
    let go_on = std::sync::Arc::new(tokio::sync::Notify::new());
    let may = go_on.clone();
    let server = everything().method("test/reconnect_after", move |cx, _| {
        let may = may.clone();
        async move {
            cx.reconnect_after(std::time::Duration::from_millis(10));
            may.notified().await;
            serde_json::value::to_raw_value(&json!({"done": true})).map_err(|error| panic!("{error}"))
        }
    });
    let served = Served::new(server, HttpOptions::default()).await;
    let session = session(&served, "2025-11-25").await;
    let request = json!({"jsonrpc": "2.0", "id": 5, "method": "test/reconnect_after"});
    let response = served.send(&in_session(&session, &request)).await;
    assert!(response.body.ends_with("retry: 10\n\n"), "{response:?}");
    let last = ids(&response.body)[0].to_owned();
    go_on.notify_one();
    let (mut client, _) = get(&served, &session, Some(&last)).await;
    assert_eq!(client.event().await["result"]["done"], true);
    served.end().await;
}
