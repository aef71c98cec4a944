//! `cargo xtask score code memory`: four worktrees of one repository need a rust-analyzer each, with a common budget of
//! 1.5 GiB. Their memory is read from `/proc` meanwhile, and every question must be answered.

mod curve;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup;
use taskkit::workspace::{Profile, build, read, trust, write_page};

use self::curve::{Curve, Parking, parkings};
use crate::bench::machine;
use crate::client::{Client, text};
use crate::dependencies::{ALONE, crate_alone};

const PAGE: &str = "docs/generated/score-code-memory.md";
const WORKTREES: [&str; 4] = ["main", "one", "two", "three"];
const BUDGET_MIB: u64 = 1536;
/// Tolerated excess above the budget, and its duration.
const ABOVE: f64 = 1.1;
const FOR: Duration = Duration::from_secs(5);
/// Number of questions of each worktree, in turn and concurrently.
const IN_TURN: usize = 3;
const TOGETHER: usize = 3;
/// Timeout of a question.
const PATIENCE: Duration = Duration::from_secs(600);

/// An answered question.
#[derive(Debug)]
struct AnsweredQuestion {
    worktree: &'static str,
    name: String,
    is_together: bool,
    /// Number of earlier answers that were not final.
    labelled: usize,
    took: Duration,
    /// Head line of the last answer.
    head: String,
}

pub(super) fn run() -> Result<()> {
    let path = setup::judges_path()?;
    let hob = build(Profile::Dev, &["-p", "hob"])?.join("hob");
    let scratch = tempfile::tempdir().context("could not make a folder to work in")?;
    let scratch_path = scratch.path().canonicalize()?;
    let (names, lines) = prepare(&scratch_path)?;
    let state = scratch_path.join("state");
    let command = |worktree: &str| {
        let mut command = Command::new(&hob);
        command.current_dir(scratch_path.join(worktree)).env("PATH", &path).env("XDG_STATE_HOME", &state);
        command.env("XDG_RUNTIME_DIR", scratch_path.join("run")).stdin(Stdio::null());
        command
    };
    trust(&mut command("main"))?;
    let measured = measure(&command, &scratch_path, &names);
    let stopped = command("main").arg("stop").output();
    let (curve, parked, answered) = measured?;
    stopped.context("could not run `hob stop`")?;
    let page = page(&curve, &parked, &answered, lines);
    println!("{page}");
    write_page(PAGE, &page)?;
    let above = curve.longest_above(BUDGET_MIB as f64 * ABOVE);
    if above > FOR {
        bail!("score: {:.1} s above {ABOVE} of what the servers may have", above.as_secs_f64());
    }
    if parked.is_empty() {
        bail!("score: nothing was parked, so four servers fit and nothing was tried");
    }
    Ok(())
}

/// Asks all questions while the memory is measured.
fn measure(
    command: &dyn Fn(&str) -> Command,
    scratch: &Path,
    names: &[String],
) -> Result<(Curve, Vec<Parking>, Vec<AnsweredQuestion>)> {
    let mut agents = Vec::new();
    for worktree in WORKTREES {
        agents.push((worktree, Client::start(command(worktree).args(["mcp", "code"]).stderr(Stdio::null()))?));
    }
    let status: Value = serde_json::from_str(&read(command("main").args(["status", "--json"]))?)?;
    let daemon = status["daemon"]["pid"].as_u64().context("`hob status` names no daemon")?;
    let log = status["daemon"]["log"].as_str().context("`hob status` names no log")?;
    let curve = Curve::begin(daemon, scratch.to_owned());
    let answered = ask_all(&mut agents, names);
    let curve = curve.end();
    let journal = Path::new(log).join("journal.jsonl");
    let journal = std::fs::read_to_string(&journal).with_context(|| format!("could not read {journal:?}"))?;
    let parked = parkings(&journal, scratch, curve.began_ms)?;
    Ok((curve, parked, answered?))
}

/// Creates a repository with the crate, and its worktrees. Returns the definitions to ask for, and the number of lines.
fn prepare(scratch: &Path) -> Result<(Vec<String>, usize)> {
    let main = scratch.join("main");
    std::fs::create_dir(&main)?;
    std::fs::create_dir(scratch.join("run"))?;
    let lines = crate_alone(&main)?;
    std::fs::write(main.join("hob.toml"), format!("[code]\nmemory = {BUDGET_MIB}\n"))?;
    std::fs::write(main.join(".gitignore"), "target\n")?;
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=score", "-c", "user.email=score@localhost", "-c", "init.defaultBranch=main"]);
        read(git.args(args).current_dir(&main)).map(drop)
    };
    git(&["init", "--quiet"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "-m", "all"])?;
    for worktree in &WORKTREES[1..] {
        git(&["worktree", "add", "--quiet", &format!("../{worktree}")])?;
    }
    // Some functions with unique names.
    let names = [
        "is_escapeable_character",
        "is_meta_character",
        "hir_ascii_class_bytes",
        "ages",
        "canonical_value",
        "is_word_byte",
    ];
    Ok((names.map(str::to_owned).to_vec(), lines))
}

/// Asks in each worktree in turn, then in all at once.
fn ask_all(agents: &mut [(&'static str, Client)], names: &[String]) -> Result<Vec<AnsweredQuestion>> {
    let mut answered = Vec::new();
    for round in 0..IN_TURN {
        for (worktree, agent) in agents.iter_mut() {
            answered.push(ask(agent, worktree, &names[round % names.len()], false)?);
        }
    }
    let together: Vec<Result<Vec<AnsweredQuestion>>> = std::thread::scope(|scope| {
        let asking = agents.iter_mut().map(|(worktree, agent)| {
            scope.spawn(move || {
                let rounds = IN_TURN..IN_TURN + TOGETHER;
                rounds.map(|round| ask(agent, worktree, &names[round % names.len()], true)).collect::<Result<Vec<_>>>()
            })
        });
        let asking: Vec<_> = asking.collect();
        let joined = asking.into_iter().map(|one| one.join().expect("asking does not panic"));
        joined.collect()
    });
    for some in together {
        answered.extend(some?);
    }
    Ok(answered)
}

/// Asks until the answer is final.
fn ask(agent: &mut Client, worktree: &'static str, name: &str, is_together: bool) -> Result<AnsweredQuestion> {
    let since = Instant::now();
    let mut labelled = 0;
    loop {
        let result = agent.call("find_callers", json!({ "name": name, "wait_ms": 50_000 }))?;
        let said = text(&result);
        if result["isError"] == true {
            bail!("find_callers {name} was refused: {said}");
        }
        let head = said.lines().next().unwrap_or_default().to_owned();
        if result["structuredContent"]["head"]["complete"] == true {
            println!("score: {worktree} {name}: {head}");
            let took = since.elapsed();
            return Ok(AnsweredQuestion { worktree, name: name.to_owned(), is_together, labelled, took, head });
        }
        labelled += 1;
        println!("score: {worktree} {name}: not yet: {head}");
        if since.elapsed() > PATIENCE {
            bail!("score: {worktree} {name} has no final answer within {PATIENCE:?}: {said}");
        }
    }
}

fn page(curve: &Curve, parked: &[Parking], answered: &[AnsweredQuestion], lines: usize) -> String {
    let budget = BUDGET_MIB as f64;
    let above = curve.longest_above(budget * ABOVE).as_secs_f64();
    let mut page = format!(
        "# What language servers take of memory\n\nWritten by `cargo xtask score code memory`. Four worktrees of one repository ({ALONE}, {lines} lines) \
         have one daemon and want a rust-analyzer each; `[code] memory` is {BUDGET_MIB} MiB. Each worktree asks `find_callers` until the answer \
         is final, {IN_TURN} times in its turn, then {TOGETHER} times while all ask at once. The memory is what `/proc` says is resident, four times a second, of \
         all processes below the daemon.\n\n\
         {} questions, all answered; {} servers parked; at most {:.0} MiB; at most {above:.1} s in a row above {:.0} MiB (tolerated: {} s).\n\n\
         ## The curve\n\nThe most in each step, in MiB; `#` is 64 MiB, `|` what they may have.\n\n```text\n",
        answered.len(),
        parked.len(),
        curve.most(),
        budget * ABOVE,
        FOR.as_secs(),
    );
    page.push_str(&curve.drawn(&WORKTREES, budget));
    page.push_str("```\n\n## Parked\n\n");
    for one in parked {
        let _ = writeln!(page, "- after {:.1} s: {}", one.at.as_secs_f64(), one.worktree);
    }
    page.push_str(
        "\n## The questions\n\n| worktree | name | asked | not final before | s until final | answer |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for one in answered {
        let asked = if one.is_together { "all at once" } else { "in turn" };
        let (labelled, took) = (one.labelled, one.took.as_secs_f64());
        let _ =
            writeln!(page, "| {} | `{}` | {asked} | {labelled} | {took:.1} | {} |", one.worktree, one.name, one.head);
    }
    let _ = write!(page, "\n## The machine\n\n{}", machine());
    page
}

/// Returns the worktree that contains a path.
fn worktree_of(scratch: &Path, path: &Path) -> Option<&'static str> {
    let below: PathBuf = path.strip_prefix(scratch).ok()?.components().take(1).collect();
    WORKTREES.into_iter().find(|name| Path::new(name) == below)
}
