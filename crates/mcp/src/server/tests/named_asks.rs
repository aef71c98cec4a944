//! Named questions: an answer reaches the tool though the call that asked waits no longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, text};
use super::faults::{declaration, declared};
use crate::prompt::{Message, Prompt, Prompts, prompt};
use crate::server::{ConnectionOptions, Server, ServerInfo};
use crate::tool::{AnyTool, Ask, AskError, Asks, Context, Declaration, Outcome, ToolError};

const PATIENCE: Duration = Duration::from_secs(60 * 60);
const MINUTE: Duration = Duration::from_secs(60);

/// What color it is.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Color {
    /// The color.
    color: String,
}

fn form() -> Ask {
    Ask::form::<Color>("Which color?")
}

async fn color(cx: &Context) -> Result<String, AskError> {
    let answer = cx.ask_as("q_1", PATIENCE, form()).await?;
    Ok(answer.accepted::<Color>()?.map_or("no color".to_owned(), |said| said.color))
}

/// Asks, and says how it was called.
fn paint(calls: &Arc<AtomicUsize>) -> Arc<dyn AnyTool> {
    let calls = calls.clone();
    declared(Declaration { asks: Asks::PersonByDialog, ..declaration("paint") }, move |cx| {
        let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            let resumed = cx.resumed().map(|resumed| format!("{} {:?}", resumed.name(), resumed.answer(&form())));
            let said = color(&cx).await;
            Ok(Outcome::text(format!("call {call}, resumed {resumed:?}: {said:?}")))
        }
    })
}

/// Another life of the server, with the key of the former one.
fn server(tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Server {
    Server::with_tools(ServerInfo::new("asks", "1"), tools).seal_key([7; 32])
}

fn connect(server: &Server) -> Client {
    Client::connect(server, ConnectionOptions::default())
}

fn request(id: u64, method: &str, name: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": name, "_meta": meta}})
}

/// Calls the tool, and returns the call and its question.
async fn call_and_read_question(client: &mut Client) -> (Value, Value) {
    let call = request(1, "tools/call", "paint");
    client.send(call.clone()).await;
    let question = client.next().await;
    assert_eq!(question["result"]["inputRequests"]["answer"]["params"]["message"], "Which color?");
    (call, question)
}

/// Returns the same request once more, with the person's answer.
fn with_response(mut call: Value, id: u64, question: &Value, response: Value) -> Value {
    call["id"] = id.into();
    call["params"]["requestState"] = question["result"]["requestState"].clone();
    call["params"]["inputResponses"] = json!({"answer": response});
    call
}

fn red() -> Value {
    json!({"action": "accept", "content": {"color": "red"}})
}

#[tokio::test(start_paused = true)]
async fn a_named_question_waits_as_long_as_its_tool_says() {
    let calls = Arc::default();
    let mut client = connect(&server([paint(&calls)]));
    let (call, question) = call_and_read_question(&mut client).await;
    tokio::time::sleep(PATIENCE - MINUTE).await;
    client.send(with_response(call, 2, &question, red())).await;
    assert_eq!(text(&client.next().await), r#"call 1, resumed None: Ok("red")"#);
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_its_calls_patience_calls_the_tool_anew() {
    let calls = Arc::default();
    let mut client = connect(&server([paint(&calls)]));
    let (call, question) = call_and_read_question(&mut client).await;
    tokio::time::sleep(PATIENCE + MINUTE).await;
    client.send(with_response(call.clone(), 2, &question, red())).await;
    let accepted = r#"resumed Some("q_1 Ok(Accepted(Object {\"color\": String(\"red\")}))"): Ok("red")"#;
    assert_eq!(text(&client.next().await), format!("call 2, {accepted}"));
    // Its client may say it twice, as after a broken connection.
    client.send(with_response(call, 3, &question, red())).await;
    assert_eq!(text(&client.next().await), format!("call 3, {accepted}"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_a_restart_calls_the_tool_anew() {
    let calls = Arc::default();
    let mut client = connect(&server([paint(&calls)]));
    let (call, question) = call_and_read_question(&mut client).await;
    let decline = json!({"action": "decline"});
    let restarted = server([paint(&calls)]);
    let mut client = connect(&restarted);
    client.send(with_response(call.clone(), 2, &question, decline.clone())).await;
    assert_eq!(text(&client.next().await), r#"call 2, resumed Some("q_1 Ok(Declined)"): Ok("no color")"#);

    // The ticket is sealed for its call, its caller and its server.
    let mut other = with_response(call.clone(), 3, &question, decline.clone());
    other["params"]["arguments"] = json!({"more": 1});
    client.send(other).await;
    assert_eq!(client.next().await["error"]["code"], -32602);
    let options = ConnectionOptions { principal: "somebody else".to_owned(), ..ConnectionOptions::default() };
    let mut somebody = Client::connect(&restarted, options);
    somebody.send(with_response(call.clone(), 4, &question, decline.clone())).await;
    assert_eq!(somebody.next().await["error"]["code"], -32602);
    let mut stranger = connect(&server([paint(&calls)]).seal_key([8; 32]));
    stranger.send(with_response(call, 5, &question, decline)).await;
    assert_eq!(calls.load(Ordering::SeqCst), 2, "nobody else reached the tool");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_is_asked_for_once_more_under_its_name() {
    let calls = Arc::default();
    let mut client = connect(&server([paint(&calls)]));
    let (call, question) = call_and_read_question(&mut client).await;
    let wrong = json!({"action": "accept", "content": {"color": 7}});
    client.send(with_response(call.clone(), 2, &question, wrong.clone())).await;
    let second = client.next().await;
    assert_eq!(second["result"]["resultType"], "input_required");
    // Nor does it in the next life of the server.
    let mut client = connect(&server([paint(&calls)]));
    client.send(with_response(call.clone(), 3, &second, wrong)).await;
    let third = client.next().await;
    assert_eq!(third["result"]["resultType"], "input_required");
    client.send(with_response(call, 4, &third, red())).await;
    let refused = "q_1 Err(Refused(\\\"`color` has a value that was not asked for\\\"))";
    assert_eq!(text(&client.next().await), format!("call 2, resumed Some(\"{refused}\"): Ok(\"red\")"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_answered_elsewhere_gives_its_own_result() {
    let tool = declared(Declaration { asks: Asks::PersonByDialog, ..declaration("paint") }, |cx| async move {
        tokio::select! {
            said = color(&cx) => Ok(Outcome::text(format!("in the dialog: {}", said?))),
            () = tokio::time::sleep(MINUTE) => Ok(Outcome::text("in the terminal: blue")),
        }
    });
    let mut client = connect(&server([tool]));
    let (call, question) = call_and_read_question(&mut client).await;
    tokio::time::sleep(2 * MINUTE).await;
    client.send(with_response(call, 2, &question, json!({"action": "cancel"}))).await;
    assert_eq!(text(&client.next().await), "in the terminal: blue");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_an_older_client_ends_with_the_calls_patience() {
    let calls = Arc::default();
    let mut client = connect(&server([paint(&calls)]));
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
    client.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
    client.next().await;
    client.call(1, "paint", json!({})).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create");
    let withdrawn = client.next().await;
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    assert_eq!(text(&client.next().await), "call 1, resumed None: Err(Unanswered)");
    client.call(2, "paint", json!({})).await;
    let question = client.next().await;
    client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": red()})).await;
    assert_eq!(text(&client.next().await), r#"call 2, resumed None: Ok("red")"#);
}

#[tokio::test(start_paused = true)]
async fn an_answer_by_argument_comes_within_the_calls_patience() {
    let tool = declared(Declaration { asks: Asks::Person, ..declaration("paint") }, |cx| async move {
        Ok(Outcome::text(format!("{:?}", cx.ask_as("q_1", MINUTE, form()).await)))
    });
    let mut client = connect(&server([tool]));
    client.call(1, "paint", json!({})).await;
    let question = client.next().await;
    assert!(text(&question).contains("until it is answered, within 60 seconds. Ask"), "{question}");
}

/// Paints.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

struct Paint;

impl Prompt for Paint {
    const NAME: &'static str = "paint";
    type Args = Nothing;
    async fn get(&self, cx: Context, _: Nothing) -> Result<Vec<Message>, ToolError> {
        Ok(vec![Message::user(format!("{:?}: {}", cx.resumed().map(|resumed| resumed.name()), color(&cx).await?))])
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_got_anew_too() {
    let server = || server([]).prompts(Arc::new(Prompts::new([prompt(Paint)])));
    let get = request(1, "prompts/get", "paint");
    let mut client = connect(&server());
    client.send(get.clone()).await;
    let question = client.next().await;
    let mut client = connect(&server());
    client.send(with_response(get, 2, &question, red())).await;
    let got = client.next().await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], r#"Some("q_1"): red"#, "{got}");
}
