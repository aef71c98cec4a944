//! Questions to real servers under disturbance: cold or loading servers, files edited, added, deleted, renamed or
//! switched in bulk, and servers killed, stopped or over their memory budget. A final answer must be right, and a final
//! answer must follow the disturbance.
//!
//! A few fixed trials run as a test. `cargo xtask score code lies` runs `HOB_LIES` trials of each kind with a daemon's
//! delays. It compares the times with a naive client, and reads what the trials print.

mod model;
mod naive;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::{Duration, Instant};

use code::{CodeSettings, Timing};
use serde_json::{Value, json};
use testkit::Random;

use self::model::{Model, Rendered, Tongue};
use self::naive::{ExpectedAnswer, Naive};
use crate::judged_project::JudgedProject;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Disturbance {
    /// No disturbance; the server is ready.
    Warm,
    /// The server was just started.
    Cold,
    /// The server was started a little while ago.
    MidLoad,
    Edit,
    Add,
    Delete,
    Rename,
    /// All calling files and 500 others change at once.
    Switch,
    Kill,
    /// SIGSTOP: the process exists but answers nothing.
    Stop,
    /// The server exceeds the budget, which is raised later.
    OverBudget,
}

const ALL: [Disturbance; 11] = {
    use Disturbance::*;
    [Warm, Cold, MidLoad, Edit, Add, Delete, Rename, Switch, Kill, Stop, OverBudget]
};

impl Disturbance {
    /// True if only a restart of the server ends the disturbance.
    fn needs_start(self) -> bool {
        use Disturbance::{Cold, Kill, MidLoad, OverBudget, Stop};
        matches!(self, Cold | MidLoad | Kill | Stop | OverBudget)
    }

    /// Time limit after the disturbance for a final answer, given a naive client's time.
    fn bound(self, naive: Duration) -> Duration {
        let hung = if self == Disturbance::Stop { 15 } else { 0 };
        naive.mul_f64(1.5) + Duration::from_secs(2 + hung)
    }
}

/// Results of the trials of one kind.
#[derive(Debug, Default)]
struct Score {
    trials: usize,
    /// First answers: final and right, and not final.
    right: usize,
    labelled: usize,
    /// Final answers that are wrong, first or later.
    lies: Vec<String>,
    /// Trials without a final answer, and those with a late one, with both times.
    never: Vec<String>,
    late: Vec<String>,
    /// Times until a final answer, and until the naive client's right answer.
    until_final: Vec<Duration>,
    naive: Vec<Duration>,
}

/// A project, its server, and the truth about it.
struct Trial {
    judged: JudgedProject,
    model: Model,
    shown: Rendered,
    random: Random,
    /// The naive client, where times are compared.
    naive: Option<Naive>,
    /// Its last time from a cold start, and the kind of trial.
    last_start: Option<(Disturbance, Duration)>,
}

impl Trial {
    fn new(tongue: Tongue, seed: u64, is_measured: bool) -> Trial {
        // With measurements, a server uses the daemon's delays, although it is killed more often than it would crash.
        let timing = if is_measured {
            Timing { restarts: vec![Duration::from_secs(1); 1000], ..Timing::default() }
        } else {
            Timing {
                hung_after: Duration::from_secs(2),
                restarts: vec![Duration::from_millis(100); 1000],
                ..Timing::default()
            }
        };
        let model = Model::new(tongue);
        let nothing = Rendered { files: BTreeMap::new(), truth: BTreeMap::new() };
        let judged = JudgedProject::with(CodeSettings::default(), timing);
        let mut trial =
            Trial { judged, model, shown: nothing, random: Random::new(seed), naive: None, last_start: None };
        trial.write();
        // The fastest client runs everywhere, so that it stays tested.
        if is_measured || tongue == Tongue::Ty {
            let root = trial.judged.path().canonicalize().unwrap();
            trial.naive = Some(Naive::new(tongue, root));
            trial.naive_time(0, false, Duration::ZERO);
        }
        trial
    }

    /// Writes the files according to the model; unchanged files are not touched.
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

    /// Applies the disturbance after the pause; a loading server loads meanwhile.
    fn disturb(&mut self, how: Disturbance, pause: Duration) {
        let function = self.below(4);
        let files: Vec<usize> = self.model.uses.keys().copied().collect();
        let file = files[self.below(files.len())];
        match how {
            Disturbance::Warm => {
                self.judged.until_final("find_callers", json!({"name": self.model.question(0)}));
            }
            Disturbance::Cold => self.restart(),
            Disturbance::MidLoad => {
                self.restart();
                std::thread::sleep(pause); // sleeps: the disturbance comes at any moment of the load
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
                self.model.uses.insert(next, vec![function, (function + 1) % 4]);
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
            Disturbance::OverBudget => {
                self.judged.begin_again(CodeSettings { memory: Some(1), ..CodeSettings::default() });
            }
        }
        self.write();
    }

    fn restart(&self) {
        self.judged.ask("code_status", json!({"restart": true})).unwrap();
    }

    fn signal(&self, signal: &str) {
        let (status, _) = self.judged.ask("code_status", json!({})).unwrap();
        if let Some(pid) = status["servers"][0]["pid"].as_i64() {
            // All processes are stopped, because some servers are a script that waits for the actual program.
            let target = if signal == "STOP" { format!("-{pid}") } else { pid.to_string() };
            let sent = std::process::Command::new("kill").args([&format!("-{signal}"), "--", &target]).status();
            assert!(sent.is_ok_and(|status| status.success()));
        }
    }

    fn ask(&self, function: usize, wait_ms: u64) -> (Value, String) {
        let question = json!({"name": self.model.question(function), "wait_ms": wait_ms, "max_results": 500});
        self.judged.ask("find_callers", question).unwrap()
    }

    /// Returns the error in a final answer; `None` if the answer is not final.
    fn check(&self, function: usize, (answer, text): &(Value, String)) -> Option<Result<(), String>> {
        if answer["head"]["complete"] != true {
            return None;
        }
        let sites = answer["call_sites"].as_array().unwrap().iter();
        let places: BTreeSet<String> =
            sites.map(|site| format!("{}:{}", site["file"].as_str().unwrap(), site["line"])).collect();
        let truth = &self.shown.truth[&function];
        Some(if places == *truth { Ok(()) } else { Err(format!("truth {truth:?}\n{text}")) })
    }

    /// Leaves the branch with many files, so that the next kind starts from the same state.
    fn switch_back(&mut self) {
        if self.model.fillers > 0 {
            self.model.fillers = 0;
            self.write();
            self.judged.until_final("find_callers", json!({"name": self.model.question(0)}));
            self.naive_time(0, false, Duration::ZERO);
        }
    }

    /// Asks until the server exceeds its budget, and raises it.
    fn lift_budget(&mut self, function: usize, until: Instant, score: &mut Score) {
        loop {
            let answer = self.ask(function, 5_000);
            if let Some(Err(lie)) = self.check(function, &answer) {
                score.lies.push(lie);
            }
            if answer.0["head"]["servers"][0]["state"] == "over_budget" {
                break self.judged.begin_again(CodeSettings::default());
            }
            assert!(Instant::now() < until, "it is within one MiB: {}", answer.1);
        }
    }

    /// Returns the naive client's time until it is right, if there is one.
    fn naive_time(&mut self, function: usize, anew: bool, pause: Duration) -> Option<Duration> {
        // If the right answer is empty, a server that has read nothing is right too.
        let truths = &self.shown.truth;
        let function = [function, 0, 1, 2, 3].into_iter().find(|one| !truths[one].is_empty()).unwrap_or(function);
        let wanted = ExpectedAnswer {
            name: self.model.name(function),
            home: self.model.home(function),
            shown: &self.shown,
            truth: &truths[&function],
        };
        Some(self.naive.as_mut()?.until_right(&wanted, anew, pause))
    }

    /// Runs one trial: disturbs, asks immediately, and repeats until an answer is final.
    fn run(&mut self, how: Disturbance, score: &mut Score) {
        let function = self.below(4);
        // Without a disturbance, the default wait applies.
        let wait_ms = if how == Disturbance::Warm { 10_000 } else { [0, 50, 300, 1_000][self.below(4)] };
        let pause = match how {
            Disturbance::MidLoad => Duration::from_millis(self.below(1_500) as u64),
            _ => Duration::ZERO,
        };
        if self.naive.is_some() {
            // Changes pending from the previous trial do not count.
            self.judged.until_final("find_callers", json!({"name": self.model.question(function)}));
        }
        // A start takes so long that the load of a shared machine may change. The client is measured before and after.
        let before = match self.last_start {
            Some((of, took)) if of == how && how != Disturbance::MidLoad => Some(took),
            _ if how.needs_start() => self.naive_time(function, true, pause),
            _ => None,
        };
        self.disturb(how, pause);
        score.trials += 1;
        let mut since = Instant::now();
        let until = since + testkit::patience().max(Duration::from_secs(240));
        let first = self.ask(function, wait_ms);
        let mut took = None;
        match self.check(function, &first) {
            None => score.labelled += 1,
            Some(Ok(())) => {
                score.right += 1;
                took = Some(since.elapsed());
            }
            Some(Err(lie)) => score.lies.push(lie),
        }
        if how == Disturbance::OverBudget {
            self.lift_budget(function, until, score);
            (since, took) = (Instant::now(), None);
        }
        let mut last = first.1;
        while took.is_none() && Instant::now() < until {
            let answer = self.ask(function, 20_000);
            match self.check(function, &answer) {
                Some(Ok(())) => took = Some(since.elapsed()),
                Some(Err(lie)) => return score.lies.push(lie),
                None => last = answer.1,
            }
        }
        let Some(took) = took else { return score.never.push(last) };
        score.until_final.push(took);
        if let Some(after) = self.naive_time(function, how.needs_start(), pause) {
            self.last_start = how.needs_start().then_some((how, after));
            let naive = before.map_or(after, |before| before.max(after));
            score.naive.push(naive);
            if took > how.bound(naive) {
                score.late.push(format!(
                    "{} ms beside {} ms; last before: {last}",
                    took.as_millis(),
                    naive.as_millis()
                ));
            }
        }
    }
}

/// Runs the trials of one server: a few fixed ones, or `HOB_LIES` of each kind. Prints a line for each kind.
fn judge(tongue: Tongue) {
    if !tongue.programs().iter().all(|program| testkit::has_program(program)) {
        return;
    }
    let times: Option<usize> = std::env::var("HOB_LIES").ok().and_then(|times| times.parse().ok());
    // A disturbance that costs a full start is tried once if time is short.
    let times_of = |how| match (times, tongue, how) {
        (Some(times), ..) => times,
        (None, Tongue::RustAnalyzer, Disturbance::Cold | Disturbance::MidLoad | Disturbance::Switch) => 0,
        (None, Tongue::RustAnalyzer, Disturbance::Stop | Disturbance::OverBudget) => 0,
        // One server suffices for these; the first question of each kind finds it cold anyway.
        (None, Tongue::Tsc | Tongue::Clangd | Tongue::Gopls, Disturbance::Stop | Disturbance::OverBudget) => 0,
        (None, ..) => 1,
    };
    let mut trial = Trial::new(tongue, 20_261_126, times.is_some());
    let mut wrong: Vec<String> = Vec::new();
    for how in ALL {
        let mut score = Score::default();
        let restarts = trial.naive.as_ref().map_or(0, |naive| naive.restarts);
        for _ in 0..times_of(how) {
            trial.run(how, &mut score);
        }
        trial.switch_back();
        let restarts = trial.naive.as_ref().map_or(0, |naive| naive.restarts) - restarts;
        let millis = |times: &[Duration]| times.iter().map(Duration::as_millis).collect::<Vec<_>>();
        let line = json!({
            "judge": format!("{tongue:?}"), "disturbance": format!("{how:?}"), "trials": score.trials,
            "right": score.right, "labelled": score.labelled, "lies": score.lies, "never": score.never,
            "late": score.late, "final_ms": millis(&score.until_final), "naive_ms": millis(&score.naive), "naive_restarts": restarts,
        });
        // Captured unless the score reads it.
        let _ = writeln!(std::io::stdout(), "score: {line}");
        wrong.extend(score.lies.into_iter().map(|lie| format!("{how:?}: a lie: {lie}")));
        wrong.extend(score.never.into_iter().map(|last| format!("{how:?}: never final: {last}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rust_analyzer_never_lies_long_run() {
    judge(Tongue::RustAnalyzer);
}

#[test]
fn ty_never_lies_long_run() {
    judge(Tongue::Ty);
}

#[test]
fn tsc_never_lies() {
    judge(Tongue::Tsc);
}

#[test]
fn gopls_never_lies_long_run() {
    judge(Tongue::Gopls);
}

#[test]
fn clangd_never_lies_long_run() {
    judge(Tongue::Clangd);
}
