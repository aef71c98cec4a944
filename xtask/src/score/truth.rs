//! `cargo xtask score code truth`: the uses that `find_uses` finds in crates of our own dependencies, beside those that rustc
//! reports once the definition is deprecated. A difference is listed with its place.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::marks::{Item, Use, can_mark, uses};
use crate::agent::{Agent, text};
use crate::dependencies::{Chance, copy, dependencies};
use crate::setup;
use crate::workspace::{Profile, build, read, root, write_page};

const CRATES: &[&str] = &["aho-corasick", "clap_builder", "minijinja", "regex-syntax"];
const PAGE: &str = "docs/generated/score-code-truth.md";
/// How many definitions of each crate, and how many are marked at a time: rustc is silent inside of what is deprecated.
const ITEMS: usize = 60;
const AT_ONCE: usize = 15;
/// What must be found of what rustc reports.
const RECALL: f64 = 0.99;
const FINAL: f64 = 0.98;

/// The counts of a crate.
#[derive(Debug, Default)]
struct Score {
    lines: usize,
    items: usize,
    /// Uses that rustc reports, and how many of them the answers hold.
    truth: usize,
    found: usize,
    /// Sites in the answers, and how many of them rustc reports.
    sites: usize,
    right: usize,
    /// Final answers; what rustc reports for them, what they confirm, and how much of that is right.
    finals: usize,
    final_truth: usize,
    confirmed: usize,
    confirmed_right: usize,
    /// Bytes of the answers, and of ripgrep's, for definitions that are used.
    bytes: usize,
    grep_bytes: usize,
    differences: Vec<String>,
}

pub(super) fn run(is_quick: bool) -> Result<()> {
    setup::ripgrep()?;
    let hob = build(Profile::Dev, &["-p", "hob"])?.join("hob");
    let all = dependencies()?;
    let crates = if is_quick { &CRATES[..1] } else { CRATES };
    let mut scores = Vec::new();
    for name in crates {
        let one = all.iter().rfind(|one| one.name == *name).with_context(|| format!("{name} is no dependency"))?;
        let what = format!("{} {}", one.name, one.version);
        println!("score: {what} …");
        let score = score(&hob, &one.dir, is_quick).with_context(|| what.clone())?;
        println!("score: {what}: {} of {} uses found", score.found, score.truth);
        scores.push((what, score));
    }
    let page = page(&scores);
    println!("{page}");
    if !is_quick {
        write_page(PAGE, &page)?;
    }
    let sum = |field: fn(&Score) -> usize| scores.iter().map(|(_, score)| field(score)).sum::<usize>();
    if share(sum(|one| one.found), sum(|one| one.truth)) < RECALL {
        bail!("score: fewer than {RECALL} of the uses are found");
    }
    let (confirmed, right) = (sum(|one| one.confirmed), sum(|one| one.confirmed_right));
    if confirmed > 0 && (share(right, confirmed) < FINAL || share(right, sum(|one| one.final_truth)) < FINAL) {
        bail!("score: final answers are right less often than {FINAL}");
    }
    Ok(())
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn score(hob: &Path, sources: &Path, is_quick: bool) -> Result<Score> {
    let scratch = tempfile::tempdir().context("could not make a folder to work in")?;
    let (asked, marked) = (scratch.path().join("asked"), scratch.path().join("marked"));
    let mut score = Score { lines: copy(&sources.join("src"), &asked.join("src"))?, ..Score::default() };
    read(Command::new("cp").arg("-r").arg(sources).arg(&marked))?;
    // A package of its own, with the versions that this workspace has.
    let manifest = std::fs::read_to_string(sources.join("Cargo.toml")).context("could not read Cargo.toml")?;
    std::fs::write(marked.join("Cargo.toml"), alone(&manifest))?;
    std::fs::copy(root().join("Cargo.lock"), marked.join("Cargo.lock")).context("could not copy Cargo.lock")?;
    std::fs::write(asked.join("hob.toml"), "")?;
    let mut agent = Agent::start(Command::new(hob).args(["mcp", "code"]).current_dir(&asked).stderr(Stdio::null()))?;
    let scored = agent.initialize().and_then(|_| ask_all(&mut agent, &asked, &marked, is_quick, &mut score));
    let finished = agent.finish();
    let stopped = Command::new(hob).arg("stop").current_dir(&asked).stdin(Stdio::null()).output();
    scored?;
    finished?;
    stopped.context("could not run `hob stop`")?;
    Ok(score)
}

/// A manifest without what needs more than the library: other targets, and dependencies of tests.
fn alone(manifest: &str) -> String {
    let mut kept = String::new();
    let mut is_kept = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            let table = line.trim_matches(['[', ']']);
            let is_left_out =
                ["bench", "test", "example", "bin"].contains(&table) || table.contains("dev-dependencies");
            is_kept = !is_left_out && !table.starts_with("lints");
        }
        if is_kept {
            let _ = writeln!(kept, "{line}");
        }
    }
    format!("{kept}\n[workspace]\n")
}

fn ask_all(agent: &mut Agent, asked: &Path, marked: &Path, is_quick: bool, score: &mut Score) -> Result<()> {
    let mut items = Vec::new();
    for file in files(&asked.join("src"))? {
        let relative = file.strip_prefix(asked).unwrap_or(&file).to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&file).with_context(|| format!("could not read {relative}"))?;
        let lines: Vec<&str> = source.lines().collect();
        let outline = agent.call("outline", json!({ "path": relative, "depth": 10 }))?;
        let outlined = outline["structuredContent"]["files"].as_array().into_iter().flatten();
        for symbol in outlined.flat_map(|file| file["symbols"].as_array().into_iter().flatten()) {
            declared(symbol, "", &relative, &lines, &mut items);
        }
    }
    let mut chance = Chance(20_261_126);
    let mut chosen: Vec<Item> = Vec::new();
    while chosen.len() < if is_quick { AT_ONCE } else { ITEMS } && !items.is_empty() {
        chosen.push(items.swap_remove(chance.below(items.len())));
    }
    let numbered: Vec<(usize, &Item)> = chosen.iter().enumerate().collect();
    let mut truth: Vec<(usize, Use)> = Vec::new();
    for some in numbered.chunks(AT_ONCE) {
        truth.extend(uses(marked, some)?);
    }
    for (number, item) in numbered {
        let of: Vec<&Use> = truth.iter().filter(|(id, _)| *id == number).map(|(_, one)| one).collect();
        ask(agent, asked, item, &of, score)?;
    }
    Ok(())
}

/// The definitions below a symbol that can be marked.
fn declared(symbol: &Value, around: &str, file: &str, lines: &[&str], items: &mut Vec<Item>) {
    let said = |field: &str| symbol[field].as_str().unwrap_or_default();
    let (kind, signature) = (said("kind"), said("signature"));
    let line = symbol["line"].as_u64().unwrap_or_default() as usize;
    // What implements a trait cannot be deprecated; what is in tests is not compiled.
    let of_trait = kind == "impl" && signature.contains(" for ");
    if of_trait || kind == "module" && said("name") == "tests" {
        return;
    }
    let name = said("name").rsplit('.').next().unwrap_or_default();
    let fits = match kind {
        "function" | "method" | "constructor" => true,
        "field" => around == "struct",
        _ => false,
    };
    let item = Item { file: file.to_owned(), line, name: name.to_owned(), kind: kind.to_owned() };
    if fits && lines.get(line.wrapping_sub(1)).is_some_and(|text| can_mark(text, &item)) {
        items.push(item);
    }
    for child in symbol["children"].as_array().into_iter().flatten() {
        declared(child, kind, file, lines, items);
    }
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("could not list {dir:?}"))? {
        let path = entry.with_context(|| format!("could not list {dir:?}"))?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Asks for one definition, and compares.
fn ask(agent: &mut Agent, asked: &Path, item: &Item, truth: &[&Use], score: &mut Score) -> Result<()> {
    let name = format!("{}:{}", item.file, item.line);
    let arguments = json!({ "name": name, "max_results": 5000, "context_lines": 0 });
    let mut result = agent.call("find_uses", arguments.clone())?;
    // A machine that stood still for a while.
    for _ in 0..3 {
        if !result.to_string().contains("out of time") {
            break;
        }
        result = agent.call("find_uses", arguments.clone())?;
    }
    if result["isError"] == true {
        bail!("find_uses {name} ({}) was refused: {}", item.name, text(&result));
    }
    let content = &result["structuredContent"];
    let sites: Vec<(&str, (usize, usize), bool)> = content["uses"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| {
            let number = |field: &str| one[field].as_u64().unwrap_or_default() as usize;
            let place = (number("line"), number("column"));
            (one["file"].as_str().unwrap_or_default(), place, one["verdict"] == "confirmed")
        })
        .collect();
    score.items += 1;
    score.truth += truth.len();
    for one in truth {
        match sites.iter().any(|(file, place, _)| one.holds(file, *place)) {
            true => score.found += 1,
            false => score.differences.push(format!(
                "{}:{}:{}: a use of {} ({}, {name}) that find_uses does not have",
                one.file, one.first.0, one.first.1, item.name, item.kind
            )),
        }
    }
    let is_right = |file: &str, place: (usize, usize)| truth.iter().any(|one| one.holds(file, place));
    score.sites += sites.len();
    score.right += sites.iter().filter(|(file, place, _)| is_right(file, *place)).count();
    if content["head"]["final"] == true {
        let confirmed = || sites.iter().filter(|(.., is_confirmed)| *is_confirmed);
        score.finals += 1;
        score.final_truth += truth.len();
        score.confirmed += confirmed().count();
        score.confirmed_right += confirmed().filter(|(file, place, _)| is_right(file, *place)).count();
    }
    if !truth.is_empty() {
        let found = Command::new("rg")
            .args(["-n", "-w", "-C1", "--type", "rust", "--", &item.name])
            .current_dir(asked)
            .stdin(Stdio::null())
            .output()
            .context("could not run rg")?;
        score.grep_bytes += found.stdout.len();
        score.bytes += text(&result).len();
    }
    Ok(())
}

fn page(scores: &[(String, Score)]) -> String {
    let mut page = String::from(
        "# How often answers about code are right\n\nWritten by `cargo xtask score code truth`. Definitions in copies of our own \
         dependencies, chosen by chance, are marked deprecated; each warning of rustc is a use, and says nothing that the engine \
         under test has a part in. `find_uses` is asked for each by its file and line. What conditions leave out of the \
         compilation rustc does not see, and inside of what is deprecated it is silent, so the share that is right is a floor; the \
         share that is found is not touched by that.\n\n\
         | crate | lines | definitions | uses by rustc | found | share | sites listed | of them uses | final answers | bytes of the text for each use by rustc | of `rg -n -w -C1` |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (what, one) in scores {
        let _ = writeln!(
            page,
            "| {what} | {} | {} | {} | {} | {:.4} | {} | {:.3} | {} | {:.0} | {:.0} |",
            one.lines,
            one.items,
            one.truth,
            one.found,
            share(one.found, one.truth),
            one.sites,
            share(one.right, one.sites),
            one.finals,
            one.bytes as f64 / one.truth.max(1) as f64,
            one.grep_bytes as f64 / one.truth.max(1) as f64,
        );
    }
    page.push_str("\n## Differences\n\n");
    let mut differences: Vec<String> = scores
        .iter()
        .flat_map(|(what, one)| one.differences.iter().map(move |one| format!("- {what}: {one}")))
        .collect();
    if differences.is_empty() {
        differences.push("None.".to_owned());
    }
    page.push_str(&differences.join("\n"));
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_alone_has_its_library_and_dependencies() {
        let manifest = "[package]\nname = \"a\"\n[[bench]]\nname = \"b\"\n[dependencies.c]\nversion = \"1\"\n[dev-dependencies.d]\n\
                        version = \"1\"\n[features]\nx = []\n[lints.rust]\ny = 1\n";
        let wanted = "[package]\nname = \"a\"\n[dependencies.c]\nversion = \"1\"\n[features]\nx = []\n\n[workspace]\n";
        assert_eq!(alone(manifest), wanted);
    }
}
