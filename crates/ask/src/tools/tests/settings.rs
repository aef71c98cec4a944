//! The time of dialogs, the journal records, and a call that its client cancelled.

use parking_lot::Mutex;

use super::*;
use crate::journal::Record;
use crate::settings::Dialogs;

/// Creates a board with these settings, and its journal records.
fn house(dialog: Dialogs) -> (Fixture, Arc<Mutex<Vec<Record>>>) {
    let dir = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let record = {
        let told = told.clone();
        Box::new(move |one| told.lock().push(one))
    };
    let settings = AskSettings { dialog, ..AskSettings::default() };
    let board = Board::new(BoardOptions { record, settings, ..options(dir.path().into()) });
    (Fixture { dir, board }, told)
}

#[tokio::test(start_paused = true)]
async fn dialogs_are_shown_when_the_settings_say() {
    let (never, _) = house(Dialogs::Never);
    let mut client = never.client("a", Some("legacy")).await;
    let result = client.call("confirm_action", delete()).await;
    assert_eq!(result["structuredContent"]["status"], "unavailable");
    assert!(client.unread.iter().all(|message| message["method"] != "elicitation/create"), "{:?}", client.unread);

    // While a face is connected, the dialog is delayed by default and immediate with `always`.
    for (dialog, waits) in [(Dialogs::Auto, true), (Dialogs::Always, false)] {
        let (house, _) = house(dialog);
        let mut face = house.client("face", None).await;
        face.call("watch", json!({})).await;
        let mut client = house.client("a", Some("legacy")).await;
        let begun = tokio::time::Instant::now();
        let call = client.begin("confirm_action", delete()).await;
        let (shown, _) = client.dialog().await;
        assert_eq!(begun.elapsed() > Duration::from_secs(1), waits, "{dialog:?}: {:?}", begun.elapsed());
        client.reply(&shown, json!({"action": "accept", "content": {"confirm": "yes"}})).await;
        assert_eq!(client.response(call).await["structuredContent"]["confirmed"], true);
        drop(face);
    }
}

#[tokio::test(start_paused = true)]
async fn the_journal_is_told_of_each_question() {
    let (house, told) = house(Dialogs::Auto);
    let mut client = house.client("a", None).await;
    client.call("confirm_action", delete()).await;
    let id = house.only_question_id();
    house.board.change(&id, Event::Claim { via: Via::Terminal, at_ms: 1 }).unwrap();
    house.answer(&id, json!({"confirm": true}));
    assert_eq!(texts(&client.call("ask_list", json!({})).await).len(), 2);
    client.call("request_guidance", json!({"context": "How?", "wait_s": 0})).await;
    client.call("ask_cancel", json!({"question": house.board.unsettled().pop().unwrap().id})).await;
    let kind = |record: &Record| serde_json::to_value(record).unwrap()["record"].as_str().unwrap().to_owned();
    let kinds: Vec<String> = told.lock().iter().map(kind).collect();
    assert_eq!(
        kinds,
        [
            "question_asked",
            "question_claimed",
            "question_answered",
            "answer_handed",
            "question_asked",
            "question_closed"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_call_that_was_cancelled_comes_beside_the_next_result() {
    let house = Fixture::new();
    for era in [Some("legacy"), None] {
        let mut client = house.client("a", era).await;
        let mut face = house.client("face", None).await;
        face.call("watch", json!({})).await;
        let call = client.begin("confirm_action", json!({"action": format!("{era:?}?"), "wait_s": 60})).await;
        until(|| house.board.counts().0 == 1).await;
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}});
        client.send(cancelled).await;
        // The next message of the connection is read after the cancellation.
        client.call("ask_list", json!({})).await;
        let open = house.board.unsettled().into_iter().find(|question| question.is_open()).unwrap();
        house.answer(&open.id, json!({"confirm": true}));
        // A separate task notices the end of a call.
        until(|| !house.board.undelivered().is_empty()).await;
        let result = client.call("ask_list", json!({})).await;
        let late = texts(&result);
        assert!(late[0].contains("Late answer") && late[0].contains("confirmed: true"), "{result}");
        assert_eq!(texts(&client.call("ask_list", json!({})).await).len(), 1, "once");
        assert!(client.unread.iter().all(|message| message["id"] != call || !message["method"].is_null()));
        tokio::time::advance(Duration::from_secs(2)).await;
    }
}
