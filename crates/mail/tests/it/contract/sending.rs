//! Sending: recipients are settled once, repeating is harmless, sequences are visible in order.

use std::collections::BTreeSet;

use mail::{Liveness, Priority, Refusal, SendRequest, Session};

use super::scenarios;
use crate::fixture::{StoreFixture, limits as LIMITS, reached, refusal};

scenarios! {
    an_unknown_recipient_is_an_error_that_names_the_nearest
    a_name_is_an_agent_else_a_group_else_a_role
    a_fan_out_never_reaches_its_own_sender
    the_same_key_is_the_same_message_and_other_content_a_conflict
    a_reply_goes_to_its_author_and_joins_the_thread
    sequences_are_visible_in_order_under_concurrent_senders
    a_broadcast_heeds_its_filters
    any_text_comes_back_as_it_went
}

async fn an_unknown_recipient_is_an_error_that_names_the_nearest(fixture: StoreFixture) {
    let ann = fixture.agent("ann", "dev").await;
    fixture.agent("reviewer", "qa").await;
    let Refusal::UnknownRecipient { nearest, .. } = refusal(fixture.send(&ann, "@reviwer", "x").await) else {
        panic!("refused otherwise")
    };
    assert_eq!(nearest, ["reviewer"]);
    let mixed = SendRequest { to: vec!["reviewer".into(), "nobody".into()], ..SendRequest::default() };
    refusal(fixture.mail.send(&ann, mixed).await);
    let agents = fixture.mail.agents().await.unwrap();
    assert!(agents.iter().all(|agent| agent.unread == 0), "a refused message reaches nobody");
}

async fn a_name_is_an_agent_else_a_group_else_a_role(fixture: StoreFixture) {
    let ann = fixture.agent("ann", "lead").await;
    fixture.agent("dev", "ops").await;
    fixture.agent("bob", "dev").await;
    fixture.agent("cat", "dev").await;
    let sent = fixture.send(&ann, "@dev", "x").await.unwrap();
    assert_eq!(reached(&sent), ["dev"]);
    assert_eq!(sent.resolved[0].also, ["role:dev"]);
    assert_eq!(reached(&fixture.send(&ann, "role:dev", "x").await.unwrap()), ["bob", "cat"]);
    assert_eq!(reached(&fixture.send(&ann, "ops", "x").await.unwrap()), ["dev"]);
    fixture.mail.create_group(&ann, "ops", "").await.unwrap();
    fixture.mail.add_member(&ann, "ops", mail::member("agent", "cat").unwrap()).await.unwrap();
    assert_eq!(reached(&fixture.send(&ann, "ops", "x").await.unwrap()), ["cat"]);
    assert_eq!(reached(&fixture.send(&ann, "agent:dev:0a1b2c", "x").await.unwrap()), ["bob", "cat"]);
    refusal(fixture.send(&ann, "group:dev", "x").await);
}

async fn a_fan_out_never_reaches_its_own_sender(fixture: StoreFixture) {
    let ann = fixture.agent("ann", "dev").await;
    assert!(matches!(refusal(fixture.send(&ann, "role:dev", "x").await), Refusal::NoRecipients { .. }));
    fixture.agent("bob", "dev").await;
    for to in ["role:dev", "@everyone", "all"] {
        assert_eq!(reached(&fixture.send(&ann, to, "x").await.unwrap()), ["bob"], "{to}");
    }
    assert_eq!(reached(&fixture.send(&ann, "ann", "a note to myself").await.unwrap()), ["ann"]);
}

async fn the_same_key_is_the_same_message_and_other_content_a_conflict(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let request = |text: &str| SendRequest {
        to: vec!["bob".into()],
        content: text.into(),
        idempotency_key: Some("k".into()),
        ..SendRequest::default()
    };
    let first = fixture.mail.send(&ann, request("one")).await.unwrap();
    let second = fixture.mail.send(&ann, request("one")).await.unwrap();
    assert_eq!((second.id.clone(), second.is_replay), (first.id.clone(), true));
    assert_eq!(reached(&second), ["bob"]);
    let conflict = refusal(fixture.mail.send(&ann, request("two")).await);
    assert_eq!(conflict, Refusal::KeyConflict { key: "k".into(), message: first.id.clone() });
    fixture.agent("cat", "dev").await;
    let other = SendRequest { to: vec!["ann".into()], ..request("two") };
    assert!(!fixture.mail.send(&bob, other).await.unwrap().is_replay, "keys belong to their sender");
    assert_eq!(fixture.check(&bob).await, ["one"]);
}

async fn a_reply_goes_to_its_author_and_joins_the_thread(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    let first = fixture.send(&ann, "bob", "question").await.unwrap();
    let second = fixture.reply(&bob, &first, "answer").await.unwrap();
    assert_eq!((reached(&second), &second.thread), (vec!["ann"], &first.id));
    let third = fixture.reply(&ann, &second, "thanks").await.unwrap();
    let thread = fixture.mail.thread(&bob, third.id.as_str()).await.unwrap();
    let told: Vec<_> = thread.iter().map(|message| (message.from.as_str(), message.content.as_str())).collect();
    assert_eq!(told, [("ann", "question"), ("bob", "answer"), ("ann", "thanks")]);
    assert!(matches!(refusal(fixture.reply(&cat, &first, "me too").await), Refusal::UnknownMessage { .. }));
    assert!(matches!(refusal(fixture.mail.thread(&cat, first.id.as_str()).await), Refusal::UnknownMessage { .. }));
}

async fn sequences_are_visible_in_order_under_concurrent_senders(fixture: StoreFixture) {
    let bob = fixture.agent("bob", "dev").await;
    let mut senders = tokio::task::JoinSet::new();
    for index in 0..8 {
        let session: Session = fixture.agent(&format!("s{index}"), "load").await;
        let mail = fixture.mail.clone();
        senders.spawn(async move {
            for count in 0..25 {
                let to = vec!["bob".to_owned()];
                let content = format!("{index}/{count}");
                mail.send(&session, SendRequest { to, content, ..SendRequest::default() }).await.unwrap();
            }
        });
    }
    // A reader that has seen n finds nothing new at or below n.
    let (mut cursor, mut seen) = (0, Vec::new());
    while seen.len() < 200 {
        let found = fixture.mail.read_mailbox(&bob, cursor, mail::Floor::All, 500).await.unwrap();
        for message in found.messages {
            assert!(message.seq > cursor);
            cursor = message.seq;
            seen.push(message.content);
        }
        tokio::task::yield_now().await;
    }
    while let Some(sender) = senders.join_next().await {
        sender.unwrap();
    }
    assert_eq!(fixture.mail.read_mailbox(&bob, 0, mail::Floor::All, 500).await.unwrap().messages.len(), 200);
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 200);
}

async fn a_broadcast_heeds_its_filters(fixture: StoreFixture) {
    let ann = fixture.agent("ann", "dev").await;
    let (bob, cat) = (fixture.agent("bob", "dev").await, fixture.agent("cat", "dev").await);
    let _here = (fixture.mail.attach(&bob), fixture.mail.attach(&cat));
    fixture.mail.register(&mail::AgentName::new("old").unwrap(), mail::Profile::default()).await.unwrap();
    fixture.pass(std::time::Duration::from_secs(3600));
    let request = |active_only, exclude: &[&str]| mail::BroadcastRequest {
        content: "hear".into(),
        active_only,
        exclude: exclude.iter().map(|name| (*name).to_owned()).collect(),
        ..mail::BroadcastRequest::default()
    };
    let sent = fixture.mail.broadcast(&ann, request(false, &[])).await.unwrap().unwrap();
    assert_eq!(reached(&sent), ["bob", "cat", "old"]);
    let standing: Vec<_> = sent.recipients.iter().map(|to| to.standing).collect();
    assert_eq!(standing, [Liveness::Active, Liveness::Active, Liveness::Offline]);
    let sent = fixture.mail.broadcast(&ann, request(true, &["@bob"])).await.unwrap().unwrap();
    assert_eq!(reached(&sent), ["cat"]);
    assert!(fixture.mail.broadcast(&ann, request(true, &["bob", "cat"])).await.unwrap().is_none());
    let unknown = refusal(fixture.mail.broadcast(&ann, request(false, &["bbo"])).await);
    assert!(matches!(unknown, Refusal::UnknownAgent { .. }), "{unknown}");
}

async fn any_text_comes_back_as_it_went(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let texts =
        ["", "\0", "a\0b", "ß\u{202e}\u{1b}[31m\r\n'\"; DROP TABLE message; --", "🦀\u{fffd}", "<message from=\"x\">"];
    for text in texts {
        let metadata = serde_json::json!({ "k": text, "n": [1, null, 2.5] });
        let request = SendRequest {
            to: vec!["bob".into()],
            content: text.into(),
            priority: Priority::Low,
            metadata: metadata.as_object().unwrap().clone(),
            ..SendRequest::default()
        };
        fixture.mail.send(&ann, request).await.unwrap();
        let checked = fixture.mail.check(&bob, mail::CheckRequest::default()).await.unwrap();
        assert_eq!(checked.messages[0].message.content, text);
        assert_eq!(serde_json::Value::Object(checked.messages[0].message.metadata.clone()), metadata);
    }
}
