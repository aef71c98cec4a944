//! Claiming for a caller who may go away in the middle: what was claimed for nobody goes back as if untouched.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::waits::Errand;
use crate::error::{MailError, StoreError};
use crate::store::Store;
use crate::store::change::{Claim, Claimed, HandBack};

/// How long an uncertain claim is cleared up before it is given up to the end of its session.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names one call.
pub(super) fn token() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    // Stores keep it as a signed number.
    u64::from_le_bytes(bytes) >> 1
}

/// Claims in a task of its own: whatever happens to the caller, somebody hears the answer.
pub(super) async fn claim_for_caller(
    store: &Arc<dyn Store>,
    runtime: &Handle,
    claim: Claim,
) -> Result<Claimed, MailError> {
    let (answer, mut coming) = oneshot::channel();
    begin(store, runtime, claim, answer);
    accept(&mut coming).await
}

/// Where what was claimed will come.
pub(super) type Coming = oneshot::Receiver<Result<Handout, MailError>>;

/// A claim to be begun by whoever wakes the caller, in that very moment: the store has it before the caller has heard of
/// anything. What comes of it comes to [`accept`].
pub(super) fn errand(store: &Arc<dyn Store>, runtime: &Handle, claim: Claim) -> (Errand, Coming) {
    let (store, runtime) = (Arc::clone(store), runtime.clone());
    let (answer, coming) = oneshot::channel();
    (Box::new(move || begin(&store, &runtime, claim, answer)), coming)
}

/// Gives what was claimed to the caller, who has it from then on. Cancel safe: until then it goes back.
pub(super) async fn accept(coming: &mut Coming) -> Result<Claimed, MailError> {
    match coming.await {
        Ok(handout) => Ok(handout?.accept()),
        Err(_) => Err(StoreError::Away { reason: "the daemon is ending".into() }.into()),
    }
}

/// Hands the claim to the store now, and waits for its answer in a task.
fn begin(store: &Arc<dyn Store>, runtime: &Handle, claim: Claim, answer: oneshot::Sender<Result<Handout, MailError>>) {
    let handout = Handout {
        claimed: Claimed::default(),
        back: HandBack { session: claim.session.id.clone(), token: claim.token },
        store: Arc::clone(store),
        runtime: runtime.clone(),
    };
    let mut filling: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(handout.fill(claim));
    // A store's own thread may be the one that wakes.
    let within = runtime.enter();
    // When nobody takes the answer it is dropped, and goes back.
    match filling.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(filled) => _ = answer.send(filled),
        Poll::Pending => _ = runtime.spawn(async move { _ = answer.send(filling.await) }),
    }
    drop(within);
}

/// Messages on their way to a caller. Dropped before they are accepted, they wait again.
pub(super) struct Handout {
    claimed: Claimed,
    back: HandBack,
    store: Arc<dyn Store>,
    runtime: Handle,
}

impl Handout {
    /// Claims. An uncertain claim is made again with the same token, which gives the same messages; when even that
    /// stays uncertain they are handed back, so that no later call confirms what nobody has seen.
    async fn fill(mut self, claim: Claim) -> Result<Handout, MailError> {
        let mut pause = Duration::from_millis(20);
        let end = tokio::time::Instant::now() + PATIENCE;
        let mut was_uncertain = false;
        loop {
            match self.store.change(claim.clone()).await {
                Ok(claimed) => {
                    self.claimed = claimed;
                    return Ok(self);
                }
                Err(StoreError::Uncertain { .. }) => was_uncertain = true,
                Err(StoreError::Away { .. }) if was_uncertain => {}
                Err(error) => return Err(error.into()),
            }
            if tokio::time::Instant::now() >= end {
                self.give_back();
                return Err(StoreError::Uncertain { reason: "it did not come back in time".into() }.into());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    fn accept(mut self) -> Claimed {
        std::mem::take(&mut self.claimed)
    }

    fn give_back(&self) {
        let (store, back) = (Arc::clone(&self.store), self.back.clone());
        self.runtime.spawn(async move {
            let mut pause = Duration::from_millis(50);
            while let Err(error) = store.change(back.clone()).await {
                if matches!(error, StoreError::Refused(_) | StoreError::Corrupt { .. } | StoreError::Newer { .. }) {
                    tracing::error!(%error, "hand back what nobody took");
                    return;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(10));
            }
        });
    }
}

impl Drop for Handout {
    fn drop(&mut self) {
        if !self.claimed.messages.is_empty() {
            self.give_back();
        }
    }
}
