//! A worktree with running language servers: real ones, or a fake one.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
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
    worktree: Worktree,
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

    /// Returns the number of tasks for questions and servers.
    pub(crate) fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    /// Returns the contents of the journal.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.records.lock().unwrap().clone()
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
        arguments["wait_ms"] = 20_000.into();
        until(|| {
            let (answer, text) = self.ask(name, arguments.clone()).unwrap();
            if is_it(&answer["head"]) { Ok((answer, text)) } else { Err(format!("{text}\n{:#}", answer["head"])) }
        })
    }

    /// Asks once and asserts that the answer is not final. Returns it with its text.
    pub(crate) fn stays_open(&self, tool: &str, name: &str) -> (Value, String) {
        let (answer, text) = self.ask(tool, json!({"name": name, "wait_ms": 20_000})).unwrap();
        assert_eq!(answer["head"]["complete"], false, "{name}: {text}");
        (answer, text)
    }

    /// Returns the uses in the final answer about a name, in the form of [`sites`].
    pub(crate) fn final_uses(&self, name: &str) -> Vec<String> {
        sites(&self.until_final("find_uses", json!({"name": name})).0)
    }

    /// Returns the locations in the final answer about the callers of a name, by file and line: `src/uses.rs:3`.
    pub(crate) fn final_places(&self, name: &str) -> Vec<String> {
        let (answer, _) = self.until_final("find_callers", json!({"name": name}));
        let sites = answer["call_sites"].as_array().unwrap().iter();
        let mut places: Vec<(&str, u64)> =
            sites.map(|site| (site["file"].as_str().unwrap(), site["line"].as_u64().unwrap())).collect();
        places.sort_unstable();
        places.into_iter().map(|(file, line)| format!("{file}:{line}")).collect()
    }

    /// Compares the callers of these names, including refuted ones, in the form of [`sites`].
    pub(crate) fn check_callers(&self, all: &[(&str, &[&str])]) {
        self.check("find_callers", all);
    }

    /// Compares the uses of these names in the same way.
    pub(crate) fn check_uses(&self, all: &[(&str, &[&str])]) {
        self.check("find_uses", all);
    }

    fn check(&self, tool: &str, all: &[(&str, &[&str])]) {
        for (name, expected) in all {
            let (answer, text) = self.until_final(tool, json!({"name": name, "refuted": true}));
            assert_eq!(sites(&answer), *expected, "{name}: {text}");
        }
    }

    /// Returns for each name whether the answer is final, and its callers, including refuted ones, in the form of
    /// [`sites`].
    pub(crate) fn callers(&self, names: &[&str]) -> String {
        names.iter().map(|name| self.verdicts("find_callers", name)).collect()
    }

    /// Returns the same for uses.
    pub(crate) fn uses(&self, names: &[&str]) -> String {
        names.iter().map(|name| self.verdicts("find_uses", name)).collect()
    }

    fn verdicts(&self, tool: &str, name: &str) -> String {
        let (answer, _) = self.until_judged(tool, json!({"name": name, "refuted": true}));
        let is_final = if answer["head"]["complete"] == true { "final" } else { "open" };
        let sites: String = sites(&answer).into_iter().map(|site| format!("  {site}\n")).collect();
        format!("{name} {is_final}\n{sites}")
    }
}

impl Deref for JudgedProject {
    type Target = Worktree;

    fn deref(&self) -> &Worktree {
        &self.worktree
    }
}

impl Drop for JudgedProject {
    fn drop(&mut self) {
        self.runtime.block_on(self.questions.end());
    }
}

/// Repeats an attempt until it succeeds. The limit allows for a loaded machine.
pub(crate) fn until<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + testkit::patience().max(Duration::from_secs(240));
    loop {
        match attempt() {
            Ok(value) => return value,
            Err(state) => assert!(Instant::now() < end, "never: {state}"),
        }
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
