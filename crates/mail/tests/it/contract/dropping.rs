//! Calls whose answers their client dropped without notice: their messages stay in hand and are listed again, once.

use std::collections::BTreeMap;

use mail::store::change::{Claim, Earlier, HandBack};
use mail::{CheckRequest, Checked, DeliveryState, Floor, MailOptions, Outcome, SentMessage, Session, WaitRequest};
use testkit::Random;

use super::scenarios;
use crate::fixture::{LONG, StoreFixture, limits as LIMITS, next_session, texts};

scenarios! {
    a_message_answered_to_a_dropped_wait_is_listed_once_by_the_next_check
    what_was_answered_or_settled_is_not_listed
    a_check_shows_again_what_is_in_hand
    a_list_that_was_given_up_is_given_again
    a_repeated_claim_repeats_its_list
    a_waiter_keeps_in_hand_what_earlier_calls_were_handed
    a_lost_answer_gives_back_what_came_after_the_last_that_was_seen
    two_hundred_dropped_calls_lose_nothing
    two_hundred_compactions_hide_nothing
}

async fn checked(fixture: &StoreFixture, session: &Session, again: bool) -> Checked {
    fixture.mail.check(session, CheckRequest { again, ..CheckRequest::default() }).await.unwrap()
}

/// Returns the listed messages and the whole ones.
fn listed_and_whole(checked: &Checked) -> (Vec<&str>, Vec<String>) {
    (checked.reminders.iter().map(|one| one.begins.as_str()).collect(), texts(&checked.messages))
}

async fn state(fixture: &StoreFixture, who: &Session, sent: &SentMessage) -> DeliveryState {
    fixture.mail.delivery_status(who, sent.id.as_str()).await.unwrap()[0].state
}

async fn a_message_answered_to_a_dropped_wait_is_listed_once_by_the_next_check(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let waiter = fixture.block(&bob, Floor::All).await;
    let sent = fixture.send(&ann, "bob", &"long ".repeat(100)).await.unwrap();
    assert_eq!(waiter.await.unwrap().messages.len(), 1, "answered to a client that does not listen");
    fixture.pass(std::time::Duration::from_secs(10));
    let first = checked(&fixture, &bob, false).await;
    let line = &first.reminders[0];
    assert_eq!((&line.id, line.from.as_str(), line.ago), (&sent.id, "ann", 10_000));
    assert!(line.begins.starts_with("long long") && line.begins.chars().count() < 130, "{}", line.begins);
    assert_eq!((first.reminders.len(), first.messages.len()), (1, 0));
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Fetched);
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await), (vec![], vec![]));
    assert_eq!(state(&fixture, &ann, &sent).await, DeliveryState::Read, "it was listed");
}

async fn what_was_answered_or_settled_is_not_listed(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut sent = Vec::new();
    for text in ["answered", "settled", "neither"] {
        sent.push(fixture.send(&ann, "bob", text).await.unwrap());
    }
    assert_eq!(fixture.check(&bob).await.len(), 3);
    fixture.reply(&bob, &sent[0], "yes").await.unwrap();
    fixture.mail.ack(&bob, &[sent[1].id.to_string()], Outcome::Acked, None).await.unwrap();
    assert_eq!(state(&fixture, &ann, &sent[2]).await, DeliveryState::Fetched, "an acknowledgement settles no other");
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await), (vec!["neither"], vec![]));
}

async fn a_check_shows_again_what_is_in_hand(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "one").await.unwrap();
    fixture.check(&bob).await;
    fixture.send(&ann, "bob", "two").await.unwrap();
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await), (vec!["one"], vec!["two".to_owned()]));
    fixture.send(&ann, "bob", "new").await.unwrap();
    let whole = checked(&fixture, &bob, true).await;
    assert_eq!((listed_and_whole(&whole), whole.remaining), ((vec![], vec!["one".to_owned(), "two".to_owned()]), 1));
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, true).await).1.len(), 2, "as often as it is asked");
    // Shown whole, neither is listed; both count as read.
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await), (vec![], vec!["new".to_owned()]));
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().leased, 1);
}

async fn a_list_that_was_given_up_is_given_again(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "one").await.unwrap();
    fixture.check(&bob).await;
    let listed = checked(&fixture, &bob, false).await;
    assert_eq!(listed.reminders.len(), 1);
    fixture.mail.give_up(&bob.id, listed.handed).await;
    assert_eq!(fixture.check(&bob).await, ["one (again)"]);
    // A claim whose caller disappeared.
    let token = checked(&fixture, &bob, false).await.handed;
    fixture.store.change(HandBack { session: bob.id.clone(), token }).await.unwrap();
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await), (vec!["one"], vec![]));
}

async fn a_repeated_claim_repeats_its_list(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "one").await.unwrap();
    fixture.check(&bob).await;
    fixture.send(&ann, "bob", "two").await.unwrap();
    let claim = |token, unseen| Claim {
        session: bob.clone(),
        token,
        floor: Floor::All,
        max: 1,
        max_bytes: 1 << 20,
        earlier: Earlier::Remind,
        unseen,
    };
    let first = fixture.store.change(claim(7, vec![])).await.unwrap();
    let ids = |claimed: &mail::store::change::ClaimResult| {
        claimed.reminders.iter().map(|one| one.id.clone()).collect::<Vec<_>>()
    };
    let repeated = fixture.store.change(claim(7, vec![])).await.unwrap();
    assert_eq!((ids(&first), &first.messages), (ids(&repeated), &repeated.messages));
    assert_eq!((ids(&first).len(), first.messages.len()), (1, 1));
    // A call that was sent before the answer to the other could be seen neither settles nor lists its messages.
    let parallel = fixture.store.change(claim(8, vec![7])).await.unwrap();
    assert!(parallel.reminders.is_empty());
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().leased, 2);
}

async fn a_waiter_keeps_in_hand_what_earlier_calls_were_handed(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut sent = Vec::new();
    for text in ["one", "two"] {
        sent.push(fixture.send(&ann, "bob", text).await.unwrap());
        fixture.pass(std::time::Duration::from_secs(1));
        let waited = fixture.wait(&bob, LONG, Floor::All).await;
        assert_eq!((texts(&waited.messages), waited.last_in_hand), (vec![text.to_owned()], None));
    }
    let none = fixture.wait(&bob, std::time::Duration::ZERO, Floor::All).await;
    assert_eq!((none.in_hand, none.last_in_hand.as_ref()), (2, Some(&sent[1].id)));
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await).0, ["one", "two"]);
    // They were listed, so the next wait counts them as read.
    let none = fixture.wait(&bob, std::time::Duration::ZERO, Floor::All).await;
    assert_eq!((none.in_hand, fixture.mail.inbox(&bob.agent).await.unwrap().leased), (0, 0));
}

async fn a_lost_answer_gives_back_what_came_after_the_last_that_was_seen(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut sent = Vec::new();
    for text in ["seen", "lost"] {
        sent.push(fixture.send(&ann, "bob", text).await.unwrap());
        fixture.wait(&bob, LONG, Floor::All).await;
        fixture.pass(std::time::Duration::from_secs(1));
    }
    let which = mail::store::change::LeaseSelection::After(sent[0].id.clone());
    let release = mail::store::change::Release { sessions: vec![bob.id.clone()], which };
    assert_eq!(fixture.store.change(release).await.unwrap().freed, 1);
    assert_eq!(
        listed_and_whole(&checked(&fixture, &bob, false).await),
        (vec!["seen"], vec!["lost (again)".to_owned()])
    );
}

/// The number of times an agent saw a message in full, and the number of times it was listed.
#[derive(Default)]
struct Sightings(BTreeMap<String, (u32, u32)>);

impl Sightings {
    fn see(&mut self, checked: &Checked) {
        checked.messages.iter().for_each(|one| self.0.entry(one.message.content.clone()).or_default().0 += 1);
        checked.reminders.iter().for_each(|one| self.0.entry(one.begins.clone()).or_default().1 += 1);
    }
}

/// Begins a wait, which ends at once if something waits.
async fn begin_wait(fixture: &StoreFixture, session: &Session) -> tokio::task::JoinHandle<()> {
    let (fixture, session) = (fixture.second_store(), session.clone());
    let waiter = tokio::spawn(async move { drop(fixture.wait(&session, LONG, Floor::All).await) });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    waiter
}

async fn two_hundred_dropped_calls_lose_nothing(fixture: StoreFixture) {
    let mut fixture = fixture;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut attached = fixture.mail.attach(&bob);
    let (mut dice, mut saw) = (Random::new(42), Sightings::default());
    for round in 0..200 {
        let text = format!("m{round}");
        match dice.below(5) {
            // Dropped without notice while it waits; the message is answered to no caller.
            0 | 1 => {
                let waiter = begin_wait(&fixture, &bob).await;
                fixture.send(&ann, "bob", &text).await.unwrap();
                waiter.await.unwrap();
            }
            // Dropped as it is answered.
            2 => {
                fixture.send(&ann, "bob", &text).await.unwrap();
                fixture.wait(&bob, LONG, Floor::All).await;
            }
            // Cancelled, perhaps while the message is on its way.
            3 => {
                let waiter = begin_wait(&fixture, &bob).await;
                let sending = fixture.send(&ann, "bob", &text);
                waiter.abort();
                sending.await.unwrap();
                waiter.await.ok();
            }
            // A dropped check. Of one that listed something the agent knows.
            _ => {
                fixture.send(&ann, "bob", &text).await.unwrap();
                let checked = checked(&fixture, &bob, false).await;
                if !checked.reminders.is_empty() {
                    saw.see(&checked);
                }
            }
        }
        if dice.below(3) == 0 {
            saw.see(&checked(&fixture, &bob, false).await);
        }
        if dice.below(20) == 0 {
            // Another daemon; the run goes on.
            let options = MailOptions { limits: LIMITS(), ..MailOptions::new(fixture.store.clone()) };
            fixture.mail = mail::Mail::open(options).await.unwrap();
            let before = std::mem::replace(&mut attached, fixture.mail.attach(&bob));
            std::mem::forget(before);
        }
    }
    // Messages handed to an aborted waiter are given back at once, or a little later.
    while saw.0.len() < 200 || fixture.mail.inbox(&bob.agent).await.unwrap().leased > 0 {
        saw.see(&checked(&fixture, &bob, false).await);
        tokio::task::yield_now().await;
    }
    let listed_twice: Vec<_> = saw.0.iter().filter(|(_, (_, lines))| *lines > 1).collect();
    assert!(listed_twice.is_empty(), "{listed_twice:?}");
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().total(), 0);
}

async fn two_hundred_compactions_hide_nothing(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let mut dice = Random::new(7);
    let mut told: BTreeMap<String, u32> = BTreeMap::new();
    for round in 0..200 {
        let text = format!("m{round}");
        let sent = fixture.send(&ann, "bob", &text).await.unwrap();
        match dice.below(2) {
            0 => drop(fixture.mail.wait(&bob, WaitRequest::default()).await.unwrap()),
            _ => drop(checked(&fixture, &bob, false).await),
        }
        let is_settled = dice.below(4) == 0;
        if is_settled {
            fixture.reply(&bob, &sent, "yes").await.unwrap();
        }
        let mut list = fixture.mail.list_in_hand(&bob.agent, &bob.id).await.unwrap();
        if dice.below(3) == 0 {
            // The hook's answer was lost.
            let lost = list.into_iter().map(|one| one.id).collect::<Vec<_>>();
            if !lost.is_empty() {
                fixture.mail.list_in_hand_again(&bob.agent, &bob.id, lost).await.unwrap();
            }
            list = fixture.mail.list_in_hand(&bob.agent, &bob.id).await.unwrap();
        }
        assert_eq!(list.iter().any(|one| one.begins == text), !is_settled, "{round}: {list:?}");
        list.into_iter().for_each(|one| *told.entry(one.begins).or_default() += 1);
    }
    let twice: Vec<_> = told.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    // Another run has nothing in hand; messages listed for this one count as read with its next check.
    assert_eq!(fixture.mail.list_in_hand(&bob.agent, &next_session(&bob).id).await.unwrap(), []);
    assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await), (vec![], vec![]));
    assert_eq!(fixture.mail.inbox(&bob.agent).await.unwrap().leased, 0);
}

/// Messages in hand, and whether they were listed, survive daemons: each opens the file again.
#[tokio::test]
async fn a_restart_forgets_neither_what_is_in_hand_nor_that_it_was_listed() {
    let dir = tempfile::tempdir().unwrap();
    let open = async || {
        let (clock, hand) = mail::Clock::manual(crate::fixture::EPOCH);
        let store = crate::fixture::open_sqlite(&dir.path().join("mail.db"), clock, &LIMITS()).unwrap();
        StoreFixture::with(std::sync::Arc::new(store), LIMITS(), crate::fixture::ManualClock(hand), Box::new(())).await
    };
    let fixture = open().await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "one").await.unwrap();
    fixture.wait(&bob, LONG, Floor::All).await;
    for listed in [vec!["one"], vec![]] {
        fixture.store.close().await;
        let fixture = open().await;
        let attached = fixture.mail.attach(&bob);
        assert_eq!(listed_and_whole(&checked(&fixture, &bob, false).await), (listed, vec![]));
        fixture.store.close().await;
        std::mem::forget(attached);
    }
    assert_eq!(open().await.mail.inbox(&bob.agent).await.unwrap().leased, 0);
}
