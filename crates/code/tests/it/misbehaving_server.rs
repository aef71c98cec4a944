//! A fake language server that misbehaves: a real process that is empty for a while, ends its progress early, withholds
//! a file, gives outdated positions or a wrong file, falls silent, or dies while answering. In each case an answer must
//! be right or not final, and must report the server's state.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use code::settings::ServerSettings;
use code::{CodeSettings, Timing};
use serde_json::{Value, json};

use crate::judged_project::JudgedProject;

/// The uses of `area` in geo.py.
const TRUTH: [&str; 3] = ["passed.py:2", "uses.py:5", "uses.py:7"];

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

pub(crate) fn lying(server: &str, mode: &str, seconds: f64) -> JudgedProject {
    let servers = BTreeMap::from([(server.to_owned(), liar(mode, seconds))]);
    JudgedProject::with(CodeSettings { servers, ..CodeSettings::default() }, timing())
}

pub(crate) fn liar(mode: &str, seconds: f64) -> ServerSettings {
    let liar = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/liar.py");
    let command = ["python3", liar.to_str().unwrap(), mode, &seconds.to_string()].map(str::to_owned).to_vec();
    ServerSettings { command: Some(command), enabled: None }
}

pub(crate) fn project(judged: &JudgedProject) {
    judged
        .write("geo.py", "def area(side):\n    return side\n\ndef surface(side):\n    return side\n")
        .write("other.py", "def area():\n    return 1\n")
        .write("noise.py", "x = 1\n")
        .write("passed.py", "from geo import area\nf = map(area, [1])\n")
        .write(
            "uses.py",
            "from geo import area, surface\nimport other\n\ndef run():\n    area(1)\n    other.area()\n    return area(surface(2))\n",
        );
}

pub(crate) fn has_python() -> bool {
    testkit::has_program("python3")
}

/// Returns the locations of a final answer, which must be the truth; otherwise the server's state.
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

pub(crate) fn ask(judged: &JudgedProject, wait_ms: u64) -> (Value, String) {
    judged.ask("find_callers", json!({"name": "geo.py:area", "wait_ms": wait_ms})).unwrap()
}

/// Asks until the answer is final. Returns the server's states meanwhile.
fn until_final(judged: &JudgedProject, truth: &[&str], wait_ms: u64) -> Vec<String> {
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    let mut states = Vec::new();
    loop {
        let (answer, text) = ask(judged, wait_ms);
        match check(&answer, &text, truth) {
            None => return states,
            Some(state) => states.push(state),
        }
        assert!(Instant::now() < until, "{states:?}");
    }
}

/// Asks `times` times and asserts that no answer is final.
pub(crate) fn never_final(judged: &JudgedProject, times: usize, wait_ms: u64) -> Vec<String> {
    let states = (0..times).map(|_| {
        let (answer, text) = ask(judged, wait_ms);
        check(&answer, &text, &[]).unwrap_or_else(|| panic!("it is final: {text}"))
    });
    states.collect()
}

#[test]
fn an_honest_one_is_believed() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "honest", 0.0);
    project(&judged);
    until_final(&judged, &TRUTH, 10_000);
    let (_, text) = ask(&judged, 10_000);
    assert!(text.starts_with("3 callers, complete: 2 calls, 1 passed as a value · checked by ty"), "{text}");
}

#[test]
fn empty_for_a_while() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "empty", 2.0);
    project(&judged);
    let states = until_final(&judged, &TRUTH, 200);
    assert!(states.len() > 2, "{states:?}");
    // A fifth of a second may be too short for a ready server, and the answer says so.
    let is_honest = |state: &String| state.ends_with(" loading") || state.starts_with("ready out_of_time");
    assert!(states.iter().all(is_honest), "{states:?}");
    assert!(states.iter().any(|state| state == "doubtful loading"), "{states:?}");
}

#[test]
fn progress_that_ends_early() {
    if !has_python() {
        return;
    }
    let judged = lying("gopls", "early", 1.5);
    judged
        .write("go.mod", "module made\n")
        .write("geo.go", "package geo\n\nfunc area(side int) int { return side }\n\nfunc surface() int { return 1 }\n")
        .write("uses.go", "package geo\n\nfunc run() int { return area(1) + surface() }\n");
    let ask = |wait_ms: u64| judged.ask("find_callers", json!({"name": "area", "wait_ms": wait_ms})).unwrap();
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    let mut loading = 0;
    loop {
        let (answer, text) = ask(100);
        match check(&answer, &text, &["uses.go:3"]) {
            None => break,
            Some(state) => assert!(state.ends_with("loading"), "{state}"),
        }
        loading += 1;
        assert!(Instant::now() < until);
    }
    assert!(loading > 2, "{loading}");
}

#[test]
fn one_that_loads_with_its_first_document_is_given_one_at_once() {
    if !has_python() {
        return;
    }
    let judged = lying("gopls", "lazy", 0.0);
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
    if !has_python() {
        return;
    }
    let judged = lying("ty", "withheld", 0.0);
    project(&judged);
    let states = never_final(&judged, 4, 1_500);
    assert!(states.iter().skip(1).all(|state| state == "ready dynamic"), "{states:?}");
    let (_, text) = ask(&judged, 1_500);
    assert!(
        text.starts_with("2 callers. 1 more place that ty does not resolve is unverified: area as a value"),
        "{text}"
    );
}

#[test]
fn positions_that_are_old() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "old", 0.0);
    project(&judged);
    let states = never_final(&judged, 4, 600);
    assert_eq!(states.last().unwrap(), "doubtful loading");
}

#[test]
fn a_wrong_file() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "wrong", 0.0);
    project(&judged);
    let states = never_final(&judged, 4, 600);
    assert_eq!(states.last().unwrap(), "doubtful loading");
}

#[test]
fn a_wrong_file_where_nothing_is_certain() {
    if !has_python() {
        return;
    }
    for mode in ["wrong", "old"] {
        let judged = lying("ty", mode, 0.0);
        // No use in another file is certain, so there are no readiness probes.
        judged.write("geo.py", "def area(side):\n    return area(side - 1)\n").write("noise.py", "x = 1\n\ny = 2\n");
        let states = never_final(&judged, 3, 1_000);
        assert!(states.iter().skip(1).all(|state| state.contains("stale")), "{mode}: {states:?}");
    }
}

#[test]
fn endless_silence() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "silent", 0.0);
    project(&judged);
    let mut states = Vec::new();
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    while !states.iter().any(|state: &String| state.starts_with("hung hung")) {
        assert!(Instant::now() < until, "{states:?}");
        states.extend(never_final(&judged, 1, 1_000));
    }
}

#[test]
fn one_that_reads_nothing_while_it_is_told_a_lot_is_seen_as_hung() {
    if !has_python() {
        return;
    }
    let servers = BTreeMap::from([("ty".to_owned(), liar("deaf", 2.0))]);
    let timing = Timing { hung_after: Duration::from_secs(2), restarts: Vec::new(), ..timing() };
    let judged = JudgedProject::with(CodeSettings { servers, ..CodeSettings::default() }, timing);
    project(&judged);
    // More documents than the queue of a server that reads nothing.
    for number in 0..1500 {
        let name = number / 190;
        judged.write(&format!("many/f{number:04}.py"), format!("from many.of{name} import twin{name}\ntwin{name}()\n"));
    }
    for name in 0..8 {
        judged.write(&format!("many/of{name}.py"), format!("def twin{name}():\n    pass\n"));
    }
    let mut states = Vec::new();
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(60));
    while !states.iter().any(|state: &String| state == "hung") {
        assert!(Instant::now() < until, "{states:?}");
        for name in 0..8 {
            let asked = json!({"name": format!("many/of{name}.py:twin{name}"), "wait_ms": 100});
            let (answer, _) = judged.ask("find_callers", asked).unwrap();
            states.push(answer["head"]["servers"][0]["state"].as_str().unwrap().to_owned());
        }
    }
}

#[test]
fn death_in_the_middle_of_an_answer() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "dies", 2.0);
    project(&judged);
    let mut states = Vec::new();
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    // The server is right twice in each life, for the probes and one question. A final answer is possible, and must be right.
    while !states.iter().any(|state: &String| state.starts_with("crashed crashed")) {
        assert!(Instant::now() < until, "{states:?}");
        let (answer, text) = ask(&judged, 1_000);
        states.extend(check(&answer, &text, &TRUTH));
    }
}

#[test]
fn where_nothing_is_certain_two_rounds_agree_after_each_change() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "dies", 5.0);
    // A name of three letters is too short for a probe: nothing is known before the question.
    judged.write("geo.py", "def run():\n    return 1\n").write("uses.py", "from geo import run\nrun()\n");
    let is_final = || {
        let (answer, text) = judged.ask("find_callers", json!({"name": "run", "wait_ms": 20_000})).unwrap();
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
    judged.ask("find_callers", json!({"name": "run", "wait_ms": 20_000})).unwrap();
    assert!(has_died(), "{:#?}", judged.records());
}

#[test]
fn who_never_waits_is_told_once_two_answers_agree() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "honest", 0.0);
    project(&judged);
    until_final(&judged, &TRUTH, 10_000);
    judged.write("uses.py", "from geo import area\n\n\narea(1)\n");
    until_final(&judged, &["passed.py:2", "uses.py:4"], 0);
    // For a function without callers nothing is confirmed, so two rounds are needed.
    judged.write("more.py", "def unused(x):\n    return x\n");
    let (answer, text) = judged.ask("find_callers", json!({"name": "unused", "wait_ms": 10_000})).unwrap();
    assert_eq!((&answer["head"]["complete"], &answer["total"]), (&json!(true), &json!(0)), "{text}");
}

#[test]
fn one_that_does_not_start_says_why() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "stillborn", 0.0);
    project(&judged);
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    loop {
        let (answer, text) = ask(&judged, 1_000);
        assert_eq!(check(&answer, &text, &[]).as_deref().map(|state| state.starts_with("final")), Some(false));
        if text.contains("there is no such thing as a workspace") && text.contains("exit status 3") {
            break;
        }
        assert!(Instant::now() < until, "{text}");
    }
    // After fixing it, the person restarts it.
    let (status, _) = judged.ask("code_status", json!({"restart": true})).unwrap();
    assert_eq!(status["servers"][0]["server"], "ty");
}

/// Returns the states of the servers by name.
fn states(judged: &JudgedProject) -> BTreeMap<String, String> {
    let (status, _) = judged.ask("code_status", json!({})).unwrap();
    let word = |server: &Value, field: &str| server[field].as_str().unwrap().to_owned();
    status["servers"].as_array().unwrap().iter().map(|one| (word(one, "server"), word(one, "state"))).collect()
}

#[test]
fn two_that_do_not_fit_together_are_parked_in_turn() {
    if !has_python() {
        return;
    }
    let servers = ["ty", "gopls"].map(|name| (name.to_owned(), liar("heavy", 0.0)));
    let settings = CodeSettings { memory: Some(90), servers: servers.into(), ..CodeSettings::default() };
    let judged = JudgedProject::with(settings, timing());
    project(&judged);
    judged
        .write("go.mod", "module made\n")
        .write(
            "geo.go",
            "package geo\n\nfunc square(side int) int { return side }\n\nfunc surface() int { return 1 }\n",
        )
        .write("uses.go", "package geo\n\nfunc run() int { return square(1) + surface() }\n");
    for name in ["geo.py:area", "geo.go:square", "geo.py:area", "geo.go:square"] {
        let (_, text) = judged.until_final("find_callers", json!({"name": name}));
        assert!(text.contains("checked by "), "{text}");
    }
    // The server in use runs; the other one is stopped within one or two measurements.
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    while states(&judged) != BTreeMap::from([("gopls", "ready"), ("ty", "parked")].map(|(a, b)| (a.into(), b.into()))) {
        assert!(Instant::now() < until, "{:?}", states(&judged));
    }
}

#[test]
fn those_that_load_at_once_wait_for_each_other_instead_of_being_parked_in_turn() {
    if !has_python() {
        return;
    }
    let servers = BTreeMap::from([("ty".to_owned(), liar("slow", 1.0))]);
    // Two of the four fit.
    let settings = CodeSettings { memory: Some(140), servers, ..CodeSettings::default() };
    // A server that is asked too early is soon asked again.
    let timing = Timing {
        doubtful_after: Duration::from_secs(30),
        measured_every: timing().measured_every,
        ..Timing::default()
    };
    let judged = JudgedProject::with(settings, timing);
    let folders = ["a", "b", "c", "d"];
    for folder in folders {
        judged
            .write(&format!("{folder}/pyproject.toml"), "")
            .write(&format!("{folder}/geo.py"), format!("def area_{folder}(side):\n    return side\n"))
            .write(
                &format!("{folder}/uses.py"),
                format!("from geo import area_{folder}\n\ndef run():\n    return area_{folder}(1)\n"),
            );
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
    if !has_python() {
        return;
    }
    let servers = BTreeMap::from([("ty".to_owned(), liar("heavy", 0.0))]);
    let judged = JudgedProject::with(CodeSettings { memory: Some(30), servers, ..CodeSettings::default() }, timing());
    project(&judged);
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    loop {
        let (answer, text) = ask(&judged, 1_000);
        // It may have answered correctly before the measurement.
        let state = check(&answer, &text, &TRUTH);
        if state.as_deref() == Some("over_budget over_a_limit") {
            assert!(text.contains("`memory` of [code]"), "{text}");
            return;
        }
        assert!(Instant::now() < until, "{text}");
    }
}

#[test]
fn a_restart_leaves_no_task_behind() {
    if !has_python() {
        return;
    }
    // The budget task finds no servers between an end and a start.
    let servers = BTreeMap::from([("ty".to_owned(), liar("honest", 0.0))]);
    let timing = Timing { measured_every: Duration::from_secs(3600), ..timing() };
    let judged = JudgedProject::with(CodeSettings { servers, ..CodeSettings::default() }, timing);
    project(&judged);
    until_final(&judged, &TRUTH, 10_000);
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
    if !has_python() {
        return;
    }
    let places = tempfile::tempdir().unwrap();
    let liar = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/liar.py");
    let program = |folder: &str, script: String| {
        let folder = places.path().join(folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("ty"), format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(folder.join("ty"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Some(format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()))
    };
    let mut judged = JudgedProject::with(CodeSettings::default(), Timing { restarts: Vec::new(), ..timing() });
    project(&judged);
    judged.search_path = program("broken", "exit 3".to_owned());
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    while !ask(&judged, 1_000).1.contains("ty cannot start") {
        assert!(Instant::now() < until);
    }
    judged.search_path = program("whole", format!("exec python3 {} honest 0", liar.display()));
    let (status, text) = judged.ask("code_status", json!({"restart": true})).unwrap();
    assert_eq!(status["restarted"], json!(["ty, which was cannot_start"]), "{text}");
    until_final(&judged, &TRUTH, 10_000);
}
