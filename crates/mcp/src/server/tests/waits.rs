//! Calls that wait take no slot of those that run, and nothing of that is left when they end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::client::{Client, text};
use super::everything;
use super::faults::{build_tool, declaration, declared, made_job};
use crate::server::connection_state::ConnectionState;
use crate::server::{ConnectionOptions, Limits, Server, ServerInfo};
use crate::tool::{AnyTool, Ask, Asks, Declaration, Outcome};
use crate::wire::{Frame, Id};

fn call(id: u64, name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}}).to_string()
}

fn echo(id: u64) -> String {
    let params = json!({"name": "echo", "arguments": {"text": "at once"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn with(limits: Limits) -> ConnectionOptions {
    ConnectionOptions { limits, ..ConnectionOptions::default() }
}

fn server(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Server {
    let server = everything();
    tools.into_iter().for_each(|tool| server.registry().add(tool).expect("it can be served"));
    server
}

fn cancellation(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[tokio::test(start_paused = true)]
async fn sixty_four_waiting_calls_hold_up_no_other() {
    let server = everything().jobs();
    let mut client = Client::connect(&server, ConnectionOptions::default());
    // A job to wait for.
    client.call(1000, "toil", json!({"seconds": 3600})).await;
    let id = client.next().await["result"]["structuredContent"]["job"]["id"].clone();
    for tool in ["watch", "job_wait"] {
        let began = Instant::now();
        // In one piece, so that all of them are read at once.
        let arguments = if tool == "job_wait" { json!({"id": id, "seconds": 600}) } else { json!({}) };
        let params = json!({"name": tool, "arguments": arguments});
        let waiting = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let lines: String = (0..64).map(|id| format!("{}\n", waiting(id))).collect();
        client.write(&format!("{lines}{}\n", echo(64))).await;
        assert_eq!(text(&client.next().await), "at once", "{tool}");
        assert_eq!(began.elapsed(), Duration::ZERO, "{tool}");
        for id in 0..64 {
            client.send(cancellation(id)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_begins_to_wait_later_lets_a_queued_one_start() {
    let waits = build_tool("waits", |cx| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cx.waits(cx.cancelled()).await;
        Ok(Outcome::text("cancelled"))
    });
    let mut client = Client::connect(&server([waits]), with(Limits { running: 1, ..Limits::default() }));
    let began = Instant::now();
    client.write(&format!("{}\n{}\n", call(1, "waits"), echo(2))).await;
    assert_eq!(client.next().await["id"], 2);
    assert_eq!(began.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_goes_on_takes_its_slot_again() {
    let (begin, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (began, ended) = (begin.clone(), end.clone());
    let waits = build_tool("waits", move |cx| {
        let (began, ended) = (began.clone(), ended.clone());
        async move {
            // One wait in another is one wait.
            cx.waits(async { cx.waits(began.notified()).await }).await;
            ended.notified().await;
            Ok(Outcome::text("done"))
        }
    });
    let mut client = Client::connect(&server([waits]), with(Limits { running: 1, ..Limits::default() }));
    client.write(&format!("{}\n{}\n", call(1, "waits"), echo(2))).await;
    assert_eq!(client.next().await["id"], 2);
    begin.notify_one();
    tokio::task::yield_now().await;
    client.write(&format!("{}\n", echo(3))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    end.notify_one();
    assert_eq!([client.next().await, client.next().await].map(|answer| answer["id"].clone()), [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn more_waiting_calls_than_there_may_be_keep_their_slots() {
    let mut client = Client::connect(&everything(), with(Limits { running: 1, paused: 2, ..Limits::default() }));
    let three: String = (1..=3).map(|id| format!("{}\n", call(id, "watch"))).collect();
    client.write(&format!("{three}{}\n", echo(4))).await;
    // The third keeps its slot until it is cancelled and has ended.
    client.send(cancellation(3)).await;
    assert_eq!(client.next().await["id"], 4);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_waits_however_their_calls_end() {
    let asks = Declaration { asks: Asks::Person, ..declaration("asks") };
    let tools = [
        declared(asks, |cx| async move {
            let form = Ask::Form { message: "?".to_owned(), schema: json!({"type": "object", "properties": {}}) };
            Ok(Outcome::text(format!("{:?}", cx.waits(cx.ask(form)).await)))
        }),
        made_job("becomes_a_job", Duration::from_secs(1), |cx| async move {
            cx.waits(tokio::time::sleep(Duration::from_secs(5))).await;
            Ok(Outcome::text("done"))
        }),
        build_tool("panics", |cx| async move {
            cx.waits(async {
                tokio::task::yield_now().await;
                panic!("no news")
            })
            .await
        }),
        build_tool("leaves_a_task", |cx| async move {
            let after = cx.clone();
            tokio::spawn(async move { after.waits(after.disconnected()).await });
            tokio::task::yield_now().await;
            Ok(Outcome::text("done"))
        }),
        build_tool("deaf", |cx| async move { cx.waits(std::future::pending()).await }),
    ];
    let server = Server::with_tools(ServerInfo::new("waits", "1"), tools).jobs();
    let limits = Limits { call: Some(Duration::from_secs(30)), ..Limits::default() };
    let mut state = ConnectionState::new(server.shared.clone(), with(limits));
    let take = |state: &mut ConnectionState, line: String| state.take_frame(Frame::Line(line.as_bytes()));
    let slots = |state: &ConnectionState| (state.calls.started(), state.side_channel.paused());

    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
    take(&mut state, json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).to_string());
    let names = ["asks", "becomes_a_job", "panics", "leaves_a_task", "deaf", "deaf", "asks"];
    for (id, name) in (1..).zip(names) {
        take(&mut state, call(id, name));
    }
    assert_eq!(slots(&state), (7, 6), "all of them wait, but for the one whose task does");
    let settle = async |state: &mut ConnectionState, seconds: u64| {
        tokio::time::sleep(Duration::from_secs(seconds) + Duration::from_millis(1)).await;
        state.take_inbound();
        state.tick(Instant::now());
    };
    settle(&mut state, 0).await;
    assert_eq!(slots(&state), (5, 5), "two are done");
    settle(&mut state, 1).await;
    assert_eq!(slots(&state), (4, 4), "one is a job");
    // A cancelled one takes a slot until it ends, or is dropped.
    state.cancel(&Id::number(5));
    state.cancel(&Id::number(7));
    assert_eq!(slots(&state), (4, 2));
    settle(&mut state, 6).await;
    assert_eq!(slots(&state), (2, 2));
    // One is too slow; the other waits for a person.
    settle(&mut state, 30).await;
    assert_eq!(slots(&state), (1, 1));
    state.fail_questions();
    settle(&mut state, 0).await;
    assert_eq!(slots(&state), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_an_answer_is_suspended_and_resumed_without_a_slot() {
    let asks = Declaration { asks: Asks::Person, ..declaration("asks") };
    let again = declared(asks, |cx| async move {
        let form = Ask::Form { message: "?".to_owned(), schema: json!({"type": "object", "properties": {}}) };
        let said = async {
            let said = cx.ask(form).await;
            std::future::pending::<()>().await;
            said
        };
        Ok(Outcome::text(format!("{:?}", cx.waits(said).await)))
    });
    let mut client = Client::connect(&server([again]), with(Limits { running: 1, ..Limits::default() }));
    client.call(1, "asks", json!({})).await;
    let question = client.next().await;
    let said = text(&question);
    let id = said.split_once("\"id\":\"").and_then(|(_, rest)| rest.split_once('"')).expect("an id").0;
    // It goes on waiting under another request.
    client.call(2, "asks", json!({"resume": {"id": id, "answers": {}}})).await;
    client.write(&format!("{}\n", echo(3))).await;
    assert_eq!(client.next().await["id"], 3);
}
