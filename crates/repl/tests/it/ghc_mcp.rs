//! The conversation that users of ghc-mcp know, on a real GHCi.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use mcp::tool::{AnyTool, Context, LogLevel, NotifyError, Peer, Progress};
use process::Guard;
use project::Caller;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;

use repl::{Repl, ReplOptions, StartRequest, ghc_mcp_tools};

use crate::fixture;

const LONG: Duration = Duration::from_secs(60);

/// The other end of a connection, which keeps all sent messages in order.
struct Client {
    sent: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
    closed: watch::Sender<bool>,
}

impl Peer for Client {
    fn notify(&self, method: &str, params: Box<RawValue>) -> Result<(), NotifyError> {
        self.sent.lock().expect("whole").push(format!("{method} {params}"));
        self.count.send_modify(|count| *count += 1);
        Ok(())
    }
    fn progress(&self, _: Progress) {}
    fn log(&self, _: LogLevel, _: &str, _: Box<RawValue>) {}
    fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }
}

struct Connection {
    client: Arc<Client>,
    caller: Caller,
    tools: Vec<Arc<dyn AnyTool>>,
    repl: Arc<Repl>,
    _dir: Arc<tempfile::TempDir>,
}

impl Connection {
    fn new() -> Connection {
        let dir = tempfile::tempdir().expect("a directory");
        let caller = Caller { profile: Some("ghc-mcp".to_owned()), ..fixture::caller(dir.path()) };
        let repl = Repl::new(ReplOptions { guard: Guard::Without, ..ReplOptions::default() });
        Connection::with_repl(repl, caller, Arc::new(dir))
    }

    fn with_repl(repl: Arc<Repl>, caller: Caller, dir: Arc<tempfile::TempDir>) -> Connection {
        let client = Client { sent: Mutex::default(), count: watch::Sender::new(0), closed: watch::Sender::new(false) };
        Connection { client: Arc::new(client), caller, tools: ghc_mcp_tools(repl.clone()), repl, _dir: dir }
    }

    async fn call(&self, name: &str, arguments: Value) -> String {
        let tool = self.tools.iter().find(|tool| tool.declaration().name == name).expect("a tool").clone();
        let raw = serde_json::value::to_raw_value(&arguments).expect("JSON");
        let cx = Context::new(self.client.clone(), Arc::new(self.caller.clone()), watch::channel(false).1, Some(LONG));
        match tool.call(cx, Some(&raw)).await {
            Ok(outcome) => {
                assert!(outcome.structured.is_none());
                outcome.content[0].as_text().expect("a text").to_owned()
            }
            Err(error) => format!("refused: {error}"),
        }
    }

    /// Waits until a message with this text was sent.
    async fn wait_for_text(&self, text: &str) {
        let mut count = self.client.count.subscribe();
        let heard = async {
            while !self.client.sent.lock().expect("whole").iter().any(|sent| sent.contains(text)) {
                count.changed().await.expect("the client lives");
            }
        };
        if tokio::time::timeout(LONG, heard).await.is_err() {
            panic!("{text:?} never came; there was {}", self.all_text());
        }
    }

    /// Returns the messages since the last call.
    fn all_text(&self) -> String {
        std::mem::take(&mut *self.client.sent.lock().expect("whole")).join("\n")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conversation() {
    let c = Connection::new();
    assert_eq!(c.call("status", json!({})).await, "GHCi is not running");
    assert_eq!(c.call("stop", json!({})).await, "GHCi is not running");
    assert_eq!(c.call("send", json!({"command": "1"})).await, "refused: GHCi is not running\nCall start first.");
    assert_eq!(c.call("start", json!({})).await, "Started GHCi");
    assert_eq!(c.all_text(), "ghci/started {}");
    assert_eq!(c.call("start", json!({})).await, "GHCi is already running");
    assert_eq!(c.call("status", json!({})).await, "GHCi is running");
    assert_eq!(c.call("listen", json!({})).await, "Listening for GHCi output...");
    assert_eq!(c.call("listen", json!({})).await, "Listening for GHCi output...");
    assert_eq!(c.call("send", json!({"command": ":t map"})).await, "Sent command: :t map");
    c.wait_for_text("ghci> ").await;
    expect![[r#"
        ghci/command_sent {"command":":t map"}
        ghci/output {"text":"map :: (a -> b) -> [a] -> [b]","stream":"stdout"}
        ghci/output {"text":"ghci> ","stream":"stdout"}"#]]
    .assert_eq(&c.all_text());
    c.call("send", json!({"command": "putStr \"a\\nb\" >> System.IO.hPutStrLn System.IO.stderr \"e\""})).await;
    c.wait_for_text("ghci> ").await;
    let heard = c.all_text();
    for line in
        [r#"{"text":"a","stream":"stdout"}"#, r#"{"text":"b","stream":"stdout"}"#, r#"{"text":"e","stream":"stderr"}"#]
    {
        assert!(heard.contains(line), "{heard}");
    }
    assert_eq!(c.call("stop", json!({})).await, "Stopped GHCi");
    assert_eq!(c.call("status", json!({})).await, "GHCi is not running");
    // Output of the next session of that name is sent too.
    c.all_text();
    assert_eq!(c.call("start", json!({})).await, "Started GHCi");
    c.call("send", json!({"command": "2+3"})).await;
    c.wait_for_text(r#"{"text":"5","stream":"stdout"}"#).await;
    c.call("send", json!({"command": ":quit"})).await;
    let handle = c.repl.find(&c.caller, None).expect("it is known");
    handle.watch().wait_for(|info| !info.state.is_alive()).await.expect("it ends");
    assert_eq!(c.call("status", json!({})).await, "GHCi process has terminated");
    c.wait_for_text("Leaving GHCi.").await;
    let heard = c.all_text();
    let after = heard.split("Leaving GHCi.").nth(1).unwrap_or_default();
    assert!(!after.contains("ghci> "), "no prompt of a GHCi that is gone: {heard}");
    c.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_without_notifications() {
    let c = Connection::new();
    c.call("start", json!({"session": "two"})).await;
    assert_eq!(c.call("send_sync", json!({"session": "two", "command": "1+1"})).await, "2\n");
    let refused = c.call("send_sync", json!({"session": "two", "command": "1+True"})).await;
    assert!(refused.contains("No instance for") && refused.contains("Num Bool"), "{refused}");
    let slow = c.call("send_sync", json!({"session": "two", "command": "getLine", "timeout_ms": 1})).await;
    // Notes name the tools of this profile.
    assert!(slow.contains("read with cursor") || slow.contains("send gives it a line"), "{slow}");
    expect![[r#"
        refused: Nothing to evaluate.
        Give an expression, a declaration or a GHCi command in `command`."#]]
    .assert_eq(&c.call("send_sync", json!({"session": "two", "command": " "})).await);
    let handle = c.repl.find(&c.caller, Some("two")).expect("it runs");
    let waits = |info: &repl::session::SessionInfo| info.state == repl::session::SessionState::WaitingForInput;
    handle.watch().wait_for(waits).await.expect("it waits");
    // This line is for the program that waits for one.
    assert_eq!(c.call("send", json!({"session": "two", "command": "hello"})).await, "Sent command: hello");
    let last = handle.wait(None, LONG, 100).await.expect("an answer");
    assert_eq!(last.stdout, "\"hello\"\n");
    let all = c.call("read", json!({"session": "two"})).await;
    assert!(all.contains("2\n") && all.contains("\"hello\"\n"), "{all}");
    let cursor: u64 = all.rsplit_once("[cursor ").expect("a cursor").1.trim_end_matches(']').parse().expect("a number");
    let (next, _) = tokio::join!(
        c.call("read", json!({"session": "two", "cursor": cursor, "timeout_ms": 20_000})),
        c.call("send", json!({"session": "two", "command": "putStrLn \"new\""})),
    );
    assert!(next.starts_with("new\n[cursor "), "{next}");
    assert_eq!(
        c.call("send", json!({"session": "two", "command": ":set prompt \"x\""})).await.split('\n').next(),
        Some("refused: Hob detects the end of an evaluation by the session's prompt."),
    );
    c.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listening_first_and_in_a_session_of_another_language() {
    let c = Connection::new();
    c.call("listen", json!({"session": "later"})).await;
    c.call("start", json!({"session": "later"})).await;
    c.call("send", json!({"session": "later", "command": "6*7"})).await;
    c.wait_for_text(r#"{"text":"42","stream":"stdout","session":"later"}"#).await;
    let other = StartRequest { session: Some("sh".into()), profile: Some("bash".into()), ..StartRequest::default() };
    c.repl.start(&c.caller, other).await.expect("bash starts");
    let refused = c.call("send", json!({"session": "sh", "command": "rm x"})).await;
    expect![[r#"
        refused: Session "sh" is bash, not GHCi
        Name another one in `session`."#]]
    .assert_eq(&refused);
    // When the connection closes, its listener ends too.
    c.client.closed.send_replace(true);
    c.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_waits_gets_the_line_from_either_tool() {
    let c = Connection::new();
    c.call("start", json!({})).await;
    let asks = "do { a <- getLine; b <- getLine; putStrLn (b ++ a) }";
    let waits = c.call("send_sync", json!({"command": asks})).await;
    assert_eq!(waits, "[it waits for input: send gives it a line]");
    assert_eq!(c.call("send", json!({"command": "one"})).await, "Sent command: one");
    let handle = c.repl.find(&c.caller, None).expect("it is known");
    let mut seen = handle.watch();
    seen.wait_for(|info| info.state == repl::session::SessionState::WaitingForInput).await.expect("it asks again");
    assert_eq!(c.call("send_sync", json!({"command": "two"})).await, "twoone\n");
    c.repl.shutdown().await;
}
