//! `cargo xtask bench code`: questions about code in the sources of our dependencies, compared with ripgrep for the
//! same names, and the delay of other calls meanwhile. No language server runs, so the unverified first answer is
//! measured. Then the cost of a question with a warm server, and the part's memory in the daemon.

mod memory;
mod server;
mod warm;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;
use taskkit::setup;
use testkit::Random;

use super::echo::Contender;
use super::report::{self, Figure, Page, Target};
use super::{Bench, Samples, programs};
use crate::client::{Client, text};
use crate::dependencies::{copy_lines, files, functions};

const PAGE: Page = Page {
    file: "docs/generated/bench-code.md",
    task: "cargo xtask bench code",
    about: "Random names of functions, each asked once with `find_callers` by a real front-end of a daemon that has just started, \
            which waits for no language server (`wait_ms` 0). The sources are those of our own dependencies, at least 500,000 lines. The floor is \
            `rg -n -w -C1` for the same name in the same folder, in between the questions. A name with more than eight \
            definitions is refused with a list of them; its time counts too. The answers of a warm rust-analyzer are about functions of \
            regex-syntax, chosen by chance from those whose names are defined once, beside `textDocument/references` asked of another rust-analyzer \
            by a bare client.",
};

/// Number of lines searched, and number of names asked for.
const LINES: usize = 500_000;
const NAMES: usize = 300;
/// Number of names whose callees are asked for.
const CALLEES: usize = 50;
/// Number of calls of another tool, alone and during the questions.
const OTHERS: usize = 2_000;

/// Measures everything. Fails if a target is missed.
pub(super) fn run(is_quick: bool) -> Result<()> {
    setup::ripgrep()?;
    let path = setup::judges_path()?;
    let programs = programs()?;
    let bench = Bench::new(programs.clone(), is_quick)?;
    let lines = copy_lines(bench.dir(), if is_quick { LINES / 10 } else { LINES })?;
    println!("bench: code, {lines} lines …");
    let names = names(bench.dir(), bench.times(NAMES))?;
    let mut figures = questions(&bench, &names, lines)?;
    figures.extend(measure_concurrent_tool(&bench, &names)?);
    bench.stop()?;
    figures.push(memory::unused(&bench)?);
    figures.extend(warm::measure(&Bench::new(programs, is_quick)?, &path)?);
    report::conclude(&PAGE, &figures, !is_quick)
}

/// Returns distinct random names of functions.
fn names(dir: &Path, count: usize) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for file in files(dir, &["rs"])? {
        let text = std::fs::read(&file).with_context(|| format!("could not read {file:?}"))?;
        all.extend(functions(&String::from_utf8_lossy(&text)).map(str::to_owned));
    }
    all.sort();
    let mut random = Random::new(20_261_126);
    let mut names: Vec<String> = Vec::new();
    for _ in 0..count * 100 {
        let Some(name) = all.get(random.below(all.len())) else { break };
        if names.len() < count && !names.contains(name) {
            names.push(name.clone());
        }
    }
    if names.len() < count {
        bail!("only {} names of functions are in {}", names.len(), dir.display());
    }
    Ok(names)
}

/// Searches every name with ripgrep and hob in turns.
fn questions(bench: &Bench, names: &[String], lines: usize) -> Result<Vec<Figure>> {
    let started = Instant::now();
    let mut agent = Client::start(&mut bench.hob(&["mcp", "code"]))?;
    let before = memory::resident(bench)?;
    let (mut grep, mut ours, mut labelled) = (Samples::default(), Samples::default(), Samples::default());
    let (mut grep_bytes, mut our_bytes, mut refused) = (0, 0, 0);
    for (number, name) in names.iter().enumerate() {
        let begun = Instant::now();
        let found = Command::new("rg")
            .args(["-n", "-w", "-C1", "--", name])
            .current_dir(bench.dir())
            .stdin(Stdio::null())
            .output()
            .context("could not run rg")?;
        grep.push(begun.elapsed());
        let begun = Instant::now();
        let result = agent.call("find_callers", json!({ "name": name, "wait_ms": 0 }))?;
        let took = begun.elapsed();
        ours.push(took);
        if number == 0 {
            println!("bench: the first answer came {:?} after the start of everything", started.elapsed());
        }
        if result["isError"] == true {
            let said = text(&result);
            if !said.contains(" definitions: name one") {
                bail!("find_callers {name} was refused: {said}");
            }
            refused += 1;
            continue;
        }
        let answer = &result["structuredContent"];
        // Without a place that mentions the name, syntax decides.
        if answer["head"]["complete"] != json!(false) && answer["total"] != json!(0) {
            bail!("the answer for {name} does not say how sure it is: {}", answer["head"]);
        }
        labelled.push(took);
        grep_bytes += found.stdout.len();
        our_bytes += text(&result).len();
    }
    let mut callees = Samples::default();
    for name in &names[..bench.times(CALLEES).min(names.len())] {
        let begun = Instant::now();
        agent.call("find_callees", json!({ "name": name, "wait_ms": 0 }))?;
        callees.push(begun.elapsed());
    }
    let after = memory::resident(bench)?;
    let at_rest = memory::at_rest(bench)?;
    agent.finish()?;
    let seconds = |samples: &Samples, percent| samples.percentile(percent) / 1e6;
    let figure = |what: &str, unit, value, floor, target| Figure { what: what.to_owned(), unit, value, floor, target };
    let most = |most| Some(Target::Max(most));
    let floor = |percent| Some(("rg -n -w -C1", seconds(&grep, percent)));
    let answered = names.len() - refused;
    Ok(vec![
        figure("lines searched", "", lines as f64, None, None),
        figure("names asked for", "", names.len() as f64, None, None),
        figure("of them with more than eight definitions", "", refused as f64, None, None),
        figure("first labelled answer, p50", "s", seconds(&labelled, 50), floor(50), most(0.2)),
        figure("first labelled answer, p99", "s", seconds(&labelled, 99), floor(99), most(1.5)),
        figure("any answer, p50", "s", seconds(&ours, 50), floor(50), most(0.2)),
        figure("any answer, p99", "s", seconds(&ours, 99), floor(99), most(1.5)),
        figure("find_callees, p50", "s", seconds(&callees, 50), None, None),
        figure("find_callees, p90", "s", seconds(&callees, 90), None, None),
        figure(
            "bytes of an answer, mean",
            "bytes",
            our_bytes as f64 / answered as f64,
            Some(("rg -n -w -C1", grep_bytes as f64 / answered as f64)),
            None,
        ),
        figure(
            "daemon that has answered all of them, at rest, resident",
            "MiB",
            at_rest,
            Some(("before", before)),
            Some(Target::MaxAboveFloor(30.0)),
        ),
        figure("… right after the last one", "MiB", after, None, None),
    ])
}

/// Measures a call of another tool, alone and while questions are answered.
fn measure_concurrent_tool(bench: &Bench, names: &[String]) -> Result<Vec<Figure>> {
    let mut other = Contender::front_end(&mut bench.hob(&["mcp", "repl"]))?;
    let (mut alone, mut meanwhile) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(OTHERS) {
        alone.push(other.call("repl_list", json!({}))?.0);
    }
    let mut agent = Client::start(&mut bench.hob(&["mcp", "code"]))?;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| -> Result<()> {
        let asking = threads.spawn(|| -> Result<Client> {
            for name in names.iter().cycle() {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                agent.call("find_callers", json!({ "name": name, "wait_ms": 0 }))?;
            }
            Ok(agent)
        });
        let measured = (0..bench.times(OTHERS)).try_for_each(|_| {
            meanwhile.push(other.call("repl_list", json!({}))?.0);
            Ok(())
        });
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        let agent = asking.join().map_err(|_| anyhow::anyhow!("asking panicked"))??;
        agent.finish()?;
        measured
    })?;
    other.finish()?;
    let floor = |percent| Some(("alone", alone.percentile(percent)));
    let figure = |what: &str, value, floor, target| Figure { what: what.to_owned(), unit: "µs", value, floor, target };
    Ok(vec![
        figure(
            "repl_list beside questions, p50",
            meanwhile.percentile(50),
            floor(50),
            Some(Target::MaxTimesFloor(1.5)),
        ),
        figure("repl_list beside questions, p99", meanwhile.percentile(99), floor(99), None),
    ])
}
