//! Servers with other tools that share jobs and open questions, and registries that part ways.

use std::sync::Arc;

use serde_json::json;

use super::client::{Client, text};
use super::everything;
use crate::server::{ConnectionOptions, ServerInfo};
use crate::tool::{Effect, Registry, ToolFn};

#[tokio::test(start_paused = true)]
async fn a_job_outlives_the_server_that_it_began_on() {
    let server = everything();
    let sibling = server.sibling(ServerInfo::new("sibling", "1"), Arc::new(server.registry().fork())).jobs();
    let mut client = Client::connect(&sibling, ConnectionOptions::default());
    client.call(1, "toil", json!({"seconds": 60})).await;
    let running = client.next().await;
    let id = running["result"]["structuredContent"]["job"]["id"].clone();
    client.finish().await;
    drop(sibling);
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.call(2, "job_wait", json!({"id": id, "seconds": 100})).await;
    assert_eq!(text(&client.next().await), "made a horseshoe");
}

#[tokio::test]
async fn each_fork_changes_by_itself() {
    let named =
        |name: &str| ToolFn::new(name, Effect::READ).description("Does it.").build(|_, (): ()| async { Ok("done") });
    let one = Registry::new(["a", "b"].map(named));
    one.unlist("rest", ["b".to_owned()]);
    let two = one.fork();
    let names = |registry: &Registry| -> Vec<String> {
        let all = registry.list();
        all.iter().map(|tool| tool.declaration().name.clone()).collect()
    };
    two.replace([], [named("c")]).expect("legal");
    assert_eq!((names(&one), names(&two)), (vec!["a".into(), "b".into()], vec!["a".into(), "b".into(), "c".into()]));
    let changes = two.changes();
    let before = *changes.borrow();
    let given = std::collections::BTreeSet::new();
    assert!(!two.is_listed("b", &given));
    two.relist(["b", "c"]);
    assert!(two.is_listed("b", &given) && !one.is_listed("b", &given));
    assert_eq!(*changes.borrow(), before + 1);
    // A change without effect is not announced.
    two.relist(["b"]);
    two.unlist("rest", []);
    assert_eq!(*changes.borrow(), before + 1);
}
