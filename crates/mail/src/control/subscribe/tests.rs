//! A slow subscriber: its backlog waits in the store, not in memory, and nothing is left out.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use mcp::tool::{LogLevel, Peer, Progress};
use tokio::sync::{Notify, watch};

use super::*;
use crate::callers::CallersOptions;
use crate::error::StoreError;
use crate::model::{Clock, Limits};
use crate::service::MailOptions;
use crate::service::fixture::{enter, mail};
use crate::service::send::SendRequest;
use crate::store::memory::MemoryStore;
use crate::store::{BoxFuture, Change, Changed, CommitHook, Query, QueryResult, Store, WakeDelivery, WakeListener};

/// The maximum number of notifications that may wait to be written.
const ROOM: usize = 4;

/// A peer with a short queue.
struct Narrow {
    waiting: Mutex<VecDeque<serde_json::Value>>,
    closed: watch::Sender<bool>,
}

impl Narrow {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<serde_json::Value>> {
        self.waiting.lock().unwrap()
    }
}

impl Peer for Narrow {
    fn notify(&self, _: &str, params: Box<RawValue>) -> Result<(), NotifyError> {
        let mut waiting = self.waiting();
        if waiting.len() == ROOM {
            return Err(NotifyError::Full);
        }
        waiting.push_back(serde_json::from_str(params.get()).unwrap());
        Ok(())
    }
    fn progress(&self, _: Progress) {}
    fn log(&self, _: LogLevel, _: &str, _: Box<RawValue>) {}
    fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }
}

fn callers(folder: &std::path::Path) -> Arc<Callers> {
    Callers::new(CallersOptions {
        open: Box::new(|| unreachable!("nobody asks")),
        identities: folder.join("identities"),
        tokens: folder.join("tokens"),
        space: "s".to_owned(),
        host: "h".to_owned(),
    })
}

async fn send(mail: &Arc<Mail>, from: &Session, content: String) {
    let request = SendRequest { to: vec!["bob".to_owned()], content, ..SendRequest::default() };
    mail.send(from, request).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_gets_everything_in_order_at_its_own_pace() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    let long = "x".repeat(100_000);
    for n in 0..100 {
        send(&mail, &ann, format!("{n} {long}")).await;
    }
    let narrow = Arc::new(Narrow { waiting: Mutex::default(), closed: watch::channel(false).0 });
    let temp = tempfile::tempdir().unwrap();
    let callers = callers(temp.path());
    let coming = mail.subscribe_waiting(&bob, Floor::All).await.unwrap();
    let cx = Context::new(narrow.clone(), Arc::new(()), watch::channel(false).1, None);
    let telling = Telling { callers, mail: mail.clone(), session: bob.clone(), cx };
    let telling = tokio::spawn(telling.run(coming));
    let mut told = Vec::new();
    while told.len() < 200 {
        // The paused clock moves only while every task sleeps, so the queue is full by now.
        tokio::time::sleep(Duration::from_secs(2)).await;
        if told.len() == 40 {
            for n in 100..200 {
                send(&mail, &ann, format!("{n} {long}")).await;
            }
        }
        let one = narrow.waiting().pop_front().unwrap();
        assert!(one["preview"].as_str().unwrap().starts_with(&format!("{} x", told.len())), "{one}");
        told.push(one["seq"].as_u64().unwrap());
        assert!(narrow.waiting().len() < ROOM);
    }
    assert!(told.iter().copied().eq(1..=200), "{told:?}");
    narrow.closed.send_replace(true);
    telling.await.unwrap();
}

/// A store that records when it is queried.
struct RecordingStore(Arc<MemoryStore>, Arc<Mutex<Vec<&'static str>>>);

impl Store for RecordingStore {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        self.0.write(change)
    }
    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        self.1.lock().unwrap().push("asked");
        self.0.read(query)
    }
    fn listen(&self, listener: WakeListener) {
        self.0.listen(listener);
    }
    fn on_commit(&self, hook: CommitHook) {
        self.0.on_commit(hook);
    }
    fn wake_delivery(&self) -> WakeDelivery {
        self.0.wake_delivery()
    }
    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.close()
    }
}

/// A peer whose connection is a separate task: it is woken, and writes when it is scheduled.
struct Rung(Notify, watch::Sender<bool>);

impl Peer for Rung {
    fn notify(&self, _: &str, _: Box<RawValue>) -> Result<(), NotifyError> {
        self.0.notify_one();
        Ok(())
    }
    fn progress(&self, _: Progress) {}
    fn log(&self, _: LogLevel, _: &str, _: Box<RawValue>) {}
    fn closed(&self) -> watch::Receiver<bool> {
        self.1.subscribe()
    }
}

#[tokio::test]
async fn what_is_told_leaves_before_the_store_is_asked_for_more() {
    let order = Arc::<Mutex<Vec<&'static str>>>::default();
    let store = Arc::new(MemoryStore::new(Clock::system(), Limits::default()));
    let mail = Mail::open(MailOptions::new(Arc::new(RecordingStore(store, order.clone())))).await.unwrap();
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    let rung = Arc::new(Rung(Notify::new(), watch::channel(false).0));
    let (connection, wrote, written) = (rung.clone(), order.clone(), Arc::new(Notify::new()));
    let done = written.clone();
    tokio::spawn(async move {
        connection.0.notified().await;
        wrote.lock().unwrap().push("written");
        done.notify_one();
    });
    let temp = tempfile::tempdir().unwrap();
    let coming = mail.subscribe(&bob, Floor::All, None).await.unwrap();
    let cx = Context::new(rung.clone(), Arc::new(()), watch::channel(false).1, None);
    let telling = Telling { callers: callers(temp.path()), mail: mail.clone(), session: bob, cx };
    order.lock().unwrap().clear();
    let telling = tokio::spawn(telling.run(coming));
    // The subscriber looks once, finds nothing, and waits.
    while order.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    order.lock().unwrap().clear();
    send(&mail, &ann, "news".to_owned()).await;
    written.notified().await;
    assert_eq!(order.lock().unwrap()[0], "written");
    rung.1.send_replace(true);
    telling.await.unwrap();
}

#[tokio::test]
async fn little_of_a_long_text_is_kept_for_a_subscriber() {
    let mail = mail().await;
    let (ann, bob) = (enter(&mail, "ann").await, enter(&mail, "bob").await);
    send(&mail, &ann, "ä".repeat(100_000)).await;
    let message = mail.subscribe(&bob, Floor::All, Some(0)).await.unwrap().next().await.unwrap();
    assert_eq!(message.content, "ä".repeat(512));
}

#[tokio::test]
async fn who_comes_by_single_requests_cannot_subscribe() {
    let temp = tempfile::tempdir().unwrap();
    let caller = Caller { by_requests: true, ..testkit::caller(temp.path(), "bob") };
    let refused = subscribe(callers(temp.path()), Context::detached(Arc::new(caller)), None).await.unwrap_err();
    assert!(refused.message.contains("need a persistent connection"), "{}", refused.message);
}
