//! `cargo xtask score explore`: the places that `scout` says will break, compared with the errors of the compiler after the same
//! change, in projects from registries and Debian's sources. Each difference is listed with its location.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use regex::Regex;
use serde_json::{Value, json};
use taskkit::setup;
use taskkit::workspace::{Profile, build, read, trust, write_page};

use super::code::{Project, for_walks};
use crate::bench::machine;
use crate::client::{Client, text};

const PAGE: &str = "docs/generated/score-explore.md";
/// The number of definitions of each kind and language.
const SYMBOLS: usize = 20;
const WAIT_MS: u64 = 50_000;
/// The maximum number of listed differences of a row.
const LISTED: usize = 40;
/// A difference: an error at a place that the answer does not call breaking.
const MISSED: &str = "not listed as breaking";

/// A kind of change, and the pattern of the lines that define what it changes.
struct Kind {
    change: &'static str,
    rust: &'static str,
    typescript: &'static str,
    haskell: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        change: "add_variant",
        rust: r"^\s*(pub(\([a-z]+\))? )?enum \w+",
        typescript: r"^(export )?(enum \w+|type \w+ *=[^<(]* \| )",
        haskell: r"^data \w+",
    },
    Kind {
        change: "change_signature",
        rust: r"^\s*(pub(\([a-z]+\))? )?fn \w+(<.*>)?\(",
        typescript: r"^(export )?function \w+(<.*>)?\(",
        haskell: r"^\w+ ::",
    },
];

/// The counts for a language and a change.
#[derive(Default)]
struct Tally {
    language: &'static str,
    change: &'static str,
    symbols: usize,
    /// The places that the compiler reports, those that `scout` says break, and those in both.
    errors: usize,
    breaks: usize,
    both: usize,
    /// Errors at places that `scout` lists as unaffected.
    safe: usize,
    /// Definitions without a proof.
    unproven: usize,
    times: Vec<Duration>,
    differences: Vec<String>,
}

/// Scores Rust, TypeScript and Haskell, and writes the page.
pub(super) fn run(is_quick: bool) -> Result<()> {
    let path = setup::judges_path()?;
    let hob = match std::env::var_os("HOB_SCORED") {
        Some(hob) => hob.into(),
        None => build(Profile::Dev, &["-p", "hob"])?.join("hob"),
    };
    let most = if is_quick { 5 } else { SYMBOLS };
    let mut tallies: Vec<Tally> = Vec::new();
    for project in for_walks() {
        let scratch = tempfile::tempdir().context("could not make a folder to work in")?;
        let root = scratch.path().join("asked");
        project.copy(&project.fetch()?, &root)?;
        let hob = |args: &[&str]| {
            let mut command = Command::new(&hob);
            command.args(args).current_dir(&root).env("PATH", &path).stdin(Stdio::null());
            command
        };
        trust(&mut hob(&[]))?;
        let scored = Client::start(hob(&["mcp", "explore"]).stderr(Stdio::null())).and_then(|mut agent| {
            for kind in KINDS {
                let pattern = match project.language {
                    "Rust" => kind.rust,
                    "Haskell" => kind.haskell,
                    _ => kind.typescript,
                };
                let known =
                    tallies.iter().position(|one| one.language == project.language && one.change == kind.change);
                let at = known.unwrap_or_else(|| {
                    tallies.push(Tally { language: project.language, change: kind.change, ..Tally::default() });
                    tallies.len() - 1
                });
                let left = most.saturating_sub(tallies[at].symbols);
                for symbol in definitions(&root, project.endings[0], pattern, left)? {
                    ask(&mut agent, &symbol, &mut tallies[at])?;
                }
                println!("score: {}: {}", project.title(), row(&tallies[at]));
            }
            agent.finish()
        });
        read(&mut hob(&["stop"]))?;
        scored?;
    }
    let page = page(&tallies);
    println!("{page}");
    if !is_quick {
        write_page(PAGE, &page)?;
    }
    let safe: usize = tallies.iter().map(|one| one.safe).sum();
    if safe > 0 { bail!("score: {safe} places that break are listed as unaffected") } else { Ok(()) }
}

/// Returns at most `most` definitions, evenly spread, as `file:line`.
fn definitions(root: &Path, extension: &str, pattern: &str, most: usize) -> Result<Vec<String>> {
    let pattern = Regex::new(pattern)?;
    let name = format!("*.{extension}");
    let listed = read(Command::new("find").args([".", "-name", &name, "-printf", "%P\\n"]).current_dir(root))?;
    let mut files: Vec<&str> = listed.lines().collect();
    files.sort_unstable();
    let mut all = Vec::new();
    for file in files {
        if file.contains("/tests/") {
            continue;
        }
        let text = std::fs::read_to_string(root.join(file)).with_context(|| format!("could not read {file}"))?;
        let lines = text.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
        all.extend(lines.map(|(number, _)| format!("{file}:{}", number + 1)));
    }
    let count = all.len();
    let is_chosen = |number: usize| count <= most || number * most / count != (number + 1) * most / count;
    Ok(all.into_iter().enumerate().filter(|(number, _)| is_chosen(*number)).map(|(_, one)| one).collect())
}

/// Asks about a definition without and with a proof, and compares the answers.
fn ask(agent: &mut Client, symbol: &str, tally: &mut Tally) -> Result<()> {
    let mut call = |prove: bool| {
        let arguments =
            json!({"symbols": [symbol], "change": tally.change, "depth": "high", "prove": prove, "wait_ms": WAIT_MS});
        agent.call("scout", arguments)
    };
    let begin = Instant::now();
    let (before, took) = (call(false)?, begin.elapsed());
    let after = call(true)?;
    for result in [&before, &after] {
        if result["isError"] == true {
            tally.differences.push(format!("{symbol} ({}): refused: {}", tally.change, text(result)));
            return Ok(());
        }
    }
    let (before, after) = (&before["structuredContent"], &after["structuredContent"]);
    let reasons = after["head"]["reasons"].to_string();
    if reasons.contains("not proven:") || reasons.contains("does not compile without the change") {
        tally.unproven += 1;
        tally.differences.push(format!("{symbol} ({}): {reasons}", tally.change));
        return Ok(());
    }
    let own = before["entries"][0]["location"].as_str().unwrap_or_default();
    let places = |answer: &Value, is_meant: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
        let pointers = answer["pointers"].as_array().into_iter().flatten().filter(|one| is_meant(one));
        let places = pointers.filter_map(|one| one["location"].as_str()).filter(|place| *place != own);
        places.map(str::to_owned).collect()
    };
    let errors = places(after, &|one| one["evidence"] == "proved");
    let breaks = places(before, &|one| one["risk"] == 5);
    let listed = places(before, &|_| true);
    let concerned = places(before, &|one| one["risk"].as_u64() > Some(1));
    tally.symbols += 1;
    tally.times.push(took);
    tally.errors += errors.len();
    tally.breaks += breaks.len();
    tally.both += errors.intersection(&breaks).count();
    let safe = errors.iter().filter(|place| listed.contains(*place) && !concerned.contains(*place));
    tally.safe += safe.count();
    for (what, these) in [(MISSED, &errors - &breaks), ("no error", &breaks - &errors)] {
        tally.differences.extend(these.iter().map(|place| format!("{symbol} ({}): {what}: {place}", tally.change)));
    }
    Ok(())
}

fn share(part: usize, whole: usize) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{:.2}", part as f64 / whole as f64) }
}

fn row(one: &Tally) -> String {
    let mut times = one.times.clone();
    times.sort_unstable();
    let median = times.get(times.len() / 2).map_or_else(String::new, |time| format!("{} ms", time.as_millis()));
    let (precision, recall) = (share(one.both, one.breaks), share(one.both, one.errors));
    format!(
        "| {} | {} | {} | {} | {} | {precision} | {recall} | {} | {} | {median} |",
        one.language, one.change, one.symbols, one.errors, one.breaks, one.safe, one.unproven
    )
}

fn page(tallies: &[Tally]) -> String {
    let projects: Vec<String> = for_walks().map(Project::title).collect();
    let mut page = format!(
        "# What breaks, compared with compilers\n\n\
         `cargo xtask score explore` asks `scout` about definitions in {}, without and with `prove`. A place breaks if \
         its risk is 5; it is an error if the compiler reports it after the change. The table counts lines.\n\n{}\n\n\
         | language | change | definitions | errors | said to break | precision | recall | errors said to be unaffected | \
         without a proof | median time without a proof |\n|---|---|---|---|---|---|---|---|---|---|\n",
        projects.join(", "),
        machine(),
    );
    for tally in tallies {
        let _ = writeln!(page, "{}", row(tally));
    }
    page.push_str("\n## Differences\n");
    for tally in tallies {
        let _ = writeln!(page, "\n{}, {}: {}\n", tally.language, tally.change, tally.differences.len());
        // Errors that the answer lacks come first.
        let mut differences: Vec<&String> = tally.differences.iter().collect();
        differences.sort_by_key(|one| !one.contains(MISSED));
        for difference in differences.into_iter().take(LISTED) {
            let _ = writeln!(page, "- {difference}");
        }
    }
    page
}
