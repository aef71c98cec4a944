//! Attempts of a process to answer questions of another run, a script or a hook. None succeeds: its own dialog answers at most
//! its own question.

use mcp::tool::Context;

use super::*;
use crate::board::Draft;
use crate::control;
use crate::form::Form;
use crate::question::{Asker, Danger, Kind};

/// The owner of the question.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Agent,
    Script,
    Hook,
    SharedToken,
}

const VICTIMS: [Victim; 4] = [Victim::Agent, Victim::Script, Victim::Hook, Victim::SharedToken];

/// The claimed identity of the process.
const CLAIMS: [&str; 8] = [
    "another run",
    "the same name",
    "a script",
    "a script of the same run",
    "the same run",
    "no run",
    "a shared token",
    "its hook",
];

/// The ways of the attempt.
const WAYS: [&str; 4] = ["its id", "a beginning of its id", "the same words", "any question"];

fn victim(victim: Victim) -> Caller {
    let own = Caller { pid: 11, name: Some("alice".to_owned()), ..caller("victim") };
    match victim {
        Victim::Agent | Victim::Hook => own,
        Victim::Script => Caller { role: Role::Control, ..own },
        Victim::SharedToken => Caller { known: project::Identification::BySharedToken, pid: 0, connection: 5, ..own },
    }
}

fn claiming(claim: &str) -> Caller {
    let other = Caller { pid: 12, connection: 6, name: Some("alice".to_owned()), ..caller("other") };
    match claim {
        "another run" => Caller { name: None, ..other },
        "the same name" => other,
        "a script" => Caller { role: Role::Control, ..other },
        "a script of the same run" => Caller { role: Role::Control, run: Some("victim".to_owned()), ..other },
        "the same run" => Caller { run: Some("victim".to_owned()), ..other },
        "no run" => Caller { run: None, connection: 5, ..other },
        "a shared token" => Caller { known: project::Identification::BySharedToken, pid: 0, ..other },
        _ => Caller { run: Some("claude session s".to_owned()), pid: 0, ..other },
    }
}

/// Asks as the victim, and returns the id.
async fn ask_as_victim(house: &Fixture, whose: Victim) -> String {
    if matches!(whose, Victim::Hook) {
        let run = "claude session s".to_owned();
        let asker = Asker {
            agent: None,
            client: None,
            run,
            pid: 0,
            worktree: "/w".into(),
            calls_back: true,
            shares_token: false,
            is_hook: true,
        };
        let (kind, form, danger) = (Kind::Confirm, Form::confirm(), Danger::Normal);
        let (title, message, digest) = ("Delete the branch?".to_owned(), "3 commits".to_owned(), "d".to_owned());
        let lives = Duration::from_secs(600);
        let attachments = Vec::new();
        let draft = Draft { kind, title, message, form, attachments, danger, urgent: true, digest, lives };
        return house.board.ask(draft, asker).unwrap().id;
    }
    let mut client = house.client_of(victim(whose), None).await;
    let mut arguments = delete();
    arguments["wait_s"] = json!(0);
    let result = client.call("confirm_action", arguments).await;
    result["structuredContent"]["question"].as_str().unwrap().to_owned()
}

/// Calls as the process, and answers yes to every dialog.
async fn tries(client: &mut Client, way: &str, id: &str) {
    let (tool, arguments) = match way {
        "its id" => ("ask_wait", json!({"question": id, "wait_s": 1})),
        "a beginning of its id" => ("ask_wait", json!({"question": &id[..5], "wait_s": 1})),
        "the same words" => {
            ("confirm_action", json!({"action": "Delete the branch?", "details": "3 commits", "wait_s": 1}))
        }
        _ => ("ask_wait", json!({"wait_s": 1})),
    };
    let yes = json!({"action": "accept", "content": {"confirm": "yes"}});
    let call = client.begin(tool, arguments.clone()).await;
    let answer = client.next(|message| message["id"] == call || message["method"] == "elicitation/create").await;
    if answer["method"] == "elicitation/create" {
        client.reply(&answer["id"], yes).await;
        client.response(call).await;
    } else if answer["result"]["resultType"] == "input_required" {
        let state = &answer["result"]["requestState"];
        let retry =
            json!({"name": tool, "arguments": arguments, "requestState": state, "inputResponses": {"answer": yes}});
        let id = client.request("tools/call", retry).await;
        client.next(|message| message["id"] == id).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_dialog_of_another_process_answers_nothing() {
    let mut rows = 0;
    for whose in VICTIMS {
        for claim in CLAIMS {
            for era in ["legacy", MODERN] {
                let house = Fixture::new();
                let id = ask_as_victim(&house, whose).await;
                for way in WAYS {
                    let mut client = house.client_of(claiming(claim), Some(era)).await;
                    tries(&mut client, way, &id).await;
                    let question = house.board.find(&id).unwrap().unwrap();
                    assert!(question.is_open(), "{whose:?}, {claim}, {era}, {way}: {}", question.status());
                    rows += 1;
                }
            }
        }
    }
    assert_eq!(rows, 256);
}

/// The asker's own dialog counts; without this test, the table above would pass even if no dialog counted.
#[tokio::test(start_paused = true)]
async fn the_dialog_of_who_asked_counts_and_is_called_that() {
    for whose in [Victim::Agent, Victim::Script, Victim::SharedToken] {
        let house = Fixture::new();
        let mut client = house.client_of(victim(whose), Some("legacy")).await;
        let call = client.begin("confirm_action", delete()).await;
        let (dialog, _) = client.dialog().await;
        client.reply(&dialog, json!({"action": "accept", "content": {"confirm": "yes"}})).await;
        let result = client.response(call).await;
        assert_eq!(result["structuredContent"]["confirmed"], true, "{whose:?}");
        assert!(texts(&result)[0].starts_with("answered by ann in this program's own dialog ("), "{result}");
    }
}

/// Unsolicited messages, and messages for another process.
#[tokio::test(start_paused = true)]
async fn forged_replies_and_tickets_answer_nothing() {
    let yes = json!({"action": "accept", "content": {"confirm": "yes"}});
    let responses = json!({"answer": yes});

    // The reply to a dialog of another connection.
    let house = Fixture::new();
    let mut client = house.client_of(victim(Victim::Agent), Some("legacy")).await;
    client.begin("confirm_action", delete()).await;
    let (dialog, _) = client.dialog().await;
    let id = house.only_question_id();
    for claim in CLAIMS {
        let mut other = house.client_of(claiming(claim), Some("legacy")).await;
        for forged in [dialog.clone(), json!(id), json!(1), json!(null)] {
            other.reply(&forged, yes.clone()).await;
        }
        // The next message of the connection is read after it.
        other.call("ask_list", json!({})).await;
        assert!(house.board.find(&id).unwrap().unwrap().is_open(), "{claim}");
    }

    // A ticket of the asker after a restart, answers before their question, and a forged resume argument.
    let mut house = Fixture::new();
    let mut client = house.client_of(victim(Victim::Agent), Some(MODERN)).await;
    let asked = client.call("confirm_action", delete()).await;
    let id = house.only_question_id();
    house.reconnect();
    for claim in CLAIMS {
        let state = &asked["requestState"];
        let mut other = house.client_of(claiming(claim), Some(MODERN)).await;
        let stolen = json!({"name": "confirm_action", "arguments": delete(), "requestState": state, "inputResponses": responses});
        let early =
            json!({"name": "ask_wait", "arguments": {"question": id, "wait_s": 1}, "inputResponses": responses});
        let resume = json!({"question": id, "wait_s": 1, "resume": {"id": id, "answers": {"confirm": "yes"}}});
        let resume = json!({"name": "ask_wait", "arguments": resume});
        for params in [stolen, early, resume] {
            let call = other.request("tools/call", params.clone()).await;
            other.next(|message| message["id"] == call).await;
            assert!(house.board.find(&id).unwrap().unwrap().is_open(), "{claim}: {params}");
        }
    }
    // The asker's own answer still succeeds.
    let mut client = house.client_of(victim(Victim::Agent), Some(MODERN)).await;
    let params = json!({"name": "confirm_action", "arguments": delete(), "requestState": asked["requestState"], "inputResponses": responses});
    let call = client.request("tools/call", params).await;
    assert_eq!(client.response(call).await["structuredContent"]["confirmed"], true);
}

/// hob's methods, called by a process that may not answer, and by one that claims to be a dialog.
#[tokio::test(start_paused = true)]
async fn the_methods_of_the_command_line_refuse_who_may_not_answer() {
    let dir = tempfile::tempdir().unwrap();
    let refuses = Box::new(|pid| (pid != 1).then(|| "an agent must not answer for its user".to_owned()));
    let board = Board::new(BoardOptions { refuses, ..options(dir.path().into()) });
    let house = Fixture { dir, board };
    let id = ask_as_victim(&house, Victim::Script).await;
    let raw = |params: &Value| Some(serde_json::value::to_raw_value(params).unwrap());
    let cx = |pid| Context::detached(Arc::new(Caller { role: Role::Control, pid, ..caller("c") }));
    for params in [
        json!({"yes": true}),
        json!({"question": id, "yes": true}),
        json!({"question": id, "yes": true, "via": "terminal"}),
        json!({"question": id, "yes": true, "via": "page"}),
        json!({"question": id, "values": {"confirm": true}}),
        json!({"question": id, "set": {"confirm": "yes"}}),
        json!({"question": id, "decline": true}),
    ] {
        let refused = control::answer(house.board.clone(), cx(2), raw(&params)).await.unwrap_err();
        assert!(refused.message.contains("must not answer"), "{params}: {}", refused.message);
    }
    let params = json!({"question": id, "via": "terminal"});
    assert!(control::claim(house.board.clone(), cx(2), raw(&params)).await.is_err());
    assert!(control::watch(house.board.clone(), cx(2), None).await.is_err());
    // An answer by the command line cannot claim to be from a dialog.
    let params = json!({"question": id, "yes": true, "via": "dialog"});
    assert!(control::answer(house.board.clone(), cx(1), raw(&params)).await.is_err());
    assert!(house.board.find(&id).unwrap().unwrap().is_open());
    let params = json!({"question": id, "yes": true});
    control::answer(house.board.clone(), cx(1), raw(&params)).await.unwrap();
}
