//! Every class of failure: on the engine if it can produce the failure, else with a fixture. docs/generated/nodes-failures.md
//! lists the messages for callers.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{engine, node};
use crate::endpoint::{Endpoint, Reply, streams, text_reply};
use nodes::engine::Engine;
use nodes::schema::Dialect;
use nodes::{ModelSettings, Models, Node, NodesSettings, RunContext, TokenProgress};

const FRONT: &str = "policy: { attempts: 2, timeout: 20s }";
/// The policy for calls of the engine, which shares its processors with other tests.
const PATIENT: &str = "policy: { attempts: 2, timeout: 120s }";
const GOOD: &str = r#"{"word":"a"}"#;

/// The rows of the page.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Runs a node, and records the message for the caller.
    async fn row(&mut self, cause: &str, models: &Models, node: &Node) -> Vec<String> {
        self.call(cause, models, node, Map::new(), None).await
    }

    async fn call(
        &mut self,
        cause: &str,
        models: &Models,
        node: &Node,
        input: Map<String, Value>,
        heard: Option<TokenProgress<'_>>,
    ) -> Vec<String> {
        let (said, classes, ledger) = called(models, node, input, heard).await;
        let repaired = if ledger.is_repaired() { " (mended)" } else { "" };
        let classes = if classes.is_empty() { vec!["nobody is asked".to_owned()] } else { classes };
        let said = said.replace('|', "\\|");
        writeln!(self.0, "| {}{repaired} | {cause} | {said} |", classes.join(", ")).unwrap();
        classes
    }

    fn section(&mut self, title: &str) {
        writeln!(
            self.0,
            "\n## {title}\n\n| class of each attempt | what happens | what the caller reads |\n|---|---|---|"
        )
        .unwrap();
    }
}

/// Returns the message for the caller, the classes of the attempts, and the ledger.
async fn called(
    models: &Models,
    node: &Node,
    input: Map<String, Value>,
    heard: Option<TokenProgress<'_>>,
) -> (String, Vec<String>, nodes::run::Ledger) {
    let (said, ledger) = match nodes::run_with(node, input, RunContext { heard, ..RunContext::new(models) }).await {
        Ok(done) => (format!("`{}`", done.value), done.ledger),
        Err(failure) => (failure.why, failure.ledger),
    };
    let word = |class| serde_json::to_value(class).unwrap().as_str().unwrap().to_owned();
    let classes = ledger.attempts.iter().map(|attempt| word(attempt.class)).collect();
    (said, classes, ledger)
}

fn word_schema() -> Value {
    json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})
}

fn models(settings: &[ModelSettings]) -> Models {
    let models = settings.iter().enumerate().map(|(number, model)| (format!("model{}", number + 1), model.clone()));
    let models = models.collect();
    Models::new(&NodesSettings { models, model: Some("model1".to_owned()), ..NodesSettings::default() })
}

#[tokio::test]
async fn each_class_of_failure() {
    let Some(engine) = engine().await else { return };
    println!("{} with a model of SHA-256 {}", nodes::engine::PACKAGE, nodes::engine::SHA256);
    let mut page = Page::default();
    page.section("For real, on the offline engine");
    on_the_engine(&mut page, engine).await;
    page.section("By fixture: what the engine never answers");
    by_fixture(&mut page).await;
    let text = format!(
        "# How a call of a node fails\n\nWhat a caller reads, and how each attempt ended, with at most two attempts \
         (`policy.attempts`). Written by a test of `crates/nodes` (`UPDATE_EXPECT=1`), which runs each of them; what is not JSON, \
         not whole or not valid is nowhere a value.\n{}",
        page.0
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/nodes-failures.md");
    expect_test::expect_file![path].assert_eq(&text);
}

async fn on_the_engine(page: &mut Page, engine: Engine) {
    let direct = engine.models("fixed");
    let good = node("good", PATIENT, &word_schema()).unwrap();
    assert_eq!(page.row("nothing is wrong", &direct, &good).await, ["done"]);
    let schema = json!({"type": "array", "items": {"type": "string", "minLength": 9}, "minItems": 4});
    let short =
        |policy: &str| format!("policy: {{ attempts: 2, timeout: 120s{policy} }}\nconfig: {{ maxOutputTokens: 2 }}");
    let cut = node("cut", &short(""), &schema).unwrap();
    assert_eq!(page.row("cut at the limit of tokens", &direct, &cut).await, ["truncated", "truncated"]);
    let cut = node("cut", &short(", repair: true"), &schema).unwrap();
    let cause = "cut at the limit of tokens, with `policy.repair`";
    assert_eq!(page.row(cause, &direct, &cut).await, ["truncated", "truncated"]);
    let text = format!(
        "---\ndescription: Long.\ninput: {{ schema: {{ text: string }} }}\n{PATIENT}\noutput: {{ schema: {} }}\n---\n{{{{ text }}}}\n",
        word_schema()
    );
    let long = Node::parse("long", &text).unwrap();
    let input = Map::from_iter([("text".to_owned(), Value::from("word ".repeat(4_000)))]);
    let classes = page.call("longer than the model's context", &direct, &long, input, None).await;
    assert_eq!(classes, ["too_long"]);
    let silent = models(&[ModelSettings { schema: Some(Dialect::None), ..ModelSettings::at(engine.url(), "fixed") }]);
    assert_eq!(page.row("the model says nothing", &silent, &good).await, ["empty"]);
    let hole = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 100}}, "required": ["n"]});
    let hole = node("hole", PATIENT, &hole).unwrap();
    let cause = "valid for the server's decoder, and not for the schema";
    assert_eq!(page.row(cause, &direct, &hole).await, ["invalid", "invalid"]);
    let tree = json!({"type": "object", "properties": {"of": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}, "required": ["of"]});
    let refused = node("refused", PATIENT, &tree).unwrap();
    assert_eq!(page.row("the server refuses the schema", &direct, &refused).await, ["rejected"]);
    let strict = node("strict", "policy: { attempts: 2, enforce: strict }", &word_schema()).unwrap();
    let cause = "`policy.enforce: strict`, and a server that takes no schema";
    assert_eq!(page.row(cause, &silent, &strict).await, ["nobody is asked"]);
    // The same with a streamed answer.
    for node in [&good, &cut, &hole, &refused] {
        let whole = called(&direct, node, Map::new(), None).await;
        let streamed = called(&direct, node, Map::new(), Some(TokenProgress(&|_| ()))).await;
        assert_eq!((streamed.0, streamed.1), (whole.0, whole.1));
        let tokens = |ledger: nodes::run::Ledger| {
            ledger.attempts.iter().map(|one| one.tokens.map(|t| (t.input, t.output))).collect::<Vec<_>>()
        };
        assert_eq!(tokens(streamed.2), tokens(whole.2));
    }
    let pid = rustix::process::Pid::from_raw(engine.pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let slow = node("slow", "policy: { attempts: 2, timeout: 1s }", &word_schema()).unwrap();
    assert_eq!(page.row("a server that does not answer (stopped)", &direct, &slow).await, ["transport"]);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(called(&direct, &good, Map::new(), None).await.1, ["done"]);
    // The engine dies while it answers.
    let proxy = Proxy::start(engine.url()).await;
    let through = models(&[ModelSettings::at(&proxy.url, "fixed")]);
    let (mut asked, long) = (proxy.asked, long_answer());
    let call = tokio::spawn(async move { called(&through, &long, Map::new(), None).await });
    asked.recv().await.expect("a request");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(call.await.unwrap().1, ["transport"]);
    let address = engine.url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    while TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert_eq!(page.row("nobody listens (killed)", &direct, &good).await, ["transport", "transport"]);
}

async fn by_fixture(page: &mut Page) {
    let good = node("good", FRONT, &word_schema()).unwrap();
    let once = node("good", "policy: { attempts: 1 }", &word_schema()).unwrap();
    let error = |status, headers, message: &str| Reply(status, headers, json!({"error": {"message": message}}));
    let busy = || error(429, "retry-after: 1\r\n", "slowly");
    let of = |endpoint: &Endpoint| models(&[ModelSettings::at(&endpoint.url, "m")]);
    // The requested pause is respected.
    let endpoint = Endpoint::start(vec![busy(), text_reply(GOOD, "stop")]);
    let cause = "429, `retry-after: 1`, and then an answer";
    assert_eq!(page.row(cause, &of(&endpoint), &good).await, ["busy", "done"]);
    let times = endpoint.times();
    let pause = times[1] - times[0];
    assert!(pause >= Duration::from_secs(1) && pause < Duration::from_secs(10), "{pause:?}");
    let replies = [
        ("429 and again 429", vec![busy(), busy()], &good, vec!["busy", "busy"]),
        ("503, overloaded", vec![error(503, "", "Loading model")], &once, vec!["busy"]),
        ("529, overloaded", vec![error(529, "", "Overloaded")], &once, vec!["busy"]),
        ("a wrong key", vec![error(401, "", "Incorrect API key")], &good, vec!["rejected"]),
        ("no such model", vec![error(404, "", "The model does not exist")], &good, vec!["rejected"]),
        ("no API of this kind", vec![Reply(200, "", json!({"hello": 1}))], &good, vec!["rejected"]),
        ("the server withholds the answer", vec![text_reply("", "content_filter")], &good, vec!["refused"]),
        (
            "no JSON, twice",
            vec![text_reply("I think a.", "stop"), text_reply("It is a.", "stop")],
            &good,
            vec!["unparseable", "unparseable"],
        ),
        (
            "whole, and cut by what the server says",
            vec![text_reply(GOOD, "length"), text_reply(GOOD, "length")],
            &good,
            vec!["truncated", "truncated"],
        ),
    ];
    for (cause, replies, node, classes) in replies {
        let endpoint = Endpoint::start(replies);
        assert_eq!(page.row(cause, &of(&endpoint), node).await, classes, "{cause}");
    }
    let refusal = json!({"choices": [{"message": {"content": null, "refusal": "I cannot help with that."}, "finish_reason": "stop"}]});
    let endpoint = Endpoint::start(vec![Reply(200, "", refusal)]);
    assert_eq!(page.row("the model refuses", &of(&endpoint), &good).await, ["refused"]);
    let mended = node("good", "policy: { attempts: 1, repair: true }", &word_schema()).unwrap();
    let endpoint = Endpoint::start(vec![text_reply("{'word': 'a',}", "stop")]);
    assert_eq!(page.row("nearly JSON, with `policy.repair`", &of(&endpoint), &mended).await, ["done"]);
    // Truncated, whatever finish reason the server reports.
    let endpoint = Endpoint::start(vec![text_reply("{'word': 'a", "stop")]);
    let cause = "nearly JSON and not whole, with `policy.repair`";
    assert_eq!(page.row(cause, &of(&endpoint), &mended).await, ["unparseable"]);
    let torn =
        "HTTP/1.1 200 X\r\ncontent-length: 1000\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"{}\"".to_owned();
    let endpoint = Endpoint::raw(vec![torn]);
    assert_eq!(page.row("a torn answer", &of(&endpoint), &once).await, ["transport"]);
    let heard = TokenProgress(&|_| ());
    let endpoint = Endpoint::raw(vec![streams(&["{\"word\"", ":\"a\"}"], None)]);
    let classes =
        page.call("a torn stream, though its text is whole", &of(&endpoint), &once, Map::new(), Some(heard)).await;
    assert_eq!(classes, ["transport"]);
    // The requested pause exceeds the timeout: the next model is asked.
    let (full, free) = (
        Endpoint::start(vec![error(429, "retry-after: 50\r\n", "slowly")]),
        Endpoint::start(vec![text_reply(GOOD, "stop")]),
    );
    let two = models(&[ModelSettings::at(&full.url, "m"), ModelSettings::at(&free.url, "m")]);
    let good = node("good", &format!("model: [model1, model2]\n{FRONT}"), &word_schema()).unwrap();
    let cause = "429, `retry-after: 50` where the call has 20 s, and a second model";
    assert_eq!(page.row(cause, &two, &good).await, ["busy", "done"]);
    let full = Endpoint::start(vec![error(429, "retry-after: 50\r\n", "slowly")]);
    let cause = "429, `retry-after: 50` where the call has 20 s";
    let one = models(&[ModelSettings::at(&full.url, "m")]);
    let only = node("good", FRONT, &word_schema()).unwrap();
    assert_eq!(page.row(cause, &one, &only).await, ["busy"]);
}

/// Returns a node whose answer takes the engine a while.
fn long_answer() -> Node {
    let text = json!({"type": "string", "minLength": 200});
    let output = json!({"type": "array", "items": text, "minItems": 15});
    node("slow", "policy: { attempts: 1, timeout: 60s }\nconfig: { maxOutputTokens: 4000 }", &output).unwrap()
}

#[tokio::test]
async fn a_call_that_is_given_up_closes_its_connection_at_once() {
    let Some(engine) = engine().await else { return };
    for is_streamed in [false, true] {
        let proxy = Proxy::start(engine.url()).await;
        let models = models(&[ModelSettings::at(&proxy.url, "fixed")]);
        let node = long_answer();
        let call = tokio::spawn(async move {
            let heard = is_streamed.then_some(TokenProgress(&|_| ()));
            called(&models, &node, Map::new(), heard).await.0
        });
        let (mut asked, mut closed) = (proxy.asked, proxy.closed);
        asked.recv().await.expect("a request");
        let given_up = Instant::now();
        call.abort();
        let seen: Instant =
            tokio::time::timeout(Duration::from_secs(20), closed.recv()).await.expect("closed").expect("an instant");
        let took = seen.saturating_duration_since(given_up);
        println!("closed {took:?} after the call was given up");
        assert!(took < Duration::from_millis(100), "{took:?}");
    }
}

/// Forwards one connection, and reports when a request arrived and when its client closed it.
struct Proxy {
    url: String,
    asked: tokio::sync::mpsc::UnboundedReceiver<()>,
    closed: tokio::sync::mpsc::UnboundedReceiver<Instant>,
}

impl Proxy {
    async fn start(target: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (say_asked, asked) = tokio::sync::mpsc::unbounded_channel();
        let (say_closed, closed) = tokio::sync::mpsc::unbounded_channel();
        let target = target.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
        tokio::spawn(async move {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(target).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            let mut buffer = vec![0; 65_536];
            loop {
                match from_client.read(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => {
                        to_server.write_all(&buffer[..count]).await.unwrap();
                        let _ = say_asked.send(());
                    }
                }
            }
            let _ = say_closed.send(Instant::now());
        });
        Proxy { url, asked, closed }
    }
}
