//! A message that comes while a waiter's claim is under way, which had looked before it came.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mail::store::change::{Change, Changed};
use mail::store::query::{Query, QueryResult};
use mail::store::{Arrival, BoxFuture, Store, Wake, WakeDelivery, WakeListener};
use mail::{AgentName, Floor, Priority, StoreError};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::fixture::{ManualClock, StoreFixture, limits, texts};

/// A store that holds back the answer to the second claim.
struct Slow {
    inner: Arc<dyn Store>,
    claims: AtomicUsize,
    go_on: Notify,
    listener: Mutex<Option<WakeListener>>,
}

impl Store for Slow {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        Box::pin(async move {
            let is_held = matches!(change, Change::Claim(_)) && self.claims.fetch_add(1, Ordering::SeqCst) == 1;
            let changed = self.inner.write(change).await;
            if is_held {
                self.go_on.notified().await;
            }
            changed
        })
    }

    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        self.inner.read(query)
    }

    fn listen(&self, ear: WakeListener) {
        *self.listener.lock() = Some(ear.clone());
        self.inner.listen(ear);
    }

    fn wake_delivery(&self) -> WakeDelivery {
        self.inner.wake_delivery()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

/// On one thread, so that all others have run until they wait.
async fn others_run() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_comes_after_a_claim_under_way_has_looked_is_not_missed() {
    let sound = StoreFixture::memory(limits()).await;
    let (claims, go_on, listener) = (AtomicUsize::new(0), Notify::new(), Mutex::new(None));
    let store = Arc::new(Slow { inner: sound.store.clone(), claims, go_on, listener });
    let fixture = StoreFixture::with(store.clone(), limits(), ManualClock(sound.clock.0.clone()), Box::new(())).await;
    let (ann, bob) = (fixture.agent("ann", "dev").await, fixture.agent("bob", "dev").await);
    let waiter = fixture.block(&bob, Floor::All).await;
    others_run().await;

    // A wake for nothing, as when another waiter was given the message.
    let wake = store.listener.lock().clone().unwrap();
    wake(Wake::Mail(vec![Arrival { agent: AgentName::new("bob").unwrap(), priority: Priority::Normal }]));
    assert_eq!(store.claims.load(Ordering::SeqCst), 2, "the waiter's claim is under way");
    fixture.send(&ann, "bob", "late").await.unwrap();
    others_run().await;
    store.go_on.notify_one();

    let waited = tokio::time::timeout(Duration::from_secs(20), waiter).await.expect("it is woken").unwrap();
    assert_eq!(texts(&waited.messages), ["late"]);
}
