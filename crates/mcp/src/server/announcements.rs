//! Announces changes of lists, watched resources and tasks, to legacy clients and on subscriptions (2026-07-28).

use serde::Serialize;
use serde_json::value::RawValue;

use super::connection_state::{ConnectionState, ListKind};
use crate::wire::{Id, build};

impl ConnectionState {
    pub(super) fn list_changed(&mut self, list: ListKind) {
        self.changed.insert(list);
    }

    /// Announces changes once the output has room. One announcement covers all changes before it.
    pub(super) fn announce(&mut self) {
        let is_news = !(self.changed.is_empty() && self.updated.is_empty() && self.tasks_changed.is_empty());
        if !is_news || !self.peer_keeps_up() {
            return;
        }
        for id in std::mem::take(&mut self.tasks_changed) {
            self.announce_task(&id);
        }
        for list in std::mem::take(&mut self.changed) {
            if self.initialized {
                build::notification(self.out.bytes(), list.changed(), None);
            }
            for subscription in self.subscriptions.iter().filter(|subscription| subscription.lists.contains(&list)) {
                let params = subscription_params(&subscription.id, ());
                build::notification(self.out.bytes(), list.changed(), Some(&params));
            }
        }
        for uri in std::mem::take(&mut self.updated) {
            const METHOD: &str = "notifications/resources/updated";
            let updated = Updated { uri: &uri };
            if self.subscribed_resources.contains(&uri) {
                build::notification(self.out.bytes(), METHOD, Some(&json_text(&updated)));
            }
            for subscription in self.subscriptions.iter().filter(|subscription| subscription.is_subscribed(&uri)) {
                let params = subscription_params(&subscription.id, &updated);
                build::notification(self.out.bytes(), METHOD, Some(&params));
            }
        }
    }

    /// Ends all subscriptions with their results.
    pub(super) fn end_subscriptions(&mut self) {
        for subscription in std::mem::take(&mut self.subscriptions) {
            self.unwatch(subscription.uris.iter().map(String::as_str));
            self.emit(None, |out, shared| {
                build::result_with(out, &subscription.id, |out| {
                    shared.results.listen_over(out, subscription.id.as_json())
                });
            });
        }
    }
}

/// Returns the parameters of a notification on a subscription; `members` are those besides `_meta`.
pub(super) fn subscription_params(id: &Id, members: impl Serialize) -> String {
    #[derive(Serialize)]
    struct OnSubscription<'a, T> {
        #[serde(rename = "_meta")]
        meta: SubscriptionMeta<'a>,
        #[serde(flatten)]
        members: T,
    }
    #[derive(Serialize)]
    struct SubscriptionMeta<'a> {
        #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
        id: &'a RawValue,
    }
    // An id is echoed as the client wrote it.
    let id = serde_json::from_str(id.as_json()).unwrap_or(RawValue::NULL);
    json_text(&OnSubscription { meta: SubscriptionMeta { id }, members })
}

/// The parameters of `notifications/resources/updated`.
#[derive(Serialize)]
struct Updated<'a> {
    uri: &'a str,
}

/// Parameters as JSON text.
pub(super) fn json_text(params: &impl Serialize) -> String {
    serde_json::to_string(params).expect("maps with string keys are JSON")
}
