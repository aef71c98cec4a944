//! Waiting: no wake is lost, several may wait, each message goes to one, and a floor holds.

use std::time::Duration;

use mail::{Floor, Priority, Refusal, SendRequest, WaitRequest};

use super::scenarios;
use crate::fixture::{LONG, StoreFixture, limits as LIMITS, next_session, refusal, texts};

scenarios! {
    a_blocked_waiter_is_woken_and_exactly_one_of_three_gets_it
    a_message_from_before_the_wait_ends_it_at_once
    names_roles_groups_and_everyone_all_wake
    a_message_below_the_floor_is_counted_and_does_not_end_the_wait
    a_wait_without_mail_ends_by_its_time
    a_wait_that_is_dropped_leaves_nothing_in_nobodys_hands
    a_takeover_ends_the_waits_of_the_old_holder
    a_wait_with_a_cursor_only_looks
    a_subscription_gives_everything_once_and_in_order
    no_wake_is_lost_between_looking_and_waiting
}

async fn a_blocked_waiter_is_woken_and_exactly_one_of_three_gets_it(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut waiters = Vec::new();
    for _ in 0..3 {
        waiters.push(fixture.block(&next_session(&bob), Floor::All).await);
    }
    for text in ["a", "b", "c"] {
        fixture.send(&ann, "bob", text).await.unwrap();
    }
    let mut got = Vec::new();
    for waiter in waiters {
        let messages = waiter.await.unwrap().messages;
        assert_eq!(messages.len(), 1);
        got.extend(texts(&messages));
    }
    got.sort();
    assert_eq!(got, ["a", "b", "c"]);
    assert!(fixture.wait(&next_session(&bob), Duration::ZERO, Floor::All).await.messages.is_empty());
}

async fn a_message_from_before_the_wait_ends_it_at_once(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "early").await.unwrap();
    assert_eq!(texts(&fixture.wait(&bob, LONG, Floor::All).await.messages), ["early"]);
    // A check takes a message before a wait can; the wait never shows it again.
    fixture.send(&ann, "bob", "next").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["next"]);
    assert!(fixture.wait(&bob, Duration::from_millis(20), Floor::All).await.messages.is_empty());
}

async fn names_roles_groups_and_everyone_all_wake(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "lead").await, fixture.agent("bob", "dev").await);
    fixture.mail.create_group(&ann, "crew", "").await.unwrap();
    fixture.mail.add_member(&ann, "crew", mail::member("role", "dev").unwrap()).await.unwrap();
    for to in ["bob", "@bob", "role:dev", "@dev", "crew", "@everyone"] {
        let waiter = fixture.block(&bob, Floor::All).await;
        fixture.send(&ann, to, to).await.unwrap();
        assert_eq!(texts(&waiter.await.unwrap().messages), [to]);
    }
    let waiter = fixture.block(&bob, Floor::All).await;
    let request = mail::BroadcastRequest { content: "broadcast".into(), ..Default::default() };
    fixture.mail.broadcast(&ann, request).await.unwrap();
    assert_eq!(texts(&waiter.await.unwrap().messages), ["broadcast"]);
}

async fn a_message_below_the_floor_is_counted_and_does_not_end_the_wait(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let waiter = fixture.block(&bob, Floor::HighAndAbove).await;
    fixture.send_with(&ann, "bob", "low", Priority::Low).await.unwrap();
    fixture.send(&ann, "bob", "normal").await.unwrap();
    let nothing = fixture.wait(&next_session(&bob), Duration::from_millis(20), Floor::HighAndAbove).await;
    assert_eq!((nothing.messages.len(), nothing.below_floor, nothing.remaining), (0, 2, 2));
    assert!(!waiter.is_finished());
    fixture.send_with(&ann, "bob", "high", Priority::High).await.unwrap();
    let waited = waiter.await.unwrap();
    assert_eq!((texts(&waited.messages), waited.below_floor), (vec!["high".to_owned()], 2));
    assert_eq!(fixture.check(&bob).await, ["normal", "low"]);
}

async fn a_wait_without_mail_ends_by_its_time(fixture: StoreFixture) {
    let bob = fixture.agent("bob", "dev").await;
    let waited = fixture.wait(&bob, Duration::from_millis(50), Floor::All).await;
    assert!(waited.messages.is_empty() && waited.waited >= Duration::from_millis(50));
    assert_eq!(fixture.mail.waiting(), 0);
}

async fn a_wait_that_is_dropped_leaves_nothing_in_nobodys_hands(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    // Dropped at any moment: while blocked, while claiming, or with the answer on its way.
    for round in 0..50 {
        let waiter = fixture.block(&bob, Floor::All).await;
        let text = format!("{round}");
        let send = fixture.send(&ann, "bob", &text);
        let (sent, ()) = tokio::join!(send, async {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            waiter.abort();
        });
        sent.unwrap();
        let seen = waiter.await.map(|waited| texts(&waited.messages));
        if let Ok(seen) = seen {
            assert_eq!(seen, [text.as_str()]);
            continue;
        }
        let waited = fixture.wait(&next_session(&bob), LONG, Floor::All).await;
        assert_eq!((texts(&waited.messages), waited.messages[0].attempt), (vec![text], 1));
    }
}

async fn a_takeover_ends_the_waits_of_the_old_holder(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let (mail, session) = (fixture.mail.clone(), bob.clone());
    let request = WaitRequest { timeout: LONG, ..WaitRequest::default() };
    let waiter = tokio::spawn(async move { mail.wait(&session, request).await });
    while fixture.mail.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let new = fixture.enter("bob", "dev", "/elsewhere", true).await.unwrap();
    assert!(matches!(refusal(waiter.await.unwrap()), Refusal::Fenced { .. }));
    fixture.send(&ann, "bob", "x").await.unwrap();
    assert_eq!(fixture.check(&new).await, ["x"]);
}

async fn a_wait_with_a_cursor_only_looks(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "one").await.unwrap();
    let seen = fixture.mail.wait_after(&bob, 0, Floor::All, 10, LONG).await.unwrap();
    assert_eq!((seen.messages[0].content.as_str(), seen.messages[0].seq, seen.latest_seq), ("one", 1, 1));
    let seen = fixture.mail.wait_after(&bob, 1, Floor::All, 10, Duration::from_millis(20)).await.unwrap();
    assert!(seen.messages.is_empty());
    let (mail, session) = (fixture.mail.clone(), bob.clone());
    let waiter = tokio::spawn(async move { mail.wait_after(&session, 1, Floor::All, 10, LONG).await.unwrap() });
    fixture.send(&ann, "bob", "two").await.unwrap();
    assert_eq!(waiter.await.unwrap().messages[0].content, "two");
    assert_eq!(fixture.check(&bob).await, ["one", "two"], "looking has leased nothing");
}

async fn a_subscription_gives_everything_once_and_in_order(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "0").await.unwrap();
    let mut all = fixture.mail.subscribe(&bob, Floor::All, Some(0)).await.unwrap();
    let mut new = fixture.mail.subscribe(&bob, Floor::HighAndAbove, None).await.unwrap();
    let (mail, sender) = (fixture.mail.clone(), ann.clone());
    let sending = tokio::spawn(async move {
        for text in 1..200 {
            let priority = if text % 10 == 0 { Priority::High } else { Priority::Low };
            let (to, content) = (vec!["bob".to_owned()], text.to_string());
            mail.send(&sender, SendRequest { to, content, priority, ..SendRequest::default() }).await.unwrap();
        }
    });
    for text in 0..200 {
        assert_eq!(all.next().await.unwrap().content, text.to_string());
    }
    for text in 1..20 {
        assert_eq!(new.next().await.unwrap().content, (text * 10).to_string());
    }
    assert_eq!(all.cursor(), 200);
    sending.await.unwrap();
}

async fn no_wake_is_lost_between_looking_and_waiting(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let (mail, sender) = (fixture.mail.clone(), ann.clone());
    let sending = tokio::spawn(async move {
        for text in 0..300 {
            let (to, content) = (vec!["bob".to_owned()], text.to_string());
            mail.send(&sender, SendRequest { to, content, ..SendRequest::default() }).await.unwrap();
        }
    });
    for text in 0..300 {
        // Each wait races with a send; after a lost wake it would time out, empty.
        let waited = fixture.wait(&bob, LONG, Floor::All).await;
        assert_eq!(texts(&waited.messages), [text.to_string()]);
    }
    sending.await.unwrap();
}
