//! An answer belongs to the run that asked: it confirms no other run, and is delivered once.

use super::*;

fn script(run: &str) -> Caller {
    Caller { role: Role::Control, ..caller(run) }
}

async fn confirm(house: &Fixture, run: &str) -> Value {
    house.client(run, None).await.call("confirm_action", delete()).await
}

#[tokio::test(start_paused = true)]
async fn one_answer_confirms_one_of_a_hundred_runs() {
    let mut house = Fixture::new();
    confirm(&house, "run 0").await;
    house.answer(&house.only_question_id(), json!({"confirm": true}));
    let mut confirmed = Vec::new();
    for number in 0..100 {
        // Some runs meet a restarted daemon.
        if number % 30 == 1 {
            house.reconnect();
        }
        let mut client = house.client(&format!("run {number}"), None).await;
        for _ in 0..2 {
            let result = client.call("confirm_action", delete()).await;
            let is_confirmed = result["structuredContent"]["confirmed"] == true;
            let is_told = texts(&result).iter().any(|text| text.contains("confirmed: true"));
            assert_eq!(is_told, is_confirmed, "{result}");
            confirmed.extend(is_confirmed.then_some(number));
        }
    }
    assert_eq!(confirmed, [0]);
}

#[tokio::test(start_paused = true)]
async fn another_run_hears_of_the_answer_as_history() {
    let mut house = Fixture::new();
    confirm(&house, "gone").await;
    let id = house.only_question_id();
    let now = project::journal::now();
    let said = Response { by: "ann".to_owned(), via: Via::Command, at_ms: now, note: None };
    let values = serde_json::Map::from_iter([("confirm".to_owned(), json!(true))]);
    house.board.change(&id, Event::Answer { values, said }).unwrap();
    for _ in 0..2 {
        let result = confirm(&house, "next").await["structuredContent"].clone();
        assert_eq!((&result["status"], &result["confirmed"]), (&json!("unavailable"), &json!(false)));
        assert_ne!(result["question"], json!(id));
        let told =
            format!("History: an earlier run asked {id}, and ann said yes, with `hob answer`, at {}.", rfc3339(now));
        assert_eq!(result["earlier"], json!(told));
        house.reconnect();
    }
    let mut next = house.client("next", None).await;
    let read = next.call("ask_wait", json!({"question": id})).await;
    assert_eq!(read["structuredContent"]["status"], "another_run");
    assert!(read["structuredContent"]["confirmed"].is_null(), "{read}");
    assert!(texts(&read)[0].contains("and ann said yes, with `hob answer`, at "), "{read}");
    // Other words, another worktree or another agent has a separate history.
    let other = Caller { worktree: "/elsewhere".into(), ..caller("other") };
    let mut other = house.client_of(other, None).await;
    assert!(other.call("confirm_action", delete()).await["structuredContent"]["earlier"].is_null());
    assert_eq!(other.call("ask_wait", json!({"question": id})).await["isError"], true);
    let push = next.call("confirm_action", json!({"action": "Push?"})).await;
    assert!(push["structuredContent"]["earlier"].is_null(), "{push}");
}

#[tokio::test(start_paused = true)]
async fn a_run_gets_its_answer_over_a_restart_and_once() {
    let mut house = Fixture::new();
    confirm(&house, "a").await;
    let id = house.only_question_id();
    house.reconnect();
    house.answer(&id, json!({"confirm": true}));
    house.reconnect();
    // A concurrent run gets nothing, right after a daemon's start or later.
    assert_eq!(texts(&house.client("b", None).await.call("ask_list", json!({})).await).len(), 1);
    let mut own = house.client("a", None).await;
    let result = own.call("confirm_action", delete()).await["structuredContent"].clone();
    assert_eq!((&result["question"], &result["confirmed"]), (&json!(id), &json!(true)));
    // The first later call of any kind acknowledges it: nothing is delivered again after a lost connection.
    own.call("ask_list", json!({})).await;
    drop(own);
    let mut own = house.client("a", None).await;
    assert_eq!(texts(&own.call("ask_list", json!({})).await).len(), 1);
    let result = own.call("confirm_action", delete()).await["structuredContent"].clone();
    assert_ne!(result["question"], json!(id));
    assert_eq!(result["confirmed"], json!(false));
}

#[tokio::test(start_paused = true)]
async fn the_same_run_joins_its_open_question_and_another_one_does_not() {
    let house = Fixture::new();
    let ask = |run: &'static str| {
        let house = &house;
        async move { confirm(house, run).await["structuredContent"]["question"].as_str().unwrap().to_owned() }
    };
    let (one, again, other) = (ask("a").await, ask("a").await, ask("b").await);
    assert_eq!(one, again);
    assert_ne!(one, other);
    assert_eq!(house.board.counts(), (2, 0));
    // The question of a dead agent is withdrawn, and the person sees that of its successor.
    let former = ask("gone").await;
    assert_eq!(house.board.counts(), (3, 0));
    ask("c").await;
    assert_eq!(house.board.counts(), (3, 0));
    assert_eq!(house.board.find(&former).unwrap().unwrap().status(), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_script_continues_another_by_the_id_of_its_question_once() {
    let house = Fixture::new();
    let mut first = house.client_of(script("first"), None).await;
    first.call("confirm_action", json!({"action": "Deploy?", "wait_s": 0})).await;
    let id = house.only_question_id();
    house.answer(&id, json!({"confirm": true}));
    drop(first);
    assert_eq!(house.board.counts(), (0, 1), "the answer waits for a script");
    // The same words of another run are another question.
    let mut second = house.client_of(script("second"), None).await;
    let result = second.call("confirm_action", json!({"action": "Deploy?", "wait_s": 0})).await;
    assert_eq!(result["structuredContent"]["confirmed"], false, "{result}");
    let mut confirmed = 0;
    for run in ["second", "third", "fourth"] {
        let mut client = house.client_of(script(run), None).await;
        let result = client.call("ask_wait", json!({"question": id})).await["structuredContent"].clone();
        confirmed += u32::from(result["confirmed"] == true);
        assert_eq!(result["status"] == "another_run", confirmed == 1 && run != "second", "{result}");
    }
    assert_eq!(confirmed, 1);
    // An agent cannot take over from a script.
    let result = house.client("agent", None).await.call("ask_wait", json!({"question": id})).await;
    assert_eq!(result["structuredContent"]["status"], "another_run");
}

/// Returns a caller with a shared token.
fn shared(connection: u64) -> Caller {
    Caller { run: None, known: project::Identification::BySharedToken, pid: 0, connection, ..caller("") }
}

#[tokio::test(start_paused = true)]
async fn a_script_and_a_caller_with_a_shared_token_do_not_continue_each_other() {
    for (asks, other, successor) in
        [(script("first"), shared(5), script("second")), (shared(5), script("other"), shared(6))]
    {
        let house = Fixture::new();
        let mut arguments = delete();
        arguments["wait_s"] = json!(0);
        house.client_of(asks, None).await.call("confirm_action", arguments).await;
        let id = house.only_question_id();
        house.answer(&id, json!({"confirm": true}));
        for (caller, status) in [(other, "another_run"), (successor, "answered")] {
            let result = house.client_of(caller, None).await.call("ask_wait", json!({"question": id})).await;
            assert_eq!(result["structuredContent"]["status"], status, "{result}");
            assert_eq!(result["structuredContent"]["confirmed"] == true, status == "answered", "{result}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_script_does_not_continue_another_that_waits_itself() {
    let house = Fixture::new();
    house.client("watcher", None).await.call("watch", Value::Null).await;
    let mut first = house.client_of(script("first"), None).await;
    let call = first.begin("confirm_action", json!({"action": "Deploy?", "wait_s": 60})).await;
    until(|| house.board.unsettled().first().is_some_and(|question| house.board.is_awaited(question))).await;
    let id = house.only_question_id();
    let mut second = house.client_of(script("second"), None).await;
    house.answer(&id, json!({"confirm": true}));
    // The question is answered, and the first script has not received the answer yet.
    let question = house.board.find(&id).unwrap().unwrap();
    let waiting = house.board.waits(&question);
    let result = second.call("ask_wait", json!({"question": id})).await["structuredContent"].clone();
    assert_eq!((&result["status"], &result["confirmed"]), (&json!("another_run"), &Value::Null), "{result}");
    let result = first.response(call).await["structuredContent"].clone();
    assert_eq!((&result["confirmed"], &result["redelivered"]), (&json!(true), &Value::Null), "{result}");
    drop(waiting);
    let result = second.call("ask_wait", json!({"question": id})).await;
    assert_eq!(result["structuredContent"]["status"], "another_run");
}

#[tokio::test(start_paused = true)]
async fn one_answer_confirms_one_of_many_calls_at_once() {
    for (kind, tool) in [("agent", "confirm_action"), ("agent", "ask_wait"), ("shared", "ask_wait")] {
        let house = Fixture::new();
        let watcher = house.client("watcher", None).await.call("watch", Value::Null).await;
        assert!(watcher["isError"].is_null(), "{watcher}");
        let mut client = match kind {
            "agent" => house.client("a", None).await,
            _ => house.client_of(Caller { known: project::Identification::BySharedToken, ..caller("a") }, None).await,
        };
        let mut arguments = delete();
        arguments["wait_s"] = json!(0);
        client.call("confirm_action", arguments.clone()).await;
        let id = house.only_question_id();
        arguments["wait_s"] = json!(30);
        if tool == "ask_wait" {
            arguments = json!({"question": id, "wait_s": 30});
        }
        let mut calls = Vec::new();
        for _ in 0..10 {
            calls.push(client.begin(tool, arguments.clone()).await);
        }
        house.answer(&id, json!({"confirm": true}));
        calls.push(client.begin("ask_wait", json!({"question": id})).await);
        let (mut confirmed, mut told) = (0, 0);
        for call in calls {
            let result = client.response(call).await;
            confirmed += usize::from(result["structuredContent"]["confirmed"] == true);
            told += usize::from(texts(&result).iter().any(|text| text.contains("confirmed: true")));
        }
        assert_eq!((confirmed, told), (1, 1), "{kind}, {tool}");
        let later = client.call("ask_wait", json!({"question": id})).await["structuredContent"].clone();
        assert_eq!((&later["status"], &later["confirmed"]), (&json!("another_call"), &Value::Null), "{later}");
        assert!(
            later["earlier"].as_str().unwrap().starts_with(&format!("History: this run asked {id}, and ann said yes"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_counts_answers_that_somebody_can_take() {
    let mut house = Fixture::new();
    for run in ["gone", "here"] {
        let id = confirm(&house, run).await["structuredContent"]["question"].as_str().unwrap().to_owned();
        house.answer(&id, json!({"confirm": true}));
    }
    assert_eq!(house.board.counts(), (0, 1));
    house.reconnect();
    assert_eq!(house.board.counts(), (0, 1));
    assert_eq!(house.board.unsettled().len(), 1, "what nobody can take is settled");
    let mut here = house.client("here", None).await;
    here.call("ask_list", json!({})).await;
    assert_eq!(house.board.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_question_names_the_agent_that_registered() {
    let dir = tempfile::tempdir().unwrap();
    let agent_of = Box::new(|cx: &mcp::tool::Context| {
        let run = cx.caller::<Caller>()?.run.clone()?;
        (run != "nameless").then(|| format!("agent-{run}"))
    });
    let board = Board::new(BoardOptions { agent_of, ..options(dir.path().into()) });
    let house = Fixture { dir, board };
    for run in ["a", "b", "nameless"] {
        confirm(&house, run).await;
    }
    let agents: Vec<Value> = house.board.unsettled().iter().map(|one| house.board.view(one)["agent"].clone()).collect();
    assert_eq!(agents, [json!("agent-a"), json!("agent-b"), Value::Null]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_notification_does_not_count() {
    let dir = tempfile::tempdir().unwrap();
    let failed = Arc::new(parking_lot::Mutex::new(None));
    let notify = {
        let failed = failed.clone();
        Box::new(move |_: &crate::Notified<'_>, on_failure: crate::board::Failed| {
            *failed.lock() = Some(on_failure);
            true
        }) as crate::Notify
    };
    let board = Board::new(BoardOptions { notify: Some(notify), ..options(dir.path().into()) });
    let house = Fixture { dir, board };
    let mut client = house.client("a", None).await;
    let call = client.begin("confirm_action", delete()).await;
    until(|| failed.lock().is_some() && house.board.counts() == (1, 0)).await;
    let on_failure = failed.lock().take().unwrap();
    on_failure();
    let result = client.response(call).await["structuredContent"].clone();
    assert_eq!((&result["status"], &result["waited_s"]), (&json!("unavailable"), &json!(0)));
}
