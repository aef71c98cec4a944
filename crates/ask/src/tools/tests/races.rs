//! Several ways to a person at once.

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use serde_json::value::{RawValue, to_raw_value};
use tokio::task::JoinHandle;

use super::*;
use crate::control;

#[test]
fn of_many_ways_one_wins() {
    let house = Fixture::new();
    for round in 0..50 {
        let asker = crate::question::Asker {
            agent: None,
            client: None,
            run: "a".to_owned(),
            pid: 0,
            is_hook: false,
            worktree: PathBuf::new(),
            calls_back: false,
            shares_token: false,
        };
        let draft = crate::board::Draft {
            kind: crate::question::Kind::Confirm,
            title: round.to_string(),
            message: String::new(),
            form: crate::form::Form::confirm(),
            attachments: Vec::new(),
            danger: Default::default(),
            urgent: false,
            digest: round.to_string(),
            lives: Duration::from_secs(60),
        };
        let id = house.board.ask(draft, asker).unwrap().id;
        let won = std::thread::scope(|scope| {
            let ways: Vec<_> = (0..4u64)
                .map(|way| {
                    let (board, id) = (&house.board, &id);
                    scope.spawn(move || {
                        let said = Response { by: way.to_string(), via: Via::Command, at_ms: way, note: None };
                        board.change(id, Event::Answer { values: Default::default(), said }).is_ok().then_some(way)
                    })
                })
                .collect();
            ways.into_iter().filter_map(|way| way.join().unwrap()).collect::<Vec<_>>()
        });
        let winner = house.board.find(&id).unwrap().unwrap().response().unwrap().at_ms;
        assert_eq!(won, [winner]);
    }
}

/// Answers a question with a command, in another task.
fn command(house: &Fixture, params: &Value) -> JoinHandle<Result<Box<RawValue>, RpcError>> {
    let cx = Context::detached(Arc::new(Caller { role: Role::Control, ..caller("c") }));
    tokio::spawn(control::answer(house.board.clone(), cx, Some(to_raw_value(params).unwrap())))
}

/// Asks, and returns the call, its dialog and the question's id.
async fn ask(house: &Fixture, client: &mut Client, title: &str) -> (u64, Value, String) {
    let call = client.begin("confirm_action", json!({"action": title, "wait_s": 60})).await;
    let (dialog, _) = client.dialog().await;
    let id = house.board.unsettled().into_iter().find(|question| question.title == title).unwrap().id;
    (call, dialog, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_commands_a_dialog_and_a_withdrawal_one_wins_and_the_others_are_told() {
    let house = Fixture::new();
    let mut client = house.client("a", Some("legacy")).await;
    let mut won = [0; 4];
    for race in 0..200 {
        let (call, dialog, id) = ask(&house, &mut client, &format!("Go on, {race}?")).await;
        let (mut commands, mut back) = (Vec::new(), 0);
        for step in 0..4 {
            match (step + race) % 4 {
                2 => {
                    let content = json!({"confirm": "yes", "note": "2"});
                    client.reply(&dialog, json!({"action": "accept", "content": content})).await;
                }
                3 => back = client.begin("ask_cancel", json!({"question": id})).await,
                way => {
                    let params = json!({"question": id, "yes": true, "note": way.to_string()});
                    commands.push((way, command(&house, &params)));
                }
            }
        }
        let is_back = client.response(back).await["structuredContent"]["status"] == "cancelled";
        let result = client.response(call).await["structuredContent"].clone();
        let mut winners = Vec::new();
        for (way, command) in commands {
            match command.await.unwrap() {
                Ok(_) => winners.push(way),
                Err(RpcError { message, .. }) => {
                    let by = ["already: by ann (", "already: withdrawn by its asker, "];
                    assert!(by.iter().any(|by| message.contains(by)) && message.ends_with('Z'), "{message}");
                }
            }
        }
        match (result["status"].as_str(), result["note"].as_str()) {
            (Some("cancelled"), _) => winners.push(3),
            (Some("answered"), Some("2")) => winners.push(2),
            (Some("answered"), Some(note)) => assert_eq!(winners, [note.parse::<usize>().unwrap()], "{result}"),
            _ => panic!("{result}"),
        }
        assert_eq!(winners.len(), 1, "{winners:?} {result}");
        assert_eq!((is_back, result["confirmed"] == true), (winners == [3], winners != [3]), "{result}");
        won[winners[0]] += 1;
    }
    eprintln!("won by two commands, the dialog and ask_cancel: {won:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_questions_of_two_agents_get_their_own_answers() {
    let house = Fixture::new();
    let mut clients = [house.client("a", Some("legacy")).await, house.client("b", Some("legacy")).await];
    for race in 0..100 {
        let mut asked = Vec::new();
        for (asker, client) in clients.iter_mut().enumerate() {
            asked.push(ask(&house, client, &format!("Agent {asker}, race {race}?")).await);
        }
        let commands = [race % 2, 1 - race % 2].map(|asker| {
            let note = format!("command {asker}");
            command(&house, &json!({"question": asked[asker].2, "yes": asker == 0, "note": note}))
        });
        for (asker, client) in clients.iter_mut().enumerate() {
            let content = json!({"confirm": if asker == 0 { "yes" } else { "no" }, "note": format!("dialog {asker}")});
            client.reply(&asked[asker].1, json!({"action": "accept", "content": content})).await;
        }
        for (asker, client) in clients.iter_mut().enumerate() {
            let result = client.response(asked[asker].0).await["structuredContent"].clone();
            assert_eq!((&result["question"], &result["confirmed"]), (&json!(asked[asker].2), &json!(asker == 0)));
            assert!(result["note"].as_str().unwrap().ends_with(&asker.to_string()), "{result}");
        }
        for command in commands {
            let _ = command.await.unwrap();
        }
    }
}
