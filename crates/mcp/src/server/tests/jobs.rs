//! Calls that become jobs: by the job tools, and as tasks.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, text};
use super::everything;
use super::faults::{declaration, declared};
use crate::server::{ConnectionOptions, Server};
use crate::tool::{Ask, Asks, Declaration, Outcome};

fn connect(server: &Server) -> Client {
    Client::connect(server, ConnectionOptions::default())
}

/// Returns the job's id in an answer.
fn job(answer: &Value) -> String {
    assert_eq!(answer["result"]["structuredContent"]["state"], "running", "{answer}");
    answer["result"]["structuredContent"]["job"]["id"].as_str().expect("an id").to_owned()
}

/// Returns a modern request of a client that knows tasks.
fn request(id: u64, method: &str, mut params: Value) -> Value {
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions, "elicitation": {}},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_never_becomes_a_job() {
    let mut client = connect(&everything());
    client.call(1, "toil", json!({"seconds": 4})).await;
    let done = client.next().await;
    assert_eq!(done["result"]["structuredContent"], json!({"state": "done", "result": {"said": "made a horseshoe"}}));
}

#[tokio::test(start_paused = true)]
async fn a_long_call_goes_on_as_a_job() {
    let server = everything();
    let schema = server.registry().get("toil").expect("it is there").declaration().output_schema.clone();
    let schema = schema.expect("it is structured");
    let mut client = connect(&server);
    client.call(1, "toil", json!({"seconds": 60})).await;
    let running = client.next().await;
    assert!(jsonschema::is_valid(&schema, &running["result"]["structuredContent"]));
    let id = job(&running);
    assert_eq!(
        text(&running).replace(&id, "ID"),
        "toil is still running, now as job ID. Continue with other work, or call job_wait {\"id\":\"ID\"} for its \
         result, job_cancel to end it."
    );
    client.call(2, "job_read", json!({"id": id})).await;
    let said = "job ID (toil) still runs, 5 s so far; 4 of 60: hit 4\nCall job_wait {\"id\":\"ID\"} for its result, job_cancel to end it.";
    let read = text(&client.next().await).replace(&id, "ID");
    assert!(read == said || read == said.replace("4 of 60: hit 4", "5 of 60: hit 5"), "{read}");
    client.call(3, "job_wait", json!({"id": id, "seconds": 10})).await;
    assert!(text(&client.next().await).contains("still runs, 15 s so far"));

    // The job belongs to the principal, not to the connection.
    client.finish().await;
    let somebody = ConnectionOptions { principal: "somebody else".to_owned(), ..ConnectionOptions::default() };
    let mut somebody = Client::connect(&server, somebody);
    somebody.call(4, "job_wait", json!({"id": id})).await;
    assert!(text(&somebody.next().await).starts_with("unknown or expired job"));
    let mut client = connect(&server);
    for call in [5, 6] {
        client.call(call, "job_wait", json!({"id": id, "seconds": 100})).await;
        let done = client.next().await;
        assert_eq!(text(&done), "made a horseshoe", "as often as it is asked");
        assert!(jsonschema::is_valid(&schema, &done["result"]["structuredContent"]));
    }
    client.call(7, "job_wait", json!({})).await;
    assert!(text(&client.next().await).starts_with("job_wait: missing field `id`"));
    tokio::time::sleep(Duration::from_secs(3601)).await;
    // The next job makes room.
    client.call(8, "toil", json!({"seconds": 60})).await;
    client.next().await;
    client.call(9, "job_read", json!({"id": id})).await;
    assert!(text(&client.next().await).starts_with("unknown or expired job"));
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_as_its_call_would() {
    let mut client = connect(&everything());
    for (end, said) in [
        ("fail", "the iron is cold"),
        ("panic", "internal error in toil (fault "),
        ("ask", "this needs an answer from the user, which the client does not support"),
    ] {
        client.call(1, "toil", json!({"seconds": 6, "end": end})).await;
        let id = job(&client.next().await);
        client.call(2, "job_wait", json!({"id": id})).await;
        let failed = client.next().await;
        assert_eq!(failed["result"]["isError"], true);
        assert!(text(&failed).starts_with(said), "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_is_ended() {
    let mut client = connect(&everything());
    client.call(1, "toil", json!({"seconds": 600})).await;
    let id = job(&client.next().await);
    client.call(2, "job_wait", json!({"id": id, "seconds": 600})).await;
    client.call(3, "job_cancel", json!({"id": id})).await;
    let mut said = [client.next().await, client.next().await];
    said.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(text(&said[0]), format!("job {id} (toil) was ended before it was done"));
    assert_eq!(text(&said[1]), format!("job {id} (toil) was ended"));
    client.call(4, "job_cancel", json!({"id": id})).await;
    assert_eq!(text(&client.next().await), format!("job {id} (toil) was ended before it was done"));
}

#[tokio::test(start_paused = true)]
async fn an_impatient_client_hears_of_the_job_in_time() {
    let options = ConnectionOptions { budget: Some(Duration::from_secs(4)), ..ConnectionOptions::default() };
    let mut client = Client::connect(&everything(), options);
    let begun = tokio::time::Instant::now();
    client.call(1, "toil", json!({"seconds": 60})).await;
    job(&client.next().await);
    assert_eq!(begun.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_tells_the_jobs_progress() {
    let mut client = connect(&everything());
    client.call(1, "toil", json!({"seconds": 8})).await;
    let id = job(&client.next().await);
    client.call_with_token(2, "job_wait", json!({"id": id})).await;
    let progress = client.next().await;
    assert_eq!(progress["method"], "notifications/progress");
    assert!(progress["params"]["message"].as_str().expect("a message").starts_with("hit "));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_knows_tasks_polls_one() {
    let mut client = connect(&everything());
    client.send(request(0, "server/discover", json!({}))).await;
    let discovered = client.next().await;
    let extensions = &discovered["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({"io.modelcontextprotocol/tasks": {}}));

    let call = json!({"name": "toil", "arguments": {"seconds": 8}});
    client.send(request(1, "tools/call", call)).await;
    let mut task = client.next().await["result"].take();
    let id = task["taskId"].as_str().expect("an id").to_owned();
    for time in ["createdAt", "lastUpdatedAt"] {
        assert_eq!(task[time].take().as_str().expect("a time").len(), "2026-07-28T00:00:00Z".len());
    }
    for member in ["taskId", "_meta", "statusMessage"] {
        task[member].take();
    }
    let nothing = Value::Null;
    assert_eq!(
        task.as_object().expect("an object").iter().filter(|(_, value)| **value != nothing).collect::<Vec<_>>(),
        [
            (&"resultType".to_owned(), &json!("task")),
            (&"status".to_owned(), &json!("working")),
            (&"pollIntervalMs".to_owned(), &json!(1000)),
        ]
    );
    client.send(request(2, "tasks/get", json!({"taskId": id}))).await;
    let working = client.next().await["result"].take();
    assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")));
    assert_eq!(working["ttlMs"], Value::Null);
    tokio::time::sleep(Duration::from_secs(10)).await;
    client.send(request(3, "tasks/get", json!({"taskId": id}))).await;
    let done = client.next().await["result"].take();
    assert_eq!(done["status"], "completed");
    assert_eq!(done["result"]["content"], json!([{"type": "text", "text": "made a horseshoe"}]));
    assert_eq!(done["ttlMs"], 3_000 + 3_600_000, "an hour after its end");
}

#[tokio::test(start_paused = true)]
async fn a_task_asks() {
    let mut client = connect(&everything());
    client.send(request(1, "tools/call", json!({"name": "toil", "arguments": {"seconds": 6, "end": "ask"}}))).await;
    let id = client.next().await["result"]["taskId"].take();
    tokio::time::sleep(Duration::from_secs(5)).await;
    client.send(request(2, "tasks/get", json!({"taskId": id}))).await;
    let asking = client.next().await["result"].take();
    assert_eq!(asking["status"], "input_required");
    assert_eq!(asking["inputRequests"]["answer-1"]["params"]["message"], "Is it enough?");
    // An answer that was not asked for and one that does not fit are ignored. Then one fits.
    for responses in [
        json!({"else": {}, "answer-1": {"action": "accept", "content": {"enough": "yes"}}}),
        json!({"answer-1": {"action": "accept", "content": {"enough": true}}}),
    ] {
        client.send(request(3, "tasks/update", json!({"taskId": id, "inputResponses": responses}))).await;
        let mut acknowledged = client.next().await["result"].take();
        acknowledged["_meta"].take();
        assert_eq!(acknowledged, json!({"resultType": "complete", "_meta": null}));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.send(request(4, "tasks/get", json!({"taskId": id}))).await;
    let done = client.next().await["result"].take();
    assert_eq!(done["result"]["structuredContent"]["result"]["said"], "Some(true)");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_tells_how_tasks_are() {
    let mut client = connect(&everything());
    client.send(request(1, "tools/call", json!({"name": "toil", "arguments": {"seconds": 6, "end": "ask"}}))).await;
    let id = client.next().await["result"]["taskId"].take();
    let listen = json!({"notifications": {"taskIds": [id, "none"]}});
    client.send(request(2, "subscriptions/listen", listen.clone())).await;
    assert_eq!(client.next().await["params"]["notifications"], json!({"taskIds": [id]}));
    let asking = client.next().await;
    assert_eq!(asking["method"], "notifications/tasks");
    assert_eq!(asking["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 2);
    assert_eq!(asking["params"]["status"], "input_required");
    let responses = json!({"answer-1": {"action": "decline"}});
    client.send(request(3, "tasks/update", json!({"taskId": id, "inputResponses": responses}))).await;
    let mut seen = Vec::new();
    while !seen.contains(&json!("completed")) {
        let message = client.next().await;
        seen.push(message["params"]["status"].clone());
        if message["params"]["status"] == "completed" {
            assert_eq!(message["params"]["result"]["content"][0]["text"], "None");
        }
    }
    let mut plain = request(4, "subscriptions/listen", listen);
    plain["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    client.send(plain).await;
    assert_eq!(client.next().await["error"]["code"], -32021);
}

#[tokio::test(start_paused = true)]
async fn a_call_asks_before_it_becomes_a_task() {
    let ask = || Ask::Form {
        message: "Which one?".to_owned(),
        schema: json!({"type": "object", "properties": {"name": {"type": "string"}}}),
    };
    let plan =
        Declaration { asks: Asks::Person, tasks_only: true, job_after: Some(Duration::ZERO), ..declaration("plan") };
    let tool = declared(plan, move |cx| async move {
        let name = cx.ask(ask()).await?.accepted::<Value>()?.unwrap_or_default();
        tokio::time::sleep(Duration::from_secs(60)).await; // sleeps: the work takes a minute
        Ok(Outcome::text(format!("planned {}", name["name"])))
    });
    let server = super::faults::server([tool]).jobs();
    let mut client = connect(&server);
    client.send(request(1, "tools/call", json!({"name": "plan", "arguments": {}}))).await;
    let question = client.next().await["result"].take();
    assert_eq!((&question["resultType"], question.get("taskId")), (&json!("input_required"), None));
    let responses = json!({"answer": {"action": "accept", "content": {"name": "Ada"}}});
    let state = &question["requestState"];
    let again = json!({"name": "plan", "arguments": {}, "requestState": state, "inputResponses": responses});
    client.send(request(2, "tools/call", again)).await;
    let task = client.next().await["result"].take();
    assert_eq!((&task["resultType"], task.get("requestState")), (&json!("task"), None), "{task}");
    tokio::time::sleep(Duration::from_secs(61)).await;
    client.send(request(3, "tasks/get", json!({"taskId": task["taskId"]}))).await;
    assert_eq!(client.next().await["result"]["result"]["content"][0]["text"], "planned \"Ada\"");

    // A client without tasks has no way to get the result.
    let mut plain = request(4, "tools/call", json!({"name": "plan", "arguments": {}}));
    plain["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    client.send(plain).await;
    let error = client.next().await["error"].take();
    assert_eq!(error["code"], -32021);
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    assert_eq!(error["data"], json!({"requiredCapabilities": {"extensions": extensions}}));
}

#[tokio::test(start_paused = true)]
async fn a_task_fails_and_is_cancelled() {
    let mut client = connect(&everything());
    client.send(request(1, "tools/call", json!({"name": "toil", "arguments": {"seconds": 6, "end": "panic"}}))).await;
    let failing = client.next().await["result"]["taskId"].take();
    client.send(request(2, "tools/call", json!({"name": "toil", "arguments": {"seconds": 600}}))).await;
    let long = client.next().await["result"]["taskId"].take();
    client.send(request(3, "tasks/get", json!({"taskId": failing}))).await;
    let failed = client.next().await["result"].take();
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!(-32603)));
    client.send(request(4, "tasks/cancel", json!({"taskId": long}))).await;
    assert_eq!(client.next().await["result"]["resultType"], "complete");
    client.send(request(5, "tasks/get", json!({"taskId": long}))).await;
    assert_eq!(client.next().await["result"]["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn who_knows_no_tasks_has_none() {
    let mut client = connect(&everything());
    for (number, method) in ["tasks/get", "tasks/update", "tasks/cancel"].into_iter().enumerate() {
        client.send(request(1, method, json!({"taskId": "none", "inputResponses": {}}))).await;
        assert_eq!(client.next().await["error"]["code"], -32602, "{method}");
        let mut plain = request(number as u64, method, json!({"taskId": "none"}));
        plain["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        client.send(plain).await;
        let error = client.next().await["error"].take();
        assert_eq!(error["code"], -32021);
        let extensions = json!({"io.modelcontextprotocol/tasks": {}});
        assert_eq!(error["data"], json!({"requiredCapabilities": {"extensions": extensions}}));
        client.send(json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"taskId": "none"}})).await;
        assert_eq!(client.next().await["error"]["code"], -32601, "the older revisions have other tasks");
    }
    // A job that was not given as a task is not a task.
    client.call(3, "toil", json!({"seconds": 60})).await;
    let id = job(&client.next().await);
    client.send(request(4, "tasks/get", json!({"taskId": id}))).await;
    assert_eq!(client.next().await["error"]["code"], -32602);
}

/// A call may finish in the very moment in which it becomes a job: it is answered once, either way.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_are_done_just_then_are_answered() {
    const MILLISECONDS: u64 = 20;
    let tool = super::faults::made_job("close", Duration::from_millis(MILLISECONDS), |_| async {
        tokio::time::sleep(Duration::from_millis(MILLISECONDS)).await; // sleeps: the work takes as long as a call may
        Ok(crate::tool::Outcome::text("done"))
    });
    let server = super::faults::server([tool]).jobs();
    let mut client = connect(&server);
    for round in 0..20 {
        for id in 0..40 {
            client.call(round * 100 + id, "close", json!({})).await;
        }
        let mut ids = Vec::new();
        for _ in 0..40 {
            let answer = client.next().await;
            if text(&answer) != "done" {
                let (_, rest) = text(&answer).split_once("as job ").expect("it became a job");
                ids.extend(rest.split_once(['.', ' ']).map(|(id, _)| id.to_owned()));
            }
        }
        for id in ids {
            client.call(round * 100 + 99, "job_wait", json!({"id": id})).await;
            assert_eq!(text(&client.next().await), "done");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_end_with_the_server() {
    let server = everything();
    let mut client = connect(&server);
    client.call(1, "toil", json!({"seconds": 600})).await;
    let id = job(&client.next().await);
    server.shutdown();
    let mut client = connect(&server);
    client.call(2, "job_read", json!({"id": id})).await;
    let (rest, _) = client.finish().await;
    assert!(rest.is_empty() || text(&rest[0]).starts_with("unknown or expired job"), "{rest:?}");
}
