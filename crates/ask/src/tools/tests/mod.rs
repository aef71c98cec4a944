//! Tests of the tools over real connections in both protocol versions: every way to an answer, and results without one.

mod drawing;
mod races;
mod runs;
mod settings;
mod who_answers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp::server::{ConnectionOptions, Server, ServerInfo};
use mcp::tool::{Effect, Registry, ToolFn};
use project::{Caller, Role};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};

use super::*;
use crate::board::BoardOptions;
use crate::question::{Event, Response, Via, rfc3339};
use crate::{AskSettings, take_late_answers};

const MODERN: &str = "2026-07-28";

/// A board in a directory, and a server with its tools.
struct Fixture {
    dir: tempfile::TempDir,
    board: Arc<Board>,
}

/// A client of one connection.
struct Client {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    last: u64,
    era: Option<&'static str>,
    unread: Vec<Value>,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let board = board_in(dir.path().into());
        Fixture { dir, board }
    }

    /// Simulates a crash and restart of the daemon.
    fn reconnect(&mut self) {
        self.board = board_in(self.dir.path().into());
        self.board.open_if_there();
    }

    /// Connects a client of this run. With an era, the client supports dialogs.
    async fn client(&self, run: &str, era: Option<&'static str>) -> Client {
        self.client_of(caller(run), era).await
    }

    async fn client_of(&self, caller: Caller, era: Option<&'static str>) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let board = self.board.clone();
        let watching = board.clone();
        let watch = ToolFn::new("watch", Effect::READ).description("Watches.").build(move |cx, (): ()| {
            watching.add_face(&cx);
            async { Ok(()) }
        });
        let server =
            Server::new(ServerInfo::new("t", "1"), Arc::new(Registry::new([tools(&board), vec![watch]].concat())))
                .seal_key([7; 32])
                .result_prefix(move |cx, _| take_late_answers(&board, cx));
        let options = ConnectionOptions { caller: Arc::new(caller), ..ConnectionOptions::default() };
        tokio::spawn(async move {
            let (reader, writer) = split(theirs);
            server.serve(reader, writer, options).await
        });
        let (reader, writer) = split(ours);
        let lines = BufReader::new(reader).lines();
        let mut client = Client { lines, writer, last: 0, era, unread: Vec::new() };
        if era != Some(MODERN) {
            let can = if era.is_some() { json!({"elicitation": {}}) } else { json!({}) };
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": {"name": "t", "version": "1"}});
            let id = client.request("initialize", hello).await;
            client.response(id).await;
            client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        client
    }

    fn answer(&self, id: &str, values: Value) {
        let Value::Object(values) = values else { panic!("an object") };
        let said = Response { by: "ann".to_owned(), via: Via::Command, at_ms: 1_795_575_600_000, note: None };
        self.board.change(id, Event::Answer { values, said }).unwrap();
    }

    fn only_question_id(&self) -> String {
        let all = self.board.unsettled();
        assert_eq!(all.len(), 1);
        all[0].id.clone()
    }
}

fn board_in(dir: PathBuf) -> Arc<Board> {
    Board::new(options(dir))
}

fn options(dir: PathBuf) -> BoardOptions {
    BoardOptions {
        path: dir.join("ask.db"),
        prepare: Box::new(|| Ok(())),
        is_alive: Box::new(|asker| asker.run != "gone"),
        agent_of: Box::new(|_| None),
        refuses: Box::new(|_| None),
        record: Box::new(|_| {}),
        notify: None,
        settings: AskSettings::default(),
        person: "ann".to_owned(),
    }
}

fn caller(run: &str) -> Caller {
    Caller { run: Some(run.to_owned()), name: None, ..testkit::caller(&PathBuf::from("/w"), "") }
}

impl Client {
    async fn send(&mut self, message: Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.last += 1;
        if self.era == Some(MODERN) {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            });
        }
        let id = self.last;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    async fn next(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unread.iter().position(&fits) {
            return self.unread.remove(at);
        }
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the connection stands");
            let message: Value = serde_json::from_str(&line).unwrap();
            if fits(&message) {
                return message;
            }
            self.unread.push(message);
        }
    }

    async fn response(&mut self, id: u64) -> Value {
        let answer = self.next(|message| message["id"] == id && message["method"].is_null()).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    async fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments).await;
        self.response(id).await
    }

    /// Returns the dialog that the client is asked to show, and its id.
    async fn dialog(&mut self) -> (Value, Value) {
        let asked = self.next(|message| message["method"] == "elicitation/create").await;
        (asked["id"].clone(), asked["params"].clone())
    }

    async fn reply(&mut self, id: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }
}

fn delete() -> Value {
    json!({"action": "Delete the branch?", "details": "3 commits"})
}

fn texts(result: &Value) -> Vec<&str> {
    result["content"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_absent_person_is_reported_at_once_and_does_not_mean_no() {
    let house = Fixture::new();
    let mut client = house.client("a", None).await;
    let result = client.call("confirm_action", delete()).await;
    let (id, structured) = (house.only_question_id(), &result["structuredContent"]);
    assert_eq!(
        (&structured["status"], &structured["open"], &structured["confirmed"]),
        (&json!("unavailable"), &json!(true), &json!(false))
    );
    assert_eq!(structured["waited_s"], 0);
    assert!(structured["advice"].as_str().unwrap().contains(&format!("`hob answer {id}`")));
    assert!(!texts(&result)[0].contains("confirmed"), "{result}");
    let result = client.call("select_option", json!({"prompt": "Which?", "options": [["a", "A"]]})).await;
    assert_eq!(
        (&result["structuredContent"]["selected"], &result["structuredContent"]["custom"]),
        (&Value::Null, &Value::Null)
    );
    let result = client.call("request_guidance", json!({"context": "How?"})).await;
    assert_eq!(result["structuredContent"]["guidance"], Value::Null);
    let result = client.call("ask_form", json!({"title": "T", "fields": [{"id": "a"}]})).await;
    assert_eq!(result["structuredContent"]["values"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_comes_beside_the_next_result_once() {
    let house = Fixture::new();
    let (mut client, mut stranger) = (house.client("a", None).await, house.client("b", None).await);
    client.call("confirm_action", delete()).await;
    let id = house.only_question_id();
    house.answer(&id, json!({"confirm": true}));
    // Another run of the same worktree gets nothing, because the first is connected.
    assert_eq!(texts(&stranger.call("ask_list", json!({})).await), ["No questions."]);
    let result = client.call("ask_list", json!({})).await;
    let texts_of = texts(&result);
    assert_eq!((texts_of.len(), &result["structuredContent"]), (2, &json!({"questions": []})));
    let mark = &texts_of[0][2..18];
    expect_test::expect![[r#"
        <<MARK Late answer: ann answered your question ID of 0 s ago, with `hob answer`.
        | question: Delete the branch?
        | confirmed: true
        MARK>>"#]]
    .assert_eq(&texts_of[0].replace(mark, "MARK").replace(&id, "ID"));
    assert_eq!(texts(&client.call("ask_list", json!({})).await).len(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    client.call("ask_list", json!({})).await;
    assert!(house.board.unsettled().is_empty(), "it is settled");
}

#[tokio::test(start_paused = true)]
async fn an_undelivered_answer_is_redelivered_and_marked() {
    let mut house = Fixture::new();
    let mut client = house.client("a", None).await;
    client.call("confirm_action", delete()).await;
    house.answer(&house.only_question_id(), json!({"confirm": false}));
    assert_eq!(texts(&client.call("ask_list", json!({})).await).len(), 2);
    drop(client);
    let mut client = house.client("a", None).await;
    // A separate task notices the end of a connection.
    until(|| house.board.unsettled()[0].waits_for_hand_out()).await;
    let result = client.call("ask_list", json!({})).await;
    assert!(texts(&result)[0].contains("; redelivered: you may have seen this before"), "{result}");
    assert!(texts(&result)[0].contains("confirmed: false"), "{result}");
    // After a crash, the daemon cannot know whether the answer arrived.
    house.reconnect();
    let result = house.client("a", None).await.call("ask_list", json!({})).await;
    assert!(texts(&result)[0].contains("; redelivered"), "{result}");
}

/// Yields until a condition holds.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_dialog_of_an_older_client_is_shown_at_once() {
    let house = Fixture::new();
    let mut client = house.client("a", Some("legacy")).await;
    let call = client.begin("confirm_action", delete()).await;
    let (dialog, params) = client.dialog().await;
    assert_eq!(params["message"], "Delete the branch?\n\n3 commits");
    client.reply(&dialog, json!({"action": "accept", "content": {"confirm": "yes", "note": "go on"}})).await;
    let result = client.response(call).await["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["confirmed"], &result["note"]),
        (&json!("answered"), &json!(true), &json!("go on"))
    );
    assert_eq!(result["answered"]["via"], "dialog");
    // A person takes longer to decline than a program.
    let call = client.begin("confirm_action", json!({"action": "Push?"})).await;
    let (dialog, _) = client.dialog().await;
    tokio::time::advance(Duration::from_millis(400)).await;
    client.reply(&dialog, json!({"action": "decline"})).await;
    let result = client.response(call).await["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["open"], &result["confirmed"]),
        (&json!("declined"), &json!(false), &json!(false))
    );
}

#[tokio::test(start_paused = true)]
async fn a_dialog_that_a_program_closes_was_seen_by_nobody() {
    let house = Fixture::new();
    let mut client = house.client("a", Some("legacy")).await;
    for action in ["cancel", "decline"] {
        let call = client.begin("confirm_action", json!({"action": action})).await;
        let (dialog, _) = client.dialog().await;
        client.reply(&dialog, json!({"action": action})).await;
        let result = client.response(call).await["structuredContent"].clone();
        assert_eq!((&result["status"], &result["open"]), (&json!("unavailable"), &json!(true)));
    }
    assert_eq!(house.board.counts(), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_elsewhere_withdraws_the_dialog_and_a_wrong_one_is_asked_again() {
    let house = Fixture::new();
    let mut client = house.client("a", Some("legacy")).await;
    let form = json!({"title": "Copies?", "fields": [{"id": "copies", "kind": "integer", "min": 1, "required": true}]});
    let call = client.begin("ask_form", form).await;
    let (dialog, _) = client.dialog().await;
    client.reply(&dialog, json!({"action": "accept", "content": {"copies": "0"}})).await;
    let (dialog, params) = client.dialog().await;
    assert_eq!(params["message"], "The answer did not fit: `copies`: at least 1\n\nCopies?");
    house.answer(&house.only_question_id(), json!({"copies": 3}));
    let withdrawn = client.next(|message| message["method"] == "notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], dialog);
    let result = client.response(call).await;
    assert_eq!(result["structuredContent"]["values"], json!({"copies": 3}));
    assert!(
        texts(&result)[0].starts_with("answered by ann with `hob answer` (2026-11-25T03:00:00.000Z): q_"),
        "{result}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_no_longer_than_it_says() {
    let house = Fixture::new();
    let mut client = house.client("a", Some("legacy")).await;
    let call = client.begin("confirm_action", json!({"action": "Push?", "wait_s": 5})).await;
    let (dialog, _) = client.dialog().await;
    let result = client.response(call).await["structuredContent"].clone();
    assert_eq!(
        (&result["status"], &result["open"], &result["waited_s"]),
        (&json!("timed_out"), &json!(true), &json!(5))
    );
    // The dialog was withdrawn, so its answer is ignored.
    client.reply(&dialog, json!({"action": "accept", "content": {"confirm": "yes"}})).await;
    // An equal call gets the same question.
    let again = client.begin("confirm_action", json!({"action": "Push?", "wait_s": 60})).await;
    house.answer(&house.only_question_id(), json!({"confirm": true}));
    let result = client.response(again).await["structuredContent"].clone();
    assert_eq!((&result["status"], &result["confirmed"]), (&json!("answered"), &json!(true)));
    let asked = client.call("confirm_action", json!({"action": "Merge?", "wait_s": 0})).await;
    assert_eq!(asked["structuredContent"]["status"], "asked");
}

#[tokio::test(start_paused = true)]
async fn a_newer_client_brings_the_answer_with_another_request() {
    let mut house = Fixture::new();
    let mut client = house.client("a", Some(MODERN)).await;
    let call = |state: &Value, content: Value| {
        let responses = json!({"answer": {"action": "accept", "content": content}});
        json!({"name": "confirm_action", "arguments": delete(), "requestState": state, "inputResponses": responses})
    };
    let result = client.call("confirm_action", delete()).await;
    assert_eq!(result["resultType"], "input_required");
    let id = client.request("tools/call", call(&result["requestState"], json!({"confirm": "no"}))).await;
    let answered = client.response(id).await["structuredContent"].clone();
    assert_eq!((&answered["status"], &answered["confirmed"]), (&json!("answered"), &json!(false)));

    // An hour later, the answer still reaches the question.
    let result = client.call("confirm_action", delete()).await;
    let question = house.board.unsettled().into_iter().find(|question| question.is_open()).unwrap().id;
    tokio::time::advance(Duration::from_secs(3600)).await;
    let id = client.request("tools/call", call(&result["requestState"], json!({"confirm": "yes"}))).await;
    let answered = client.response(id).await["structuredContent"].clone();
    assert_eq!(
        (&answered["status"], &answered["confirmed"], &answered["question"]),
        (&json!("answered"), &json!(true), &json!(question))
    );

    // It also does after a crash. If another answer was first, that one is returned with its author.
    let result = client.call("confirm_action", delete()).await;
    let question = house.board.unsettled().into_iter().find(|question| question.is_open()).unwrap().id;
    house.reconnect();
    house.answer(&question, json!({"confirm": false}));
    let mut client = house.client("a", Some(MODERN)).await;
    let id = client.request("tools/call", call(&result["requestState"], json!({"confirm": "yes"}))).await;
    let answered = client.response(id).await["structuredContent"].clone();
    assert_eq!(
        (&answered["status"], &answered["confirmed"], &answered["question"]),
        (&json!("answered"), &json!(false), &json!(question))
    );
    assert_eq!(answered["answered"]["via"], "command");
}

#[tokio::test(start_paused = true)]
async fn an_answer_elsewhere_comes_when_the_newer_dialog_closes() {
    let house = Fixture::new();
    let mut client = house.client("a", Some(MODERN)).await;
    let result = client.call("confirm_action", delete()).await;
    house.answer(&house.only_question_id(), json!({"confirm": true}));
    let responses = json!({"answer": {"action": "cancel"}});
    let retry = json!({"name": "confirm_action", "arguments": delete(), "requestState": result["requestState"], "inputResponses": responses});
    let id = client.request("tools/call", retry).await;
    let answered = client.response(id).await["structuredContent"].clone();
    assert_eq!((&answered["status"], &answered["confirmed"]), (&json!("answered"), &json!(true)));
    assert_eq!((&answered["answered"]["by"], &answered["answered"]["via"]), (&json!("ann"), &json!("command")));
}

#[tokio::test(start_paused = true)]
async fn invalid_questions_report_the_reason_and_ask_nothing() {
    let house = Fixture::new();
    let mut client = house.client("a", None).await;
    let calls = [
        ("confirm_action", json!({"action": " ", "danger": "low"})),
        ("confirm_action", json!({"action": "x", "expires": "soon"})),
        ("confirm_action", json!({"action": "x", "expires": "5s"})),
        ("confirm_action", json!({"action": "x", "expires": "99d"})),
        ("confirm_action", json!({"action": "x", "key": "k".repeat(201)})),
        ("select_option", json!({"prompt": "x", "options": []})),
        ("select_option", json!({"prompt": "x", "options": [["custom", "mine"]]})),
        ("ask_form", json!({"title": "x", "fields": [{"id": "password"}]})),
        ("ask_wait", json!({"question": "q_nothing"})),
        ("ask_wait", json!({})),
    ];
    let mut why = Vec::new();
    for (tool, arguments) in calls {
        let result = client.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        why.push(texts(&result)[0].lines().next().unwrap_or_default().to_owned());
    }
    expect_test::expect![[r#"
        `action` is empty; write the question there
        `expires`: "soon" is not a valid duration
        `expires`: 5s is out of range; use 1m to 30d
        `expires`: 99d is out of range; use 1m to 30d
        `key` is too long; the limit is 200 characters
        `options`: expected 1 to 50, got 0
        `options`: the option id `custom` is reserved: choose another one
        invalid question: `password` asks for a secret (password): answers are stored and reach the model. Have the person put it into a file or the environment, and ask whether that is done
        unknown question `q_nothing`
        you have no open question"#]].assert_eq(&why.join("\n"));
    assert!(!house.dir.path().join("ask.db").exists());
}

#[tokio::test(start_paused = true)]
async fn waiting_listing_and_taking_back() {
    let house = Fixture::new();
    let mut client = house.client("a", None).await;
    client.call("select_option", json!({"prompt": "Which?", "options": [["a", "A"], {"id": "b"}], "wait_s": 0})).await;
    let id = house.only_question_id();
    house.answer(&id, json!({"choice": "neither"}));
    let result = client.call("ask_wait", json!({})).await["structuredContent"].clone();
    assert_eq!((&result["selected"], &result["custom"]), (&json!("custom"), &json!("neither")));
    client.call("request_guidance", json!({"context": "How?", "wait_s": 0})).await;
    let open = house.board.unsettled().pop().unwrap().id;
    let listed = client.call("ask_list", json!({})).await;
    assert_eq!(texts(&listed), [format!("{open} open, request_guidance, 0 s ago: How?")]);
    let mut stranger = house.client("b", None).await;
    assert_eq!(stranger.call("ask_cancel", json!({"question": open})).await["isError"], true);
    assert_eq!(texts(&client.call("ask_cancel", json!({"question": open})).await), [format!("cancelled: {open}")]);
    let script = Caller { role: Role::Control, ..caller("s") };
    let mut script = house.client_of(script, None).await;
    assert_eq!(
        script.call("request_guidance", json!({"context": "How?"})).await["structuredContent"]["status"],
        "unavailable"
    );
}

#[test]
fn the_listing_costs_a_model_little() {
    let board = board_in(PathBuf::new());
    let cost = |tools: &[Arc<dyn AnyTool>]| -> usize {
        let read =
            |tool: &mcp::tool::Declaration| format!("{}\n{}\n{}", tool.name, tool.description, tool.input_schema);
        tools.iter().map(|tool| testkit::tokens::count(&read(tool.declaration()))).sum()
    };
    let (core, all) = (cost(&tidepool(&board)), cost(&tools(&board)));
    assert!(core <= 420 && all <= 1700, "{core} and {all} tokens");
}
