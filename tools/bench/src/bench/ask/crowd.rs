//! Waiting calls block nothing: a thousand for questions over twenty connections, and 64 for mail on one, concurrently
//! with other calls on the same connections and evaluations in GHCi.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use taskkit::until;
use taskkit::workspace::on_path;

use super::super::echo::{daemon_pid, status};
use super::super::procfs::{Memory, processor_ms};
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::count;
use crate::client::Client;

const AGENTS: usize = 20;
/// Number of waiting calls.
const CALLS: usize = 50;
/// Number of messages that one connection waits for.
const WAITS: usize = 64;

/// Asks a thousand questions with waiting calls.
pub(super) fn waiting(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agents = (0..AGENTS).map(|_| super::agent(bench, &["repl,ask"], false)).collect::<Result<Vec<_>>>()?;
    let mut person = super::person(bench)?;
    person.request("ask/watch", json!({}))?;
    // Memory allocated once, such as for the store, does not count as growth.
    let id = super::ask(&mut agents[0], "The first?")?;
    agents[0].succeed("ask_cancel", json!({ "question": id, "reason": "asked" }))?;
    let daemon = daemon_pid(bench)?;
    let (mut alone, mut beside) = (Samples::default(), Samples::default());
    with_evaluations(bench, || calls(bench, &mut agents, &mut alone))?;
    let before = Memory::read(daemon)?.anonymous;

    let mut waits = Vec::new();
    for call in 0..CALLS {
        for (number, agent) in agents.iter_mut().enumerate() {
            let action = format!("Go on, {number}.{call}?");
            let id = agent.begin_call("confirm_action", json!({ "action": action, "wait_s": 3_000 }))?;
            waits.push((number, id, action));
        }
    }
    until("all questions to be open", || {
        let open = status(bench)?["ask"]["open"].as_u64();
        Ok((open >= Some((AGENTS * CALLS) as u64)).then_some(()))
    })?;
    let grown = Memory::read(daemon)?.anonymous - before;
    with_evaluations(bench, || calls(bench, &mut agents, &mut beside))?;
    let idle = Duration::from_secs(if bench.is_quick { 10 } else { 60 });
    let used = processor_ms(daemon)?;
    thread::sleep(idle);
    let used = processor_ms(daemon)? - used;

    let list = person.request("ask/list", json!({}))?;
    for question in list["questions"].as_array().into_iter().flatten() {
        let answer = json!({ "question": question["question"], "yes": true, "note": question["title"] });
        person.request("ask/answer", answer)?;
    }
    let mut wrong = 0;
    for (number, id, action) in &waits {
        let result = agents[*number].answer(*id)?.message;
        wrong += usize::from(result["result"]["structuredContent"]["note"] != action.as_str());
    }
    with_evaluations(bench, || calls(bench, &mut agents, &mut alone))?;
    let what = format!("{} open questions with waiting calls over {AGENTS} connections", AGENTS * CALLS);
    Ok(vec![
        Figure {
            what: format!("{what}: the daemon grows by"),
            unit: "MiB",
            value: grown,
            floor: None,
            target: Some(Target::Max(20.0)),
        },
        Figure {
            what: format!("… its processor time, idle, over {} s", idle.as_secs()),
            unit: "% of a core",
            value: used / 10.0 / idle.as_secs_f64(),
            floor: None,
            target: Some(Target::Max(0.1)),
        },
        Figure {
            what: "… `repl_list` on the same connections, GHCi evaluating beside, p50".to_owned(),
            unit: "µs",
            value: beside.percentile(50),
            floor: Some(("without them", alone.percentile(50))),
            target: Some(Target::MaxTimesFloor(1.1)),
        },
        Figure {
            what: "… the same, p99".to_owned(),
            unit: "µs",
            value: beside.percentile(99),
            floor: Some(("without them", alone.percentile(99))),
            target: None,
        },
        count("… results without the answer of their own question", wrong, Some(0)),
    ])
}

/// Calls another tool on each connection in turn.
fn calls(bench: &Bench, agents: &mut [Client], samples: &mut Samples) -> Result<()> {
    for _ in 0..bench.times(100) {
        for agent in agents.iter_mut() {
            let begun = Instant::now();
            let id = agent.begin_call("repl_list", json!({}))?;
            let came = agent.answer(id)?;
            samples.push(came.at.saturating_duration_since(begun));
        }
    }
    Ok(())
}

/// Runs a closure while GHCi, if installed, evaluates continuously.
fn with_evaluations(bench: &Bench, work: impl FnOnce() -> Result<()>) -> Result<()> {
    if on_path("ghci").is_none() {
        return work();
    }
    let ended = AtomicBool::new(false);
    let mut agent = super::agent(bench, &["repl"], false)?;
    agent.succeed("repl_start", json!({ "profile": "ghci", "session": "beside", "wait_ms": 50_000 }))?;
    thread::scope(|scope| {
        let beside = scope.spawn(|| -> Result<()> {
            while !ended.load(Ordering::Relaxed) {
                agent.succeed("repl_eval", json!({ "session": "beside", "code": "sum [1 .. 100]" }))?;
                // With pauses, as an agent that thinks between its calls. Otherwise the result is that of two saturated cores.
                thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        });
        let done = work();
        ended.store(true, Ordering::Relaxed);
        beside.join().expect("evaluating does not panic")?;
        done
    })
}

/// Starts 64 waits for messages on one connection, and evaluations on it.
pub(super) fn mail(bench: &Bench) -> Result<Vec<Figure>> {
    let made = bench.hob(&["quickstart", "--name", "waiter", "--role", "bench"]).output()?;
    if !made.status.success() {
        bail!("could not register: {}", String::from_utf8_lossy(&made.stderr));
    }
    let mut agent = super::agent(bench, &["repl,mail", "--as", "waiter"], false)?;
    agent.succeed("repl_start", json!({ "profile": "bash", "wait_ms": 50_000 }))?;
    let (mut alone, mut beside) = (Samples::default(), Samples::default());
    let evaluate = |agent: &mut Client, samples: &mut Samples| -> Result<()> {
        for _ in 0..bench.times(1_000) {
            let begun = Instant::now();
            let id = agent.begin_call("repl_eval", json!({ "code": ":" }))?;
            let came = agent.answer(id)?;
            samples.push(came.at.saturating_duration_since(begun));
            if came.message["result"]["structuredContent"]["status"] != "done" {
                bail!("an evaluation beside waits ended with {}", came.message);
            }
        }
        Ok(())
    };
    for _ in 0..3 {
        evaluate(&mut agent, &mut alone)?;
        let waits = (0..WAITS)
            .map(|_| agent.begin_call("wait_for_message", json!({ "timeout": 600 })))
            .collect::<Result<Vec<u64>>>()?;
        evaluate(&mut agent, &mut beside)?;
        for id in waits {
            let cancelled: Value = json!({ "requestId": id, "reason": "measured" });
            agent.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }))?;
        }
    }
    let figure = |percent: usize, target| Figure {
        what: format!("bash `:` beside {WAITS} `wait_for_message` on its connection, p{percent}"),
        unit: "µs",
        value: beside.percentile(percent),
        floor: Some(("alone", alone.percentile(percent))),
        target,
    };
    Ok(vec![figure(50, Some(Target::MaxTimesFloor(1.1))), figure(99, None)])
}
