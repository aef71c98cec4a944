//! Many calls at once: names, starts and limits under contention.

use std::collections::HashSet;

use std::sync::Arc;
use std::time::Duration;

use mcp::server::{ConnectionOptions, Server, ServerInfo};
use process::Guard;

use project::{Caller, Limits};
use repl::result::Status;
use repl::session::EvalRequest;
use repl::{Repl, ReplError, ReplOptions, StartRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::fixture::{Fixture, caller};

const LONG: Duration = Duration::from_secs(60);

fn sessions(limits: Limits) -> Arc<Repl> {
    Repl::new(ReplOptions { guard: Guard::Without, limits, ..ReplOptions::default() })
}

fn named(session: &str, profile: &str) -> StartRequest {
    StartRequest { session: Some(session.to_owned()), profile: Some(profile.to_owned()), ..StartRequest::default() }
}

async fn eval(repl: &Arc<Repl>, caller: &Caller, session: &str, code: &str) -> repl::result::EvalResult {
    let request = EvalRequest { wait: LONG, ..EvalRequest::new(code) };
    repl.eval(caller, Some(session), request).await.expect("an answer").0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_see_a_dead_session_together_start_it_once() {
    let repl = sessions(Limits::default());
    let caller = caller(std::path::Path::new("/tmp"));
    let begun = repl.start(&caller, named("sh", "bash")).await.expect("started");
    for _ in 0..5 {
        repl.find(&caller, Some("sh")).expect("it is there").stop("a test").await;
        let (barrier, mut waiting) = (Arc::new(tokio::sync::Barrier::new(8)), Vec::new());
        for _ in 0..8 {
            let (repl, caller, barrier) = (repl.clone(), caller.clone(), barrier.clone());
            waiting.push(tokio::spawn(async move {
                barrier.wait().await;
                let started = repl.ensure(&caller, Some("sh")).await.expect("started");
                (started.fresh, started.handle.info().pid)
            }));
        }
        let mut found = Vec::new();
        for one in waiting {
            found.push(one.await.expect("no panic"));
        }
        assert_eq!(found.iter().filter(|(fresh, _)| *fresh).count(), 1, "{found:?}");
        assert_eq!(found.iter().map(|(_, pid)| pid).collect::<HashSet<_>>().len(), 1, "{found:?}");
    }
    assert_ne!(begun.handle.info().pid, repl.find(&caller, Some("sh")).expect("there").info().pid);
    repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_keep_their_order_though_the_first_has_to_start_the_session() {
    let repl = sessions(Limits::default());
    let caller = caller(std::path::Path::new("/tmp"));
    repl.start(&caller, named("sh", "bash")).await.expect("started").handle.stop("a test").await;
    let mut calls: Vec<_> = (0..8)
        .map(|n| {
            let (repl, caller) = (repl.clone(), caller.clone());
            Box::pin(async move { eval(&repl, &caller, "sh", &format!("echo {n}")).await })
        })
        .collect();
    // Polled in order of arrival, as a connection polls them.
    for call in &mut calls {
        assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await.is_pending());
    }
    let results = futures_of(calls).await;
    let evals: Vec<u64> = results.iter().map(|result| result.eval).collect();
    assert!(evals.is_sorted(), "{evals:?}");
    assert_eq!(results.iter().map(|result| result.stdout.trim()).collect::<Vec<_>>().join(""), "01234567");
    repl.shutdown().await;
}

async fn futures_of<T: Send + 'static>(calls: Vec<impl Future<Output = T> + Send + 'static>) -> Vec<T> {
    let tasks: Vec<_> = calls.into_iter().map(tokio::spawn).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.expect("no panic"));
    }
    results
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_sessions_run_side_by_side() {
    let repl = sessions(Limits::default());
    let caller = caller(std::path::Path::new("/tmp"));
    let profiles = ["ghci", "python", "bash", "bash", "python", "bash", "python", "bash"];
    let starts = profiles.iter().enumerate().map(|(n, profile)| {
        let (repl, caller, request) = (repl.clone(), caller.clone(), named(&format!("s{n}"), profile));
        async move { repl.start(&caller, request).await.expect("started").fresh }
    });
    assert_eq!(futures_of(starts.collect()).await, [true; 8]);
    let more = repl.start(&caller, named("ninth", "bash")).await.expect_err("it is one too many");
    assert!(matches!(more, ReplError::TooMany { limit: 8 }), "{more}");
    // Seven are busy forever, one of them with a flood of output; the eighth is not delayed.
    let endless = ["mapM_ print [1..]", "input()", "sleep 1000", "while :; do :; done", "while True: pass"];
    for n in 0..7 {
        let code = match profiles[n] {
            "ghci" => endless[0],
            "python" => endless[if n == 1 { 1 } else { 4 }],
            _ => endless[if n == 2 { 2 } else { 3 }],
        };
        let request = EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(code) };
        let name = format!("s{n}");
        repl.eval(&caller, Some(&name), request).await.expect("taken");
        let mut seen = repl.find(&caller, Some(&name)).expect("it is there").watch();
        let runs = tokio::time::timeout(LONG, seen.wait_for(|info| info.current.is_some())).await;
        runs.expect("in time").expect("the session tells");
    }
    for n in 0..100 {
        assert_eq!(eval(&repl, &caller, "s7", &format!("echo {n}")).await.stdout, format!("{n}\n"));
    }
    let alive = repl.status().iter().filter(|info| info.current.is_some()).count();
    assert_eq!(alive, 7, "none of the others has ended meanwhile");
    repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_ended_long_ago_are_forgotten_but_not_their_output() {
    let output = tempfile::tempdir().expect("a directory");
    let output_dir = Some(output.path().to_owned());
    let repl = Repl::new(ReplOptions { guard: Guard::Without, output_dir, ..ReplOptions::default() });
    let caller = caller(std::path::Path::new("/tmp"));
    for n in 0..40 {
        let name = format!("s{n}");
        repl.start(&caller, named(&name, "bash")).await.expect("started");
        let printed = eval(&repl, &caller, &name, &format!("echo {n}")).await;
        let handle = repl.find(&caller, Some(&name)).expect("it is there");
        handle.stop("a test").await;
        handle.output().flush(LONG);
        drop((handle, printed));
    }
    assert!(repl.status().len() <= 33, "{}", repl.status().len());
    assert!(repl.output(&caller, Some("s0")).is_err(), "there is a limit to what is kept");
    let left = repl.output(&caller, Some("s39")).expect("kept").log.read_blocking(&Default::default()).bytes();
    assert!(String::from_utf8_lossy(&left).contains("39\n"));
    repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_uses_more_memory_than_the_limit_is_ended() {
    let repl = sessions(Limits { session_memory: 200_000_000, ..Limits::default() });
    let caller = caller(std::path::Path::new("/tmp"));
    repl.start(&caller, named("py", "python")).await.expect("started");
    let killed = eval(&repl, &caller, "py", "x = bytearray(10**9)\nimport time; time.sleep(60)").await;
    assert_eq!(killed.status, Status::Killed, "{killed:?}");
    let mut seen = repl.find(&caller, Some("py")).expect("it is known").watch();
    let ended = seen.wait_for(|info| !info.state.is_alive()).await.expect("the session tells").reason.clone();
    assert!(ended.as_ref().is_some_and(|reason| reason.contains("(limits.session_memory)")), "{ended:?}");
    repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_calls_that_wait_for_evaluations_hold_up_no_other() {
    let fixture = Fixture::new();
    let server = Server::with_tools(ServerInfo::new("repl", "1"), fixture.tools.clone());
    let options = ConnectionOptions { caller: Arc::new(fixture.caller(0)), ..ConnectionOptions::default() };
    let (client, _) = mcp::transport::memory::connect(&server, options);
    let mut client = BufReader::new(client);
    let call = |id: u64, name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    };
    let start = call(0, "repl_start", json!({"profile": "bash", "session": "main"}));
    client.write_all(start.as_bytes()).await.expect("it reads");
    let mut line = String::new();
    client.read_line(&mut line).await.expect("it answers");
    assert!(!line.contains("isError"), "{line}");
    // Some evaluate and the others wait for them, longer than this test takes.
    let eval = json!({"code": "sleep 1000", "wait_ms": 50_000});
    let mut calls: String = (1..=8).map(|id| call(id, "repl_eval", eval.clone())).collect();
    calls.extend((9..=64).map(|id| call(id, "repl_wait", json!({"wait_ms": 50_000}))));
    calls.push_str(&call(65, "repl_list", json!({})));
    client.write_all(calls.as_bytes()).await.expect("it reads");
    line.clear();
    client.read_line(&mut line).await.expect("it answers");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(answer["id"], 65, "{answer}");
    fixture.repl.shutdown().await;
}
