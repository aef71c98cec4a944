//! Nodes in Rust, and the smallest server of one: the example program with the messages of a client.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{AnyTool, Context};
use nodes::typed_node::{Node, checked, node_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::endpoint::{Endpoint, text_reply};
use crate::engine::engine;

/// Rates a text.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Rating {
    reason: String,
    score: u8,
}

struct Rate;

impl Node for Rate {
    const NAME: &'static str = "rate";
    const TEMPLATE: &'static str = "{{ text | data }}";
    type Input = Text;
    type Output = Rating;

    fn check(input: &Text, output: &Rating) -> Vec<String> {
        let is_wrong = output.score > 5 && input.text != "perfect";
        is_wrong.then(|| "only what is perfect gets more than 5".to_owned()).into_iter().collect()
    }
}

struct Misspelt;

impl Node for Misspelt {
    const NAME: &'static str = "misspelt";
    const TEMPLATE: &'static str = "{{ txt }}";
    type Input = Text;
    type Output = Rating;
}

#[test]
fn a_template_is_rehearsed_against_its_type() {
    let node = checked::<Rate>().expect("valid");
    assert_eq!((node.description.as_str(), node.policy.attempts), ("Rates a text.", 3));
    let problems = checked::<Misspelt>().expect_err("misspelt");
    assert_eq!(problems[0].message, "the template reads `txt`, which is not an input; did you mean `text`?");
}

/// A type whose check waits until another task has run.
struct Slow;

impl Node for Slow {
    const NAME: &'static str = "slow";
    const TEMPLATE: &'static str = "{{ text | data }}";
    type Input = Text;
    type Output = Rating;

    fn check(_: &Text, _: &Rating) -> Vec<String> {
        let (sender, receiver) = std::sync::mpsc::channel();
        tokio::spawn(async move { sender.send(()) });
        let ran = receiver.recv_timeout(Duration::from_secs(10));
        ran.is_err().then(|| "no other task could run meanwhile".to_owned()).into_iter().collect()
    }
}

/// The daemon has one thread for all its tasks.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_an_answer_is_checked_other_tasks_run() {
    let endpoint = Endpoint::start(vec![text_reply(r#"{"reason":"r","score":4}"#, "stop")]);
    let models = nodes::Models::at(&endpoint.url, "m").expect("an address");
    let tool: Arc<dyn AnyTool> = node_tool::<Slow>(Arc::new(models));
    let arguments = RawValue::from_string(json!({"text": "a"}).to_string()).expect("JSON");
    let cx = Context::detached(Arc::new(()));
    let call = tokio::spawn(async move { tool.call(cx, Some(&arguments)).await });
    let outcome = call.await.expect("no panic").expect("an outcome");
    assert_eq!(outcome.structured.expect("structured").get(), r#"{"reason":"r","score":4}"#);
}

#[tokio::test]
async fn a_type_s_own_check_is_made() {
    let endpoint = Endpoint::start(vec![
        text_reply(r#"{"reason":"r","score":9}"#, "stop"),
        text_reply(r#"{"reason":"r","score":300}"#, "stop"),
        text_reply(r#"{"reason":"r","score":4}"#, "stop"),
    ]);
    let models = nodes::Models::at(&endpoint.url, "m").expect("an address");
    let tool: Arc<dyn AnyTool> = node_tool::<Rate>(Arc::new(models));
    let arguments = RawValue::from_string(json!({"text": "a"}).to_string()).expect("JSON");
    let outcome = tool.call(Context::detached(Arc::new(())), Some(&arguments)).await.expect("an outcome");
    assert_eq!(outcome.structured.expect("structured").get(), r#"{"reason":"r","score":4}"#);
    assert_eq!(outcome.meta.expect("a ledger")["hob/ledger"]["attempts"].as_array().map(Vec::len), Some(3));
    let asked = endpoint.requests();
    assert!(asked[1]["messages"].to_string().contains("only what is perfect gets more than 5"));
    assert!(
        asked[2]["messages"].to_string().contains("invalid value: integer `300`, expected u8"),
        "{}",
        asked[2]["messages"]
    );
}

/// The example program and its streams.
struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start(url: &str) -> Program {
        let binary = std::env::current_exe().expect("a test has a binary");
        let example = binary.ancestors().nth(2).expect("target/debug").join("examples/one_node");
        let mut child = Command::new(&example)
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Program { child, stdin, stdout: BufReader::new(stdout) }
    }

    fn ask(&mut self, line: &str) -> Value {
        writeln!(self.stdin, "{line}").expect("it reads");
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{answer}: {error}"))
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn one_line_lists_the_node_and_another_calls_it() {
    let Some(engine) = engine().await else { return };
    let mut program = Program::start(&engine.url());
    let listed = program.ask(r#"{"jsonrpc":"2.0","method":"tools/list","id":1}"#);
    let tool = &listed["result"]["tools"][0];
    assert_eq!((&tool["name"], &tool["description"]), (&json!("rate"), &json!("Rates how easy a text is to read.")));
    assert_eq!(tool["inputSchema"]["required"], json!(["text"]));
    assert_eq!(tool["outputSchema"]["properties"]["score"]["maximum"], 5);
    let called = program.call("rate", json!({"text": "It rained."}));
    assert_eq!(called["result"]["structuredContent"], json!({"reason": "", "score": 1}), "{called}");
    // Each invalid call gets an error, and the server keeps running.
    let wrong = program.call("rate", json!({"txt": "It rained."}));
    assert_eq!(wrong["result"]["isError"], true);
    assert!(
        wrong["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("\"text\" is missing")),
        "{wrong}"
    );
    let unknown = program.call("rat", json!({}));
    assert!(unknown["error"]["message"].as_str().is_some_and(|text| text.contains("rat")), "{unknown}");
    // A line that is not JSON is ignored, as in the protocol's own servers. JSON that is not a request gets an error.
    let broken = program.ask("{\"jsonrpc\":\n{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":7}");
    assert_eq!((&broken["id"], &broken["error"]["code"]), (&json!(8), &json!(-32600)), "{broken}");
    drop(engine);
    let failing = program.call("rate", json!({"text": "It rained."}));
    assert_eq!(failing["result"]["isError"], true, "{failing}");
    let listed = program.ask(r#"{"jsonrpc":"2.0","method":"tools/list","id":9}"#);
    assert_eq!(listed["id"], 9);
}
