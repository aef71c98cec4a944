//! A blocked waiter gets its message in the transaction that stores it, without a separate change. Correctness does not
//! depend on that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mail::store::change::{Change, Changed, Purge};
use mail::store::query::{Query, QueryResult};
use mail::store::{Arrival, BoxFuture, CommitHook, InTransaction, Store, WakeDelivery, WakeListener};
use mail::{Floor, StoreError};

use crate::fixture::{ManualClock, StoreFixture, limits, texts};

/// Alters the requests for the transaction.
type Tamper = fn(&[Arrival], Vec<InTransaction>) -> Vec<InTransaction>;

/// A store that counts calls and alters the requests of its commit hook.
struct HookedStore {
    inner: Arc<dyn Store>,
    claims: AtomicUsize,
    reads: AtomicUsize,
    along: Arc<AtomicUsize>,
    tamper: Tamper,
}

impl Store for HookedStore {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        self.claims.fetch_add(usize::from(matches!(change, Change::Claim(_))), Ordering::SeqCst);
        self.inner.write(change)
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read(query)
    }

    fn listen(&self, ear: WakeListener) {
        self.inner.listen(ear);
    }

    fn on_commit(&self, hook: CommitHook) {
        let (tamper, count) = (self.tamper, self.along.clone());
        self.inner.on_commit(Arc::new(move |arrivals| {
            let along = hook(arrivals);
            count.fetch_add(along.len(), Ordering::SeqCst);
            tamper(arrivals, along)
        }));
    }

    fn wake_delivery(&self) -> WakeDelivery {
        self.inner.wake_delivery()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

impl HookedStore {
    fn with_tamper(sound: &StoreFixture, tamper: Tamper) -> Arc<HookedStore> {
        let inner = sound.store.clone();
        Arc::new(HookedStore {
            inner,
            claims: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            along: Arc::default(),
            tamper,
        })
    }
}

/// Wakes waiters until one of them had set its first step, a moment after its first look. Returns how many claims that
/// waiter made itself. Each waiter gets its message, for the first time.
async fn claims_of_a_wake(sound: StoreFixture, tamper: Tamper) -> usize {
    let store = HookedStore::with_tamper(&sound, tamper);
    let fixture = StoreFixture::with(store.clone(), limits(), ManualClock(sound.clock.0.clone()), Box::new(())).await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    for round in 0.. {
        let before = [&store.claims, &*store.along].map(|count| count.load(Ordering::SeqCst));
        let waiter = fixture.block(&bob, Floor::All).await;
        tokio::task::yield_now().await;
        fixture.send(&ann, "bob", &round.to_string()).await.unwrap();
        let got = waiter.await.unwrap().messages;
        assert_eq!((texts(&got), got[0].attempt), (vec![round.to_string()], 1));
        let [claims, along] = [&store.claims, &*store.along].map(|count| count.load(Ordering::SeqCst));
        if along > before[1] {
            assert!(fixture.wait(&bob, Duration::ZERO, Floor::All).await.messages.is_empty());
            return claims - before[0];
        }
    }
    unreachable!()
}

const ONLY_THE_FIRST_LOOK: usize = 1;

#[tokio::test]
async fn memory_hands_out_with_what_brings_it() {
    assert_eq!(claims_of_a_wake(StoreFixture::memory(limits()).await, |_, along| along).await, ONLY_THE_FIRST_LOOK);
}

#[tokio::test]
async fn sqlite_hands_out_with_what_brings_it() {
    assert_eq!(claims_of_a_wake(StoreFixture::sqlite(limits()).await, |_, along| along).await, ONLY_THE_FIRST_LOOK);
}

/// A subscriber's fetch is made in the transaction too: after its first look it does not query the store.
#[tokio::test]
async fn a_subscriber_is_told_with_what_brings_it() {
    for sound in [StoreFixture::memory(limits()).await, StoreFixture::sqlite(limits()).await] {
        let store = HookedStore::with_tamper(&sound, |_, along| along);
        let fixture =
            StoreFixture::with(store.clone(), limits(), ManualClock(sound.clock.0.clone()), Box::new(())).await;
        let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
        let mut told = fixture.mail.subscribe(&bob, Floor::All, None).await.unwrap();
        for round in 0.. {
            let before = [&store.reads, &*store.along].map(|count| count.load(Ordering::SeqCst));
            let send = async {
                tokio::task::yield_now().await;
                fixture.send(&ann, "bob", &round.to_string()).await.unwrap()
            };
            let (message, _) = tokio::join!(told.next(), send);
            assert_eq!(message.unwrap().content, round.to_string());
            let [reads, along] = [&store.reads, &*store.along].map(|count| count.load(Ordering::SeqCst));
            // The subscriber had set its step before the message came.
            if along > before[1] {
                assert_eq!(reads - before[0], ONLY_THE_FIRST_LOOK);
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_done_along_is_done_after() {
    for fixture in [StoreFixture::memory(limits()).await, StoreFixture::sqlite(limits()).await] {
        assert!(claims_of_a_wake(fixture, |_, _| Vec::new()).await > ONLY_THE_FIRST_LOOK);
    }
}

/// The change itself is still applied, and the waiters have their message.
#[tokio::test]
async fn what_fails_along_fails_alone() {
    let claims = claims_of_a_wake(StoreFixture::sqlite(limits()).await, |_, mut along| {
        // A number that SQLite does not take: the whole transaction fails.
        let fails = InTransaction::change(Purge { max: usize::MAX }, |_| panic!("it cannot be committed"));
        if !along.is_empty() {
            along.push(fails);
        }
        along
    });
    assert!(claims.await > ONLY_THE_FIRST_LOOK);
}
