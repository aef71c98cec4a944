//! Agents on two machines: two daemons, one database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::{Floor, Mail, SendRequest, Session, WaitRequest};

use crate::fixture::{LONG, ManualClock, StoreFixture, limits, next_session, texts};
use crate::postgres::Server;

async fn daemon(server: &Server, space: &str, owner: &str) -> StoreFixture {
    let store = Arc::new(server.store(space, owner, None, &limits()).await);
    let (_, hand) = mail::Clock::manual(0);
    StoreFixture::with(store, limits(), ManualClock(hand), Box::new(())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_on_one_machine_wakes_a_waiter_on_the_other() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (daemon(&server, "two", "here").await, daemon(&server, "two", "there").await);
    let (ann, bob) = (here.agent("ann", "dev").await, there.agent("bob", "dev").await);
    let mut took = Vec::new();
    for round in 0..40 {
        let waiter = there.block(&bob, Floor::All).await;
        let begin = Instant::now();
        here.send(&ann, "bob", &round.to_string()).await.unwrap();
        assert_eq!(texts(&waiter.await.unwrap().messages), [round.to_string()]);
        took.push(begin.elapsed());
    }
    took.sort();
    eprintln!("send to wake across two daemons: p50 {:?}, worst {:?}", took[20], took[39]);
    let agents = here.mail.agents().await.unwrap();
    assert_eq!(agents.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_looks_after_its_own_leases_only() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (daemon(&server, "own", "here").await, daemon(&server, "own", "there").await);
    let (ann, bob) = (here.agent("ann", "dev").await, there.agent("bob", "dev").await);
    here.send(&ann, "bob", "x").await.unwrap();
    assert_eq!(there.check(&bob).await, ["x"]);
    // A restart of the first daemon must not free the messages in hand of a session of the second.
    let reborn = daemon(&server, "own", "here").await;
    let cat = reborn.agent("cat", "dev").await;
    reborn.send(&ann, "cat", "y").await.unwrap();
    let attachment = reborn.mail.attach(&cat);
    assert_eq!(reborn.check(&cat).await, ["y"]);
    let waiter = reborn.block(&next_session(&cat), Floor::All).await;
    drop(attachment);
    assert_eq!(texts(&waiter.await.unwrap().messages), ["y (again)"]);
    assert_eq!(there.check(&next_session(&bob)).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_cut_under_load_lose_and_double_nothing_long_run() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (daemon(&server, "cut", "here").await, daemon(&server, "cut", "there").await);
    let boxes = [there.agent("b0", "box").await, here.agent("b1", "box").await];
    let mut sending = tokio::task::JoinSet::new();
    for index in 0..4 {
        let fixture = if index % 2 == 0 { &here } else { &there };
        let session = fixture.agent(&format!("s{index}"), "load").await;
        sending.spawn(send_all(fixture.mail.clone(), session, index));
    }
    let mut receiving = tokio::task::JoinSet::new();
    for (session, mail) in boxes.into_iter().zip([there.mail.clone(), here.mail.clone()]) {
        receiving.spawn(receive_all(mail, session));
    }
    let mut cuts = 0;
    let mut acknowledged = Vec::new();
    loop {
        tokio::select! {
            done = sending.join_next() => match done {
                Some(sent) => acknowledged.extend(sent.unwrap()),
                None => break,
            },
            () = server.cut_connections() => cuts += 1,
        }
        tokio::time::sleep(Duration::from_millis(150)).await; // sleeps: between two cuts something must get done
    }
    let mut got: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(received) = receiving.join_next().await {
        for id in received.unwrap() {
            *got.entry(id).or_default() += 1;
        }
    }
    let lost = acknowledged.iter().filter(|id| !got.contains_key(*id)).count();
    let doubled = got.values().filter(|count| **count > 1).count();
    eprintln!("{cuts} cuts, {} acknowledged, {lost} lost, {doubled} doubled", acknowledged.len());
    assert!(cuts > 0);
    assert_eq!((acknowledged.len(), got.len(), lost, doubled), (200, 200, 0, 0));
}

async fn send_all(mail: Arc<Mail>, session: Session, index: usize) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for count in 0..50 {
        let request = SendRequest {
            to: vec![format!("b{}", count % 2)],
            content: format!("{index}/{count}"),
            idempotency_key: Some(format!("k{count}")),
            ..SendRequest::default()
        };
        loop {
            match mail.send(&session, request.clone()).await {
                Ok(sent) => break acknowledged.push(sent.id.to_string()),
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    }
    acknowledged
}

/// Receives until nothing has come for a while.
async fn receive_all(mail: Arc<Mail>, session: Session) -> Vec<String> {
    let mut got = Vec::new();
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < LONG * 2);
        let request = WaitRequest { timeout: Duration::from_secs(5), max: 5, ..WaitRequest::default() };
        match mail.wait(&session, request).await {
            Ok(waited) if waited.messages.is_empty() => return got,
            Ok(waited) => got.extend(waited.messages.into_iter().map(|one| one.message.id.to_string())),
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_database_that_is_away_is_said_so_and_nothing_was_sent() {
    let Some(server) = Server::start() else { return };
    let fixture = daemon(&server, "away", "here").await;
    let ann = fixture.agent("ann", "dev").await;
    drop(server);
    let error = fixture.send(&ann, "ann", "x").await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
}
