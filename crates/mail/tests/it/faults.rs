//! Faults in front of every store: a reply lost after the commit, a connection cut before it, and wakes delayed,
//! doubled or lost. Every acknowledged send arrives exactly once, and every waiter is woken in the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mail::store::change::{Change, Changed};
use mail::store::query::{Query, QueryResult};
use mail::store::{BoxFuture, CommitHook, Store, WakeDelivery, WakeListener};
use mail::{Floor, MailError, SendRequest, StoreError, WaitRequest};

use crate::fixture::{ManualClock, StoreFixture, limits, next_session};

/// A store behind injected faults. A seed decides which call meets which fault.
struct Faulty {
    inner: Arc<dyn Store>,
    drawn: AtomicU64,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Faulty {
    fn new(inner: Arc<dyn Store>, seed: u64) -> Faulty {
        Faulty { inner, drawn: AtomicU64::new(seed), counts: Mutex::default() }
    }

    /// Returns a number below 100.
    fn draw(&self) -> u64 {
        let mut z = self.drawn.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % 100
    }

    fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap().entry(what).or_default() += 1;
    }
}

impl Store for Faulty {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        Box::pin(async move {
            match self.draw() {
                0..5 => {
                    self.count("refused to connect");
                    Err(StoreError::Away { reason: "fault: away".into() })
                }
                5..12 => {
                    self.count("cut before the commit");
                    Err(StoreError::Uncertain { reason: "fault: cut before the commit".into() })
                }
                12..25 => {
                    self.inner.write(change).await?;
                    self.count("reply lost after the commit");
                    Err(StoreError::Uncertain { reason: "fault: reply lost".into() })
                }
                _ => self.inner.write(change).await,
            }
        })
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        self.inner.read(query)
    }

    fn listen(&self, listener: WakeListener) {
        let drawn = AtomicU64::new(7);
        let runtime = tokio::runtime::Handle::current();
        self.inner.listen(Arc::new(move |wake| match drawn.fetch_add(1, Ordering::SeqCst) % 4 {
            0 => {}
            1 => {
                listener(wake.clone());
                listener(wake);
            }
            2 => {
                let listener = listener.clone();
                runtime.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(30)).await; // sleeps: the delay is the fault
                    listener(wake);
                });
            }
            _ => listener(wake),
        }));
    }

    fn on_commit(&self, hook: CommitHook) {
        let drawn = AtomicU64::new(3);
        self.inner.on_commit(Arc::new(move |arrivals| {
            let mut along = hook(arrivals);
            along.retain(|_| !drawn.fetch_add(1, Ordering::SeqCst).is_multiple_of(3));
            along
        }));
    }

    fn wake_delivery(&self) -> WakeDelivery {
        WakeDelivery::BestEffort
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_bears_all_faults() {
    bears_all_faults(StoreFixture::memory(limits()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_bears_all_faults() {
    bears_all_faults(StoreFixture::sqlite(limits()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_bears_all_faults() {
    let Some(server) = crate::postgres::Server::start() else { return };
    bears_all_faults(StoreFixture::postgres(&server, "faults", limits()).await).await;
}

const SENDERS: usize = 4;
const EACH: usize = 40;

async fn bears_all_faults(sound: StoreFixture) {
    let faulty = Arc::new(Faulty::new(sound.store.clone(), 42));
    let hand = ManualClock(sound.clock.0.clone());
    let boxes = [sound.agent("b0", "dev").await, sound.agent("b1", "dev").await];
    let mut senders = Vec::new();
    for index in 0..SENDERS {
        senders.push(sound.agent(&format!("s{index}"), "load").await);
    }
    let fixture = StoreFixture::with(faulty.clone(), limits(), hand, Box::new(())).await;
    let mut sending = tokio::task::JoinSet::new();
    for (index, session) in senders.into_iter().enumerate() {
        let mail = fixture.mail.clone();
        sending.spawn(async move {
            let mut acknowledged = Vec::new();
            for count in 0..EACH {
                let request = SendRequest {
                    to: vec![format!("b{}", count % 2)],
                    content: format!("{index}/{count}"),
                    idempotency_key: Some(format!("k{count}")),
                    ..SendRequest::default()
                };
                // After a refused connection the send is repeated with the same key, as the error says.
                let sent = loop {
                    match mail.send(&session, request.clone()).await {
                        Ok(sent) => break sent,
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                };
                acknowledged.push((sent.id, request.content));
            }
            acknowledged
        });
    }
    let mut receiving = tokio::task::JoinSet::new();
    for agent in boxes {
        // Two waiters each; every message goes to exactly one of them.
        for _ in 0..2 {
            let (mail, session) = (fixture.mail.clone(), next_session(&agent));
            receiving.spawn(async move {
                let mut got = Vec::new();
                loop {
                    let request = WaitRequest {
                        timeout: Duration::from_secs(4),
                        floor: Floor::All,
                        max: 3,
                        ..WaitRequest::default()
                    };
                    match mail.wait(&session, request).await {
                        Ok(waited) if waited.messages.is_empty() => return got,
                        Ok(waited) => got.extend(waited.messages.into_iter().map(|one| (one.message.id, one.attempt))),
                        Err(MailError::Store(StoreError::Away { .. })) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    }
    let mut acknowledged = Vec::new();
    while let Some(sent) = sending.join_next().await {
        acknowledged.extend(sent.unwrap());
    }
    let mut got: BTreeMap<String, u32> = BTreeMap::new();
    while let Some(received) = receiving.join_next().await {
        for (id, attempt) in received.unwrap() {
            assert_eq!(attempt, 1, "a live session never sees a message twice");
            *got.entry(id.to_string()).or_default() += 1;
        }
    }
    let lost = acknowledged.iter().filter(|(id, _)| !got.contains_key(id.as_str())).count();
    let doubled = got.values().filter(|count| **count > 1).count();
    eprintln!(
        "{} acknowledged, {lost} lost, {doubled} doubled; {:?}",
        acknowledged.len(),
        faulty.counts.lock().unwrap()
    );
    assert_eq!((acknowledged.len(), got.len(), lost, doubled), (SENDERS * EACH, SENDERS * EACH, 0, 0));
}
