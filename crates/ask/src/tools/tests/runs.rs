//! Runs that are gone, and who follows them; and people who were told by nobody.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_run_that_is_gone_is_followed_by_the_next_of_its_agent() {
    let mut house = Fixture::new();
    house.client("gone", None).await.call("confirm_action", delete()).await;
    let id = house.only();
    // In the same life it is gone at once; and the same call asks nothing twice.
    let result = house.client("next", None).await.call("confirm_action", delete()).await;
    assert_eq!(result["structuredContent"]["question"], json!(id));
    let other = Caller { worktree: "/elsewhere".into(), ..caller("next") };
    let result = house.client_of(other, None).await.call("confirm_action", delete()).await;
    assert_ne!(result["structuredContent"]["question"], json!(id));
    // A new daemon cannot know yet whether the first comes back; the person is not asked twice all the same.
    house.again();
    let result = house.client("next", None).await.call("confirm_action", delete()).await;
    assert_eq!(result["structuredContent"]["question"], json!(id));
    house.answer(&id, json!({"confirm": true}));
    house.again();
    // After a restart a run may still come back.
    assert_eq!(texts(&house.client("next", None).await.call("ask_list", json!({})).await).len(), 1);
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(texts(&house.client("next", None).await.call("ask_list", json!({})).await).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_its_asker_may_come_back_for_is_waited_for_and_not_asked_again() {
    let mut house = Fixture::new();
    house.client("gone", None).await.call("confirm_action", delete()).await;
    let id = house.only();
    house.again();
    house.answer(&id, json!({"confirm": true}));
    let begun = tokio::time::Instant::now();
    let result = house.client("next", None).await.call("confirm_action", delete()).await["structuredContent"].clone();
    assert_eq!((&result["question"], &result["confirmed"]), (&json!(id), &json!(true)));
    assert!(begun.elapsed() > Duration::from_secs(9), "{:?}", begun.elapsed());
    // Who asked it gets it at once.
    let mut client = house.client("a", None).await;
    client.call("confirm_action", json!({"action": "Push?"})).await;
    let id = house.board.unsettled().into_iter().find(|question| question.is_open()).unwrap().id;
    house.again();
    house.answer(&id, json!({"confirm": true}));
    let begun = tokio::time::Instant::now();
    let result = house.client("a", None).await.call("confirm_action", json!({"action": "Push?"})).await;
    assert_eq!(
        (&result["structuredContent"]["question"], begun.elapsed() < Duration::from_secs(1)),
        (&json!(id), true)
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_told_by_a_program_that_fails_was_told_to_nobody() {
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
