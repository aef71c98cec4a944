//! Faults of an earlier system of this kind, one test for each. Faults of tools and of the command line have their
//! tests there.

use std::sync::Arc;
use std::time::Duration;

use mail::{Clock, DeliveryState, Floor, Liveness, Outcome, Priority, Refusal, SendRequest};

use crate::fixture::{
    EPOCH, LONG, ManualClock, StoreFixture, limits, next_session, open_sqlite, reached, refusal, texts,
};

async fn fixture() -> StoreFixture {
    StoreFixture::sqlite(limits()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_01_push_reaches_a_subscriber() {
    let fixture = fixture().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut pushed = fixture.mail.subscribe(&bob, Floor::All, None).await.unwrap();
    fixture.send(&ann, "bob", "pushed").await.unwrap();
    assert_eq!(pushed.next().await.unwrap().content, "pushed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_02_registering_a_second_time_disables_nothing() {
    let fixture = fixture().await;
    let ann = fixture.agent("ann", "dev").await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(fixture.agent("bob", "dev").await);
    }
    for session in &sessions {
        let waiter = fixture.block(session, Floor::All).await;
        fixture.send(&ann, "bob", "x").await.unwrap();
        assert_eq!(waiter.await.unwrap().messages.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_03_a_name_a_group_and_everyone_wake_as_a_role_does() {
    let fixture = fixture().await;
    let (ann, bob) = (fixture.agent("ann", "lead").await, fixture.agent("bob", "dev").await);
    fixture.mail.create_group(&ann, "crew", "").await.unwrap();
    fixture.mail.add_member(&ann, "crew", mail::member("agent", "bob").unwrap()).await.unwrap();
    for to in ["@bob", "@crew", "@everyone", "@dev"] {
        let waiter = fixture.block(&bob, Floor::All).await;
        fixture.send(&ann, to, to).await.unwrap();
        assert_eq!(texts(&waiter.await.unwrap().messages), [to]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_04_a_check_sees_all_of_ones_own_mail_and_none_of_ones_own_sending() {
    let fixture = fixture().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let by_name = fixture.send(&ann, "bob", "by name").await.unwrap();
    fixture.send(&ann, "role:dev", "by role").await.unwrap();
    fixture.send(&bob, "role:dev", "bob's own").await.unwrap();
    let got = fixture.mail.check(&bob, Default::default()).await.unwrap().messages;
    assert_eq!(texts(&got), ["by name", "by role"]);
    assert!(got.iter().all(|one| one.message.from == ann.agent), "sent under the sender's own name");
    fixture.mail.confirm(&bob).await.unwrap();
    let status = fixture.mail.delivery_status(&ann, by_name.id.as_str()).await.unwrap();
    assert_eq!((&status[0].recipient, status[0].state), (&bob.agent, DeliveryState::Read));
    assert_eq!(fixture.check(&ann).await, ["bob's own"], "one's reading marks nothing of others'");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_05_a_check_and_a_wait_never_give_the_same_message() {
    let fixture = fixture().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for round in 0..30 {
        let waiter = fixture.block(&bob, Floor::All).await;
        let text = round.to_string();
        let other = next_session(&bob);
        let (sent, checked) = tokio::join!(fixture.send(&ann, "bob", &text), fixture.check(&other));
        sent.unwrap();
        if checked.is_empty() {
            assert_eq!(texts(&waiter.await.unwrap().messages), [text]);
        } else {
            assert_eq!(checked, [text]);
            fixture.send(&ann, "bob", "for the waiter").await.unwrap();
            assert_eq!(texts(&waiter.await.unwrap().messages), ["for the waiter"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_06_nothing_is_dropped_at_a_thousand_and_a_restart_forgets_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.db");
    let open = async || {
        let (clock, hand) = Clock::manual(EPOCH);
        let store = Arc::new(open_sqlite(&path, clock, &limits()).unwrap());
        StoreFixture::with(store, limits(), ManualClock(hand), Box::new(())).await
    };
    let fixture = open().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for index in 0..1_100 {
        fixture.send(&ann, "bob", &index.to_string()).await.unwrap();
    }
    fixture.mail.close().await;
    let fixture = open().await;
    // Mail from before the connection ends a wait too.
    assert_eq!(texts(&fixture.wait(&bob, LONG, Floor::All).await.messages), ["0"]);
    let mut got = 1;
    loop {
        let more = fixture.check(&bob).await;
        if more.is_empty() {
            break;
        }
        assert_eq!(more[0], got.to_string());
        got += more.len();
    }
    assert_eq!(got, 1_100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_07_a_waiter_that_was_cut_off_is_not_deaf_afterwards() {
    let Some(server) = crate::postgres::Server::start() else { return };
    let fixture = StoreFixture::postgres(&server, "deaf", limits()).await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for round in 0..5 {
        let waiter = fixture.block(&bob, Floor::All).await;
        server.cut_connections().await;
        let text = round.to_string();
        // A send that fails may still have been stored.
        let request = SendRequest {
            to: vec!["bob".to_owned()],
            content: text.clone(),
            idempotency_key: Some(text.clone()),
            ..SendRequest::default()
        };
        while fixture.mail.send(&ann, request.clone()).await.is_err() {}
        assert_eq!(texts(&waiter.await.unwrap().messages), [text]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_08_an_unknown_recipient_is_an_error() {
    let fixture = fixture().await;
    let ann = fixture.agent("ann", "dev").await;
    for to in ["nobody", "@nobody", "role:nobody", "group:nobody", "agent:nobody", "agent:nobody:0a1b"] {
        assert!(matches!(refusal(fixture.send(&ann, to, "x").await), Refusal::UnknownRecipient { .. }), "{to}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_09_what_was_fetched_and_never_seen_comes_again() {
    let fixture = fixture().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let sent = fixture.send(&ann, "bob", "important").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["important"]);
    let status = fixture.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap();
    assert_eq!(status[0].state, DeliveryState::Fetched, "fetching is not reading");
    fixture.mail.end_session(&bob.id).await;
    assert_eq!(fixture.check(&next_session(&bob)).await, ["important (again)"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_10_a_broadcast_is_one_message_and_its_filters_apply() {
    let fixture = fixture().await;
    let ann = fixture.agent("ann", "dev").await;
    fixture.agent("bob", "dev").await;
    fixture.agent("cat", "dev").await;
    let request = mail::BroadcastRequest { content: "all".into(), exclude: vec!["cat".into()], ..Default::default() };
    let sent = fixture.mail.broadcast(&ann, request).await.unwrap().unwrap();
    assert_eq!(reached(&sent), ["bob"]);
    assert_eq!(fixture.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_11_priority_is_stored_orders_and_filters() {
    let fixture = fixture().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send_with(&ann, "bob", "low", Priority::Low).await.unwrap();
    fixture.send_with(&ann, "bob", "critical", Priority::Critical).await.unwrap();
    assert_eq!(texts(&fixture.wait(&bob, LONG, Floor::Critical).await.messages), ["critical"]);
    let nothing = fixture.wait(&bob, Duration::from_millis(20), Floor::NormalAndAbove).await;
    assert_eq!((nothing.messages.len(), nothing.below_floor), (0, 1));
    let got = fixture.mail.check(&bob, Default::default()).await.unwrap().messages;
    assert_eq!(got[0].message.priority, Priority::Low);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_12_a_send_is_one_transaction() {
    // To 20 mailboxes, one of them full: either all others have the message and it is recorded, or none has it.
    let fixture = StoreFixture::sqlite(mail::Limits { mailbox_messages: 2, ..limits() }).await;
    let ann = fixture.agent("ann", "lead").await;
    for index in 0..20 {
        fixture.agent(&format!("a{index}"), "crowd").await;
    }
    for _ in 0..2 {
        fixture.send(&ann, "a7", "fill").await.unwrap();
    }
    let sent = fixture.send(&ann, "role:crowd", "x").await.unwrap();
    assert_eq!((sent.recipients.len(), sent.failed.len()), (19, 1));
    assert_eq!(fixture.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap().len(), 19);
    let unread: u64 = fixture.mail.agents().await.unwrap().iter().map(|agent| agent.unread).sum();
    assert_eq!(unread, 21);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_13_no_caller_stops_the_others() {
    let fixture = fixture().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut waiters = Vec::new();
    for _ in 0..200 {
        waiters.push(fixture.block(&next_session(&bob), Floor::Critical).await);
    }
    let mut work = tokio::task::JoinSet::new();
    for index in 0..20 {
        let (mail, ann, bob) = (fixture.mail.clone(), ann.clone(), next_session(&bob));
        work.spawn(async move {
            for count in 0..10 {
                let request = mail::SendRequest {
                    to: vec!["bob".into()],
                    content: format!("{index} {count}"),
                    ..Default::default()
                };
                mail.send(&ann, request).await.unwrap();
                mail.check(&bob, Default::default()).await.unwrap();
                mail.agents().await.unwrap();
                mail.groups().await.unwrap();
            }
        });
    }
    tokio::time::timeout(LONG, async { while work.join_next().await.is_some() {} }).await.expect("all are answered");
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    waiters.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defect_14_a_blocked_waiter_is_active() {
    let fixture = fixture().await;
    let bob = fixture.agent("bob", "dev").await;
    let _connection = fixture.mail.attach(&bob);
    let waiter = fixture.block(&bob, Floor::All).await;
    fixture.pass(Duration::from_secs(3600));
    let agents = fixture.mail.agents().await.unwrap();
    assert_eq!(agents[0].standing, Liveness::Active);
    let sent = fixture.send(&bob, "bob", "x").await.unwrap();
    assert_eq!(sent.recipients[0].standing, Liveness::Active);
    assert_eq!(waiter.await.unwrap().messages.len(), 1);
    let settled = fixture.mail.ack(&bob, &[sent.id.to_string()], Outcome::Acked, None).await.unwrap();
    assert_eq!(settled[0].state, Some(DeliveryState::Acked));
}
