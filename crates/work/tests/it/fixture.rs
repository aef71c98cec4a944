//! A fixture: a repository on a fake GitHub, with the tools called in its worktree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp::tool::Context;
use project::{Caller, Role};
use serde_json::Value;
use testkit::github::{GitHub, TOKEN};
use testkit::has_program;
use tokio::runtime::Runtime;
use work::{Work, WorkOptions, WorkSettings, tools};

use crate::repository::{Repository, runtime};

/// The worktree `work`, cloned from `up/web` on GitHub, on the branch `topic` with one commit.
pub(crate) struct Here {
    pub(crate) repository: Repository,
    pub(crate) github: GitHub,
    pub(crate) work: Arc<Work>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) asked_env: BTreeMap<String, String>,
    runtime: Runtime,
}

/// A tool's answer.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) value: Value,
}

impl Answer {
    /// Returns the state of a part, with its reason and fix.
    pub(crate) fn source(&self, part: &str) -> String {
        let source = &self.value["sources"][part];
        let text = |name: &str| source[name].as_str().unwrap_or_default();
        format!("{}: {}. {}", text("state"), text("detail"), text("next"))
    }
}

impl Here {
    /// Creates the fixture, logged in at github.com; `None` without git or gh.
    pub(crate) fn new() -> Option<Here> {
        let here = Here::logged_out()?;
        here.github.log_in("github.com", TOKEN);
        Some(here)
    }

    pub(crate) fn logged_out() -> Option<Here> {
        if !has_program("git") || !has_program("gh") {
            return None;
        }
        let repository = Repository::new();
        repository.git(&["remote", "add", "origin", "https://github.com/up/web.git"]);
        repository.git(&["commit", "-q", "--allow-empty", "-m", "First"]);
        repository.git(&["update-ref", "refs/remotes/origin/main", "main"]);
        repository.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        repository.git(&["switch", "-qc", "topic"]);
        repository.git(&["commit", "-q", "--allow-empty", "-m", "Parse lists"]);
        let github = GitHub::start(repository.temp.path());
        github.repository("up/web", None);
        let mut env = repository.env();
        env.insert("GH_CONFIG_DIR".to_owned(), github.config().display().to_string());
        let work = work_of(&repository, WorkSettings::default());
        Some(Here { repository, github, work, env, asked_env: BTreeMap::new(), runtime: runtime() })
    }

    /// Drops all caches.
    pub(crate) fn forget(&mut self) {
        self.work = work_of(&self.repository, WorkSettings::default());
    }

    pub(crate) fn caller(&self, run: &str) -> Caller {
        let mut caller = testkit::caller(&self.repository.root(), "ann");
        caller.role = Role::Mcp;
        caller.run = Some(run.to_owned());
        caller.env = self.env.clone();
        caller.asked_env = self.asked_env.clone();
        caller
    }

    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.call_as(self.caller("run"), tool, arguments)
    }

    pub(crate) fn call_as(&self, caller: Caller, tool: &str, arguments: Value) -> Answer {
        self.runtime.block_on(call(&self.work, caller, tool, arguments))
    }

    pub(crate) fn status(&self) -> Answer {
        self.call("work_status", serde_json::json!({}))
    }

    pub(crate) fn in_runtime<T>(&self, run: impl Future<Output = T>) -> T {
        self.runtime.block_on(run)
    }
}

pub(crate) fn work_of(repository: &Repository, settings: WorkSettings) -> Arc<Work> {
    let notes = repository.temp.path().join("notes");
    Work::new(WorkOptions { notes, prepare: Box::new(|| Ok(())), around: Default::default(), settings })
}

pub(crate) async fn call(work: &Arc<Work>, caller: Caller, name: &str, arguments: Value) -> Answer {
    let all = tools::tools(work).into_iter().chain(tools::tidepool(work)).collect::<Vec<_>>();
    let tool = all.iter().find(|tool| tool.declaration().name == name).expect("a tool of that name");
    let arguments = serde_json::value::to_raw_value(&arguments).expect("JSON");
    let outcome = tool.clone().call(Context::detached(Arc::new(caller)), Some(&arguments)).await.expect("no fault");
    let text = outcome.content[0].as_text().expect("a text").to_owned();
    let value = outcome.structured.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).expect("JSON"));
    Answer { text, value }
}

/// Finds a program on the `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Writes a program into a directory.
pub(crate) fn program(directory: &Path, name: &str, script: &str) {
    std::fs::create_dir_all(directory).expect("a directory");
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
}
