//! `cargo xtask score code`: the uses verified by `find_uses` in projects from registries, compared with the locations
//! reported by an independent compiler or type checker. Each difference is listed with its location.

mod marks;
mod project;
mod renames;
mod truth;

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup;
use taskkit::workspace::{Profile, build, read, trust, write_page};

use crate::bench::machine;
use crate::client::{Client, text};
use project::PROJECTS;
pub(super) use project::{Project, for_walks};
use truth::{Definition, Location, SYMBOLS, truth};

const PAGE: &str = "docs/generated/score-code.md";
/// Number of definitions of each language.
const PRECISION: f64 = 0.99;
const RECALL: f64 = 0.97;
/// Timeout of one call, number of repetitions, and number of timed warm answers.
const WAIT_MS: u64 = 45_000;
const TRIES: usize = 4;
const WARM: usize = 3;

/// Rules of the engine that are disabled one at a time, and the environment variable that names the rule.
const RULES: &[&str] = &["definitions", "overriders", "reclassify", "other_names", "outside_bases"];
const WITHOUT: &str = "HOB_CODE_WITHOUT";

/// Counts of a project.
#[derive(Debug, Default)]
struct Tally {
    symbols: usize,
    /// Number of true locations, and of those that are confirmed.
    places: usize,
    found: usize,
    /// Number of confirmed locations, and of those that are true.
    confirmed: usize,
    right: usize,
    /// Number of confirmed calls of a member that the definition implements or overrides. The truth lists these under that member.
    dispatched: usize,
    complete: usize,
    /// Number of complete answers with a missing or a false location.
    wrong: usize,
    warm: Vec<Duration>,
    differences: Vec<String>,
}

/// Counts of a project, with all rules and without each rule.
struct Score {
    project: &'static Project,
    all: Tally,
    without: Vec<Tally>,
}

/// Scores the named languages, or all. Scoring all writes the page.
pub(super) fn run(languages: &[&str], is_quick: bool) -> Result<()> {
    let path = setup::judges_path()?;
    let hob = match std::env::var_os("HOB_SCORED") {
        Some(hob) => hob.into(),
        None => build(Profile::Dev, &["-p", "hob"])?.join("hob"),
    };
    let is_named = |one: &&Project| languages.is_empty() || languages.contains(&one.language);
    let mut scores = Vec::new();
    for project in PROJECTS.iter().filter(is_named) {
        let score = score(&hob, &path, project, is_quick).with_context(|| project.title())?;
        scores.push(score);
    }
    let page = page(&scores);
    println!("{page}");
    if languages.is_empty() && !is_quick {
        write_page(PAGE, &page)?;
    }
    let missed: Vec<String> = scores.iter().flat_map(|one| missed(one.project.language, &one.all)).collect();
    if missed.is_empty() { Ok(()) } else { bail!("score: missed: {}", missed.join("; ")) }
}

fn score(hob: &Path, path: &OsStr, project: &'static Project, is_quick: bool) -> Result<Score> {
    let sources = project.fetch()?;
    let scratch = tempfile::tempdir().context("could not make a folder to work in")?;
    let (judged, asked) = (scratch.path().join("judged"), scratch.path().join("asked"));
    project.copy(&sources, &judged)?;
    println!("score: {}: the truth …", project.title());
    let truth = truth(project, &judged, if is_quick { 3 } else { SYMBOLS })?;
    project.copy(&sources, &asked)?;
    let hob = |args: &[&str]| {
        let mut command = Command::new(hob);
        command.args(args).current_dir(&asked).env("PATH", path).stdin(Stdio::null());
        command
    };
    trust(&mut hob(&[]))?;
    let run = |without: &str| {
        let mut tally = Tally::default();
        let warm = if without.is_empty() { WARM } else { 0 };
        let started = Client::start(hob(&["mcp", "code"]).env(WITHOUT, without).stderr(Stdio::null()));
        let answered = started.and_then(|mut agent| {
            truth.iter().try_for_each(|(definition, places)| ask(&mut agent, definition, places, warm, &mut tally))?;
            agent.finish()
        });
        read(&mut hob(&["stop"]))?;
        answered?;
        tally.warm.sort_unstable();
        let Tally { places, found, confirmed, right, complete, wrong, .. } = &tally;
        println!(
            "score: {} without {without:?}: {found} of {places} places confirmed, {right} of {confirmed} right, \
             {complete} complete, {wrong} wrong",
            project.title()
        );
        Ok(tally)
    };
    let rules = if is_quick { &[] } else { RULES };
    let without = rules.iter().map(|rule| run(rule)).collect::<Result<_>>()?;
    Ok(Score { project, all: run("")?, without })
}

/// A location in an answer.
struct Site {
    file: String,
    at: (usize, usize),
    verdict: String,
    class: String,
    in_test: bool,
    by_interface: bool,
}

/// Returns the locations in an answer.
fn sites(content: &Value) -> Vec<Site> {
    let files = content["uses"].as_array().into_iter().flatten();
    let places = files.flat_map(|of| of["places"].as_array().into_iter().flatten().map(move |one| (of, one)));
    places
        .map(|(of, one)| {
            let number = |field: &str| one[field].as_u64().unwrap_or_default() as usize;
            Site {
                file: of["file"].as_str().unwrap_or_default().to_owned(),
                at: (number("line"), number("column")),
                verdict: of["verdict"].as_str().unwrap_or("verified").to_owned(),
                class: one["class"].as_str().unwrap_or("call").to_owned(),
                in_test: one["in_test"] == true,
                by_interface: one["via"] == "interface",
            }
        })
        .collect()
}

fn is_complete(content: &Value) -> bool {
    content["head"]["complete"] == true
}

/// Asks about one definition until the answer is complete, or the server is ready and the answer is incomplete. Compares it with the truth.
fn ask(agent: &mut Client, definition: &Definition, places: &[Location], warm: usize, tally: &mut Tally) -> Result<()> {
    let name = format!("{}:{}", definition.file, definition.line);
    let arguments = json!({ "name": name, "max_results": 5000, "context_lines": 0, "wait_ms": WAIT_MS });
    let mut call = || {
        let result = agent.call("find_uses", arguments.clone())?;
        if result["isError"] == true {
            bail!("find_uses {name} ({}) was refused: {}", definition.name, text(&result));
        }
        Ok(result)
    };
    let mut result = match call() {
        Ok(result) => result,
        Err(error) => {
            tally.symbols += 1;
            tally.places += places.len();
            tally.differences.push(error.to_string());
            return Ok(());
        }
    };
    for _ in 1..TRIES {
        let content = &result["structuredContent"];
        let is_ready = content["head"]["servers"][0]["state"] == "ready" && content["head"]["ask_again"] != true;
        if is_complete(content) || is_ready {
            break;
        }
        result = call()?;
    }
    for _ in 0..warm {
        let begin = Instant::now();
        call()?;
        tally.warm.push(begin.elapsed());
    }
    let said = text(&result);
    compare(&result["structuredContent"], said.lines().next().unwrap_or_default(), definition, places, tally);
    Ok(())
}

fn compare(content: &Value, head: &str, definition: &Definition, places: &[Location], tally: &mut Tally) {
    let what = format!("{} ({}, {}:{})", definition.name, definition.kind, definition.file, definition.line);
    let before = tally.differences.len();
    let is_own =
        |file: &str, line: usize| file == definition.file && (definition.line..=definition.end).contains(&line);
    let (sites, others): (Vec<Site>, Vec<Site>) = sites(content).into_iter().partition(|one| one.verdict == "verified");
    let places: Vec<&Location> = places.iter().filter(|one| !is_own(&one.file, one.first.0)).collect();
    for one in &places {
        let is_found = sites.iter().any(|site| one.holds(&site.file, site.at));
        tally.found += usize::from(is_found);
        if !is_found {
            let site = others.iter().find(|site| one.holds(&site.file, site.at));
            let said = site.map_or("not in the answer".to_owned(), |site| format!("{} ({})", site.verdict, site.class));
            tally.differences.push(format!("{what}: {} is a use, and is {said}", one.display()));
        }
    }
    for site in sites.iter().filter(|site| !is_own(&site.file, site.at.0)) {
        // An import that repeats the name, as in `import area as area`, is one use.
        let is_same_import =
            |one: &&&Location| site.class == "import" && (&one.file, one.first.0) == (&site.file, site.at.0);
        let is_right =
            places.iter().any(|one| one.holds(&site.file, site.at)) || places.iter().any(|one| is_same_import(&one));
        // A compiled Rust library contains no tests.
        let is_seen = !(site.in_test && site.file.ends_with(".rs"));
        let is_declaration = site.class == "binding" || site.class == "signature";
        match (is_right, site.by_interface) {
            (false, _) if is_declaration => {}
            (false, true) => tally.dispatched += 1,
            (false, false) if is_seen => {
                let (line, column) = site.at;
                let place = format!("{}:{line}:{column} ({})", site.file, site.class);
                tally.differences.push(format!("{what}: {place} is verified, and is no use"));
                tally.confirmed += 1;
            }
            (false, false) => {}
            (true, _) => (tally.confirmed, tally.right) = (tally.confirmed + 1, tally.right + 1),
        }
    }
    let is_wrong = is_complete(content) && tally.differences.len() > before;
    tally.symbols += 1;
    tally.places += places.len();
    tally.complete += usize::from(is_complete(content));
    tally.wrong += usize::from(is_wrong);
    match (is_complete(content), is_wrong) {
        (true, true) => tally.differences.push(format!("{what}: **wrong and complete**: {head}")),
        (true, false) => {}
        (false, _) => tally.differences.push(format!("{what}: not complete: {head}")),
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Returns the targets that a language misses.
fn missed(language: &str, tally: &Tally) -> Vec<String> {
    let (precision, recall) = (share(tally.right, tally.confirmed), share(tally.found, tally.places));
    let checks = [
        (precision < PRECISION, format!("{language}: precision {precision:.4}, the target is {PRECISION}")),
        (recall < RECALL, format!("{language}: recall {recall:.4}, the target is {RECALL}")),
        (tally.wrong > 0, format!("{language}: {} wrong complete answers", tally.wrong)),
    ];
    checks.into_iter().filter_map(|(is_missed, said)| is_missed.then_some(said)).collect()
}

fn page(scores: &[Score]) -> String {
    let mut page = format!(
        "# How often answers about code are right\n\nWritten by `cargo xtask score code`. {SYMBOLS} definitions of each project, in the order of a hash, \
         outside of tests, with a name that stands in three places at least. Their true places are made before `find_uses` is asked: rustc, g++ and pyright \
         report the uses of a definition that is marked deprecated; go/types and TypeScript 5 say what each identifier means; GHC reports what it misses \
         once the definition has another name. Declarations are no uses. Where an answer is not complete, its verified places count all the same.\n\n\
         A *wrong* answer says that it is complete, and lacks a true place or has a false one. *Dispatched* are verified calls of what the definition \
         implements or overrides, of which the truth says nothing. The time is that of {WARM} more calls for each definition.\n\n\
         | language | project | symbols | true places | verified | precision | recall | dispatched | complete | wrong | ms warm: median | longest |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    for Score { project, all: one, .. } in scores {
        let ms = |time: Option<&Duration>| time.map_or("–".to_owned(), |time| time.as_millis().to_string());
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {:.4} | {:.4} | {} | {} | {} | {} | {} |",
            project.language,
            project.title(),
            one.symbols,
            one.places,
            one.confirmed,
            share(one.right, one.confirmed),
            share(one.found, one.places),
            one.dispatched,
            one.complete,
            one.wrong,
            ms(one.warm.get(one.warm.len() / 2)),
            ms(one.warm.last()),
        );
    }
    let missed: Vec<String> = scores.iter().flat_map(|one| missed(one.project.language, &one.all)).collect();
    let differences = scores
        .iter()
        .flat_map(|one| one.all.differences.iter().map(|said| format!("{}: {said}", one.project.language)));
    let differences: Vec<String> = differences.collect();
    let or_none =
        |all: Vec<String>| if all.is_empty() { "None.".to_owned() } else { format!("- {}", all.join("\n- ")) };
    let _ = write!(
        page,
        "\n## Targets missed\n\n{}\n\n## Each rule switched off\n\nAll languages together: what changes without a rule.\n\n\
         | without | verified and true | verified and false | complete | wrong |\n| --- | --- | --- | --- | --- |\n{}\n\
         ## Differences\n\n{}\n\n## The machine\n\n{}",
        or_none(missed),
        effects(scores),
        or_none(differences),
        machine()
    );
    page
}

/// Formats a line for all rules, and one for each disabled rule.
fn effects(scores: &[Score]) -> String {
    let counts = |tally: &Tally| [tally.found, tally.confirmed - tally.right, tally.complete, tally.wrong];
    let sum = |tallies: Vec<&Tally>| {
        let all = tallies.into_iter().map(counts);
        all.fold([0; 4], |sum, one| std::array::from_fn(|at| sum[at] + one[at]))
    };
    let all = sum(scores.iter().map(|one| &one.all).collect());
    let mut lines = format!("| – | {} | {} | {} | {} |\n", all[0], all[1], all[2], all[3]);
    let is_measured = scores.iter().all(|one| one.without.len() == RULES.len());
    for (number, rule) in RULES.iter().enumerate().filter(|_| is_measured) {
        let without = sum(scores.iter().filter_map(|one| one.without.get(number)).collect());
        let cells =
            without.iter().zip(all).map(|(without, all)| format!(" {without} ({:+}) |", *without as i64 - all as i64));
        let _ = writeln!(lines, "| `{rule}` |{}", cells.collect::<String>());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_answer_that_lacks_a_place_or_has_a_false_one_is_wrong() {
        let definition =
            Definition { file: "a".to_owned(), line: 1, end: 1, name: "area".to_owned(), kind: "function".to_owned() };
        let use_at =
            |line: usize, class: &str, via: &str| json!({"line": line, "column": 3, "class": class, "via": via});
        let answer = |is_complete: bool, places: Vec<Value>| {
            let other = json!({"file": "a", "verdict": "other", "places": [{"line": 9, "column": 3}]});
            json!({"head": {"complete": is_complete}, "uses": [{"file": "a", "places": places}, other]})
        };
        let compared = |content: Value| {
            let mut tally = Tally::default();
            compare(&content, "head", &definition, &[Location::at("a", 2, 3)], &mut tally);
            (tally.found, tally.right, tally.confirmed, tally.dispatched, tally.complete, tally.wrong)
        };
        let right = use_at(2, "call", "direct");
        assert_eq!(compared(answer(true, vec![right.clone(), use_at(4, "binding", "direct")])), (1, 1, 1, 0, 1, 0));
        assert_eq!(compared(answer(true, vec![])), (0, 0, 0, 0, 1, 1));
        assert_eq!(compared(answer(true, vec![right.clone(), use_at(3, "call", "direct")])), (1, 1, 2, 0, 1, 1));
        assert_eq!(compared(answer(true, vec![right, use_at(3, "call", "interface")])), (1, 1, 1, 1, 1, 0));
        assert_eq!(compared(answer(false, vec![])), (0, 0, 0, 0, 0, 0));
    }
}
