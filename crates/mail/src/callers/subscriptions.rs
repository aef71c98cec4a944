//! At most one subscription for each connection.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;

#[derive(Default)]
pub(super) struct Subscriptions(Mutex<HashMap<u64, JoinHandle<()>>>);

impl Subscriptions {
    /// Gives a connection its subscription, in place of the one it had.
    pub(super) async fn set(self: &Arc<Self>, connection: u64, telling: impl Future<Output = ()> + Send + 'static) {
        let mut subscriptions = self.0.lock().await;
        if let Some(former) = subscriptions.remove(&connection) {
            former.abort();
            // It sends nothing after this returns; how it ended does not matter.
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
