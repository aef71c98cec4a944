//! Questions to real servers that are disturbed: cold, mid-load, files edited, added, deleted, renamed, half of them switched,
//! the server killed or stopped. An answer that is final is right, whatever happened; and when it is over, one comes.
//!
//! Forty fixed trials run as a test; `cargo xtask score code lies` runs more, by `HOB_LIES` trials of each kind, and reads what
//! they print.

mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::{Duration, Instant};

use code::{CodeSettings, Timing};
use serde_json::{Value, json};
use testkit::Random;

use self::model::{Model, Rendered, Tongue};
use crate::judged::Judged;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Disturbance {
    /// Nothing happens, and the server is ready.
    Warm,
    /// The server has just been started.
    Cold,
    /// It was started a little while ago.
    MidLoad,
    Edit,
    Add,
    Delete,
    Rename,
    /// All files that call, and 500 others, at once.
    Switch,
    Kill,
    /// SIGSTOP: it is there and answers nothing.
    Stop,
}

const ALL: [Disturbance; 10] = [
    Disturbance::Warm,
    Disturbance::Cold,
    Disturbance::MidLoad,
    Disturbance::Edit,
    Disturbance::Add,
    Disturbance::Delete,
    Disturbance::Rename,
    Disturbance::Switch,
    Disturbance::Kill,
    Disturbance::Stop,
];

/// What became of trials of one kind.
#[derive(Debug, Default)]
struct Score {
    trials: usize,
    /// First answers that are final and right, and those that say that they are not final.
    right: usize,
    labelled: usize,
    lies: Vec<String>,
    /// How long until an answer was final.
    until_final: Vec<Duration>,
}

/// A project, its server, and what is true of it.
struct Trial {
    judged: Judged,
    model: Model,
    shown: Rendered,
    random: Random,
}

impl Trial {
    fn new(tongue: Tongue, seed: u64) -> Trial {
        let timing = Timing {
            hung_after: Duration::from_secs(2),
            restarts: vec![Duration::from_millis(100); 1000],
            ..Timing::default()
        };
        let model = Model::new(tongue);
        let nothing = Rendered { files: BTreeMap::new(), truth: BTreeMap::new() };
        let judged = Judged::with(CodeSettings::default(), timing);
        let mut trial = Trial { judged, model, shown: nothing, random: Random::new(seed) };
        trial.write();
        trial
    }

    /// Makes the files what the model says; what is the same is not touched.
    fn write(&mut self) {
        let next = self.model.render();
        let root = self.judged.path().canonicalize().unwrap();
        for path in self.shown.files.keys().filter(|path| !next.files.contains_key(*path)) {
            std::fs::remove_file(root.join(path)).unwrap();
        }
        for (path, text) in &next.files {
            if self.shown.files.get(path) != Some(text) {
                self.judged.write(path, text.replace("ROOT", root.to_str().unwrap()));
            }
        }
        self.shown = next;
    }

    fn below(&mut self, most: usize) -> usize {
        self.random.below(most)
    }

    fn disturb(&mut self, how: Disturbance) {
        let function = self.below(3);
        let files: Vec<usize> = self.model.uses.keys().copied().collect();
        let file = files[self.below(files.len())];
        match how {
            Disturbance::Warm => _ = self.ask(0, 20_000),
            Disturbance::Cold => self.restart(),
            Disturbance::MidLoad => {
                self.restart();
                let pause = self.below(1_500) as u64;
                std::thread::sleep(Duration::from_millis(pause)); // sleeps: the disturbance comes at any moment of the load
            }
            Disturbance::Edit => {
                let calls = self.model.uses.get_mut(&file).unwrap();
                match calls.len() {
                    0..=2 => calls.insert(0, function),
                    _ => _ = calls.remove(0),
                }
            }
            Disturbance::Add => {
                let next = self.model.uses.keys().max().unwrap() + 1;
                self.model.uses.insert(next, vec![function, (function + 1) % 3]);
            }
            Disturbance::Delete => {
                if self.model.uses.len() > 2 {
                    self.model.uses.remove(&file);
                } else {
                    self.model.uses.get_mut(&file).unwrap().clear();
                }
            }
            Disturbance::Rename => self.model.renamed[function] += 1,
            Disturbance::Switch => {
                (self.model.filler, self.model.fillers) = (self.model.filler + 1, 500);
                for calls in self.model.uses.values_mut() {
                    calls.reverse();
                    calls.push(function);
                    calls.truncate(4);
                }
            }
            Disturbance::Kill => self.signal("KILL"),
            Disturbance::Stop => self.signal("STOP"),
        }
        self.write();
    }

    fn restart(&self) {
        self.judged.ask("code_status", json!({"restart": true})).unwrap();
    }

    fn signal(&self, signal: &str) {
        let (status, _) = self.judged.ask("code_status", json!({})).unwrap();
        if let Some(pid) = status["servers"][0]["pid"].as_i64() {
            let sent = std::process::Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
            assert!(sent.is_ok());
        }
    }

    fn ask(&self, function: usize, wait_ms: u64) -> (Value, String) {
        let question = json!({"name": self.model.question(function), "wait_ms": wait_ms, "max_results": 500});
        self.judged.ask("find_callers", question).unwrap()
    }

    /// What is wrong with an answer that is final; `None` if it is not.
    fn check(&self, function: usize, (answer, text): &(Value, String)) -> Option<Result<(), String>> {
        if answer["head"]["final"] != true {
            return None;
        }
        let sites = answer["call_sites"].as_array().unwrap().iter();
        let places: BTreeSet<String> =
            sites.map(|site| format!("{}:{}", site["file"].as_str().unwrap(), site["line"])).collect();
        let truth = &self.shown.truth[&function];
        Some(if places == *truth { Ok(()) } else { Err(format!("truth {truth:?}\n{text}")) })
    }

    /// One trial: disturbs, asks at once, and asks on until an answer is final.
    fn run(&mut self, how: Disturbance, score: &mut Score) {
        let function = self.below(3);
        let wait_ms = [0, 50, 300, 1_000][self.below(4)];
        self.disturb(how);
        score.trials += 1;
        let since = Instant::now();
        let first = self.ask(function, wait_ms);
        match self.check(function, &first) {
            None => score.labelled += 1,
            Some(Ok(())) => score.right += 1,
            Some(Err(lie)) => score.lies.push(lie),
        }
        let until = since + testkit::patience().max(Duration::from_secs(240));
        loop {
            let answer = self.ask(function, 20_000);
            match self.check(function, &answer) {
                Some(Ok(())) => break score.until_final.push(since.elapsed()),
                Some(Err(lie)) => break score.lies.push(lie),
                None => assert!(Instant::now() < until, "{how:?}: never final: {}", answer.1),
            }
        }
    }
}

fn trials(tongue: Tongue, times: impl Fn(Disturbance) -> usize) -> BTreeMap<Disturbance, Score> {
    let mut trial = Trial::new(tongue, 20_261_126);
    let mut scores: BTreeMap<Disturbance, Score> = BTreeMap::new();
    for how in ALL {
        for _ in 0..times(how) {
            trial.run(how, scores.entry(how).or_default());
        }
    }
    scores
}

/// The trials of one judge: a few fixed ones, or as many as `HOB_LIES` says, printed a line each kind.
fn judge(tongue: Tongue) {
    if !tongue.programs().iter().all(|program| testkit::has_program(program)) {
        return;
    }
    let times: Option<usize> = std::env::var("HOB_LIES").ok().and_then(|times| times.parse().ok());
    // What takes a server's whole start is tried once where there is no more time.
    let scores = trials(tongue, |how| match (times, tongue, how) {
        (Some(times), ..) => times,
        (None, Tongue::RustAnalyzer, Disturbance::MidLoad | Disturbance::Stop | Disturbance::Switch) => 0,
        (None, ..) => 1,
    });
    for (how, score) in &scores {
        let mut times: Vec<u128> = score.until_final.iter().map(Duration::as_millis).collect();
        times.sort_unstable();
        let line = json!({
            "judge": format!("{tongue:?}"), "disturbance": format!("{how:?}"), "trials": score.trials,
            "right": score.right, "labelled": score.labelled, "lies": score.lies.len(),
            "median_ms": times.get(times.len() / 2), "longest_ms": times.last(),
        });
        // Captured unless the score asks for it.
        let _ = writeln!(std::io::stdout(), "score: {line}");
    }
    let lies: Vec<&String> = scores.values().flat_map(|score| &score.lies).collect();
    assert!(lies.is_empty(), "{lies:#?}");
}

#[test]
fn rust_analyzer_never_lies() {
    judge(Tongue::RustAnalyzer);
}

#[test]
fn ty_never_lies() {
    judge(Tongue::Ty);
}

#[test]
fn tsc_never_lies() {
    judge(Tongue::Tsc);
}

#[test]
fn gopls_never_lies() {
    judge(Tongue::Gopls);
}

#[test]
fn clangd_never_lies() {
    judge(Tongue::Clangd);
}
