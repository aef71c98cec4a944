//! Sends of a daemon to PostgreSQL: few round trips, many sends a commit, and nothing lost where two daemons write to one
//! mailbox at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mail::{Floor, Outcome, SendRequest};

use crate::fixture::{StoreFixture, next_session, refusal, texts};
use crate::postgres::Server;
use crate::proxy::{Proxy, behind_proxy};

/// Waits for work of other threads without holding up this one's.
async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_a_check_and_a_confirmation_take_few_round_trips() {
    let Some(server) = Server::start() else { return };
    let (proxy, fixture, _beside) = behind_proxy(&server, "trips").await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    // Statements are prepared once.
    fixture.send(&ann, "bob", "first").await.unwrap();
    assert_eq!(fixture.check(&bob).await, ["first"]);
    fixture.mail.confirm(&bob).await.unwrap();
    let before = proxy.counts();
    let made = |before: (u64, u64)| (proxy.counts().0 - before.0, proxy.counts().1 - before.1);
    for count in 0..10 {
        fixture.send(&ann, "bob", &count.to_string()).await.unwrap();
    }
    assert_eq!(made(before), (20, 10), "one reads, one writes and commits");
    let before = proxy.counts();
    assert_eq!(fixture.check(&bob).await.len(), 10);
    assert_eq!(made(before), (3, 1), "one reads what waits, one the texts, one writes");
    let before = proxy.counts();
    fixture.mail.confirm(&bob).await.unwrap();
    assert_eq!(made(before), (2, 1));
    let before = proxy.counts();
    assert!(fixture.check(&bob).await.is_empty());
    assert_eq!(made(before), (1, 0), "what changes nothing writes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sends_that_come_during_a_commit_are_committed_together() {
    let Some(server) = Server::start() else { return };
    let (proxy, fixture, _beside) = behind_proxy(&server, "together").await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    fixture.send(&ann, "bob", "first").await.unwrap();
    let before = proxy.counts().1;
    let begun = Arc::new(AtomicUsize::new(0));
    let mut sending = tokio::task::JoinSet::new();
    let mut send = |content: String| {
        let (mail, ann, begun) = (fixture.mail.clone(), ann.clone(), Arc::clone(&begun));
        sending.spawn(async move {
            let to = vec!["bob".to_owned()];
            let mut sent = Box::pin(mail.send(&ann, SendRequest { to, content, ..SendRequest::default() }));
            // The first poll hands it to the writer.
            let first = futures_now(&mut sent).await;
            begun.fetch_add(1, Ordering::SeqCst);
            match first {
                Some(sent) => sent.unwrap(),
                None => sent.await.unwrap(),
            }
        });
    };
    proxy.hold();
    send("held".to_owned());
    tokio::task::block_in_place(|| proxy.holds_something());
    (0..40).for_each(|count| send(count.to_string()));
    until(|| begun.load(Ordering::SeqCst) == 41).await;
    proxy.let_go();
    let sent = sending.join_all().await;
    assert_eq!((sent.len(), proxy.counts().1 - before), (41, 2), "the one that was held, and all others together");
    let found = fixture.mail.read_mailbox(&bob, 0, Floor::All, 100).await.unwrap();
    let seqs: Vec<u64> = found.messages.iter().map(|message| message.seq).collect();
    assert_eq!(seqs, (1..=42).collect::<Vec<_>>());
}

/// Polls once.
async fn futures_now<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|cx| match std::pin::Pin::new(&mut *future).poll(cx) {
        std::task::Poll::Ready(done) => std::task::Poll::Ready(Some(done)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

/// Two daemons race: one changes the rows that the other has read, before that one writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_mailbox_that_another_daemon_changed_meanwhile_is_read_again() {
    let Some(server) = Server::start() else { return };
    let (proxy, here, there) = behind_proxy(&server, "sent meanwhile").await;
    let (ann, _bob) = (here.agent("ann", "dev").await, here.agent("bob", "dev").await);
    let from = ann.clone();
    let sending =
        hold_at_commit(&proxy, &here, |here| async move { here.send(&from, "bob", "from here").await.unwrap() });
    there.send(&ann, "bob", "from there").await.unwrap();
    proxy.let_go();
    assert_eq!(sending.await.unwrap().recipients[0].seq, 2, "the other daemon's came first");

    let (proxy, here, there) = behind_proxy(&server, "taken meanwhile").await;
    let (ann, bob) = (here.agent("ann", "dev").await, here.agent("bob", "dev").await);
    here.send(&ann, "bob", "x").await.unwrap();
    let one = bob.clone();
    let taking = hold_at_commit(&proxy, &here, |here| async move { here.check(&one).await });
    let theirs = there.check(&next_session(&bob)).await;
    proxy.let_go();
    assert_eq!((theirs.len(), taking.await.unwrap().len()), (1, 0), "each message is handed out once");

    let (proxy, here, there) = behind_proxy(&server, "taken over meanwhile").await;
    let (ann, _bob) = (here.agent("ann", "dev").await, here.agent("bob", "dev").await);
    let from = ann.clone();
    let sending = hold_at_commit(&proxy, &here, |here| async move { here.send(&from, "bob", "too late").await });
    there.enter("ann", "dev", "/elsewhere", true).await.unwrap();
    proxy.let_go();
    let refused = refusal(sending.await.unwrap());
    assert!(refused.to_string().contains("taken over"), "{refused}");
}

/// Begins a call of a daemon and holds it back where it commits.
fn hold_at_commit<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    proxy: &Proxy,
    fixture: &StoreFixture,
    call: impl FnOnce(StoreFixture) -> F,
) -> tokio::task::JoinHandle<T> {
    proxy.hold();
    let call = tokio::spawn(call(fixture.second_store()));
    tokio::task::block_in_place(|| proxy.holds_something());
    call
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_long_ago_is_settled_once() {
    let Some(server) = Server::start() else { return };
    let (_proxy, here, there) = behind_proxy(&server, "settled").await;
    let (ann, bob) = (here.agent("ann", "dev").await, here.agent("bob", "dev").await);
    let sent = here.send(&ann, "bob", "x").await.unwrap();
    let id = [sent.id.to_string()];
    let taken = here.mail.check(&bob, mail::CheckRequest::default()).await.unwrap();
    assert_eq!(texts(&taken.messages), ["x"]);
    here.mail.confirm(&bob).await.unwrap();
    let settle = |fixture: &StoreFixture, outcome| {
        let (mail, bob, id) = (fixture.mail.clone(), bob.clone(), id.clone());
        tokio::spawn(async move { mail.ack(&bob, &id, outcome, None).await.unwrap()[0].state })
    };
    let (one, other) = (settle(&here, Outcome::Acked), settle(&there, Outcome::Rejected));
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    let state = here.mail.delivery_status(&ann, &id[0]).await.unwrap()[0].state;
    assert_eq!((one, other), (Some(state), Some(state)), "who came second is told what the first said");
}
