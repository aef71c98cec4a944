//! What a blocked waiter is handed along with the change that brings it: without a change of its own; and that nothing
//! depends on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mail::store::change::{Change, Changed, Claim};
use mail::store::query::{Found, Query};
use mail::store::{Along, Arrival, BoxFuture, Companions, Ear, News, Store};
use mail::{Floor, Session, SessionId, StoreError};

use crate::place::{Hand, Place, limits, texts};

/// What becomes of all that is to be done along.
type Meddle = fn(&[Arrival], Vec<Along>) -> Vec<Along>;

/// A store that counts what passes, and meddles.
struct Meddling {
    inner: Arc<dyn Store>,
    claims: AtomicUsize,
    reads: AtomicUsize,
    along: Arc<AtomicUsize>,
    meddle: Meddle,
}

impl Store for Meddling {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        self.claims.fetch_add(usize::from(matches!(change, Change::Claim(_))), Ordering::SeqCst);
        self.inner.write(change)
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<Found, StoreError>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read(query)
    }

    fn listen(&self, ear: Ear) {
        self.inner.listen(ear);
    }

    fn accompany(&self, companions: Companions) {
        let (meddle, count) = (self.meddle, self.along.clone());
        self.inner.accompany(Arc::new(move |arrivals| {
            let along = companions(arrivals);
            count.fetch_add(along.len(), Ordering::SeqCst);
            meddle(arrivals, along)
        }));
    }

    fn news(&self) -> News {
        self.inner.news()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

impl Meddling {
    fn before(sound: &Place, meddle: Meddle) -> Arc<Meddling> {
        let inner = sound.store.clone();
        Arc::new(Meddling {
            inner,
            claims: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            along: Arc::default(),
            meddle,
        })
    }
}

/// Wakes waiters until one of them had left what it wants done along, which it does a moment after its first look. Gives
/// how many claims that one made by itself. Each gets its message, for the first time.
async fn claims_of_a_wake(sound: Place, meddle: Meddle) -> usize {
    let store = Meddling::before(&sound, meddle);
    let place = Place::with(store.clone(), limits(), Hand(sound.hand.0.clone()), Box::new(())).await;
    let (ann, bob) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
    for round in 0.. {
        let before = [&store.claims, &*store.along].map(|count| count.load(Ordering::SeqCst));
        let waiter = place.block(&bob, Floor::All).await;
        tokio::task::yield_now().await;
        place.send(&ann, "bob", &round.to_string()).await.unwrap();
        let got = waiter.await.unwrap().messages;
        assert_eq!((texts(&got), got[0].attempt), (vec![round.to_string()], 1));
        let [claims, along] = [&store.claims, &*store.along].map(|count| count.load(Ordering::SeqCst));
        if along > before[1] {
            assert!(place.wait(&bob, Duration::ZERO, Floor::All).await.messages.is_empty());
            return claims - before[0];
        }
    }
    unreachable!()
}

const ONLY_THE_FIRST_LOOK: usize = 1;

#[tokio::test]
async fn memory_hands_out_with_what_brings_it() {
    assert_eq!(claims_of_a_wake(Place::memory(limits()).await, |_, along| along).await, ONLY_THE_FIRST_LOOK);
}

#[tokio::test]
async fn sqlite_hands_out_with_what_brings_it() {
    assert_eq!(claims_of_a_wake(Place::sqlite(limits()).await, |_, along| along).await, ONLY_THE_FIRST_LOOK);
}

/// A subscriber's look is made along too: whoever is told asks nothing of the store after the first look.
#[tokio::test]
async fn a_subscriber_is_told_with_what_brings_it() {
    for sound in [Place::memory(limits()).await, Place::sqlite(limits()).await] {
        let store = Meddling::before(&sound, |_, along| along);
        let place = Place::with(store.clone(), limits(), Hand(sound.hand.0.clone()), Box::new(())).await;
        let (ann, bob) = (place.agent("ann", "dev").await, place.agent("bob", "dev").await);
        let mut told = place.mail.subscribe(&bob, Floor::All, None).await.unwrap();
        for round in 0.. {
            let before = [&store.reads, &*store.along].map(|count| count.load(Ordering::SeqCst));
            let send = async {
                tokio::task::yield_now().await;
                place.send(&ann, "bob", &round.to_string()).await.unwrap()
            };
            let (message, _) = tokio::join!(told.next(), send);
            assert_eq!(message.unwrap().content, round.to_string());
            let [reads, along] = [&store.reads, &*store.along].map(|count| count.load(Ordering::SeqCst));
            // It had left its look before the message came.
            if along > before[1] {
                assert_eq!(reads - before[0], ONLY_THE_FIRST_LOOK);
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_done_along_is_done_after() {
    for place in [Place::memory(limits()).await, Place::sqlite(limits()).await] {
        assert!(claims_of_a_wake(place, |_, _| Vec::new()).await > ONLY_THE_FIRST_LOOK);
    }
}

/// The change itself is made all the same, and those who wait have their message.
#[tokio::test]
async fn what_fails_along_fails_alone() {
    let claims = claims_of_a_wake(Place::sqlite(limits()).await, |arrivals, mut along| {
        let session = Session { agent: arrivals[0].agent.clone(), id: SessionId::mint(), fence: 1 };
        // A token that SQLite cannot keep: the whole transaction fails.
        let token = u64::MAX;
        let claim =
            Claim { session, token, floor: Floor::All, max: 1, max_bytes: 1, confirm: false, unseen: Vec::new() };
        let fails = Along::change(claim, |_| panic!("it cannot be committed"));
        if !along.is_empty() {
            along.push(fails);
        }
        along
    });
    assert!(claims.await > ONLY_THE_FIRST_LOOK);
}
