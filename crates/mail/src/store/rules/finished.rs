//! The end of a delivery.

use super::rows::{DeliveryOf, Mailbox, MessageRows};
use crate::model::DeliveryState;

/// Moves a delivery forward to a state in which it no longer waits. The caller saves the mailbox.
pub(super) async fn finish<R: MessageRows>(
    rows: &mut R,
    mailbox: &mut Mailbox<R::Agent>,
    one: &DeliveryOf<R>,
    state: DeliveryState,
    note: Option<&str>,
) -> Result<(), R::Fault> {
    if one.state.is_waiting() {
        let counter = if one.token.is_some() { &mut mailbox.leased } else { mailbox.free(one.priority) };
        *counter = counter.saturating_sub(1);
        mailbox.bytes = mailbox.bytes.saturating_sub(one.bytes);
    }
    rows.finish(one, state, note).await
}
