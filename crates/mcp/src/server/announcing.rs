//! What changed, told to those who listen: lists, watched resources and tasks, each in the way its listener chose.

use super::connection_state::{ConnectionState, ListKind};
use crate::wire::{Id, build};

impl ConnectionState {
    pub(super) fn list_changed(&mut self, list: ListKind) {
        self.changed.insert(list);
    }

    /// Announces what changed, when there is room for it: one announcement stands for all changes before it.
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
            for listen in self.subscriptions.iter().filter(|listen| listen.lists.contains(&list)) {
                let params = subscription_meta(&listen.id, "");
                build::notification(self.out.bytes(), list.changed(), Some(&params));
            }
        }
        for uri in std::mem::take(&mut self.updated) {
            const METHOD: &str = "notifications/resources/updated";
            let mut member = b"\"uri\":".to_vec();
            build::push_string(&mut member, &uri);
            let member = String::from_utf8(member).unwrap_or_default();
            if self.subscribed_resources.contains(&uri) {
                build::notification(self.out.bytes(), METHOD, Some(&format!("{{{member}}}")));
            }
            for listen in self.subscriptions.iter().filter(|listen| listen.wants(&uri)) {
                let params = subscription_meta(&listen.id, &format!(",{member}"));
                build::notification(self.out.bytes(), METHOD, Some(&params));
            }
        }
    }

    /// Ends the subscriptions in good order.
    pub(super) fn end_subscriptions(&mut self) {
        for listen in std::mem::take(&mut self.subscriptions) {
            self.unwatch(listen.uris.iter().map(String::as_str));
            self.emit(None, |out, shared| {
                build::result_with(out, &listen.id, |out| shared.results.listen_over(out, listen.id.as_json()));
            });
        }
    }
}

/// The parameters of a notification on a subscription; `more` are further members with a leading comma.
pub(super) fn subscription_meta(id: &Id, more: &str) -> String {
    format!("{{\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id}}}{more}}}")
}
