//! Calls that ask, in each of the three ways.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, text};
use super::everything;
use crate::server::{ConnectionOptions, Limits, Server};

pub(super) fn connect(server: &Server) -> Client {
    Client::connect(server, ConnectionOptions::default())
}

pub(super) fn modern(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

fn forms() -> Value {
    json!({"elicitation": {}})
}

/// Returns a modern call of `inquire`.
fn inquiry(id: u64, about: &str, capabilities: Value) -> Value {
    let params = json!({"name": "inquire", "arguments": {"about": about}, "_meta": modern(capabilities)});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Returns the same again, with answers.
pub(super) fn with_responses(mut call: Value, id: u64, question: &Value, responses: Value) -> Value {
    call["id"] = id.into();
    call["params"]["requestState"] = question["result"]["requestState"].clone();
    call["params"]["inputResponses"] = responses;
    call
}

pub(super) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

pub(super) async fn handshake(client: &mut Client, version: &str, capabilities: Value) {
    let params = json!({"protocolVersion": version, "capabilities": capabilities});
    client.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
    client.next().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_client_answers_with_the_request_once_more() {
    let mut client = connect(&everything());
    let call = inquiry(1, "twice", forms());
    client.send(call.clone()).await;
    let first = client.next().await;
    assert_eq!(first["result"]["resultType"], "input_required");
    assert_eq!(first["result"]["inputRequests"]["answer"]["method"], "elicitation/create");
    let params = &first["result"]["inputRequests"]["answer"]["params"];
    assert_eq!(params["mode"], "form");
    assert_eq!(params["message"], "Which color?");
    assert_eq!(
        params["requestedSchema"],
        json!({
            "type": "object",
            "properties": {
                "color": {"type": "string", "description": "Which color."},
                "sure": {"type": "boolean", "description": "Whether it is meant."},
            },
            "required": ["color"],
        })
    );
    client.send(with_responses(call.clone(), 2, &first, json!({"answer": accept(json!({"color": "red"}))}))).await;
    let second = client.next().await;
    assert_eq!(second["id"], 2);
    assert_eq!(second["result"]["inputRequests"]["answer"]["params"]["message"], "And the ground?");
    client.send(with_responses(call, 3, &second, json!({"answer": {"action": "decline"}}))).await;
    let done = client.next().await;
    assert_eq!(done["id"], 3);
    assert_eq!(done["result"]["resultType"], "complete");
    assert_eq!(text(&done), "red on no color");
    assert_eq!(done["result"]["structuredContent"], json!({"state": "done", "result": {"said": "red on no color"}}));
}

#[tokio::test(start_paused = true)]
async fn what_was_not_answered_is_asked_again() {
    let mut client = connect(&everything());
    let call = inquiry(1, "both", json!({"elicitation": {"form": {}}, "roots": {}}));
    client.send(call.clone()).await;
    let first = client.next().await;
    assert_eq!(first["result"]["inputRequests"]["where"], json!({"method": "roots/list", "params": {}}));
    // One fitting answer, and one that does not fit.
    let responses = json!({"where": {"roots": []}, "color": accept(json!({"color": 7})), "else": {}});
    client.send(with_responses(call.clone(), 2, &first, responses)).await;
    let second = client.next().await;
    let asked: Vec<&String> = second["result"]["inputRequests"].as_object().expect("questions").keys().collect();
    assert_eq!(asked, ["color"]);
    client.send(with_responses(call, 3, &second, json!({"color": accept(json!({"color": "blue"}))}))).await;
    assert_eq!(
        text(&client.next().await),
        r#"{"color": Accepted(Object {"color": String("blue")}), "where": Accepted(Object {"roots": Array []})}"#
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_come_before_its_question() {
    let mut client = connect(&everything());
    let with = |id: u64, about: &str, responses: Value| {
        let mut call = inquiry(id, about, forms());
        call["params"]["inputResponses"] = responses;
        call
    };
    let red = accept(json!({"color": "red"}));
    client.send(with(1, "form", json!({"answer": red, "else": accept(json!({"x": 1}))}))).await;
    assert_eq!(text(&client.next().await), "red");
    // Each answer is for one question, and an answer that does not fit does not count.
    client.send(with(2, "twice", json!({"answer": red}))).await;
    let second = client.next().await;
    assert_eq!(second["result"]["inputRequests"]["answer"]["params"]["message"], "And the ground?");
    client.send(with(3, "form", json!({"answer": 12345}))).await;
    assert_eq!(client.next().await["result"]["resultType"], "input_required");
    client.send(with(4, "form", json!([]))).await;
    assert_eq!(client.next().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_for_one_call_of_one_caller_once() {
    let server = everything();
    let mut client = connect(&server);
    let call = inquiry(1, "form", forms());
    client.send(call.clone()).await;
    let question = client.next().await;
    let yes = json!({"answer": accept(json!({"color": "red"}))});

    // Changed, of another call, of another method, and by another caller.
    let mut forged = with_responses(call.clone(), 2, &question, yes.clone());
    forged["params"]["requestState"] = "AAAA.1.AAAA.AAAA".into();
    let other = with_responses(inquiry(1, "twice", forms()), 3, &question, yes.clone());
    let mut prompt = with_responses(call.clone(), 4, &question, yes.clone());
    prompt["method"] = "prompts/get".into();
    for wrong in [forged, other, prompt] {
        client.send(wrong).await;
        assert_eq!(client.next().await["error"]["code"], -32602);
    }
    let somebody = ConnectionOptions { principal: "somebody else".to_owned(), ..ConnectionOptions::default() };
    let mut somebody = Client::connect(&server, somebody);
    somebody.send(with_responses(call.clone(), 5, &question, yes.clone())).await;
    assert_eq!(somebody.next().await["error"]["code"], -32602);

    // The same caller may answer on another connection, and after the first one ended.
    client.finish().await;
    let mut client = connect(&server);
    client.send(with_responses(call.clone(), 6, &question, yes.clone())).await;
    assert_eq!(text(&client.next().await), "red");
    client.send(with_responses(call, 7, &question, yes)).await;
    let lost = client.next().await;
    assert_eq!(lost["result"]["isError"], true);
    assert!(text(&lost).starts_with("the question was lost; effects so far: a brush was bought\n"), "{lost}");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_server_knows_what_was_lost() {
    let call = inquiry(1, "twice", forms());
    let mut client = connect(&everything().seal_key([7; 32]));
    client.send(call.clone()).await;
    let first = client.next().await;
    let yes = json!({"answer": accept(json!({"color": "red"}))});
    client.send(with_responses(call.clone(), 2, &first, yes.clone())).await;
    let second = client.next().await;
    let mut client = connect(&everything().seal_key([7; 32]));
    client.send(with_responses(call.clone(), 3, &second, yes.clone())).await;
    let lost = client.next().await;
    let said = "the question was lost; effects so far: a brush was bought; red was bought\n";
    assert!(text(&lost).starts_with(said), "{lost}");
    let mut client = connect(&everything().seal_key([8; 32]));
    client.send(with_responses(call, 4, &second, yes)).await;
    assert_eq!(client.next().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_fifteen_minutes() {
    let mut client = connect(&everything());
    let call = inquiry(1, "form", forms());
    client.send(call.clone()).await;
    let question = client.next().await;
    tokio::time::sleep(Duration::from_secs(15 * 60 + 1)).await;
    client.send(with_responses(call, 2, &question, json!({"answer": accept(json!({"color": "red"}))}))).await;
    assert!(text(&client.next().await).starts_with("the question was lost"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_takes_no_slot() {
    for (version, capabilities) in [(None, forms()), (Some("2025-11-25"), forms()), (Some("2024-11-05"), json!({}))] {
        let limits = Limits { running: 1, ..Limits::default() };
        let mut client = Client::connect(&everything(), ConnectionOptions { limits, ..ConnectionOptions::default() });
        if let Some(version) = version {
            handshake(&mut client, version, capabilities).await;
            client.call(1, "inquire", json!({"about": "form"})).await;
        } else {
            client.send(inquiry(1, "form", capabilities)).await;
        }
        client.next().await;
        client.call(2, "sleep", json!({"count": 1})).await;
        assert_eq!(text(&client.next().await), "slept", "{version:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_older_client_is_asked_by_a_request() {
    let mut client = connect(&everything());
    handshake(&mut client, "2025-06-18", json!({"elicitation": {}, "roots": {}})).await;
    client.call(1, "inquire", json!({"about": "both"})).await;
    let (color, roots) = (client.next().await, client.next().await);
    assert_eq!((&color["method"], &roots["method"]), (&json!("elicitation/create"), &json!("roots/list")));
    assert_eq!(color["params"]["message"], "Which color?");
    assert!(color["params"].get("mode").is_none(), "there was one mode then");
    client.send(json!({"jsonrpc": "2.0", "id": roots["id"], "result": {"roots": []}})).await;
    client.send(json!({"jsonrpc": "2.0", "id": color["id"], "result": {"action": "cancel"}})).await;
    let done = client.next().await;
    assert_eq!(text(&done), r#"{"color": Dismissed, "where": Accepted(Object {"roots": Array []})}"#);

    // An answer that fails, or does not fit, fails the call.
    for (response, said) in [
        (json!({"error": {"code": -1, "message": "no dialog"}}), "the client did not answer the question: no dialog"),
        (json!({"result": accept(json!({}))}), "the client did not answer the question: missing field `color`"),
        (json!({"result": 7}), "the client did not answer the question: `action` must be accept, decline or cancel"),
    ] {
        client.call(2, "inquire", json!({"about": "form"})).await;
        let mut answer = response;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = client.next().await["id"].clone();
        client.send(answer).await;
        assert_eq!(text(&client.next().await), said);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_asked_for_in_the_revisions_that_have_them() {
    let pages = json!({"elicitation": {"url": {}}});
    let mut client = connect(&everything());
    handshake(&mut client, "2025-11-25", pages.clone()).await;
    client.call(1, "inquire", json!({"about": "page"})).await;
    let asked = client.next().await;
    assert_eq!(asked["params"]["url"], "https://example.com/in");
    assert_eq!(asked["params"]["elicitationId"], asked["id"]);
    client.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}})).await;
    assert_eq!(text(&client.next().await), "Accepted(Null)");

    client.send(inquiry(2, "page", pages)).await;
    let params = client.next().await["result"]["inputRequests"]["answer"]["params"].clone();
    assert_eq!(params, json!({"mode": "url", "message": "Sign in.", "url": "https://example.com/in"}));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_takes_its_question_back() {
    let mut client = connect(&everything());
    handshake(&mut client, "2025-11-25", forms()).await;
    client.call(1, "inquire", json!({"about": "form"})).await;
    let asked = client.next().await;
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    let taken_back = client.next().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    // Too late: the answer is ignored.
    client.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(json!({"color": "red"}))})).await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    assert_eq!(client.next().await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_input() {
    let mut client = connect(&everything());
    handshake(&mut client, "2025-11-25", forms()).await;
    client.call(1, "inquire", json!({"about": "form"})).await;
    client.next().await;
    let (rest, _) = client.finish().await;
    assert_eq!(text(&rest[0]), "the question was not answered");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cannot_be_asked_answers_by_an_argument() {
    let mut client = connect(&everything());
    client.call(1, "inquire", json!({"about": "twice"})).await;
    let first = client.next().await;
    let id = first["result"]["structuredContent"]["ask"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        text(&first).replace(&id, "ID"),
        "Question for the person: Which color?\n\
         Nothing more is done until it is answered, within 15 minutes. Ask the person, then call inquire again with the \
         same arguments and `resume`: {\"id\":\"ID\",\"answers\":{\"color\":\"string\",\"sure\":\"boolean\"}}; leave out \
         `answers` for no."
    );
    assert_eq!(first["result"]["structuredContent"]["state"], "asking");
    let schema = everything().registry().get("inquire").expect("it is there").declaration().output_schema.clone();
    let schema = schema.expect("it is structured");
    assert!(jsonschema::is_valid(&schema, &first["result"]["structuredContent"]), "{schema}");

    // An answer that does not fit: asked again under a new id.
    client.call(2, "inquire", json!({"about": "twice", "resume": {"id": id, "answers": {"color": 7}}})).await;
    let again = client.next().await;
    assert!(text(&again).starts_with("Invalid answer: `color` has a value that was not asked for.\nQuestion"));
    let id = again["result"]["structuredContent"]["ask"]["id"].clone();
    client.call(3, "inquire", json!({"resume": {"id": id, "answers": {"color": "red"}}})).await;
    let second = client.next().await;
    assert!(text(&second).starts_with("Question for the person: And the ground?\n"));
    let id = second["result"]["structuredContent"]["ask"]["id"].clone();
    client.call(4, "inquire", json!({"resume": {"id": id}})).await;
    let done = client.next().await;
    assert_eq!(text(&done), "red on no color");
    assert!(jsonschema::is_valid(&schema, &done["result"]["structuredContent"]));

    client.call(5, "inquire", json!({"resume": {"id": id}})).await;
    assert!(text(&client.next().await).starts_with("the question was lost; effects so far: not known\n"));
    client.call(6, "inquire", json!({"resume": {"answers": {}}})).await;
    assert!(text(&client.next().await).starts_with("inquire: `resume` must be {\"id\""));
}

#[tokio::test(start_paused = true)]
async fn what_has_no_other_way_says_what_it_lacks() {
    let mut client = connect(&everything());
    client.send(inquiry(1, "model", forms())).await;
    let error = client.next().await["error"].clone();
    assert_eq!(error["code"], -32021);
    assert_eq!(error["data"], json!({"requiredCapabilities": {"sampling": {}}}));
    let params = json!({"name": "paint", "_meta": modern(json!({}))});
    client.send(json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": params})).await;
    let error = client.next().await["error"].clone();
    assert_eq!(error["data"], json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
    client.call(3, "inquire", json!({"about": "model"})).await;
    assert_eq!(text(&client.next().await), "this needs an answer from the user, which the client does not support");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_asks_too() {
    let mut client = connect(&everything());
    let params = json!({"name": "paint", "_meta": modern(forms())});
    let get = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params});
    client.send(get.clone()).await;
    let question = client.next().await;
    client.send(with_responses(get.clone(), 2, &question, json!({"answer": accept(json!({"color": "red"}))}))).await;
    assert_eq!(client.next().await["result"]["messages"][0]["content"]["text"], "Paint it red.");
    client.send(with_responses(get, 3, &question, json!({}))).await;
    assert_eq!(client.next().await["error"]["code"], -32602);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_calls_ask_at_once() {
    let server = everything();
    let tasks: Vec<_> = (0..20_u64)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move {
                let mut client = connect(&server);
                for round in 0..50_u64 {
                    let call = inquiry(round * 2, "form", forms());
                    client.send(call.clone()).await;
                    let question = client.next().await;
                    let yes = json!({"answer": accept(json!({"color": "red"}))});
                    client.send(with_responses(call, round * 2 + 1, &question, yes)).await;
                    assert_eq!(text(&client.next().await), "red");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
}
