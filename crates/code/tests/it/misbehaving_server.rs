//! A fake language server that misbehaves: a real process that is empty for a while, ends its progress early, withholds
//! a file, gives outdated positions or a wrong file, falls silent, or dies while answering. In each case an answer must
//! be right or not final, must report the server's state, and must arrive within the caller's time limit.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use code::settings::ServerSettings;
use code::{CodeSettings, Timing};
use serde_json::{Value, json};

use crate::judged_project::{JudgedProject, until};
use crate::missing_servers::program;

/// The uses of `area` in geo.py.
const TRUTH: [&str; 3] = ["passed.py:2", "uses.py:5", "uses.py:7"];
/// No final answer has these uses.
const NEVER: [&str; 1] = ["no answer may be final"];

pub(crate) fn timing() -> Timing {
    Timing {
        doubtful_after: Duration::from_millis(500),
        hung_after: Duration::from_millis(700),
        restarts: vec![Duration::from_millis(20), Duration::from_millis(50)],
        well_after: Duration::from_secs(60),
        settling: Duration::from_millis(30),
        request: Duration::from_secs(5),
        measured_every: Duration::from_millis(50),
    }
}

pub(crate) fn liar(mode: &str, seconds: f64) -> ServerSettings {
    let liar = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/liar.py");
    let command = ["python3", liar.to_str().unwrap(), mode, &seconds.to_string()].map(str::to_owned).to_vec();
    ServerSettings { command: Some(command), enabled: None }
}

/// Returns an empty worktree whose servers are all fake. `None`, with a message, without Python.
pub(crate) fn lying(servers: &[&str], mode: &str, seconds: f64) -> Option<JudgedProject> {
    lying_with(servers, mode, seconds, None, timing())
}

fn lying_with(
    servers: &[&str],
    mode: &str,
    seconds: f64,
    memory: Option<u64>,
    timing: Timing,
) -> Option<JudgedProject> {
    let servers = servers.iter().map(|server| ((*server).to_owned(), liar(mode, seconds))).collect();
    let settings = CodeSettings { memory, servers, ..CodeSettings::default() };
    testkit::has_program("python3").then(|| JudgedProject::with(settings, timing))
}

/// Returns the Python project with a fake server.
pub(crate) fn lying_python(mode: &str, seconds: f64) -> Option<JudgedProject> {
    let judged = lying(&["ty"], mode, seconds)?;
    project(&judged);
    Some(judged)
}

pub(crate) fn project(judged: &JudgedProject) {
    judged.write_files(
        "--- geo.py\ndef area(side):\n    return side\n\ndef surface(side):\n    return side\n\
         --- other.py\ndef area():\n    return 1\n\
         --- noise.py\nx = 1\n\
         --- passed.py\nfrom geo import area\nf = map(area, [1])\n\
         --- uses.py\n\
         from geo import area, surface\nimport other\n\ndef run():\n    area(1)\n    other.area()\n    return area(surface(2))\n",
    );
}

/// Writes a Go project in which `square` has one use.
pub(crate) fn go_project(judged: &JudgedProject) {
    let geo = "package geo\n\nfunc square(side int) int { return side }\n\nfunc surface() int { return 1 }\n";
    let uses = "package geo\n\nfunc run() int { return square(1) + surface() }\n";
    judged.write("go.mod", "module made\n").write("geo.go", geo).write("uses.go", uses);
}

/// Asserts that a final answer has these locations; otherwise returns the server's state.
fn check(answer: &Value, text: &str, truth: &[&str]) -> Option<String> {
    let head = &answer["head"];
    if head["complete"] != true {
        assert!(!text.contains(", complete"), "{text}");
        let codes = head["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap());
        let codes: Vec<&str> = codes.collect();
        return Some(format!("{} {}", head["servers"][0]["state"].as_str().unwrap(), codes.join(" ")));
    }
    let sites = answer["call_sites"].as_array().unwrap().iter();
    let mut places: Vec<String> =
        sites.map(|site| format!("{}:{}", site["file"].as_str().unwrap(), site["line"])).collect();
    places.dedup();
    assert_eq!(places, truth, "a final answer is right: {text}");
    None
}

fn ask(judged: &JudgedProject, name: &str, wait_ms: u64) -> (Value, String) {
    judged.ask("find_callers", json!({"name": name, "wait_ms": wait_ms})).unwrap()
}

/// Asks until the answer is final. Returns the server's states meanwhile.
fn until_final(judged: &JudgedProject, name: &str, truth: &[&str], wait_ms: u64) -> Vec<String> {
    let mut states = Vec::new();
    until(|| {
        let (answer, text) = ask(judged, name, wait_ms);
        states.extend(check(&answer, &text, truth));
        if answer["head"]["complete"] == true { Ok(()) } else { Err(format!("{states:?}")) }
    });
    states
}

/// Asks until the server's state begins with these words. Returns the answer's text.
fn until_state(judged: &JudgedProject, wanted: &str, truth: &[&str]) -> String {
    until(|| {
        let (answer, text) = ask(judged, "geo.py:area", 1_000);
        match check(&answer, &text, truth) {
            Some(state) if state.starts_with(wanted) => Ok(text),
            state => Err(format!("{state:?}: {text}")),
        }
    })
}

/// Asks `times` times and asserts that no answer is final.
fn never_final(judged: &JudgedProject, times: usize, wait_ms: u64) -> Vec<String> {
    let states = (0..times).map(|_| {
        let (answer, text) = ask(judged, "geo.py:area", wait_ms);
        check(&answer, &text, &NEVER).unwrap()
    });
    states.collect()
}

#[test]
fn a_call_ends_when_its_time_is_over() {
    let Some(judged) = lying_python("silent", 0.0) else { return };
    never_final(&judged, 1, 1_000);
    for wait in [0, 300] {
        let begun = Instant::now();
        never_final(&judged, 1, wait);
        let most = Duration::from_millis(wait + 200) + testkit::patience() / 100;
        assert!(begun.elapsed() < most, "{:?}", begun.elapsed());
    }
    until_state(&judged, "hung hung", &NEVER);
}

#[test]
fn of_many_candidates_the_references_are_taken() {
    // It never answers requests for definitions.
    let Some(judged) = lying(&["ty"], "silent", 0.0) else { return };
    judged
        .write("geo.py", "def area(side):\n    return side\n")
        .write("other.py", "def area():\n    return 1\n")
        .write("more.py", format!("import other\n{}", "other.area()\n".repeat(50)))
        .write("uses.py", format!("from geo import area\n{}", "area(1)\n".repeat(400)));
    let (head, text) = until(|| {
        let (mut answer, text) = ask(&judged, "geo.py:area", 20_000);
        if answer["head"]["verified"] == 400 { Ok((answer["head"].take(), text)) } else { Err(text) }
    });
    assert_eq!((&head["complete"], &head["unverified"]), (&json!(false), &json!(50)), "{text}");
}

#[test]
fn empty_for_a_while() {
    let Some(judged) = lying_python("empty", 2.0) else { return };
    let states = until_final(&judged, "geo.py:area", &TRUTH, 200);
    assert!(states.len() > 2, "{states:?}");
    // A fifth of a second may be too short for a ready server, and the answer says so.
    let is_honest = |state: &String| state.ends_with(" loading") || state.starts_with("ready out_of_time");
    assert!(states.iter().all(is_honest), "{states:?}");
    assert!(states.iter().any(|state| state == "doubtful loading"), "{states:?}");
}

#[test]
fn progress_that_ends_early() {
    let Some(judged) = lying(&["gopls"], "early", 1.5) else { return };
    go_project(&judged);
    let states = until_final(&judged, "square", &["uses.go:3"], 200);
    assert!(states.len() > 2 && states.iter().all(|state| state.ends_with("loading")), "{states:?}");
}

#[test]
fn one_that_loads_with_its_first_document_is_given_one_at_once() {
    let Some(judged) = lying(&["gopls"], "lazy", 0.0) else { return };
    // The name is too short for a probe, so nothing is asked before the question.
    judged
        .write("go.mod", "module made\n")
        .write("geo.go", "package geo\n\nfunc run() int { return 1 }\n")
        .write("uses.go", "package geo\n\nvar x = run()\n");
    let times = (0..3).map(|_| {
        let began = Instant::now();
        judged.until_final("find_callers", json!({"name": "run"}));
        let took = began.elapsed();
        judged.ask("code_status", json!({"restart": true})).unwrap();
        took
    });
    // A server with nothing to load is trusted after a second.
    let fastest = times.min().unwrap();
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
}

#[test]
fn a_file_that_is_withheld() {
    let Some(judged) = lying_python("withheld", 0.0) else { return };
    let states = never_final(&judged, 4, 1_500);
    assert!(states.iter().skip(1).all(|state| state == "ready dynamic"), "{states:?}");
    let (_, text) = ask(&judged, "geo.py:area", 1_500);
    assert!(
        text.starts_with("2 callers. 1 more place that ty does not resolve is unverified: area as a value"),
        "{text}"
    );
}

#[test]
fn positions_that_are_old_and_a_wrong_file() {
    for mode in ["old", "wrong"] {
        let Some(judged) = lying_python(mode, 0.0) else { return };
        assert_eq!(never_final(&judged, 4, 600).last().unwrap(), "doubtful loading", "{mode}");
        // No use in another file is certain, so there are no readiness probes.
        let Some(judged) = lying(&["ty"], mode, 0.0) else { return };
        judged.write("geo.py", "def area(side):\n    return area(side - 1)\n").write("noise.py", "x = 1\n\ny = 2\n");
        let states = never_final(&judged, 3, 1_000);
        assert!(states.iter().skip(1).all(|state| state.contains("stale")), "{mode}: {states:?}");
    }
}

#[test]
fn one_that_reads_nothing_while_it_is_told_a_lot_is_seen_as_hung() {
    let timing = Timing { hung_after: Duration::from_secs(2), restarts: Vec::new(), ..timing() };
    let Some(judged) = lying_with(&["ty"], "deaf", 2.0, None, timing) else { return };
    project(&judged);
    // More documents than the queue of a server that reads nothing.
    for number in 0..1500 {
        let name = number / 190;
        judged.write(&format!("many/f{number:04}.py"), format!("from many.of{name} import twin{name}\ntwin{name}()\n"));
    }
    for name in 0..8 {
        judged.write(&format!("many/of{name}.py"), format!("def twin{name}():\n    pass\n"));
    }
    let mut names = (0..8).cycle().map(|name| format!("many/of{name}.py:twin{name}"));
    until(|| {
        let (answer, _) = ask(&judged, &names.next().unwrap(), 100);
        let state = &answer["head"]["servers"][0]["state"];
        if state == "hung" { Ok(()) } else { Err(state.to_string()) }
    });
}

#[test]
fn death_in_the_middle_of_an_answer() {
    let Some(judged) = lying_python("dies", 2.0) else { return };
    // The server is right twice in each life, for the probes and one question. A final answer is possible, and must be right.
    until_state(&judged, "crashed crashed", &TRUTH);
}

#[test]
fn where_nothing_is_certain_two_rounds_agree_after_each_change() {
    let Some(judged) = lying(&["ty"], "dies", 5.0) else { return };
    // A name of three letters is too short for a probe: nothing is known before the question.
    judged.write("geo.py", "def run():\n    return 1\n").write("uses.py", "from geo import run\nrun()\n");
    let is_final = || {
        let (answer, text) = ask(&judged, "run", 20_000);
        assert_eq!((&answer["head"]["complete"], &answer["total"]), (&json!(true), &json!(1)), "{text}");
        let (status, _) = judged.ask("code_status", json!({})).unwrap();
        assert_eq!(status["servers"][0]["probe"], "none", "{text}");
    };
    let has_died = || judged.records().iter().any(|record| record["record"] == "code_server_ended");
    // Two rounds, then one, then two after a change: five answers.
    is_final();
    is_final();
    judged.write("more.py", "import geo\n");
    is_final();
    assert!(!has_died(), "{:#?}", judged.records());
    ask(&judged, "run", 20_000);
    assert!(has_died(), "{:#?}", judged.records());
}

#[test]
fn an_honest_one_is_believed_and_who_never_waits_is_told_once_two_answers_agree() {
    let Some(judged) = lying_python("honest", 0.0) else { return };
    until_final(&judged, "geo.py:area", &TRUTH, 10_000);
    let (_, text) = ask(&judged, "geo.py:area", 10_000);
    assert!(text.starts_with("3 callers, complete: 2 calls, 1 passed as a value · checked by ty"), "{text}");
    judged.write("uses.py", "from geo import area\n\n\narea(1)\n");
    until_final(&judged, "geo.py:area", &["passed.py:2", "uses.py:4"], 0);
    // For a function without callers nothing is confirmed, so two rounds are needed.
    judged.write("more.py", "def unused(x):\n    return x\n");
    let (answer, text) = ask(&judged, "unused", 10_000);
    assert_eq!((&answer["head"]["complete"], &answer["total"]), (&json!(true), &json!(0)), "{text}");
}

/// Returns the states of the servers by name.
fn states(judged: &JudgedProject) -> BTreeMap<String, String> {
    let (status, _) = judged.ask("code_status", json!({})).unwrap();
    let word = |server: &Value, field: &str| server[field].as_str().unwrap().to_owned();
    status["servers"].as_array().unwrap().iter().map(|one| (word(one, "server"), word(one, "state"))).collect()
}

#[test]
fn two_that_do_not_fit_together_are_parked_in_turn() {
    let Some(judged) = lying_with(&["ty", "gopls"], "heavy", 0.0, Some(90), timing()) else { return };
    project(&judged);
    go_project(&judged);
    for name in ["geo.py:area", "geo.go:square", "geo.py:area", "geo.go:square"] {
        let (_, text) = judged.until_final("find_callers", json!({"name": name}));
        assert!(text.contains("checked by "), "{text}");
    }
    // The server in use runs; the other one is stopped within one or two measurements.
    let wanted = BTreeMap::from([("gopls", "ready"), ("ty", "parked")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    until(|| if states(&judged) == wanted { Ok(()) } else { Err(format!("{:?}", states(&judged))) });
}

#[test]
fn those_that_load_at_once_wait_for_each_other_instead_of_being_parked_in_turn() {
    // A server that is asked too early is soon asked again.
    let timing = Timing {
        doubtful_after: Duration::from_secs(30),
        measured_every: timing().measured_every,
        ..Timing::default()
    };
    // Two of the four fit.
    let Some(judged) = lying_with(&["ty"], "slow", 1.0, Some(140), timing) else { return };
    let folders = ["a", "b", "c", "d"];
    for folder in folders {
        let uses = format!("from geo import area_{folder}\n\ndef run():\n    return area_{folder}(1)\n");
        judged
            .write(&format!("{folder}/pyproject.toml"), "")
            .write(&format!("{folder}/geo.py"), format!("def area_{folder}(side):\n    return side\n"))
            .write(&format!("{folder}/uses.py"), uses);
    }
    std::thread::scope(|threads| {
        for folder in folders {
            let judged = &judged;
            threads.spawn(move || {
                let (answer, text) = judged.until_final("find_callers", json!({"name": format!("area_{folder}")}));
                assert_eq!(answer["total"], 1, "{text}");
            });
        }
    });
    let mut starts = BTreeMap::<String, usize>::new();
    for record in judged.records().iter().filter(|record| record["record"] == "code_server_started") {
        *starts.entry(record["root"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    // Each was held at most once.
    assert!(starts.len() == 4 && starts.values().all(|count| *count <= 2), "{starts:?}");
}

#[test]
fn one_that_needs_more_than_all_may_have_is_ended() {
    let Some(judged) = lying_with(&["ty"], "heavy", 0.0, Some(30), timing()) else { return };
    project(&judged);
    // It may have answered correctly before the measurement.
    let text = until_state(&judged, "over_budget over_a_limit", &TRUTH);
    assert!(text.contains("`memory` of [code]"), "{text}");
}

#[test]
fn a_restart_leaves_no_task_behind() {
    // The budget task finds no servers between an end and a start.
    let timing = Timing { measured_every: Duration::from_secs(3600), ..timing() };
    let Some(judged) = lying_with(&["ty"], "honest", 0.0, None, timing) else { return };
    project(&judged);
    until_final(&judged, "geo.py:area", &TRUTH, 10_000);
    let restart = || {
        let (status, text) = judged.ask("code_status", json!({"restart": true})).unwrap();
        assert_eq!(status["restarted"].as_array().unwrap().len(), 1, "{text}");
        judged.tasks()
    };
    // The number of tasks of a server depends on its progress.
    let (before, times) = (restart(), 16);
    let after = (0..times).fold(before, |_, _| restart());
    assert!(after < before + times / 2, "{before} tasks, then {after}");
}

#[test]
fn a_restart_takes_the_environment_of_who_restarts() {
    let timing = Timing { restarts: Vec::new(), ..timing() };
    let Some(mut judged) = lying_with(&[], "honest", 0.0, None, timing) else { return };
    project(&judged);
    let places = tempfile::tempdir().unwrap();
    let search_path = |folder: &str, script: &str| {
        let folder = places.path().join(folder);
        program(&folder.join("ty"), &format!("#!/bin/sh\n{script}\n"), 0o755);
        Some(format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()))
    };
    judged.search_path = search_path("broken", "exit 3");
    until(|| {
        let (_, text) = ask(&judged, "geo.py:area", 1_000);
        if text.contains("ty cannot start") { Ok(()) } else { Err(text) }
    });
    let liar = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/liar.py");
    judged.search_path = search_path("whole", &format!("exec python3 {} honest 0", liar.display()));
    let (status, text) = judged.ask("code_status", json!({"restart": true})).unwrap();
    assert_eq!(status["restarted"], json!(["ty, which was cannot_start"]), "{text}");
    until_final(&judged, "geo.py:area", &TRUTH, 10_000);
}
