//! Measures work queries. Prints one `name<TAB>value` per line, in microseconds unless noted.
//! `cargo xtask bench work` runs this program and compares each figure with its floor and target.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::tool::Context;
use project::{Caller, Role};
use serde_json::{Value, json};
use testkit::github::{Behaviour, GitHub, TOKEN, issue};
use tokio::runtime::Runtime;
use work::{Work, WorkOptions, WorkSettings, tools};

// Prints the measurements to stdout.
#[allow(clippy::print_stdout)]
fn print_figure(name: &str, value: f64) {
    println!("{name}\t{value:.2}");
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let sizes: &[(usize, &str, usize)] =
        if quick { &[(1_000, "1,000", 5)] } else { &[(10_000, "10,000", 41), (100_000, "100,000", 11)] };
    for (files, name, times) in sizes {
        large(&runtime, *files, name, *times);
    }
    nothing(&runtime, if quick { 5 } else { 41 });
    hanging(&runtime);
    crowd(&runtime);
    facts(&runtime, if quick { 200 } else { 5_000 });
}

/// A project with its repository and a fake GitHub.
struct Fixture {
    temp: tempfile::TempDir,
    github: GitHub,
    work: Arc<Work>,
    env: BTreeMap<String, String>,
}

impl Fixture {
    fn new() -> Fixture {
        let temp = tempfile::tempdir().expect("a directory");
        for directory in ["home", "work"] {
            std::fs::create_dir(temp.path().join(directory)).expect("a directory");
        }
        let github = GitHub::start(temp.path());
        github.log_in("github.com", TOKEN);
        github.repository("up/web", None);
        let env = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").expect("a PATH")),
            ("HOME".to_owned(), temp.path().join("home").display().to_string()),
            ("GH_CONFIG_DIR".to_owned(), github.config().display().to_string()),
        ]);
        let options = WorkOptions {
            notes: temp.path().join("notes"),
            prepare: Box::new(|| Ok(())),
            around: Default::default(),
            settings: WorkSettings::default(),
        };
        Fixture { temp, github, work: Work::new(options), env }
    }

    /// Creates a repository with `files` files on the branch `gh-12/lists`, with a pull request and an issue.
    fn with_files(files: usize) -> Fixture {
        let place = Fixture::new();
        place.git(&["init", "-q", "-b", "main"]);
        for (name, value) in [("user.name", "T"), ("user.email", "t@example.org")] {
            place.git(&["config", name, value]);
        }
        place.git(&["remote", "add", "origin", "https://github.com/up/web"]);
        for number in 0..files {
            let folder = place.root().join(format!("d{}", number / 100));
            std::fs::create_dir_all(&folder).expect("a directory");
            std::fs::write(folder.join(format!("f{number}.txt")), format!("{number}\n")).expect("a file");
        }
        place.git(&["add", "--all"]);
        place.git(&["commit", "-q", "--allow-empty", "-m", "First"]);
        place.git(&["update-ref", "refs/remotes/origin/main", "main"]);
        place.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        place.git(&["switch", "-qc", "gh-12/lists"]);
        place.git(&["commit", "-q", "--allow-empty", "-m", "Second"]);
        std::fs::write(place.root().join("new"), "").expect("a file");
        place.github.pull("up/web", 7, "up/web:gh-12/lists", json!({}));
        place.github.issue("up/web", 12, issue("up/web", 12, json!({})));
        place
    }

    fn root(&self) -> PathBuf {
        self.temp.path().join("work").canonicalize().expect("it is there")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.root()).env_clear().envs(&self.env);
        command
    }

    fn git(&self, args: &[&str]) {
        let out = self.command(args).output().expect("git runs");
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    fn caller(&self, run: &str) -> Caller {
        self.caller_in(run, &self.root())
    }

    fn caller_in(&self, run: &str, worktree: &Path) -> Caller {
        let mut caller = testkit::caller(worktree, "ann");
        (caller.role, caller.run, caller.env) = (Role::Mcp, Some(run.to_owned()), self.env.clone());
        caller
    }

    fn status(&self, runtime: &Runtime, arguments: Value) -> Value {
        runtime.block_on(status(self.work.clone(), self.caller("run"), arguments))
    }
}

async fn status(work: Arc<Work>, caller: Caller, arguments: Value) -> Value {
    let all = tools::tools(&work);
    let tool = all.iter().find(|tool| tool.declaration().name == "work_status").expect("it is there");
    let arguments = serde_json::value::to_raw_value(&arguments).expect("JSON");
    let outcome = tool.clone().call(Context::detached(Arc::new(caller)), Some(&arguments)).await.expect("no fault");
    serde_json::from_str(outcome.structured.expect("a value").get()).expect("JSON")
}

/// Measures `work_status` with git only and with a cached pull request and issue, alternating with a bare `git status`.
fn large(runtime: &Runtime, files: usize, name: &str, times: usize) {
    let place = Fixture::with_files(files);
    let first = place.status(runtime, json!({}));
    assert_eq!((&first["pull"]["number"], &first["issue"]["id"]), (&json!(7), &json!("#12")), "{first}");
    let asked = place.github.requests().len();
    let (mut bare, mut git, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times {
        bare.push(timed(|| {
            let out = place.command(&["status", "--porcelain=v2", "--branch"]).output().expect("git runs");
            assert!(out.status.success());
        }));
        git.push(timed(|| drop(place.status(runtime, json!({"sections": ["git"]})))));
        kept.push(timed(|| drop(place.status(runtime, json!({})))));
    }
    print_figure(&format!("git status, {name} files"), middle(bare));
    print_figure(&format!("git's part, {name} files"), middle(git));
    print_figure(&format!("all kept, {name} files"), middle(kept));
    print_figure(&format!("questions while kept, {name} files"), (place.github.requests().len() - asked) as f64);
}

/// Measures a directory without a repository and without programs.
fn nothing(runtime: &Runtime, times: usize) {
    let mut place = Fixture::new();
    place.env.insert("PATH".to_owned(), place.temp.path().join("nothing").display().to_string());
    let took = (0..times).map(|_| timed(|| drop(place.status(runtime, json!({})))));
    print_figure("everything absent", middle(took.collect()));
}

/// Measures another call while GitHub never answers.
fn hanging(runtime: &Runtime) {
    let place = Fixture::with_files(10);
    place.github.behave(Behaviour::IsSilent);
    let alone = (0..9).map(|_| timed(|| drop(place.status(runtime, json!({"sections": ["git"]})))));
    print_figure("git's part alone", middle(alone.collect()));
    let begun = Instant::now();
    let waiting = runtime.spawn(status(place.work.clone(), place.caller("waits"), json!({"sections": ["pull"]})));
    std::thread::sleep(Duration::from_millis(500)); // sleeps: the call has to hang before others run beside it
    let beside = (0..9).map(|_| timed(|| drop(place.status(runtime, json!({"sections": ["git"]})))));
    print_figure("git's part beside a gh that hangs", middle(beside.collect()));
    let said = runtime.block_on(waiting).expect("it ends");
    print_figure("a gh that hangs", begun.elapsed().as_secs_f64() * 1e6);
    assert_eq!(said["sources"]["pull"]["state"], "timeout", "{said}");
}

/// Measures fifty agents that call at once in ten worktrees.
fn crowd(runtime: &Runtime) {
    let place = Fixture::with_files(10);
    let mut directories = vec![place.root()];
    for number in 1..10 {
        let path = format!("../w{number}");
        place.git(&["worktree", "add", "-q", "-b", &format!("topic-{number}"), &path]);
        directories.push(place.root().join(path).canonicalize().expect("it is there"));
    }
    let begun = Instant::now();
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let caller = place.caller_in(&format!("run {number}"), &directories[number % 10]);
            runtime.spawn(status(place.work.clone(), caller, json!({"sections": ["git", "pull"]})))
        })
        .collect();
    for call in calls {
        let said = runtime.block_on(call).expect("it ends");
        assert_eq!(said["sources"]["git"]["state"], "ok", "{said}");
    }
    print_figure("50 agents in 10 worktrees", begun.elapsed().as_secs_f64() * 1e6);
    print_figure("questions to GitHub by 50 agents in 10 worktrees", place.github.requests().len() as f64);
}

/// Measures rule facts, from a fresh state and with a new git query.
fn facts(runtime: &Runtime, times: usize) {
    let place = Fixture::with_files(10);
    let (root, env) = (place.root(), place.env.clone());
    let ask = || {
        let fact = runtime.block_on(place.work.fact("work.dirty", &root, || env.clone()));
        assert_eq!(fact.as_deref(), Some("true"));
    };
    let begun = Instant::now();
    let _ = runtime.block_on(place.work.fact("work.dirty", &root, || env.clone()));
    print_figure("a fact by a new look", begun.elapsed().as_secs_f64() * 1e6);
    place.status(runtime, json!({"sections": ["git"]}));
    let took: Vec<f64> = (0..times)
        .map(|number| {
            if number % 100 == 99 {
                place.status(runtime, json!({"sections": ["git"]}));
            }
            timed(ask)
        })
        .collect();
    print_figure("a fact from a status before", middle(took));
}

fn timed(run: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    run();
    begun.elapsed().as_secs_f64() * 1e6
}

fn middle(mut took: Vec<f64>) -> f64 {
    took.sort_unstable_by(f64::total_cmp);
    took[took.len() / 2]
}
