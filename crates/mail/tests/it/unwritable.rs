//! A store that is read-only for a while: every agent can read, and no message counts as read because it could not be
//! freed meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mail::callers::Callers;
use mail::store::change::{Change, Changed};
use mail::store::memory::MemoryStore;
use mail::store::query::{Query, QueryResult};
use mail::store::{BoxFuture, Store, WakeDelivery, WakeListener};
use mail::{Clock, StoreError};
use mcp::tool::{Context, Outcome};
use project::Caller;
use serde_json::Value;
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::fixture::limits;
use crate::name_takeover::{call_of, callers, itself};

/// A store on a disk that can be full.
struct Small {
    store: MemoryStore,
    is_full: AtomicBool,
}

impl Store for Small {
    fn write(&self, change: Change) -> BoxFuture<'_, Result<Changed, StoreError>> {
        if self.is_full.load(Ordering::SeqCst) {
            Box::pin(async { Err(StoreError::DiskFull) })
        } else {
            self.store.write(change)
        }
    }
    fn read(&self, query: Query) -> BoxFuture<'_, Result<QueryResult, StoreError>> {
        self.store.read(query)
    }
    fn listen(&self, ear: WakeListener) {
        self.store.listen(ear);
    }
    fn wake_delivery(&self) -> WakeDelivery {
        self.store.wake_delivery()
    }
    fn close(&self) -> BoxFuture<'_, ()> {
        self.store.close()
    }
}

pub(crate) struct Fixture {
    disk: Arc<Small>,
    callers: Arc<Callers>,
    _temp: tempfile::TempDir,
}

impl Fixture {
    /// With `ann` and `bob`, each in a worktree; `ann` has written to `bob`.
    pub(crate) async fn new() -> Fixture {
        let temp = tempfile::tempdir().unwrap();
        let store = MemoryStore::new(Clock::system(), limits());
        let disk = Arc::new(Small { store, is_full: AtomicBool::new(false) });
        let callers = callers(disk.clone(), "h", temp.path().to_owned()).await;
        let fixture = Fixture { disk, callers, _temp: temp };
        for (number, name) in [(10, "ann"), (11, "bob")] {
            fixture.callers.register(&connection(name, number), itself(name)).await.unwrap();
        }
        fixture.ok(&connection("ann", 1), "send_message", json!({"to": "bob", "content": "one"})).await;
        fixture
    }

    fn fills_up(&self, is_full: bool) {
        self.disk.is_full.store(is_full, Ordering::SeqCst);
    }

    async fn call(&self, cx: &Context, tool: &str, arguments: Value) -> Result<Value, String> {
        let tools = mail::tools::tools(&self.callers);
        let tool = tools.into_iter().find(|one| one.declaration().name == tool).unwrap();
        let outcome: Outcome = match tool.call(cx.clone(), Some(&to_raw_value(&arguments).unwrap())).await {
            Ok(outcome) => outcome,
            Err(error) => return Err(error.to_string()),
        };
        Ok(serde_json::from_str(outcome.structured.unwrap().get()).unwrap())
    }

    async fn ok(&self, cx: &Context, tool: &str, arguments: Value) -> Value {
        self.call(cx, tool, arguments).await.unwrap()
    }

    async fn refused(&self, cx: &Context, tool: &str, arguments: Value) {
        let said = self.call(cx, tool, arguments).await.unwrap_err();
        assert!(said.contains("The disk of the mail store is full"), "{said}");
    }

    /// Returns the contents of the messages handed out.
    pub(crate) async fn check(&self, cx: &Context) -> Vec<String> {
        let checked = self.ok(cx, "check_messages", json!({})).await;
        let messages = checked["messages"].as_array().unwrap();
        messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn caller(name: &str, connection: u64) -> Caller {
    let run = Some(format!("run-{name}"));
    Caller { connection, run, ..testkit::caller(&Path::new("/w").join(name), name) }
}

fn connection(name: &str, number: u64) -> Context {
    call_of(caller(name, number)).0
}

#[tokio::test]
async fn whoever_has_its_name_reads_and_nobody_gets_another_one() {
    let fixture = Fixture::new().await;
    fixture.fills_up(true);
    let bob = connection("bob", 2);
    let found = fixture.ok(&bob, "search_messages", json!({"query": "one"})).await;
    let id = found["hits"][0]["message_id"].clone();
    assert_eq!(fixture.ok(&bob, "get_thread", json!({"id": id})).await["messages"][0]["content"], "one");
    assert_eq!(fixture.ok(&bob, "list_agents", json!({})).await["agents"][1]["unread"], 1);
    let looked = fixture.ok(&bob, "wait_for_message", json!({"after": 0, "timeout": 0})).await;
    assert_eq!(looked["messages"][0]["content"], "one");
    for (tool, arguments) in [
        ("check_messages", json!({})),
        ("wait_for_message", json!({"timeout": 0})),
        ("send_message", json!({"to": "ann", "content": "two"})),
        ("register_agent", json!({"name": "bob", "role": "dev", "intent": "another"})),
    ] {
        fixture.refused(&bob, tool, arguments).await;
    }
    // A call that must first record something (another holder, another agent) fails.
    let elsewhere = Caller { takeover: true, ..testkit::caller(Path::new("/w/ann"), "bob") };
    fixture
        .refused(&call_of(Caller { connection: 3, ..elsewhere }).0, "search_messages", json!({"query": "one"}))
        .await;
    fixture.fills_up(false);
    assert_eq!(fixture.check(&bob).await, ["one"]);
}

#[tokio::test]
async fn an_answer_that_was_lost_is_not_confirmed_before_it_is_taken_back() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.check(&connection("bob", 2)).await, ["one"]);
    // The next connection reports that this answer was lost with its connection.
    fixture.fills_up(true);
    let (next, _) = call_of(Caller { answers_lost: true, ..caller("bob", 3) });
    assert_eq!(
        fixture.ok(&next, "search_messages", json!({"query": "one"})).await["hits"].as_array().unwrap().len(),
        1
    );
    fixture.refused(&next, "check_messages", json!({})).await;
    fixture.fills_up(false);
    assert_eq!(fixture.check(&next).await, ["one"]);
    // Only one answer was lost: the following ones are received.
    fixture.ok(&next, "register_agent", json!({"name": "bob", "role": "dev", "intent": "reading"})).await;
    assert!(fixture.check(&next).await.is_empty());
}

#[tokio::test]
async fn an_answer_that_was_given_up_is_not_confirmed_before_it_is_taken_back() {
    let fixture = Fixture::new().await;
    let (first, line) = call_of(caller("bob", 2));
    assert_eq!(fixture.check(&first).await, ["one"]);
    fixture.fills_up(true);
    line.cancel.send_replace(true);
    let (next, _) = call_of(caller("bob", 2));
    fixture.refused(&next, "check_messages", json!({})).await;
    fixture.fills_up(false);
    assert_eq!(fixture.check(&next).await, ["one"]);
    assert!(fixture.check(&next).await.is_empty());
}
