//! Reading: cursors, search, recorded hints, retention. Only hints and retention change anything.

use std::time::Duration;

use mail::store::query::Among;
use mail::{Floor, HintVerdict, Outcome, Priority, Refusal, SearchRequest, SendRequest};

use super::scenarios;
use crate::fixture::{StoreFixture, limits as LIMITS, refusal};

scenarios! {
    paging_by_cursor_is_stable_and_without_effect
    a_search_finds_words_of_those_who_took_part_only
    one_hint_for_each_message_and_rung_and_none_when_it_is_read
    handled_mail_is_deleted_after_its_time_and_cannot_come_back
    what_comes_after_the_newest_was_deleted_is_found
    an_import_is_taken_over_once
    ids_are_found_by_their_beginning
    everybody_hears_only_of_their_own
}

async fn paging_by_cursor_is_stable_and_without_effect(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for index in 0..7 {
        let priority = if index % 2 == 0 { Priority::Low } else { Priority::High };
        fixture.send_with(&ann, "bob", &index.to_string(), priority).await.unwrap();
    }
    let page = fixture.mail.read_mailbox(&bob, 0, Floor::All, 3).await.unwrap();
    assert_eq!((page.messages.len(), page.remaining, page.latest_seq), (3, 4, 7));
    fixture.send(&ann, "bob", "7").await.unwrap();
    let next = fixture.mail.read_mailbox(&bob, page.messages[2].seq, Floor::All, 500).await.unwrap();
    let texts: Vec<_> = next.messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(texts, ["3", "4", "5", "6", "7"]);
    let urgent = fixture.mail.read_mailbox(&bob, 0, Floor::HighAndAbove, 2).await.unwrap();
    assert_eq!((urgent.messages.len(), urgent.remaining, urgent.below_floor), (2, 1, 5));
    assert_eq!(fixture.mail.mailbox(&bob.agent, Floor::All, Among::Free, 3).await.unwrap().remaining, 5);
    assert_eq!(fixture.check(&bob).await.len(), 8);
    assert_eq!(fixture.mail.pending(&bob.agent, Floor::All, 10).await.unwrap().messages.len(), 8);
    fixture.send(&ann, "bob", "8").await.unwrap();
    let free = fixture.mail.mailbox(&bob.agent, Floor::All, Among::Free, 10).await.unwrap();
    assert_eq!((free.messages.len(), free.messages[0].content.as_str()), (1, "8"), "what is in hand is not free");
    fixture.check(&bob).await;
    fixture.mail.confirm(&bob).await.unwrap();
    assert_eq!(fixture.mail.pending(&bob.agent, Floor::All, 10).await.unwrap().messages.len(), 0);
    assert_eq!(fixture.mail.read_mailbox(&bob, 0, Floor::All, 10).await.unwrap().messages.len(), 9);
}

async fn a_search_finds_words_of_those_who_took_part_only(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    fixture.send(&ann, "bob", "The build FAILED on main").await.unwrap();
    fixture.pass(Duration::from_secs(10));
    fixture.send(&bob, "ann", "build fixed; see Straße-9").await.unwrap();
    fixture.send(&bob, "cat", "nothing to build here, \"OR\" NOT *").await.unwrap();
    let search = async |who, query: &str, from: Option<&str>| {
        let request =
            SearchRequest { query: query.into(), from: from.map(str::to_owned), limit: 10, ..SearchRequest::default() };
        let hits = fixture.mail.search(who, request).await.unwrap();
        hits.into_iter().map(|hit| hit.message.content).collect::<Vec<_>>()
    };
    assert_eq!(search(&ann, "build", None).await, ["build fixed; see Straße-9", "The build FAILED on main"]);
    assert_eq!(search(&ann, "failed Build", None).await, ["The build FAILED on main"]);
    assert_eq!(search(&ann, "straße", None).await.len(), 1);
    assert_eq!(search(&ann, "buil", None).await.len(), 0);
    assert_eq!(search(&ann, "build", Some("@ann")).await, ["The build FAILED on main"]);
    assert_eq!(search(&cat, "build OR not \"", None).await.len(), 1);
    assert_eq!(search(&cat, "", None).await.len(), 1, "no word: everything");
    let late = SearchRequest { since: Some(crate::fixture::EPOCH + 5_000), limit: 10, ..SearchRequest::default() };
    if fixture.store.wake_delivery() == mail::store::WakeDelivery::Reliable {
        assert_eq!(fixture.mail.search(&ann, late).await.unwrap().len(), 1);
    }
    let to = SearchRequest { to: Some("cat".into()), limit: 10, ..SearchRequest::default() };
    let hits = fixture.mail.search(&bob, to).await.unwrap();
    assert_eq!((hits.len(), hits[0].snippet.starts_with("nothing to")), (1, true));
    assert_eq!(search(&ann, "absent", Some("bob")).await.len(), 0);
    assert_eq!(search(&ann, "absent", Some("user")).await.len(), 0);
    for (from, to) in [(Some("an"), None), (None, Some("an"))] {
        let [from, to] = [from, to].map(|name: Option<&str>| name.map(str::to_owned));
        let unknown = SearchRequest { query: "build".into(), from, to, limit: 10, ..SearchRequest::default() };
        let refusal = refusal(fixture.mail.search(&ann, unknown).await);
        assert!(
            matches!(&refusal, Refusal::UnknownAgent { name, nearest } if name == "an" && nearest == &["ann"]),
            "{refusal:?}"
        );
    }
    let none = SearchRequest { query: "+++".into(), limit: 10, ..SearchRequest::default() };
    assert!(matches!(refusal(fixture.mail.search(&ann, none).await), Refusal::Argument { .. }));
}

async fn one_hint_for_each_message_and_rung_and_none_when_it_is_read(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let sent = fixture.send(&ann, "bob", "x").await.unwrap();
    let begin = async |rung| fixture.mail.begin_hint(&bob.agent, &sent.id, rung).await.unwrap();
    assert_eq!(begin("wait").await, HintVerdict::Go);
    assert_eq!(begin("wait").await, HintVerdict::Tried);
    assert_eq!(begin("hook:stop").await, HintVerdict::Go);
    fixture.mail.end_hint(&bob.agent, &sent.id, "hook:stop", "shown").await.unwrap();
    let status = fixture.mail.delivery_status(&ann, sent.id.as_str()).await.unwrap();
    let mut tried: Vec<_> = status[0].hints.iter().map(|hint| (hint.rung.as_str(), hint.outcome.as_deref())).collect();
    tried.sort();
    assert_eq!(tried, [("hook:stop", Some("shown")), ("wait", None)]);
    assert_eq!(status[0].state, mail::DeliveryState::Hinted);
    fixture.check(&bob).await;
    assert_eq!(begin("channel").await, HintVerdict::Moot, "it is in hand");
    assert_eq!(fixture.mail.begin_hint(&ann.agent, &sent.id, "wait").await.unwrap(), HintVerdict::Moot);
}

async fn handled_mail_is_deleted_after_its_time_and_cannot_come_back(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    let request = |text: &str| SendRequest {
        to: vec!["bob".into()],
        content: text.into(),
        idempotency_key: Some(text.into()),
        ..SendRequest::default()
    };
    let acked = fixture.mail.send(&ann, request("acked")).await.unwrap();
    fixture.mail.ack(&bob, &[acked.id.to_string()], Outcome::Acked, None).await.unwrap();
    let read = fixture.send(&ann, "bob", "read").await.unwrap();
    fixture.check(&bob).await;
    fixture.mail.confirm(&bob).await.unwrap();
    let both = SendRequest { to: vec!["bob".into(), "cat".into()], ..request("half read") };
    let both = fixture.mail.send(&ann, both).await.unwrap();
    fixture.check(&cat).await;
    fixture.mail.confirm(&cat).await.unwrap();
    let purge = async || {
        let mut all = 0;
        loop {
            let purged = fixture.store.change(mail::store::change::Purge { max: 2 }).await.unwrap();
            all += purged.messages;
            if !purged.more {
                return all;
            }
        }
    };
    assert_eq!(purge().await, 0);
    fixture.pass(Duration::from_secs(31 * 24 * 3600));
    assert_eq!(purge().await, 2);
    fixture.back(Duration::from_secs(31 * 24 * 3600));
    for gone in [&acked, &read] {
        assert!(matches!(refusal(fixture.mail.message(&ann, gone.id.as_str()).await), Refusal::UnknownMessage { .. }));
    }
    fixture.mail.message(&ann, both.id.as_str()).await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["half read"], "what waits is never purged");
    let again = fixture.mail.send(&ann, request("acked")).await.unwrap();
    assert_eq!((again.id, again.is_replay, again.recipients.len()), (acked.id.clone(), true, 0));
    assert_eq!(fixture.check(&bob).await, Vec::<String>::new(), "a repeated send brings nothing back");
}

async fn what_comes_after_the_newest_was_deleted_is_found(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let search = async |query: &str| {
        let request = SearchRequest { query: query.into(), limit: 10, ..SearchRequest::default() };
        let hits = fixture.mail.search(&bob, request).await.unwrap();
        hits.into_iter().map(|hit| hit.message.content).collect::<Vec<_>>()
    };
    for text in ["one", "two"] {
        fixture.send(&ann, "bob", text).await.unwrap();
        fixture.check(&bob).await;
        fixture.mail.confirm(&bob).await.unwrap();
    }
    assert_eq!(search("two").await, ["two"]);
    fixture.pass(Duration::from_secs(31 * 24 * 3600));
    let purged = fixture.store.change(mail::store::change::Purge { max: 10 }).await.unwrap();
    assert_eq!(purged.messages, 2);
    fixture.send(&ann, "bob", "three").await.unwrap();
    assert_eq!((search("two").await, search("three").await), (vec![], vec!["three".to_owned()]));
}

async fn an_import_is_taken_over_once(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let import = mail::store::change::Import {
        id: mail::MessageId::new("msg_01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap(),
        sender: mail::AgentName::new("gone").unwrap(),
        recipients: vec![(ann.agent.clone(), true), (bob.agent.clone(), false)],
        to: vec!["@dev".into()],
        content: "from before".into(),
        priority: Priority::High,
        reply_to: None,
        metadata: "{}".into(),
        at: 1_700_000_000_000,
    };
    let first = fixture.mail.import(import.clone()).await.unwrap();
    assert!(first.is_new && first.stored.len() == 2);
    assert!(!fixture.mail.import(import.clone()).await.unwrap().is_new);
    assert_eq!(fixture.check(&ann).await, Vec::<String>::new());
    let got = fixture.mail.check(&bob, Default::default()).await.unwrap().messages;
    assert_eq!((got.len(), got[0].message.at, got[0].message.from.as_str()), (1, 1_700_000_000_000, "gone"));
    let mut other = import;
    other.id = mail::MessageId::new("msg_other").unwrap();
    other.recipients = vec![(mail::AgentName::new("nobody").unwrap(), false)];
    assert!(matches!(refusal(fixture.mail.import(other).await), Refusal::UnknownAgent { .. }));
}

async fn ids_are_found_by_their_beginning(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    let sent = [fixture.send(&ann, "bob", "1").await.unwrap().id, fixture.send(&bob, "ann", "2").await.unwrap().id];
    let ids = async |who: &mail::Session, beginning: &str| {
        fixture.mail.ids(&who.agent, beginning, 10).await.unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(ids(&ann, "msg_").await, [sent[1].as_str(), sent[0].as_str()]);
    for id in &sent {
        assert_eq!(ids(&ann, &id.as_str().to_lowercase()).await, [id.as_str()]);
        assert_eq!(
            ids(&bob, &id.as_str()[..29]).await.len(),
            sent.iter().filter(|of| of.as_str()[..29] == id.as_str()[..29]).count()
        );
    }
    assert_eq!(ids(&ann, "msg%").await.len() + ids(&ann, "msg_%").await.len() + ids(&cat, "msg_").await.len(), 0);
}

async fn everybody_hears_only_of_their_own(fixture: StoreFixture) {
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let cat = fixture.agent("cat", "dev").await;
    let sent = fixture.send(&ann, "bob", "secret").await.unwrap();
    let id = sent.id.as_str();
    assert!(matches!(refusal(fixture.mail.delivery_status(&cat, id).await), Refusal::UnknownMessage { .. }));
    assert!(matches!(refusal(fixture.mail.message(&cat, id).await), Refusal::UnknownMessage { .. }));
    let all = SearchRequest { query: "secret".into(), limit: 10, ..SearchRequest::default() };
    assert!(fixture.mail.search(&cat, all.clone()).await.unwrap().is_empty());
    assert_eq!(fixture.mail.search(&bob, all).await.unwrap().len(), 1);
    assert_eq!(fixture.mail.message(&bob, id).await.unwrap().seq, 1);
    assert_eq!(fixture.mail.message(&ann, id).await.unwrap().seq, 0);
}
