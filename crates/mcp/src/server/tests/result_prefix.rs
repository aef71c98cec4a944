//! Text before tools' results: when it is chosen, and how a cancelled call is reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::client::{Client, text};
use super::everything;
use crate::server::{ConnectionOptions, Server};
use crate::tool::Context;

fn connect(server: &Server) -> Client {
    Client::connect(server, ConnectionOptions::default())
}

/// Returns the texts of a tool's result.
fn texts(answer: &Value) -> Vec<&str> {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("not a tool's result: {answer}"));
    blocks.iter().map(|block| block["text"].as_str().expect("a text")).collect()
}

fn cancellation(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[tokio::test(start_paused = true)]
async fn text_beside_stands_before_the_blocks_of_every_tools_result() {
    let server = everything().result_prefix(|_, tool| vec![format!("one for {}", tool.name), "two".to_owned()]);
    let server =
        server.result_prefix(|_, _| vec!["three".to_owned()]).result_prefix(|_, _| Vec::new()).result_budget(4);
    let mut client = connect(&server);
    client.call(1, "echo", json!({"text": "hi"})).await;
    let answer = client.next().await;
    assert_eq!(texts(&answer), ["one for echo", "two", "three", "hi"]);
    assert_eq!(answer["result"]["structuredContent"], json!({"said": "hi"}));
    // A failure is read by the model as well.
    client.call(2, "refuse", json!({})).await;
    let refused = client.next().await;
    assert_eq!(refused["result"]["isError"], true);
    assert_eq!(texts(&refused)[..3], ["one for refuse", "two", "three"]);
    client.call(3, "echo", json!({})).await;
    assert_eq!(texts(&client.next().await)[2], "three");
    let params = json!({
        "name": "echo",
        "arguments": {"text": "hi"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    client.send(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params})).await;
    assert_eq!(texts(&client.next().await), ["one for echo", "two", "three", "hi"]);
    // Results of other methods have no blocks.
    for (id, method, params) in
        [(5, "prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}})), (6, "tools/list", json!({}))]
    {
        client.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let answer = client.next().await;
        assert!(answer["result"].is_object() && !answer.to_string().contains("three"), "{answer}");
    }
    client.call(7, "panic", json!({})).await;
    assert_eq!(client.next().await["error"]["code"], -32603);
}

#[tokio::test(start_paused = true)]
async fn text_beside_is_chosen_when_a_result_is_about_to_be_written() {
    let news = Arc::new(Mutex::new(Vec::<String>::new()));
    let of_server = news.clone();
    let server = everything().result_prefix(move |_, _| std::mem::take(&mut *of_server.lock()));
    let mut client = connect(&server);
    client.call(1, "sleep", json!({"count": 1000})).await;
    client.call(2, "echo", json!({"text": "before"})).await;
    assert_eq!(texts(&client.next().await), ["before"]);
    news.lock().push("it came while the call ran".to_owned());
    assert_eq!(texts(&client.next().await), ["it came while the call ran", "slept"]);
    // A job's result is that of the call that fetches it; the notice about the job does not count as a result.
    news.lock().push("with the result".to_owned());
    client.call(3, "toil", json!({"seconds": 6})).await;
    let running = client.next().await;
    assert_eq!(texts(&running).len(), 1);
    let id = running["result"]["structuredContent"]["job"]["id"].clone();
    client.call(4, "job_wait", json!({"id": id})).await;
    assert_eq!(texts(&client.next().await), ["with the result", "made a horseshoe"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_for_text_beside_a_call_that_was_cancelled() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let server = everything().result_prefix(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        vec!["news".to_owned()]
    });
    let mut client = connect(&server);
    client.call(1, "hold", json!({})).await;
    client.send(cancellation(1)).await;
    // The cancelled call ends meanwhile.
    tokio::time::sleep(Duration::from_secs(6)).await;
    client.call(2, "echo", json!({"text": "hi"})).await;
    assert_eq!(texts(&client.next().await), ["news", "hi"]);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // A client that has disconnected reads no answer either.
    client.call(3, "sleep", json!({"count": 60_000})).await;
    client.vanish().await;
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_put_text_beside_a_result_hears_that_the_call_was_given_up() {
    let kept = Arc::new(Mutex::new(Vec::<Context>::new()));
    let of_server = kept.clone();
    let server = everything().result_prefix(move |cx, _| {
        of_server.lock().push(cx.clone());
        vec!["news".to_owned()]
    });
    let mut client = connect(&server);
    // One call that is answered where it was read, and one that is answered later.
    client.call(1, "echo", json!({"text": "hi"})).await;
    client.call(2, "sleep", json!({"count": 10})).await;
    client.call(3, "echo", json!({"text": "ho"})).await;
    for _ in 0..3 {
        assert_eq!(texts(&client.next().await)[0], "news");
    }
    // The cancellations crossed with the answers, which the client drops.
    client.send(cancellation(1)).await;
    client.send(cancellation(2)).await;
    client.call(4, "echo", json!({"text": "sent after them"})).await;
    client.next().await;
    let calls = kept.lock().clone();
    assert_eq!(calls.iter().map(Context::is_cancelled).collect::<Vec<_>>(), [true, false, true, false]);
    calls[0].cancelled().await;
    client.finish().await;
    calls[3].disconnected().await;
}

/// As opencode does, which has read the answer by then.
#[tokio::test(start_paused = true)]
async fn a_client_that_cancels_each_answered_call_gives_up_none_of_them() {
    let kept = Arc::new(Mutex::new(Vec::<Context>::new()));
    let of_server = kept.clone();
    let server = everything().result_prefix(move |cx, _| {
        of_server.lock().push(cx.clone());
        vec!["news".to_owned()]
    });
    let mut client = connect(&server);
    for id in 1..=4 {
        client.call(id, "echo", json!({"text": "hi"})).await;
        client.next().await;
        client.send(cancellation(id)).await;
    }
    // Once it leaves one alone, a cancellation is one again.
    client.call(5, "echo", json!({})).await;
    client.next().await;
    client.call(6, "echo", json!({})).await;
    client.next().await;
    client.send(cancellation(6)).await;
    client.call(7, "echo", json!({})).await;
    client.next().await;
    let calls = kept.lock().clone();
    let given_up: Vec<bool> = calls.iter().map(Context::is_cancelled).collect();
    assert_eq!(given_up, [true, true, false, false, false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn whoever_panics_beside_a_result_adds_nothing_to_it() {
    let server = everything().result_prefix(|_, _| panic!("no news")).result_prefix(|_, _| vec!["news".to_owned()]);
    let mut client = connect(&server);
    client.call(1, "echo", json!({"text": "hi"})).await;
    assert_eq!(texts(&client.next().await), ["news", "hi"]);
    client.call(2, "echo", json!({"text": "ho"})).await;
    assert_eq!(text(&client.next().await), "news");
}
