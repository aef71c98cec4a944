//! What waits costs nothing: a thousand open questions with a waiting call each, and 64 waits for mail, beside other calls
//! on the same connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::super::echo::daemon_pid;
use super::super::procfs::{Memory, processor_ms};
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::line::Line;
use super::{figure, open};

const QUESTIONS: usize = 1_000;
const CONNECTIONS: usize = 20;
const MAILBOX_WAITS: usize = 64;
/// Calls of one before the turn of the other.
const TURN: usize = 50;

/// A thousand questions over twenty connections; a second daemon has the same connections and no questions.
pub(super) fn thousand(bench: &Bench) -> Result<Vec<Figure>> {
    let alone = Bench::new(bench.programs.clone(), bench.is_quick)?;
    let measured = beside(bench, &alone);
    alone.stop()?;
    measured
}

fn beside(bench: &Bench, alone: &Bench) -> Result<Vec<Figure>> {
    let agents =
        |bench: &Bench| (0..CONNECTIONS).map(|_| Line::agent(bench, "ask,repl", json!({}))).collect::<Result<Vec<_>>>();
    let (mut here, mut there) = (agents(bench)?, agents(alone)?);
    // Somebody watches, or nobody would wait.
    let mut faces = [Line::control(bench)?, Line::control(alone)?];
    for face in &mut faces {
        face.request("ask/watch", json!({}))?;
    }
    let pid = daemon_pid(bench)?;
    let before = Memory::of(pid)?.resident;
    let begun = Instant::now();
    for number in 0..QUESTIONS {
        let question = json!({ "action": format!("Delete branch {number}?"), "wait_s": 3_000 });
        here[number % CONNECTIONS].begin_call("confirm_action", question)?;
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while status_open(bench)? < QUESTIONS as u64 {
        if Instant::now() > deadline {
            bail!("only {} of {QUESTIONS} questions are open", status_open(bench)?);
        }
        thread::sleep(Duration::from_millis(50));
    }
    let asked = begun.elapsed().as_secs_f64() * 1e3;
    let idle = if bench.is_quick { 5 } else { 30 };
    thread::sleep(Duration::from_secs(2));
    let (grown, used) = (Memory::of(pid)?.resident - before, processor_ms(pid)?);
    thread::sleep(Duration::from_secs(idle));
    let share = (processor_ms(pid)? - used) / (idle as f64 * 1e3) * 100.0;
    let (with, without, evaluated) = calls_in_turn(bench, alone, &mut here, &mut there)?;
    let still = open(&mut faces[0])?.len();
    if still < QUESTIONS.min(200) {
        bail!("{still} questions are open at the end");
    }
    let ratio = |what: &str, percent, target| Figure {
        what: format!("… repl_list on the same connections, GHCi evaluating, {what}"),
        unit: "µs",
        value: with.percentile(percent),
        floor: Some(("no questions", without.percentile(percent))),
        target,
    };
    Ok(vec![
        figure("1,000 open questions, waiting over 20 connections: the daemon grows by", "MiB", grown, Some(20.0)),
        figure(format!("… processor time of the daemon in {idle} s, of a core"), "%", share, Some(0.1)),
        ratio("p50", 50, Some(Target::MaxTimesFloor(1.1))),
        ratio("p99", 99, None),
        figure("… evaluations in GHCi meanwhile, of both", "", evaluated as f64, None),
        figure("… all asked within", "ms", asked, None),
    ])
}

fn status_open(bench: &Bench) -> Result<u64> {
    super::super::echo::status(bench)?["ask"]["open"].as_u64().context("the status has no questions")
}

/// Calls here and there in turn, while GHCi evaluates in both.
fn calls_in_turn(
    bench: &Bench,
    alone: &Bench,
    here: &mut [Line],
    there: &mut [Line],
) -> Result<(Samples, Samples, usize)> {
    let (ended, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let evaluating = [bench, alone].map(|bench| {
        let (ended, count) = (ended.clone(), count.clone());
        let agent = Line::agent(bench, "repl", json!({}));
        thread::spawn(move || -> Result<()> {
            let mut agent = agent?;
            agent.call("repl_start", json!({ "profile": "ghci" }))?;
            while !ended.load(Ordering::Relaxed) {
                agent.call("repl_eval", json!({ "code": "sum [1 .. 2000 :: Int]" }))?;
                count.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        })
    });
    let deadline = Instant::now() + Duration::from_secs(60);
    while count.load(Ordering::Relaxed) < 10 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    let (mut with, mut without) = (Samples::default(), Samples::default());
    let begun = count.load(Ordering::Relaxed);
    for turn in 0..bench.times(200) {
        let at = turn % CONNECTIONS;
        for (lines, taken) in [(&mut *here, &mut with), (&mut *there, &mut without)] {
            for _ in 0..TURN {
                taken.push(lines[at].timed_call("repl_list", json!({}))?);
            }
        }
    }
    let evaluated = count.load(Ordering::Relaxed) - begun;
    ended.store(true, Ordering::Relaxed);
    for evaluating in evaluating {
        evaluating.join().expect("an evaluation does not panic")?;
    }
    Ok((with, without, evaluated))
}

/// 64 waits for mail on one connection, and evaluations on it.
pub(super) fn mailboxes(bench: &Bench) -> Result<Vec<Figure>> {
    let alone = Bench::new(bench.programs.clone(), bench.is_quick)?;
    let measured = evaluations(bench, &alone);
    alone.stop()?;
    measured
}

fn evaluations(bench: &Bench, alone: &Bench) -> Result<Vec<Figure>> {
    let mut lines = [Line::agent(bench, "mail,repl", json!({}))?, Line::agent(alone, "mail,repl", json!({}))?];
    for line in &mut lines {
        line.call("register_agent", json!({ "name": "waiter", "role": "bench" }))?;
        line.call("repl_start", json!({ "profile": "ghci" }))?;
        line.call("repl_eval", json!({ "code": "1+1" }))?;
    }
    for _ in 0..MAILBOX_WAITS {
        lines[0].begin_call("wait_for_message", json!({ "timeout": 600 }))?;
    }
    thread::sleep(Duration::from_millis(500));
    let mut samples: [Samples; 2] = Default::default();
    for _ in 0..bench.times(200) {
        for (line, samples) in lines.iter_mut().zip(&mut samples) {
            for _ in 0..10 {
                samples.push(line.timed_call("repl_eval", json!({ "code": "1+1" }))?);
            }
        }
    }
    let [with, without] = &samples;
    let ratio = |percent, target| Figure {
        what: format!("64 wait_for_message on a connection: repl_eval on it, p{percent}"),
        unit: "µs",
        value: with.percentile(percent),
        floor: Some(("none waits", without.percentile(percent))),
        target,
    };
    Ok(vec![ratio(50, Some(Target::MaxTimesFloor(1.1))), ratio(99, None)])
}
