//! A worktree with running language servers: real ones, or a fake one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use code::tools::Questions;
use code::{CodeSettings, Options, Timing};
use mcp::tool::{Context, Outcome, ToolError};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::worktree::{Worktree, outcome_parts};

pub(crate) struct JudgedProject {
    pub worktree: Worktree,
    /// Dropped with the worktree.
    state: tempfile::TempDir,
    options: Options,
    pub questions: Arc<Questions>,
    runtime: Runtime,
    records: Arc<Mutex<Vec<Value>>>,
    /// Search path for programs; the test's own if `None`.
    pub search_path: Option<String>,
    /// True if the person trusts the worktree, which is the initial state.
    pub is_trusted: Arc<AtomicBool>,
    /// Additional environment of the caller.
    pub env: BTreeMap<String, String>,
}

impl JudgedProject {
    pub(crate) fn new() -> JudgedProject {
        JudgedProject::with(CodeSettings::default(), Timing::default())
    }

    pub(crate) fn with(settings: CodeSettings, timing: Timing) -> JudgedProject {
        let state = tempfile::tempdir().unwrap();
        let records: Arc<Mutex<Vec<Value>>> = Arc::default();
        let written = records.clone();
        let is_trusted = Arc::new(AtomicBool::new(true));
        let trusted = is_trusted.clone();
        let options = Options {
            settings,
            withheld: Vec::new(),
            trusts: Arc::new(move |_| trusted.load(Ordering::Relaxed)),
            prepare: Arc::new(|| Ok(())),
            state_dir: state.path().join("servers"),
            kept_dir: Some(state.path().join("verdicts")),
            records_dir: Some(state.path().join("records")),
            guard: process::Guard::Without,
            timing,
            journal: Some(Arc::new(move |record| written.lock().unwrap().push(serde_json::to_value(record).unwrap()))),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let questions = Questions::with_judges(options.clone());
        JudgedProject {
            worktree: Worktree::new(),
            state,
            options,
            questions,
            runtime,
            records,
            search_path: None,
            is_trusted,
            env: BTreeMap::new(),
        }
    }

    /// Starts another daemon on the same state with these settings.
    pub(crate) fn begin_again(&mut self, settings: CodeSettings) {
        self.runtime.block_on(self.questions.end());
        self.questions = Questions::with_judges(Options { settings, ..self.options.clone() });
    }

    /// Returns the temporary files of the servers.
    pub(crate) fn scratch(&self) -> Vec<PathBuf> {
        let mut open = vec![self.state.path().join("servers/tmp")];
        let mut files = Vec::new();
        while let Some(path) = open.pop() {
            match std::fs::read_dir(&path) {
                Ok(entries) => open.extend(entries.flatten().map(|entry| entry.path())),
                // It was removed during the search.
                Err(_) if !path.exists() => {}
                Err(_) => files.push(path),
            }
        }
        files
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &JudgedProject {
        self.worktree.write(path, text);
        self
    }

    /// Returns the number of tasks for questions and servers.
    pub(crate) fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    /// Returns the contents of the journal.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.records.lock().unwrap().clone()
    }

    pub(crate) fn path(&self) -> &Path {
        self.worktree.path()
    }

    /// Returns a tool's structured result and text; `Err` with its error.
    pub(crate) fn ask(&self, name: &str, arguments: Value) -> Result<(Value, String), String> {
        outcome_parts(name, self.outcome(name, &arguments))
    }

    /// Returns the structured result of a tool as sent.
    pub(crate) fn structured(&self, name: &str, arguments: &Value) -> String {
        self.outcome(name, arguments).unwrap().structured.unwrap().get().to_owned()
    }

    fn outcome(&self, name: &str, arguments: &Value) -> Result<Outcome, ToolError> {
        let tools = code::tools::tools(&self.questions);
        let tool = tools.iter().find(|tool| tool.declaration().name == name).unwrap().clone();
        let mut caller = testkit::caller(&self.path().canonicalize().unwrap(), "");
        caller.env = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "GOPATH"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect();
        caller.env.extend(self.env.clone());
        if let Some(path) = &self.search_path {
            caller.env.insert("PATH".to_owned(), path.clone());
        }
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        self.runtime.block_on(tool.call(Context::detached(Arc::new(caller)), Some(&arguments)))
    }

    /// Asks until the answer is final. These projects take seconds on an idle machine, and longer under load.
    pub(crate) fn until_final(&self, name: &str, arguments: Value) -> (Value, String) {
        self.until(name, arguments, |head| head["complete"] == true)
    }

    /// Asks until the server is ready and has answered, final or not.
    pub(crate) fn until_judged(&self, name: &str, arguments: Value) -> (Value, String) {
        self.until(name, arguments, |head| {
            let passes = ["loading", "out_of_time", "stale"];
            let is_waited_for = |reason: &Value| passes.contains(&reason["code"].as_str().unwrap());
            let is_ready = head["servers"].as_array().unwrap().iter().all(|judge| judge["state"] == "ready");
            is_ready && !head["reasons"].as_array().unwrap().iter().any(is_waited_for)
        })
    }

    fn until(&self, name: &str, mut arguments: Value, is_it: impl Fn(&Value) -> bool) -> (Value, String) {
        let until = Instant::now() + testkit::patience().max(Duration::from_secs(240));
        arguments["wait_ms"] = 20_000.into();
        loop {
            let (answer, text) = self.ask(name, arguments.clone()).unwrap();
            if is_it(&answer["head"]) {
                return (answer, text);
            }
            assert!(Instant::now() < until, "never: {text}\n{:#}", answer["head"]);
        }
    }

    /// Returns the locations in the final answer about the callers of a name, by file and line: `src/uses.rs:3`.
    pub(crate) fn final_places(&self, name: &str) -> Vec<String> {
        let (answer, _) = self.until_final("find_callers", json!({"name": name}));
        let mut places: Vec<(String, u64)> = answer["call_sites"]
            .as_array()
            .unwrap()
            .iter()
            .map(|site| (site["file"].as_str().unwrap().to_owned(), site["line"].as_u64().unwrap()))
            .collect();
        places.sort();
        places.into_iter().map(|(file, line)| format!("{file}:{line}")).collect()
    }

    /// Returns the calls of these names, including refuted ones, in the form of [`sites`].
    pub(crate) fn check_callers(&self, all: &[(&str, &[&str])]) {
        for (name, expected) in all {
            let (answer, text) = self.until_final("find_callers", json!({"name": name, "refuted": true}));
            assert_eq!(sites(&answer), *expected, "{name}: {text}");
        }
    }

    /// Returns the same for answers that stay partly undecided.
    pub(crate) fn check_open(&self, all: &[(&str, &[&str])]) {
        for (name, expected) in all {
            let (answer, text) = self.until_judged("find_callers", json!({"name": name, "refuted": true}));
            assert_eq!(sites(&answer), *expected, "{name}: {text}");
            assert_eq!(answer["head"]["complete"], false, "{name}: {text}");
        }
    }

    /// Returns whether the answer about a name is final, and its uses, including refuted ones, in the form of [`sites`].
    pub(crate) fn verdicts(&self, tool: &str, name: &str) -> String {
        let (answer, _) = self.until_judged(tool, json!({"name": name, "refuted": true}));
        let is_final = if answer["head"]["complete"] == true { "final" } else { "open" };
        let sites: String = sites(&answer).into_iter().map(|site| format!("  {site}\n")).collect();
        format!("{name} {is_final}\n{sites}")
    }
}

impl Drop for JudgedProject {
    fn drop(&mut self) {
        self.runtime.block_on(self.questions.end());
    }
}

/// Returns the sites of an answer: `src/uses.rs:3 call confirmed src/geo.rs:1`.
pub(crate) fn sites(answer: &Value) -> Vec<String> {
    let all = answer["uses"].as_array().or(answer["call_sites"].as_array()).unwrap();
    let text = |site: &Value, field: &str| site[field].as_str().unwrap_or("-").to_owned();
    all.iter()
        .map(|site| {
            let place = format!("{}:{}", text(site, "file"), site["line"]);
            let via = if site["via"] == "interface" { " interface" } else { "" };
            format!("{place} {} {} {}{via}", text(site, "class"), text(site, "verdict"), text(site, "definition"))
        })
        .collect()
}
