//! `cargo xtask score code lies`: questions to real language servers under disturbance, with the trials of which the
//! tests of `crates/code` run a few. A wrong final answer is a lie; one after the time limit is late.

use std::ffi::OsStr;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use taskkit::setup;
use taskkit::workspace::{cargo, read, target_dir, write_page};

use crate::bench::machine;

const PAGE: &str = "docs/generated/score-code-lies.md";
/// A language server, and its trials.
struct Judge {
    /// Its name in the trials.
    of_trials: &'static str,
    name: &'static str,
    test: &'static str,
    /// Number of trials of each kind.
    trials: usize,
    /// Command that prints its version.
    version: &'static [&'static str],
}

impl Judge {
    const fn new(
        (of_trials, name): (&'static str, &'static str),
        test: &'static str,
        trials: usize,
        version: &'static [&'static str],
    ) -> Judge {
        Judge { of_trials, name, test, trials, version }
    }

    fn program(&self) -> &'static str {
        self.version[0]
    }
}

/// rust-analyzer reads the standard library at each start.
const JUDGES: &[Judge] = &[
    Judge::new(("Ty", "ty"), "ty_never_lies_long_run", 10, &["ty", "--version"]),
    Judge::new(("Tsc", "TypeScript 7"), "tsc_never_lies", 10, &["tsc", "--version"]),
    Judge::new(("Gopls", "gopls"), "gopls_never_lies_long_run", 10, &["gopls", "version"]),
    Judge::new(("Clangd", "clangd"), "clangd_never_lies_long_run", 10, &["clangd", "--version"]),
    Judge::new(
        ("RustAnalyzer", "rust-analyzer"),
        "rust_analyzer_never_lies_long_run",
        6,
        &["rust-analyzer", "--version"],
    ),
];

const DISTURBANCES: &[(&str, &str)] = &[
    ("Warm", "none"),
    ("Cold", "just started"),
    ("MidLoad", "while it loads"),
    ("Edit", "a file edited"),
    ("Add", "a file added"),
    ("Delete", "a file deleted"),
    ("Rename", "the name changed everywhere"),
    ("Switch", "500 files at once"),
    ("Kill", "kill −9"),
    ("Stop", "stopped: it hangs"),
    ("OverBudget", "over budget"),
];

/// Results of the trials of one kind.
#[derive(Debug)]
struct Cell {
    judge: String,
    disturbance: String,
    trials: usize,
    /// First answers: final and right, or not final.
    right: usize,
    labelled: usize,
    lies: Vec<String>,
    never: Vec<String>,
    late: Vec<String>,
    final_ms: Vec<u64>,
    naive_ms: Vec<u64>,
    /// Number of restarts of the naive client's server.
    naive_restarts: usize,
}

impl Cell {
    fn read(line: &str) -> Result<Cell> {
        let said: Value = serde_json::from_str(line)?;
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let count = |name: &str| said[name].as_u64().unwrap_or_default() as usize;
        let texts = |name: &str| {
            let all = said[name].as_array().into_iter().flatten();
            all.map(|one| one.as_str().unwrap_or_default().to_owned()).collect()
        };
        let times = |name: &str| said[name].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        Ok(Cell {
            judge: text("judge"),
            disturbance: text("disturbance"),
            trials: count("trials"),
            right: count("right"),
            labelled: count("labelled"),
            lies: texts("lies"),
            never: texts("never"),
            late: texts("late"),
            final_ms: times("final_ms"),
            naive_ms: times("naive_ms"),
            naive_restarts: count("naive_restarts"),
        })
    }
}

/// Scope of a run: all servers, some of them with the stored results of the others, or none.
pub(super) enum Scope<'a> {
    Quick,
    All,
    Some(&'a [&'a str]),
    Kept,
}

/// The file in the build directory that stores a server's cells, named after its program.
const KEPT: &str = "score-code-lies";

pub(super) fn run(what: &Scope<'_>) -> Result<()> {
    let path = setup::judges_path()?;
    let is_quick = matches!(what, Scope::Quick);
    let kept = target_dir()?.join(KEPT).join(if is_quick { "quick" } else { "whole" });
    std::fs::create_dir_all(&kept).with_context(|| format!("could not make {kept:?}"))?;
    let names: Vec<&str> = JUDGES.iter().map(Judge::program).collect();
    if let Scope::Some(wanted) = what
        && let Some(unknown) = wanted.iter().find(|name| !names.contains(name))
    {
        bail!("there is no judge {unknown}; there are {}", names.join(", "));
    }
    let is_tried = |judge: &&Judge| match what {
        Scope::Quick | Scope::All => true,
        Scope::Some(wanted) => wanted.contains(&judge.program()),
        Scope::Kept => false,
    };
    // Most of the time is spent waiting, and rust-analyzer's trials take half of it.
    let (small, large) = JUDGES.split_at(JUDGES.len() - 1);
    let try_all = |judges: &'static [Judge]| {
        judges.iter().filter(is_tried).try_for_each(|judge| run_trials(judge, is_quick, &path, &kept))
    };
    let (small, large) = std::thread::scope(|scope| {
        let large = scope.spawn(|| try_all(large));
        (try_all(small), large.join().expect("asking does not panic"))
    });
    small.and(large)?;
    let (mut cells, mut measured) = (Vec::new(), Vec::new());
    for judge in JUDGES {
        let file = kept.join(judge.program());
        let said = std::fs::read_to_string(&file)
            .with_context(|| format!("{} was not tried yet: run it without names", judge.name))?;
        let (cells_of, when) = read_kept(&said)?;
        if cells_of.len() < DISTURBANCES.len() {
            bail!("score: only {} of {} cells of {} came", cells_of.len(), DISTURBANCES.len(), judge.name);
        }
        cells.extend(cells_of);
        measured.push(when);
    }
    let versions = JUDGES.iter().map(|judge| {
        let said =
            read(Command::new(judge.version[0]).args(&judge.version[1..]).env("PATH", &path)).unwrap_or_default();
        let line = said.lines().find(|line| line.contains(|c: char| c.is_ascii_digit())).unwrap_or("unknown");
        format!("{}: {}", judge.name, line.trim())
    });
    let page = page(&cells, &measured, &versions.collect::<Vec<_>>());
    println!("{page}");
    if !is_quick {
        write_page(PAGE, &page)?;
    }
    match failures(&cells) {
        failures if !failures.is_empty() => bail!("score: {}", failures.join("; ")),
        _ => Ok(()),
    }
}

/// Runs the trials of a server, and stores their output.
fn run_trials(judge: &Judge, is_quick: bool, path: &OsStr, kept: &Path) -> Result<()> {
    let mut tests = cargo();
    tests
        .args(["test", "--quiet", "-p", "code", "--test", "it", "--", "--exact", "--nocapture"])
        .arg(format!("disturbed::{}", judge.test))
        .env("PATH", path)
        .env("HOB_LIES", if is_quick { 1 } else { judge.trials }.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut tests = tests.spawn().context("could not start the trials")?;
    let said = tests.stdout.take().context("the trials say nothing")?;
    let mut all = String::new();
    for line in BufReader::new(said).lines() {
        let line = line.context("could not read what the trials say")?;
        // The test program's own output may precede it.
        if let Some((_, cell)) = line.split_once("score: ") {
            println!("score: {cell}");
            let _ = writeln!(all, "{cell}");
        }
    }
    // Any failure is visible in the cells, or in their number.
    tests.wait().context("could not wait for the trials")?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let day = read(Command::new("date").args(["-u", "+%F"]))?;
    let file = kept.join(judge.program());
    std::fs::write(&file, format!("{}, load {load}\n{all}", day.trim()))
        .with_context(|| format!("could not write {file:?}"))
}

/// The cells of a server, and the time and load of their measurement.
fn read_kept(said: &str) -> Result<(Vec<Cell>, String)> {
    let (when, cells) = said.split_once('\n').context("nothing was kept")?;
    let cells = cells.lines().map(|cell| Cell::read(cell).with_context(|| format!("no cell: {cell}")));
    Ok((cells.collect::<Result<_>>()?, when.to_owned()))
}

/// Returns the violations.
fn failures(cells: &[Cell]) -> Vec<String> {
    let sum = |of: fn(&Cell) -> usize| cells.iter().map(of).sum::<usize>();
    let counts = [
        (sum(|cell| cell.lies.len()), "lies"),
        (sum(|cell| cell.never.len()), "trials without a final answer"),
        (sum(|cell| cell.late.len()), "trials final too late"),
        (
            sum(|cell| if cell.disturbance == "Warm" { cell.trials - cell.right } else { 0 }),
            "undisturbed and not final",
        ),
    ];
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}

fn page(cells: &[Cell], measured: &[String], versions: &[String]) -> String {
    let mut page = String::from(
        "# Whether disturbed answers lie\n\nWritten by `cargo xtask score code lies`. A program makes a project, so that it knows who calls each of \
         four functions, of which one is a method and one an override; disturbs it, or the language server; asks `find_callers` at once, with `wait_ms` 0, 50, 300 or 1,000 (undisturbed 10,000); and asks on until \
         an answer is final. The first answer is *final and right*, *labelled* (it says that it is not final, and why) or a **lie**: final and \
         wrong, which a later answer of the trial may be too. Pauses are those of a daemon (hung after 15 s, started again after 1 s).\n\n\
         The time counts from the end of the disturbance: over budget ends when more memory is allowed. Beside it stands a naive client that knows the truth: it \
         tells its own server of the same kind at once which files changed, opens the definition's file, starts it anew at once where it was killed or stopped, and asks \
         for `references` every 20 ms until they are right; where they never are, it starts its server again after 10 to 30 s, then after twice as long (in brackets: how often). \
         Where the server starts, the naive client is measured before and after, and the longer time is taken: the machine is shared. *Late* is a trial that takes longer than 1.5 × that + 2 s; + 15 s where the server hangs.\n",
    );
    let all = |of: fn(&Cell) -> usize| cells.iter().map(of).sum::<usize>();
    let _ = writeln!(
        page,
        "\n{} trials: {} first answers final and right, {} labelled; {} lies, {} late, {} never final.",
        all(|cell| cell.trials),
        all(|cell| cell.right),
        all(|cell| cell.labelled),
        all(|cell| cell.lies.len()),
        all(|cell| cell.late.len()),
        all(|cell| cell.never.len()),
    );
    for (judge, when) in JUDGES.iter().zip(measured) {
        let _ = writeln!(
            page,
            "\n## {}\n\nMeasured: {when}.\n\n| disturbance | trials | final and right | labelled | lies | late | ms to final: median | longest | naive: median | longest |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            judge.name
        );
        for (disturbance, words) in DISTURBANCES {
            let of_it = |cell: &&Cell| cell.judge == judge.of_trials && cell.disturbance == *disturbance;
            for cell in cells.iter().filter(of_it) {
                let ((median, longest), (naive, naive_longest)) = (spread(&cell.final_ms), spread(&cell.naive_ms));
                let again = if cell.naive_restarts > 0 { format!(" ({})", cell.naive_restarts) } else { String::new() };
                let _ = writeln!(
                    page,
                    "| {words} | {} | {} | {} | {} | {} | {median} | {longest} | {naive} | {naive_longest}{again} |",
                    cell.trials,
                    cell.right,
                    cell.labelled,
                    cell.lies.len(),
                    cell.late.len() + cell.never.len(),
                );
            }
        }
    }
    let wrong: Vec<String> = cells.iter().flat_map(describe).collect();
    if !wrong.is_empty() {
        let _ = writeln!(page, "\n## What is wrong\n\n{}", wrong.join("\n"));
    }
    let _ = write!(page, "\n## The machine\n\n- {}\n{}", versions.join("\n- "), machine());
    page
}

/// Formats the median and the maximum.
fn spread(times: &[u64]) -> (String, String) {
    let mut times = times.to_vec();
    times.sort_unstable();
    let shown = |time: Option<&u64>| time.map_or("–".to_owned(), u64::to_string);
    (shown(times.get(times.len() / 2)), shown(times.last()))
}

/// Returns a line for each lie and each late trial of a cell.
fn describe(cell: &Cell) -> Vec<String> {
    let of = |word: &str, all: &[String]| {
        let line = |text: &String| {
            let first = text.lines().next().unwrap_or_default();
            format!("- {} {}: {word}: {first}", cell.judge, cell.disturbance)
        };
        all.iter().map(line).collect::<Vec<_>>()
    };
    [of("a lie", &cell.lies), of("never final", &cell.never), of("late", &cell.late)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_not_be_fails() {
        let cell = |disturbance: &str, right: usize| Cell {
            judge: "Ty".to_owned(),
            disturbance: disturbance.to_owned(),
            trials: 2,
            right,
            labelled: 2 - right,
            lies: Vec::new(),
            never: Vec::new(),
            late: Vec::new(),
            final_ms: vec![30, 10, 20],
            naive_ms: Vec::new(),
            naive_restarts: 0,
        };
        assert!(failures(&[cell("Warm", 2), cell("Cold", 0)]).is_empty());
        let lied = Cell { lies: vec!["truth {}\nno callers".to_owned()], ..cell("Cold", 1) };
        let late = Cell { late: vec!["9 ms".to_owned()], ..cell("Kill", 1) };
        let wrong = [cell("Warm", 1), lied, late];
        assert_eq!(failures(&wrong), ["1 lies", "1 trials final too late", "1 undisturbed and not final"]);
        let read = r#"{"judge": "Ty", "disturbance": "Cold", "trials": 2, "right": 1, "lies": ["x"], "final_ms": [3]}"#;
        let read = Cell::read(read).unwrap();
        assert_eq!(
            (read.trials, read.right, &read.lies[..], &read.final_ms[..]),
            (2, 1, &["x".to_owned()][..], &[3][..])
        );
        let page = page(&wrong, &["today".to_owned()], &[]);
        assert!(page.contains("| none | 2 | 1 | 1 | 0 | 0 | 20 | 30 | – | – |"), "{page}");
        assert!(page.contains("- Ty Cold: a lie: truth {}"), "{page}");
    }
}
