//! The contract suite: every scenario on every store.

use std::time::Duration;

use mail::{CheckRequest, DeliveryState, Floor, MailError, Outcome, Priority, Refusal};

use crate::place::{Place, limits, texts};

const LONG: Duration = Duration::from_secs(60);

/// Makes a test of each scenario for each store.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::place::Place::memory(crate::place::limits()).await).await;
            })*
        }
    };
}

scenarios! {
    a_message_is_sent_checked_and_confirmed_by_the_next_call
    a_blocked_waiter_is_woken_and_exactly_one_of_three_gets_it
    an_ended_session_gives_back_what_it_had_in_hand
}

async fn a_message_is_sent_checked_and_confirmed_by_the_next_call(place: Place) {
    let (ann, bob) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
    let sent = place.send(&ann, "bob", "one").await.unwrap();
    place.send_with(&ann, "@bob", "two", Priority::High).await.unwrap();
    let checked = place.mail.check(&bob, CheckRequest { limit: 1, ..CheckRequest::default() }).await.unwrap();
    assert_eq!((texts(&checked.messages), checked.remaining), (vec!["two".to_owned()], 1));
    assert_eq!(place.check(&bob).await, ["one"]);
    assert_eq!(place.check(&bob).await, Vec::<String>::new());
    let status = place.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap();
    assert_eq!((status[0].state, status[0].attempts), (DeliveryState::Read, 1));
    let acked = place.mail.ack(&bob, &[sent.id.to_string()], Outcome::Acked, Some("done".into())).await.unwrap();
    assert_eq!(acked[0].state, Some(DeliveryState::Acked));
    let unknown = place.send(&ann, "bobb", "x").await.unwrap_err();
    let MailError::Refused(Refusal::UnknownRecipient { nearest, .. }) = unknown else { panic!("{unknown}") };
    assert_eq!(nearest, ["bob"]);
}

async fn a_blocked_waiter_is_woken_and_exactly_one_of_three_gets_it(place: Place) {
    let (ann, bob) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
    let mut waiters = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let (mail, bob) = (place.mail.clone(), place.again(&bob).await);
        waiters.spawn(async move {
            let request = mail::WaitRequest { timeout: LONG, ..mail::WaitRequest::default() };
            mail.wait(&bob, request).await.unwrap()
        });
    }
    while place.mail.waiting() < 3 {
        tokio::task::yield_now().await;
    }
    for text in ["a", "b", "c"] {
        place.send(&ann, "bob", text).await.unwrap();
    }
    let mut got = Vec::new();
    while let Some(waited) = waiters.join_next().await {
        let messages = waited.unwrap().messages;
        assert_eq!(messages.len(), 1);
        got.extend(texts(&messages));
    }
    got.sort();
    assert_eq!(got, ["a", "b", "c"]);
    assert!(place.wait(&bob, Duration::ZERO, Floor::All).await.messages.is_empty());
}

async fn an_ended_session_gives_back_what_it_had_in_hand(place: Place) {
    let (ann, bob) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
    place.send(&ann, "bob", "hello").await.unwrap();
    let attachment = place.mail.attach(&bob);
    assert_eq!(place.check(&bob).await, ["hello"]);
    let successor = place.again(&bob).await;
    assert_eq!(place.check(&successor).await, Vec::<String>::new());
    drop(attachment);
    let waited = place.wait(&successor, LONG, Floor::All).await;
    assert_eq!(texts(&waited.messages), ["hello (again)"]);
    assert!(limits().grace < LONG);
}
