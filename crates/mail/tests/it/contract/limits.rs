//! Limits: an error names the limit, nothing is dropped, and messages within a limit arrive complete.

use mail::{Floor, Limits, Mail, MailOptions, Priority, Refusal, SendRequest};

use super::scenarios;
use crate::fixture::{StoreFixture, limits as ordinary, next_session, reached, refusal, texts};

#[allow(non_snake_case)]
fn LIMITS() -> Limits {
    Limits { mailbox_messages: 5, mailbox_bytes: 4 << 20, broadcast_max: 600, ..ordinary() }
}

scenarios! {
    a_mebibyte_arrives_and_more_is_refused
    a_full_mailbox_refuses_and_the_others_get_it
    a_mailbox_is_full_by_bytes_too
    five_hundred_recipients_and_not_one_more
    a_clock_set_back_an_hour_loses_nothing
}

async fn a_mebibyte_arrives_and_more_is_refused(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let words = "word and another, ".repeat((1 << 20) / 18 + 1);
    let body = &words[..1 << 20];
    fixture.send(&ann, "bob", body).await.unwrap();
    let refused = refusal(fixture.send(&ann, "bob", &words.repeat(2)[..1_153_434]).await);
    assert_eq!(refused, Refusal::BodyTooLarge { bytes: 1_153_434, limit: 1 << 20 });
    let got = fixture.mail.check(&bob, Default::default()).await.unwrap().messages;
    assert_eq!(got.len(), 1);
    assert!(got[0].message.content == body, "it arrives whole");
    let request = mail::SearchRequest { query: "another".into(), limit: 1, ..Default::default() };
    assert_eq!(fixture.mail.search(&bob, request).await.unwrap().len(), 1);
}

async fn a_full_mailbox_refuses_and_the_others_get_it(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    for index in 0..5 {
        fixture.send(&ann, "bob", &index.to_string()).await.unwrap();
    }
    let refused = refusal(fixture.send(&ann, "bob", "5").await);
    assert_eq!(refused, Refusal::MailboxFull { agents: vec![bob.agent.clone()] });
    let sent = fixture.send(&ann, "role:dev", "both").await.unwrap();
    assert_eq!((reached(&sent), &sent.failed), (vec!["cat"], &vec![bob.agent.clone()]));
    assert_eq!(fixture.check(&bob).await, ["0", "1", "2", "3", "4"]);
    refusal(fixture.send(&ann, "bob", "in hand is not yet read").await);
    fixture.mail.confirm(&bob).await.unwrap();
    fixture.send(&ann, "bob", "now").await.unwrap();
    assert_eq!(fixture.check(&cat).await, ["both"]);
}

async fn a_mailbox_is_full_by_bytes_too(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let body = "x".repeat(1 << 20);
    for _ in 0..3 {
        fixture.send(&ann, "bob", &body).await.unwrap();
    }
    assert!(matches!(refusal(fixture.send(&ann, "bob", &body).await), Refusal::MailboxFull { .. }));
    fixture.send(&ann, "bob", "small").await.unwrap();
    fixture.check(&bob).await;
    fixture.mail.confirm(&bob).await.unwrap();
    fixture.send(&ann, "bob", &body).await.unwrap();
}

async fn five_hundred_recipients_and_not_one_more(fixture: StoreFixture) {
    let ann = fixture.agent("ann", "lead").await;
    for index in 0..500 {
        let role = mail::Role::new("crowd").unwrap();
        let profile = mail::Profile { role: Some(role), ..Default::default() };
        fixture.mail.register(&mail::AgentName::new(&format!("a{index}")).unwrap(), profile).await.unwrap();
    }
    let sent = fixture.send(&ann, "role:crowd", "all").await.unwrap();
    assert_eq!((sent.recipients.len(), sent.failed.len()), (500, 0));
    fixture.agent("bob", "dev").await;
    let both = SendRequest { to: vec!["role:crowd".into(), "bob".into()], ..Default::default() };
    let refused = refusal(fixture.mail.send(&ann, both).await);
    assert_eq!(refused, Refusal::TooManyRecipients { count: 501, limit: 500 });
    let agents = fixture.mail.agents().await.unwrap();
    assert_eq!(agents.iter().map(|agent| agent.unread).sum::<u64>(), 500);
    assert_eq!(fixture.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap().len(), 500);
}

async fn a_clock_set_back_an_hour_loses_nothing(fixture: StoreFixture) {
    let mut fixture = fixture;
    let hour = std::time::Duration::from_secs(3600);
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    let keyed = || SendRequest {
        to: vec!["cat".into()],
        content: "once".into(),
        idempotency_key: Some("k".into()),
        ..SendRequest::default()
    };
    let first = fixture.mail.send(&ann, keyed()).await.unwrap();
    let attached = fixture.mail.attach(&bob);
    fixture.send(&ann, "bob", "in hand").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["in hand"]);
    fixture.send(&ann, "bob", "before").await.unwrap();
    let other = next_session(&bob);
    let waiter = fixture.block(&other, Floor::Critical).await;
    fixture.back(hour);
    fixture.send(&ann, "bob", "after").await.unwrap();
    fixture.send_with(&ann, "bob", "urgent", Priority::Critical).await.unwrap();
    assert_eq!(texts(&waiter.await.unwrap().messages), ["urgent"]);
    fixture.mail.confirm(&other).await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["before", "after"], "sequence orders, not time");
    // A daemon that starts in that hour releases nothing that a live agent has in hand.
    fixture.mail =
        Mail::open(MailOptions { limits: LIMITS(), ..MailOptions::new(fixture.store.clone()) }).await.unwrap();
    let back = fixture.mail.attach(&bob);
    std::mem::forget(attached);
    for _ in 0..2 {
        let again = fixture.mail.send(&ann, keyed()).await.unwrap();
        assert_eq!((&again.id, again.is_replay), (&first.id, true));
        assert_eq!(fixture.check(&next_session(&bob)).await, Vec::<String>::new());
        fixture.pass(hour);
    }
    assert_eq!(fixture.check(&cat).await, ["once"]);
    for _ in 0..2 {
        assert_eq!(fixture.check(&bob).await, Vec::<String>::new());
    }
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().total(), 0);
    drop(back);
}
