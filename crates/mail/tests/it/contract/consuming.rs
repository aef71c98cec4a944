//! Leases: handed out, confirmed by the next call, free again when the session ends, dead after five attempts.

use std::time::Duration;

use mail::store::change::Earlier;
use mail::{CheckRequest, DeliveryState, Floor, Outcome, Priority, Refusal, SentMessage, Session};

use super::scenarios;
use crate::fixture::{LONG, StoreFixture, limits as LIMITS, next_session, refusal, texts};

scenarios! {
    a_message_is_sent_checked_listed_and_then_read
    order_is_priority_then_sequence_and_remaining_is_right
    low_rises_a_level_every_ten_minutes
    an_ended_session_gives_back_what_it_had_in_hand
    a_session_that_comes_back_within_its_grace_keeps_what_it_has
    a_certain_end_needs_no_grace
    after_five_hand_outs_a_message_is_dead_and_its_sender_has_a_report
    states_only_move_forward
    a_long_hand_out_is_bounded_but_never_empty
    a_command_that_makes_no_next_call_confirms_by_itself
    claiming_twice_with_one_token_is_claiming_once
    a_call_that_was_given_up_gives_back_what_it_was_handed_and_no_more
    what_a_call_under_way_is_handed_is_not_confirmed_by_another
}

async fn state(fixture: &StoreFixture, who: &Session, sent: &SentMessage) -> DeliveryState {
    fixture.mail.delivery_status(who, sent.id.as_str()).await.unwrap()[0].state
}

async fn a_message_is_sent_checked_listed_and_then_read(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let sent = fixture.send(&ann, "bob", "one").await.unwrap();
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Stored);
    assert_eq!(fixture.check(&bob).await, ["one"]);
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Fetched);
    fixture.pass(Duration::from_secs(7));
    assert_eq!(fixture.check(&bob).await, Vec::<String>::new());
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Fetched, "it is listed");
    assert_eq!(fixture.check(&bob).await, Vec::<String>::new());
    let status = fixture.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap();
    assert_eq!((status[0].state, status[0].attempts), (DeliveryState::Read, 1));
    assert!(status[0].read_at.unwrap() >= status[0].fetched_at.unwrap());
    assert_eq!(status[0].fetched_by.as_ref(), Some(&bob.id));
    let acked = fixture.mail.ack(&bob, &[sent.id.to_string()], Outcome::Acked, Some("done".into())).await.unwrap();
    assert_eq!(acked[0].state, Some(DeliveryState::Acked));
    let status = fixture.mail.delivery_status(&bob, sent.id.as_str()).await.unwrap();
    assert_eq!((status[0].state, status[0].note.as_deref()), (DeliveryState::Acked, Some("done")));
}

async fn order_is_priority_then_sequence_and_remaining_is_right(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for (text, priority) in [
        ("l1", Priority::Low),
        ("n1", Priority::Normal),
        ("c1", Priority::Critical),
        ("h1", Priority::High),
        ("n2", Priority::Normal),
        ("c2", Priority::Critical),
    ] {
        fixture.send_with(&ann, "bob", text, priority).await.unwrap();
    }
    let checked = fixture.mail.check(&bob, CheckRequest { limit: 4, ..CheckRequest::default() }).await.unwrap();
    assert_eq!(
        (texts(&checked.messages), checked.remaining),
        (["c1", "c2", "h1", "n1"].map(str::to_owned).to_vec(), 2)
    );
    let counts = fixture.mail.inbox(&bob.agent).await.unwrap();
    assert_eq!((counts.free, counts.leased, counts.latest_seq), ([1, 1, 0, 0], 4, 6));
    let checked = fixture.mail.check(&bob, CheckRequest { limit: 4, ..CheckRequest::default() }).await.unwrap();
    assert_eq!((texts(&checked.messages), checked.remaining), (["n2", "l1"].map(str::to_owned).to_vec(), 0));
    // A limit of 0 takes none: earlier messages are listed, and listed ones count as read.
    let checked = fixture.mail.check(&bob, CheckRequest { limit: 0, ..CheckRequest::default() }).await.unwrap();
    assert_eq!((checked.messages.len(), checked.reminders.len(), checked.remaining), (0, 2, 0));
    fixture.mail.check(&bob, CheckRequest { limit: 0, ..CheckRequest::default() }).await.unwrap();
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().leased, 0);
    assert!(matches!(
        refusal(fixture.mail.check(&bob, CheckRequest { limit: 501, ..CheckRequest::default() }).await),
        Refusal::Argument { .. }
    ));
}

async fn low_rises_a_level_every_ten_minutes(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send_with(&ann, "bob", "low", Priority::Low).await.unwrap();
    fixture.pass(Duration::from_secs(1200));
    fixture.send_with(&ann, "bob", "high", Priority::High).await.unwrap();
    fixture.send_with(&ann, "bob", "critical", Priority::Critical).await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["critical", "low", "high"]);
}

async fn an_ended_session_gives_back_what_it_had_in_hand(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "hello").await.unwrap();
    let attachment = fixture.mail.attach(&bob);
    assert_eq!(fixture.check(&bob).await, ["hello"]);
    let successor = next_session(&bob);
    assert_eq!(fixture.check(&successor).await, Vec::<String>::new());
    let waiter = fixture.block(&successor, Floor::All).await;
    drop(attachment);
    assert_eq!(texts(&waiter.await.unwrap().messages), ["hello (again)"]);
}

async fn a_session_that_comes_back_within_its_grace_keeps_what_it_has(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let sent = fixture.send(&ann, "bob", "hello").await.unwrap();
    let attachment = fixture.mail.attach(&bob);
    assert_eq!(fixture.check(&bob).await, ["hello"]);
    drop(attachment);
    let back = fixture.mail.attach(&bob);
    // Once another session has ended, the grace period of this one would be over too.
    let other = fixture.agent("cat", "dev").await;
    fixture.send(&ann, "cat", "x").await.unwrap();
    let attachment = fixture.mail.attach(&other);
    assert_eq!(fixture.check(&other).await, ["x"]);
    let waiter = fixture.block(&next_session(&other), Floor::All).await;
    drop(attachment);
    waiter.await.unwrap();
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Fetched);
    let checked = fixture.mail.check(&bob, CheckRequest::default()).await.unwrap();
    assert_eq!((checked.messages.len(), checked.reminders.len()), (0, 1));
    drop(back);
}

async fn a_certain_end_needs_no_grace(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "hello").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["hello"]);
    fixture.mail.end_session(&bob.id).await;
    assert_eq!(fixture.check(&next_session(&bob)).await, ["hello (again)"]);
}

async fn after_five_hand_outs_a_message_is_dead_and_its_sender_has_a_report(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let sent = fixture.send(&ann, "bob", "poison").await.unwrap();
    for attempt in 1..=5 {
        let life = next_session(&bob);
        let got = fixture.mail.check(&life, CheckRequest::default()).await.unwrap().messages;
        assert_eq!((got.len(), got[0].attempt), (1, attempt));
        fixture.mail.end_session(&life.id).await;
    }
    assert_eq!(fixture.check(&next_session(&bob)).await, Vec::<String>::new());
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Dead);
    let report = fixture.mail.check(&ann, CheckRequest::default()).await.unwrap().messages;
    assert_eq!(report.len(), 1);
    let report = &report[0].message;
    assert!(report.from.is_system() && report.content.contains(sent.id.as_str()), "{}", report.content);
    assert_eq!(report.reply_to.as_ref(), Some(&sent.id));
}

async fn states_only_move_forward(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let sent = fixture.send(&ann, "bob", "x").await.unwrap();
    let ids = [sent.id.to_string(), "msg_unknown".to_owned()];
    let settled = fixture.mail.ack(&bob, &ids, Outcome::Rejected, None).await.unwrap();
    assert_eq!((settled[0].state, settled[1].state), (Some(DeliveryState::Rejected), None));
    let settled = fixture.mail.ack(&bob, &ids, Outcome::Acked, None).await.unwrap();
    assert_eq!(settled[0].state, Some(DeliveryState::Rejected));
    assert_eq!(fixture.check(&bob).await, Vec::<String>::new());
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().total(), 0);
    let settled = fixture.mail.ack(&ann, &ids, Outcome::Acked, None).await.unwrap();
    assert_eq!(settled[0].state, None, "only a recipient settles");
}

async fn a_long_hand_out_is_bounded_but_never_empty(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for _ in 0..3 {
        fixture.send(&ann, "bob", &"x".repeat(1000)).await.unwrap();
    }
    let request = CheckRequest { max_bytes: 10, ..CheckRequest::default() };
    let checked = fixture.mail.check(&bob, request).await.unwrap();
    assert_eq!((checked.messages.len(), checked.remaining), (1, 2));
    let request = CheckRequest { max_bytes: 2600, ..CheckRequest::default() };
    assert_eq!(fixture.mail.check(&bob, request).await.unwrap().messages.len(), 2);
}

async fn a_command_that_makes_no_next_call_confirms_by_itself(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let sent = fixture.send(&ann, "bob", "x").await.unwrap();
    assert_eq!(fixture.wait(&bob, LONG, Floor::All).await.messages.len(), 1);
    assert_eq!(fixture.mail.confirm(&bob).await.unwrap(), 1);
    fixture.mail.end_session(&bob.id).await;
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Read);
    assert_eq!(fixture.check(&next_session(&bob)).await, Vec::<String>::new());
}

async fn claiming_twice_with_one_token_is_claiming_once(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for text in ["a", "b"] {
        fixture.send(&ann, "bob", text).await.unwrap();
    }
    let claim = |token| mail::store::change::Claim {
        session: bob.clone(),
        token,
        floor: Floor::All,
        max: 1,
        max_bytes: 1 << 20,
        earlier: Earlier::Remind,
        unseen: Vec::new(),
    };
    let first = fixture.store.change(claim(1)).await.unwrap();
    let repeated = fixture.store.change(claim(1)).await.unwrap();
    assert_eq!(first.messages, repeated.messages);
    assert_eq!((texts(&first.messages), repeated.remaining), (vec!["a".to_owned()], 1));
    let next = fixture.store.change(claim(2)).await.unwrap();
    assert_eq!((texts(&next.messages), next.reminders.len()), (vec!["b".to_owned()], 1));
    let back = mail::store::change::HandBack { session: bob.id.clone(), token: 2 };
    fixture.store.change(back.clone()).await.unwrap();
    fixture.store.change(back).await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["b"], "handed back as if never handed out");
}

/// Two calls of one run at once: the later one was sent before the first answer could be seen.
async fn what_a_call_under_way_is_handed_is_not_confirmed_by_another(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for text in ["a", "b"] {
        fixture.send(&ann, "bob", text).await.unwrap();
    }
    let claim = |token, unseen| mail::store::change::Claim {
        session: bob.clone(),
        token,
        floor: Floor::All,
        max: 1,
        max_bytes: 1 << 20,
        earlier: Earlier::Remind,
        unseen,
    };
    let first = fixture.store.change(claim(1, vec![])).await.unwrap();
    let second = fixture.store.change(claim(2, vec![1])).await.unwrap();
    assert_eq!((texts(&first.messages), texts(&second.messages)), (vec!["a".to_owned()], vec!["b".to_owned()]));
    assert!(second.reminders.is_empty());
    let done = [second.messages[0].message.id.to_string()];
    fixture.mail.ack(&bob, &done, Outcome::Acked, None).await.unwrap();
    // Both answers are lost with their daemon: unconfirmed messages come again.
    fixture.mail.take_back(&bob.id, None).await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["a (again)"]);
}

async fn a_call_that_was_given_up_gives_back_what_it_was_handed_and_no_more(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for text in ["a", "b"] {
        fixture.send(&ann, "bob", text).await.unwrap();
    }
    let claim = |token, earlier| mail::store::change::Claim {
        session: bob.clone(),
        token,
        floor: Floor::All,
        max: 1,
        max_bytes: 1 << 20,
        earlier,
        unseen: Vec::new(),
    };
    // Two calls in flight at once, as one connection may have them.
    fixture.store.change(claim(1, Earlier::Remind)).await.unwrap();
    fixture.store.change(claim(2, Earlier::Leave)).await.unwrap();
    let waiter = fixture.block(&next_session(&bob), Floor::All).await;
    fixture.mail.give_up(&bob.id, 1).await;
    assert_eq!(texts(&waiter.await.unwrap().messages), ["a (again)"]);
    fixture.mail.give_up(&bob.id, 1).await;
    assert_eq!(fixture.check(&bob).await, Vec::<String>::new(), "the other call's is confirmed by this one");
    // After enough cancelled answers the message is dead, as with any reader that never confirms.
    let last = fixture.send(&ann, "bob", "c").await.unwrap();
    for _ in 0..5 {
        let handed = fixture.mail.check(&bob, CheckRequest::default()).await.unwrap();
        assert_eq!(handed.messages.len(), 1);
        fixture.mail.give_up(&bob.id, handed.handed).await;
    }
    assert_eq!(state(&fixture, &ann, &last).await, DeliveryState::Dead);
}
