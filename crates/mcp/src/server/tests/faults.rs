//! Six faults that another implementation was found to have, with a test for each; and other failures of calls, clients
//! and their timing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::client::{Client, text};
use super::{everything, serve_pieces};
use crate::server::{ConnectionOptions, End, Limits, Server, ServerInfo};
use crate::tool::{AnyTool, BoxFuture, Context, Declaration, Effect, NotifyError, Outcome, Registry, ToolError};

/// A tool made at run time from a closure.
struct ClosureTool<F>(Declaration, F);

pub(super) fn build_tool<F, Fut>(name: &str, run: F) -> Arc<dyn AnyTool>
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
{
    Arc::new(ClosureTool(declaration(name), run))
}

/// Returns the same tool, but its calls become jobs after a while.
pub(crate) fn made_job<F, Fut>(name: &str, after: Duration, run: F) -> Arc<dyn AnyTool>
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
{
    declared(Declaration { job_after: Some(after), ..declaration(name) }, run)
}

pub(super) fn declared<F, Fut>(declaration: Declaration, run: F) -> Arc<dyn AnyTool>
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
{
    Arc::new(ClosureTool(declaration, run))
}

pub(super) fn declaration(name: &str) -> Declaration {
    Declaration::new(name, "", json!({"type": "object"}), Effect::READ)
}

impl<F, Fut> AnyTool for ClosureTool<F>
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, ToolError>> + Send + 'static,
{
    fn declaration(&self) -> &Declaration {
        &self.0
    }
    fn call(
        self: Arc<Self>,
        cx: Context,
        _: Option<&serde_json::value::RawValue>,
    ) -> BoxFuture<Result<Outcome, ToolError>> {
        Box::pin((self.1)(cx))
    }
}

pub(super) fn server(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Server {
    Server::new(ServerInfo::new("test", "1"), Arc::new(Registry::new(tools)))
}

#[tokio::test(start_paused = true)]
async fn fault_1_a_notification_before_the_first_request_ends_nothing() {
    let mut client = Client::connect(&everything(), ConnectionOptions::default());
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}})).await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})).await;
    assert_eq!(client.next().await["result"]["protocolVersion"], "2025-11-25");
    client.call(2, "echo", json!({"text": "alive"})).await;
    assert_eq!(text(&client.next().await), "alive");
}

#[tokio::test(start_paused = true)]
async fn fault_2_a_panic_is_answered_at_any_time() {
    let late = build_tool("late", |_| async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        panic!("later than the first poll")
    });
    let mut client = Client::connect(&server([late]), ConnectionOptions::default());
    client.call(1, "late", json!({})).await;
    assert_eq!(client.next().await["error"]["code"], -32603);
    client.call(2, "late", json!({})).await;
    assert_eq!(client.next().await["id"], 2);
}

#[tokio::test]
async fn fault_3_a_call_that_notifies_is_answered_when_input_has_ended() {
    let chatty = build_tool("chatty", |cx| async move {
        tokio::time::sleep(Duration::from_millis(20)).await; // sleeps: until the input has ended
        cx.notify("notifications/x", &json!({})).map_err(ToolError::internal)?;
        Ok(Outcome::text("done"))
    });
    let server = server([chatty]);
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"chatty\"}}\n".to_vec();
    let begun = std::time::Instant::now();
    let output = serve_pieces(&server, vec![line], ConnectionOptions::default()).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "it did not wait for the grace to pass");
    let methods: Vec<bool> = output.lines().map(|line| line.contains("\"method\"")).collect();
    assert_eq!(methods, [true, false], "{output}");
}

/// Calls of a tool that run, and the most that ever ran at once.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

fn gauged(gauge: &Arc<Gauge>) -> Arc<dyn AnyTool> {
    let gauge = gauge.clone();
    build_tool("gauged", move |_| {
        let gauge = gauge.clone();
        async move {
            let now = gauge.now.fetch_add(1, Ordering::SeqCst) + 1;
            gauge.most.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            gauge.now.fetch_sub(1, Ordering::SeqCst);
            Ok(Outcome::text("ok"))
        }
    })
}

#[tokio::test]
async fn fault_4_calls_are_admitted_not_piled_up() {
    const CALLS: u64 = 20_000;
    let gauge = Arc::<Gauge>::default();
    let mut client = Client::connect(&server([gauged(&gauge)]), ConnectionOptions::default());
    // All calls are written before the first answer is read: neither side may wait for the other.
    for id in 0..CALLS {
        client.call(id, "gauged", json!({})).await;
    }
    let mut seen = vec![false; CALLS as usize];
    for _ in 0..CALLS {
        let answer = client.next().await;
        assert_eq!(text(&answer), "ok");
        let id = answer["id"].as_u64().expect("a number") as usize;
        assert!(!std::mem::replace(&mut seen[id], true), "{id} was answered twice");
    }
    assert_eq!(gauge.most.load(Ordering::SeqCst), 64);
}

#[tokio::test(start_paused = true)]
async fn fault_5_a_line_too_long_is_answered() {
    let limits = Limits { line: 200, ..Limits::default() };
    let options = ConnectionOptions { limits, ..ConnectionOptions::default() };
    let mut client = Client::connect(&everything(), options);
    client.call(1, "echo", json!({"text": "x".repeat(500)})).await;
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32600)));
    client.call(2, "echo", json!({"text": "short"})).await;
    assert_eq!(text(&client.next().await), "short");
}

#[tokio::test(start_paused = true)]
async fn fault_6_a_handshake_after_modern_requests_is_served() {
    let mut client = Client::connect(&everything(), ConnectionOptions::default());
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})).await;
    assert_eq!(client.next().await["result"]["resultType"], "complete");
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    client.send(json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params})).await;
    assert_eq!(client.next().await["result"]["protocolVersion"], "2025-06-18");
    client.call(3, "echo", json!({"text": "old"})).await;
    let answer = client.next().await;
    assert_eq!((text(&answer), &answer["result"]["resultType"]), ("old", &json!(null)));
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_start_in_order_and_can_be_cancelled() {
    let limits = Limits { running: 1, ..Limits::default() };
    let options = ConnectionOptions { limits, ..ConnectionOptions::default() };
    let mut client = Client::connect(&everything(), options);
    for (id, milliseconds) in [(1, 30), (2, 10), (3, 10), (4, 10)] {
        client.call(id, "sleep", json!({"count": milliseconds})).await;
    }
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}})).await;
    let answered = [client.next().await, client.next().await, client.next().await].map(|answer| answer["id"].clone());
    assert_eq!(answered, [1, 2, 4]);
    assert!(client.finish().await.0.is_empty());
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_that_hold_too_much_are_refused() {
    let limits = Limits { running: 1, waiting_bytes: 100, ..Limits::default() };
    let options = ConnectionOptions { limits, ..ConnectionOptions::default() };
    let mut client = Client::connect(&everything(), options);
    client.call(1, "sleep", json!({"count": 10})).await;
    client.call(2, "echo", json!({"text": "x".repeat(200)})).await;
    let refused = client.next().await;
    assert_eq!(refused["id"], 2);
    assert_eq!(refused["error"]["data"]["reason"], "overloaded");
    assert_eq!(client.next().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ignores_its_cancellation_is_dropped_after_a_while() {
    struct Guard(tokio::sync::mpsc::UnboundedSender<()>);
    impl Drop for Guard {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (dropped, mut drops) = tokio::sync::mpsc::unbounded_channel();
    let deaf = build_tool("deaf", move |_| {
        let guard = Guard(dropped.clone());
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    });
    let mut client = Client::connect(&server([deaf]), ConnectionOptions::default());
    client.call(1, "deaf", json!({})).await;
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    drops.recv().await.expect("the call was dropped");
    client.call(1, "nobody", json!({})).await;
    assert_eq!(client.next().await["error"]["code"], -32602);
}

#[tokio::test]
async fn an_answer_may_come_from_any_thread_or_not_at_all() {
    let mut client = Client::connect(&everything(), ConnectionOptions::default());
    client.call(1, "later", json!({"text": "from a thread"})).await;
    assert_eq!(text(&client.next().await), "from a thread");

    let forgetful = build_tool("forgetful", |cx| async move {
        let (answer, pending) = cx.answer_later::<Outcome>();
        drop(answer);
        pending.wait().await
    });
    let mut client = Client::connect(&server([forgetful]), ConnectionOptions::default());
    client.call(1, "forgetful", json!({})).await;
    let answer = client.next().await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_context_outlives_its_call_and_notices_the_end() {
    let (keep, mut kept) = tokio::sync::mpsc::unbounded_channel::<Context>();
    let keeper = build_tool("keeper", move |cx| {
        let _ = keep.send(cx);
        async { Ok(Outcome::text("kept")) }
    });
    let mut client = Client::connect(&server([keeper]), ConnectionOptions::default());
    client.call(1, "keeper", json!({})).await;
    assert_eq!(text(&client.next().await), "kept");
    let cx = kept.recv().await.expect("it was sent");
    std::thread::spawn({
        let cx = cx.clone();
        move || cx.notify("notifications/late", &json!({"from": "a thread"}))
    })
    .join()
    .expect("no panic")
    .expect("there is room");
    assert_eq!(client.next().await["method"], "notifications/late");
    client.vanish().await;
    cx.disconnected().await;
    assert_eq!(cx.notify("notifications/late", &json!({})), Err(NotifyError::Closed));
}

#[tokio::test(start_paused = true)]
async fn notifications_are_bounded_when_nobody_reads() {
    let mut client = Client::connect(&everything(), ConnectionOptions::default());
    client.call(1, "notify", json!({"count": 5000})).await;
    let mut notifications = 0;
    let answer = loop {
        let message = client.next().await;
        if message["method"].is_string() { notifications += 1 } else { break message }
    };
    assert_eq!((text(&answer), notifications), ("1024 taken", 1024));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_stops_reading_is_given_up_at_the_end() {
    let mut client = Client::connect(&everything(), ConnectionOptions::default());
    // More than the stream between client and server holds.
    client.call(1, "echo", json!({"text": "x".repeat(1 << 20)})).await;
    assert!(matches!(client.fall_silent().await, End::PeerGone(_)));
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_every_connection_in_good_order() {
    let server = everything();
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.call(1, "sleep", json!({"count": 100})).await;
    client.call(2, "hold", json!({})).await;
    client.call(3, "echo", json!({"text": "first"})).await;
    assert_eq!(client.next().await["id"], 3);
    server.shutdown();
    assert_eq!(text(&client.next().await), "slept");
    assert_eq!(text(&client.next().await), "let go");
    let (rest, end) = client.finish().await;
    assert!(rest.is_empty() && matches!(end, End::Shutdown), "{rest:?} {end:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_gives_signs_of_life_and_its_progress_only_grows() {
    let slow = build_tool("slow", |cx| async move {
        tokio::time::sleep(Duration::from_secs(25)).await;
        for progress in [1.0, 1.0, 0.5] {
            cx.progress(crate::tool::Progress { progress, total: None, message: None });
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(Outcome::text("done"))
    });
    let mut client = Client::connect(&server([slow]), ConnectionOptions::default());
    let begun = tokio::time::Instant::now();
    client.call_with_token(1, "slow", json!({})).await;
    let mut heard = Vec::new();
    loop {
        let message = client.next().await;
        if message["id"] == 1 {
            break;
        }
        let progress = message["params"]["progress"].as_f64().expect("a number");
        heard.push((begun.elapsed().as_secs(), progress));
    }
    assert_eq!(heard.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [10, 20, 25, 25, 26]);
    assert!(heard.windows(2).all(|pair| pair[0].1 < pair[1].1), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn the_latest_progress_wins_and_comes_well_before_the_answer() {
    let eager = build_tool("eager", |cx| async move {
        for step in 1..=1000 {
            cx.progress(crate::tool::Progress { progress: step.into(), total: None, message: None });
        }
        Ok(Outcome::text("done"))
    });
    let mut client = Client::connect(&server([eager]), ConnectionOptions::default());
    client.call_with_token(1, "eager", json!({})).await;
    client.send(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    assert_eq!(client.next().await["params"]["progress"], 1000);
    let reported = tokio::time::Instant::now();
    assert_eq!(client.next().await["id"], 2, "others do not wait");
    assert_eq!(client.next().await["id"], 1);
    assert!(reported.elapsed() >= Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn changes_of_the_tools_are_announced_to_each_in_its_way() {
    let server = everything();
    let mut legacy = Client::connect(&server, ConnectionOptions::default());
    legacy.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})).await;
    legacy.next().await;
    legacy.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    legacy.send(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    legacy.next().await;
    let mut modern = Client::connect(&server, ConnectionOptions::default());
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    modern.send(json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params})).await;
    assert_eq!(modern.next().await["method"], "notifications/subscriptions/acknowledged");

    server.registry().add(build_tool("new", |_| async { Ok(Outcome::text("new")) })).expect("a legal tool");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    assert_eq!(legacy.next().await, changed);
    let announced = modern.next().await;
    assert_eq!(announced["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l");
    legacy.call(3, "new", json!({})).await;
    assert_eq!(text(&legacy.next().await), "new");
    legacy.send(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"})).await;
    assert!(legacy.next().await["result"]["tools"].as_array().expect("a list").iter().any(|t| t["name"] == "new"));
}

#[tokio::test(start_paused = true)]
async fn own_methods_and_notifications_are_served_like_calls() {
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let server = everything()
        .method("test/double", |_, params| async move {
            let params: serde_json::Value =
                params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
            let number = params["n"].as_i64().ok_or_else(|| crate::wire::build::RpcError::new(-32602, "no n"))?;
            serde_json::value::to_raw_value(&json!({"n": 2 * number}))
                .map_err(|_| crate::wire::build::RpcError::new(-32603, "no JSON"))
        })
        .on_notification("test/said", move |cx, params| {
            let heard = heard.clone();
            async move {
                let _ = cx.notify("test/heard", &params);
                let _ = heard.send(());
            }
        });
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "test/double", "params": {"n": 21}})).await;
    assert_eq!(client.next().await["result"], json!({"n": 42}));
    client.send(json!({"jsonrpc": "2.0", "id": 2, "method": "test/double"})).await;
    assert_eq!(client.next().await["error"]["message"], "no n");
    client.send(json!({"jsonrpc": "2.0", "method": "test/said", "params": {"x": 1}})).await;
    assert_eq!(client.next().await["params"]["x"], 1);
    hears.recv().await.expect("it was heard");
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"n": 1, "_meta": meta});
    client.send(json!({"jsonrpc": "2.0", "id": 3, "method": "test/double", "params": params})).await;
    assert_eq!(client.next().await["result"], json!({"resultType": "complete", "n": 2}));
}

#[tokio::test(start_paused = true)]
async fn the_caller_and_the_clients_patience_are_known_to_the_call() {
    let teller = build_tool("teller", |cx| async move {
        let budget = cx.budget().map(|budget| budget.as_secs());
        Ok(Outcome::text(format!("{:?} {budget:?}", cx.caller::<&str>())))
    });
    let options = ConnectionOptions { caller: Arc::new("somebody"), ..ConnectionOptions::default() };
    let mut client = Client::connect(&server([teller]), options);
    client.call(1, "teller", json!({})).await;
    assert_eq!(text(&client.next().await), "Some(\"somebody\") None");
    let params = json!({"clientInfo": {"name": "codex-mcp-client", "version": "1"}});
    client.send(json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params})).await;
    client.next().await;
    client.call(3, "teller", json!({})).await;
    assert_eq!(text(&client.next().await), "Some(\"somebody\") Some(60)");
}
