//! Claims whose caller may disappear midway. Messages that no caller accepted wait again, as if never handed out.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::store_retry::Patience;
use super::waiters::OnWake;
use crate::error::{MailError, StoreError};
use crate::store::change::{Claim, ClaimResult, HandBack};
use crate::store::rules::call_of;
use crate::store::{InTransaction, Store};

/// The shortest time for resolving an uncertain claim before its messages are handed back unseen.
const CLEAR_UP: Duration = Duration::from_secs(5);

/// Returns a random token that identifies one call.
pub(crate) fn token() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    call_of(u64::from_le_bytes(bytes))
}

/// Claims in a separate task, which receives the answer even if the caller disappears. The task retries an unavailable
/// store until the deadline.
pub(super) async fn claim_for_caller(
    store: &Arc<dyn Store>,
    runtime: &Handle,
    claim: Claim,
    deadline: Instant,
) -> Result<ClaimResult, MailError> {
    let (answer, mut coming) = oneshot::channel();
    begin(store, runtime, claim, deadline, answer);
    accept(&mut coming).await
}

pub(super) type Coming = oneshot::Receiver<Result<Handout, MailError>>;

/// A claim made in the transaction that wakes the caller, or begun right after it. [`accept`] takes the outcome.
pub(super) struct ClaimOnWake {
    store: Arc<dyn Store>,
    runtime: Handle,
    claim: Claim,
    deadline: Instant,
    answer: Answer,
}

impl ClaimOnWake {
    pub(super) fn new(
        store: &Arc<dyn Store>,
        runtime: &Handle,
        claim: Claim,
        deadline: Instant,
    ) -> (ClaimOnWake, Coming) {
        let (answer, coming) = oneshot::channel();
        (ClaimOnWake { store: Arc::clone(store), runtime: runtime.clone(), claim, deadline, answer }, coming)
    }
}

impl OnWake for ClaimOnWake {
    fn in_transaction(self: Box<Self>) -> InTransaction {
        let claim = self.claim.clone();
        let mut unless_committed = BeginUnlessCommitted(Some(self));
        InTransaction::change(claim, move |claimed| {
            let Some(on_wake) = unless_committed.0.take() else { return };
            let mut handout = Handout::new(&on_wake.store, &on_wake.runtime, &on_wake.claim);
            let handout = claimed.map(|claimed| {
                handout.claimed = claimed;
                handout
            });
            // If no caller accepts the handout, dropping it frees its messages.
            let _ = on_wake.answer.send(handout.map_err(MailError::Refused));
        })
    }

    fn begin(self: Box<Self>) {
        begin(&self.store, &self.runtime, self.claim, self.deadline, self.answer);
    }
}

/// Begins the claim when dropped uncommitted. A task does it, since the store may be in the middle of other work.
struct BeginUnlessCommitted(Option<Box<ClaimOnWake>>);

impl Drop for BeginUnlessCommitted {
    fn drop(&mut self) {
        if let Some(on_wake) = self.0.take() {
            let runtime = on_wake.runtime.clone();
            runtime.spawn(async move { on_wake.begin() });
        }
    }
}

/// Gives the claimed messages to the caller. Cancel safe: dropping the future frees the messages.
pub(super) async fn accept(coming: &mut Coming) -> Result<ClaimResult, MailError> {
    match coming.await {
        Ok(handout) => Ok(handout?.accept()),
        Err(_) => Err(StoreError::Away { reason: "the daemon is ending".into() }.into()),
    }
}

type Answer = oneshot::Sender<Result<Handout, MailError>>;

/// Passes the claim to the store at once, and waits for the answer in a task.
fn begin(store: &Arc<dyn Store>, runtime: &Handle, claim: Claim, deadline: Instant, answer: Answer) {
    let handout = Handout::new(store, runtime, &claim);
    let mut filling = Box::pin(async move {
        let filled = handout.fill(claim, deadline, &answer).await;
        // If no caller accepts the handout, dropping it frees its messages.
        let _ = answer.send(filled);
    });
    // The wake may come on a store's own thread, outside the runtime.
    let within = runtime.enter();
    if filling.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        runtime.spawn(filling);
    }
    drop(within);
}

/// Messages on their way to a caller. If dropped before they are accepted, they wait again.
pub(super) struct Handout {
    claimed: ClaimResult,
    back: HandBack,
    store: Arc<dyn Store>,
    runtime: Handle,
}

impl Handout {
    fn new(store: &Arc<dyn Store>, runtime: &Handle, claim: &Claim) -> Handout {
        let back = HandBack { session: claim.session.id.clone(), token: claim.token };
        Handout { claimed: ClaimResult::default(), back, store: Arc::clone(store), runtime: runtime.clone() }
    }

    /// Claims, and retries a briefly unavailable store while the caller is there. An uncertain claim is repeated with
    /// the same token, which gives the same messages. A claim that stays uncertain is handed back, so that no later
    /// call confirms messages that were never seen.
    async fn fill(mut self, claim: Claim, deadline: Instant, caller: &Answer) -> Result<Handout, MailError> {
        let mut patience = Patience::until(deadline);
        let mut was_uncertain = false;
        loop {
            let error = match self.store.change(claim.clone()).await {
                Ok(claimed) => {
                    self.claimed = claimed;
                    return Ok(self);
                }
                Err(error @ (StoreError::Away { .. } | StoreError::Uncertain { .. })) => error,
                Err(error) => {
                    if was_uncertain {
                        self.give_back();
                    }
                    return Err(error.into());
                }
            };
            if matches!(error, StoreError::Uncertain { .. }) && !std::mem::replace(&mut was_uncertain, true) {
                patience.extend(CLEAR_UP);
            }
            if patience.pause().await && !caller.is_closed() {
                continue;
            }
            if !was_uncertain {
                return Err(error.into());
            }
            self.give_back();
            return Err(StoreError::Uncertain { reason: "it did not come back in time".into() }.into());
        }
    }

    fn accept(mut self) -> ClaimResult {
        std::mem::take(&mut self.claimed)
    }

    fn give_back(&self) {
        let (store, back) = (Arc::clone(&self.store), self.back.clone());
        self.runtime.spawn(async move {
            let mut pause = Duration::from_millis(50);
            while let Err(error) = store.change(back.clone()).await {
                if matches!(
                    error,
                    StoreError::Refused(_) | StoreError::Corrupt { .. } | StoreError::Newer { .. } | StoreError::Gone
                ) {
                    tracing::error!(%error, "cannot return messages that no caller received");
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
        if !(self.claimed.messages.is_empty() && self.claimed.reminders.is_empty()) {
            self.give_back();
        }
    }
}
