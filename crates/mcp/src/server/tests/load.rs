//! Many clients and many calls on many threads: each call is answered exactly once, unless it was cancelled.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use super::client::Client;
use super::everything;
use crate::server::{ConnectionOptions, Limits};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn mixed_calls_on_many_threads_are_answered_once() {
    const CLIENTS: usize = 4;
    const CALLS: u64 = 1500;
    let server = everything();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move {
                // The end of input is tested elsewhere.
                let limits = Limits { grace: Duration::from_secs(60), ..Limits::default() };
                let options = ConnectionOptions { limits, ..ConnectionOptions::default() };
                let mut client = Client::connect(&server, options);
                let mut taken_back = 0;
                for id in 0..CALLS {
                    match id % 6 {
                        0 => client.call(id, "echo", json!({"text": "now"})).await,
                        1 => client.call(id, "later", json!({"text": "from a thread"})).await,
                        2 => client.call(id, "sleep", json!({"count": 1})).await,
                        3 => client.call_with_token(id, "report", json!({"count": 3})).await,
                        4 => client.call(id, "notify", json!({"count": 1})).await,
                        _ => {
                            client.call(id, "hold", json!({})).await;
                            let params = json!({"requestId": id});
                            let method = "notifications/cancelled";
                            client.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
                            taken_back += 1;
                        }
                    }
                }
                let mut answers = HashMap::<u64, usize>::new();
                let (rest, _) = client.finish().await;
                for message in rest {
                    if let (Some(id), true) = (message["id"].as_u64(), message["method"].is_null()) {
                        *answers.entry(id).or_default() += 1;
                        assert_ne!(id % 6, 5, "a call taken back was answered: {message}");
                        assert!(message["result"]["isError"].is_null() && message["error"].is_null(), "{message}");
                    }
                }
                assert!(answers.values().all(|count| *count == 1));
                assert_eq!(answers.len() as u64, CALLS - taken_back);
            })
        })
        .collect();
    for client in clients {
        client.await.expect("no client failed");
    }
}
