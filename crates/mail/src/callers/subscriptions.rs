//! The subscriptions of connections, at most one each.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;

#[derive(Default)]
pub(super) struct Subscriptions(Mutex<HashMap<u64, JoinHandle<()>>>);

impl Subscriptions {
    /// Sets a connection's subscription, replacing the former one.
    pub(super) async fn set(self: &Arc<Self>, connection: u64, telling: impl Future<Output = ()> + Send + 'static) {
        let mut subscriptions = self.0.lock().await;
        if let Some(former) = subscriptions.remove(&connection) {
            former.abort();
            // Once this returns, the former subscription sends nothing more; its result does not matter.
            let _ = former.await;
        }
        let this = Arc::clone(self);
        let task = tokio::spawn(async move {
            telling.await;
            this.0.lock().await.remove(&connection);
        });
        subscriptions.insert(connection, task);
    }
}
