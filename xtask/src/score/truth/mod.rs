//! `cargo xtask score code truth`: the uses that `find_uses` finds in crates of our own dependencies, beside those that rustc
//! reports once the definition is deprecated; first by syntax alone, then as rust-analyzer judges it; and who calls a function,
//! beside rustc's middle form. A difference is listed with its place.

mod calls;
mod judged;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::marks::{Item, Use, can_mark, uses};
use crate::agent::{Agent, text};
use crate::dependencies::{Chance, copy, dependencies};
use crate::setup;
use crate::workspace::{Profile, build, read, root, trust, write_page};
use calls::{Calls, Function};
use judged::Judged;

const CRATES: &[&str] = &["aho-corasick", "clap_builder", "minijinja", "regex-syntax"];
const PAGE: &str = "docs/generated/score-code-truth.md";
/// How many definitions of each crate, and how many are marked at a time: rustc is silent inside of what is deprecated.
const ITEMS: usize = 60;
const AT_ONCE: usize = 15;
/// What must be found by syntax of what rustc reports.
const RECALL: f64 = 0.99;
/// How much of final answers must be right, and of the truth in them; and how many answers must be final.
const FINAL: f64 = 0.98;
const FINALS: f64 = 0.90;
/// Of how many functions of each crate the callers are asked for.
const FUNCTIONS: usize = 60;

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
    /// Bytes of the answers, and of ripgrep's, for definitions that are used.
    bytes: usize,
    grep_bytes: usize,
    differences: Vec<String>,
    judged: Judged,
    calls: Calls,
}

/// How much is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    /// A little of one crate; the page stays.
    Quick,
    /// Only who calls functions; that part of the page is written anew.
    Calls,
}

pub(super) fn run(extent: Extent) -> Result<()> {
    let is_quick = extent == Extent::Quick;
    setup::ripgrep()?;
    let hob = build(Profile::Dev, &["-p", "hob"])?.join("hob");
    let all = dependencies()?;
    let crates = if is_quick { &CRATES[..1] } else { CRATES };
    let mut scores = Vec::new();
    for name in crates {
        let one = all.iter().rfind(|one| one.name == *name).with_context(|| format!("{name} is no dependency"))?;
        let what = format!("{} {}", one.name, one.version);
        println!("score: {what} …");
        let score = score(&hob, &one.dir, extent).with_context(|| what.clone())?;
        let Judged { items, finals, truth, found, .. } = &score.judged;
        println!("score: {what}: {} of {} uses found by syntax", score.found, score.truth);
        println!("score: {what}: {finals} of {items} answers final, {found} of {truth} uses confirmed");
        scores.push((what, score));
    }
    let calls = page_of_calls(&scores);
    let uses = match extent {
        Extent::Calls => {
            std::fs::read_to_string(root().join(PAGE)).with_context(|| format!("could not read {PAGE}"))?
        }
        _ => page_of_uses(&scores),
    };
    let page = format!("{}{calls}", uses.split(CALLS_TITLE).next().unwrap_or_default());
    println!("{page}");
    if !is_quick {
        write_page(PAGE, &page)?;
    }
    let sum = |field: fn(&Score) -> usize| scores.iter().map(|(_, score)| field(score)).sum::<usize>();
    if share(sum(|one| one.found), sum(|one| one.truth)) < RECALL {
        bail!("score: fewer than {RECALL} of the uses are found");
    }
    let checks = [
        ("the answers are final", sum(|one| one.judged.finals), sum(|one| one.judged.items), FINALS),
        ("the uses are confirmed", sum(|one| one.judged.found), sum(|one| one.judged.truth), FINAL),
        ("what is confirmed is a use", sum(|one| one.judged.right), sum(|one| one.judged.confirmed), FINAL),
        ("the answers about callers are final", sum(|one| one.calls.finals), sum(|one| one.calls.functions), FINALS),
        ("the calls are confirmed", sum(|one| one.calls.found), sum(|one| one.calls.calls), FINAL),
        ("the confirmed calls are calls", sum(|one| one.calls.right), sum(|one| one.calls.confirmed), FINAL),
    ];
    for (what, part, whole, least) in checks {
        if share(part, whole) < least {
            bail!("score: {what}: {part} of {whole}, where {least} is the least");
        }
    }
    Ok(())
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn score(hob: &Path, sources: &Path, extent: Extent) -> Result<Score> {
    let scratch = tempfile::tempdir().context("could not make a folder to work in")?;
    let (asked, marked) = (scratch.path().join("asked"), scratch.path().join("marked"));
    let mut score = Score { lines: copy(&sources.join("src"), &asked.join("src"))?, ..Score::default() };
    read(Command::new("cp").arg("-r").arg(sources).arg(&marked))?;
    // A package of its own, with the versions that this workspace has.
    let manifest = std::fs::read_to_string(sources.join("Cargo.toml")).context("could not read Cargo.toml")?;
    std::fs::write(marked.join("Cargo.toml"), alone(&manifest))?;
    std::fs::copy(root().join("Cargo.lock"), marked.join("Cargo.lock")).context("could not copy Cargo.lock")?;
    // Syntax alone.
    std::fs::write(asked.join("hob.toml"), "[code.servers.rust-analyzer]\nenabled = false\n")?;
    let chosen = with_agent(hob, &asked, |agent| ask_all(agent, &asked, &marked, extent, &mut score))?;
    let calls = calls::mir(&marked)?;
    let whole = scratch.path().join("judged");
    copy(&sources.join("src"), &whole.join("src"))?;
    for file in ["Cargo.toml", "Cargo.lock"] {
        std::fs::copy(marked.join(file), whole.join(file)).with_context(|| format!("could not copy {file}"))?;
    }
    std::fs::write(whole.join("hob.toml"), "")?;
    trust(Command::new(hob).current_dir(&whole))?;
    with_agent(hob, &whole, |agent| {
        for (number, item, truth, lines) in &chosen.items {
            let truth: Vec<&Use> = truth.iter().collect();
            judged::ask(agent, &marked, *number, item, &truth, *lines, &mut score.judged)?;
        }
        for function in &chosen.functions {
            calls::ask(agent, &whole, function, &calls, &mut score.calls)?;
        }
        Ok(())
    })?;
    Ok(score)
}

/// Does something with an agent in a folder, whose daemon is stopped afterwards.
fn with_agent<T>(hob: &Path, folder: &Path, work: impl FnOnce(&mut Agent) -> Result<T>) -> Result<T> {
    let mut agent = Agent::start(Command::new(hob).args(["mcp", "code"]).current_dir(folder).stderr(Stdio::null()))?;
    let worked = agent.initialize().and_then(|_| work(&mut agent));
    let finished = agent.finish();
    let stopped = Command::new(hob).arg("stop").current_dir(folder).stdin(Stdio::null()).output();
    let worked = worked?;
    finished?;
    stopped.context("could not run `hob stop`")?;
    Ok(worked)
}

/// What is asked about.
struct Chosen {
    /// Definitions with their numbers, what rustc reports of each, and how many lines each has.
    items: Vec<(usize, Item, Vec<Use>, usize)>,
    /// Functions whose name nothing else has.
    functions: Vec<Function>,
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

fn ask_all(agent: &mut Agent, asked: &Path, marked: &Path, extent: Extent, score: &mut Score) -> Result<Chosen> {
    let is_quick = extent == Extent::Quick;
    let mut items = Vec::new();
    let mut functions: BTreeMap<String, Vec<Option<Function>>> = BTreeMap::new();
    for file in files(&asked.join("src"))? {
        let relative = file.strip_prefix(asked).unwrap_or(&file).to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&file).with_context(|| format!("could not read {relative}"))?;
        let lines: Vec<&str> = source.lines().collect();
        let outline = agent.call("outline", json!({ "path": relative, "depth": 10 }))?;
        let outlined = outline["structuredContent"]["files"].as_array().into_iter().flatten();
        for symbol in outlined.flat_map(|file| file["symbols"].as_array().into_iter().flatten()) {
            declared(symbol, "", &relative, &lines, &mut items);
            named(symbol, "", &relative, &mut functions);
        }
    }
    let mut chance = Chance(20_261_126);
    let mut chosen: Vec<(Item, usize)> = Vec::new();
    while chosen.len() < if is_quick { AT_ONCE } else { ITEMS } && !items.is_empty() {
        chosen.push(items.swap_remove(chance.below(items.len())));
    }
    if extent == Extent::Calls {
        chosen.clear();
    }
    let numbered: Vec<(usize, &Item)> = chosen.iter().map(|(item, _)| item).enumerate().collect();
    let mut truth: Vec<(usize, Use)> = Vec::new();
    for some in numbered.chunks(AT_ONCE) {
        truth.extend(uses(marked, some)?);
    }
    for (number, item) in numbered {
        let of: Vec<&Use> = truth.iter().filter(|(id, _)| *id == number).map(|(_, one)| one).collect();
        ask(agent, asked, item, &of, score)?;
    }
    let mut unique: Vec<Function> =
        functions.into_values().filter_map(|mut all| all.pop().filter(|_| all.is_empty())?).collect();
    let mut asked_for = Vec::new();
    while asked_for.len() < if is_quick { AT_ONCE } else { FUNCTIONS } && !unique.is_empty() {
        asked_for.push(unique.swap_remove(chance.below(unique.len())));
    }
    let of = |number: usize| truth.iter().filter(|(id, _)| *id == number).map(|(_, one)| one.clone()).collect();
    let items = chosen.into_iter().enumerate().map(|(number, (item, lines))| (number, item, of(number), lines));
    Ok(Chosen { items: items.collect(), functions: asked_for })
}

/// What has each name below a symbol; nothing for what is no function.
fn named(symbol: &Value, around: &str, file: &str, functions: &mut BTreeMap<String, Vec<Option<Function>>>) {
    let said = |field: &str| symbol[field].as_str().unwrap_or_default();
    if said("kind") == "module" && said("name") == "tests" {
        return;
    }
    let name = said("name").rsplit(['.', ':']).next().unwrap_or_default().to_owned();
    let function = matches!(said("kind"), "function" | "method").then(|| Function {
        name: name.clone(),
        at: format!("{file}:{}", symbol["line"]),
        of: around.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
    });
    functions.entry(name).or_default().push(function);
    let around = if matches!(said("kind"), "impl" | "interface") { said("name") } else { "" };
    for child in symbol["children"].as_array().into_iter().flatten() {
        named(child, around, file, functions);
    }
}

/// The definitions below a symbol that can be marked.
fn declared(symbol: &Value, around: &str, file: &str, lines: &[&str], items: &mut Vec<(Item, usize)>) {
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
        let end = symbol["end_line"].as_u64().unwrap_or_default() as usize;
        items.push((item, (end + 1).saturating_sub(line)));
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
    let arguments = json!({ "name": name, "max_results": 5000, "context_lines": 0, "wait_ms": 0 });
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
    let sites = judged::sites(content, "uses");
    score.items += 1;
    score.truth += truth.len();
    for one in truth {
        match sites.iter().any(|site| one.holds(&site.file, site.place)) {
            true => score.found += 1,
            false => score.differences.push(format!(
                "{}:{}:{}: a use of {} ({}, {name}) that find_uses does not have",
                one.file, one.first.0, one.first.1, item.name, item.kind
            )),
        }
    }
    let is_right = |file: &str, place: (usize, usize)| truth.iter().any(|one| one.holds(file, place));
    score.sites += sites.len();
    score.right += sites.iter().filter(|site| is_right(&site.file, site.place)).count();
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

const INTRODUCTION: &str = "# How often answers about code are right

Written by `cargo xtask score code truth`. Definitions in copies of our own dependencies, chosen by chance, are marked deprecated; each \
warning of rustc is a use, and says nothing that the engine under test has a part in. `find_uses` is asked for each by its file and line.

## By syntax alone

What conditions leave out of the compilation rustc does not see, and inside of what is deprecated it is silent, so the share that is \
right is a floor; the share that is found is not touched by that.

| crate | lines | definitions | uses by rustc | found | share | sites listed | of them uses | bytes of the text for each use by rustc | of `rg -n -w -C1` |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";
const JUDGED: &str = "
## As rust-analyzer judges it

The same definitions, in the whole crate, which both compile with all features. Where something is confirmed that rustc does not report, it is asked again with that \
definition alone marked. Declarations are no uses to rustc, nor is what stands in the definition itself or what its derives write; what is in tests it does not compile.

| crate | answers | final | uses by rustc | confirmed | R | confirmed outside of tests | by rustc | P | in tests |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";
const CALLS_TITLE: &str = "
## Calls, by rustc's middle form
";
const CALLS: &str = "
Functions and methods of the same crates, chosen by chance from those whose name nothing else in the crate has. rustc writes its middle \
form with the place of each call (`--emit=mir`); `find_callers` must confirm each. A call that a macro writes has the place of the macro, \
and is counted and listed apart.

| crate | functions | final | calls by rustc | confirmed | R | confirmed outside of tests | by rustc | P | by macros |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

fn page_of_uses(scores: &[(String, Score)]) -> String {
    let mut page = INTRODUCTION.to_owned();
    for (what, one) in scores {
        let _ = writeln!(
            page,
            "| {what} | {} | {} | {} | {} | {:.4} | {} | {:.3} | {:.0} | {:.0} |",
            one.lines,
            one.items,
            one.truth,
            one.found,
            share(one.found, one.truth),
            one.sites,
            share(one.right, one.sites),
            one.bytes as f64 / one.truth.max(1) as f64,
            one.grep_bytes as f64 / one.truth.max(1) as f64,
        );
    }
    page.push_str(JUDGED);
    for (what, Score { judged: one, .. }) in scores {
        let (recall, precision) = (share(one.found, one.truth), share(one.right, one.confirmed));
        let _ = writeln!(
            page,
            "| {what} | {} | {} | {} | {} | {recall:.4} | {} | {} | {precision:.4} | {} |",
            one.items, one.finals, one.truth, one.found, one.confirmed, one.right, one.in_tests,
        );
    }
    list(&mut page, "by syntax alone", scores.iter().map(|(what, one)| (what, &one.differences)));
    list(&mut page, "as rust-analyzer judges it", scores.iter().map(|(what, one)| (what, &one.judged.differences)));
    page
}

fn page_of_calls(scores: &[(String, Score)]) -> String {
    let mut page = format!("{CALLS_TITLE}{CALLS}");
    for (what, Score { calls: one, .. }) in scores {
        let (recall, precision) = (share(one.found, one.calls), share(one.right, one.confirmed));
        let _ = writeln!(
            page,
            "| {what} | {} | {} | {} | {} | {recall:.4} | {} | {} | {precision:.4} | {} |",
            one.functions, one.finals, one.calls, one.found, one.confirmed, one.right, one.by_macro,
        );
    }
    list(&mut page, "calls", scores.iter().map(|(what, one)| (what, &one.calls.differences)));
    page
}

fn list<'a>(page: &mut String, title: &str, of: impl Iterator<Item = (&'a String, &'a Vec<String>)>) {
    let all = of.flat_map(|(what, all)| all.iter().map(move |one| format!("- {what}: {one}\n")));
    let all: String = all.collect();
    let _ = write!(page, "\n## Differences: {title}\n\n{}", if all.is_empty() { "None.\n" } else { &all });
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
