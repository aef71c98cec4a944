//! The embedder's observation of calls: each begins and ends once, a job with its job.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::client::Client;
use super::everything;
use super::faults::{build_tool, server};
use crate::server::{CallEnd, ConnectionOptions, Server, Stopper};
use crate::tool::{Outcome, ToolError};

type CallEvents = Arc<Mutex<Vec<String>>>;

/// Returns the server, and the record of what its observer saw.
fn observed(server: Server) -> (Server, CallEvents) {
    let seen = CallEvents::default();
    let record = seen.clone();
    let server = server.observe(move |_, tool, arguments, _| {
        let name = tool.name.clone();
        let write = |line: String| record.lock().expect("no test panics here").push(line);
        write(format!("{name} {}", arguments.map_or("", |arguments| arguments.get())));
        let record = record.clone();
        Box::new(move |end: CallEnd| record.lock().expect("no test panics here").push(format!("{name} {end:?}")))
    });
    (server, seen)
}

fn take(seen: &CallEvents) -> Vec<String> {
    std::mem::take(&mut *seen.lock().expect("no test panics here"))
}

#[tokio::test(start_paused = true)]
async fn each_call_begins_and_ends_once() {
    let (server, seen) = observed(server([
        build_tool("good", |_| async { Ok(Outcome::text("done")) }),
        build_tool("wrong", |_| async { Err(ToolError::user("no")) }),
        build_tool("bad", |_| async { panic!("it panics") }),
        build_tool("long", |_| std::future::pending()),
    ]));
    let mut client = Client::connect(&server, ConnectionOptions::default());
    for (id, name) in [(1, "good"), (2, "wrong"), (3, "bad")] {
        client.call(id, name, json!({"id": id})).await;
        client.next().await;
    }
    client.call(4, "goood", json!({})).await;
    let refused = client.next().await["error"].to_string();
    assert!(refused.contains("-32602") && refused.contains(r#"did you mean \"good\"?"#), "{refused}");
    let expected =
        ["good {\"id\":1}", "good Done", "wrong {\"id\":2}", "wrong Error", "bad {\"id\":3}", "bad Internal"];
    assert_eq!(take(&seen), expected, "an unknown tool is no call");
    client.call(5, "long", json!({})).await;
    client.call(6, "good", json!({})).await;
    client.next().await;
    assert_eq!(take(&seen), ["long {}", "good {}", "good Done"], "it is open");
    client.vanish().await;
    assert_eq!(take(&seen), ["long Cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_job_ends_with_it() {
    let (server, seen) = observed(everything());
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.call(1, "toil", json!({"seconds": 60})).await;
    let answer = client.next().await;
    assert_eq!(take(&seen), ["toil {\"seconds\":60}"], "{answer}");
    let id = &answer["result"]["structuredContent"]["job"]["id"];
    client.call(2, "job_wait", json!({"id": id, "seconds": 100})).await;
    client.next().await;
    let seen = take(&seen);
    assert_eq!(seen.iter().filter(|line| *line == "toil Done").count(), 1, "{seen:?}");
}

/// An observer that panics disturbs no call.
#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_observes_nothing() {
    let server = everything().observe(|_, _, _, _| panic!("the observer"));
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.call(1, "echo", json!({"text": "fine"})).await;
    assert_eq!(super::client::text(&client.next().await), "fine");
}

/// A stopped call is answered, also if its tool does not listen; one that succeeds nevertheless has its own answer.
#[tokio::test(start_paused = true)]
async fn a_stopped_call_is_answered_with_the_reason() {
    let (seen, stoppers) = (CallEvents::default(), Arc::new(Mutex::new(Vec::<Stopper>::new())));
    let (record, keep) = (seen.clone(), stoppers.clone());
    let server = server([
        build_tool("deaf", |_| std::future::pending()),
        build_tool("listens", |cx| async move {
            cx.cancelled().await;
            Err(ToolError::user("it was cancelled"))
        }),
        build_tool("finishes", |cx| async move {
            cx.cancelled().await;
            Ok(Outcome::text("done"))
        }),
    ]);
    let server = server.observe(move |_, _, _, stopper| {
        keep.lock().expect("no test panics here").push(stopper);
        let record = record.clone();
        Box::new(move |end: CallEnd| record.lock().expect("no test panics here").push(format!("{end:?}")))
    });
    let mut client = Client::connect(&server, ConnectionOptions::default());
    for (id, name, text, end) in [
        (1, "deaf", "stopped by a person", "Cancelled"),
        (2, "listens", "stopped by a person", "Cancelled"),
        (3, "finishes", "done", "Done"),
    ] {
        client.call(id, name, json!({})).await;
        let stopper = loop {
            if let Some(stopper) = stoppers.lock().expect("no test panics here").pop() {
                break stopper;
            }
            tokio::task::yield_now().await;
        };
        assert!(stopper.stop("stopped by a person"));
        assert_eq!(super::client::text(&client.next().await), text, "{name}");
        assert_eq!(take(&seen), [end], "{name}");
        assert!(!stopper.stop("too late"), "{name} has ended");
    }
}
