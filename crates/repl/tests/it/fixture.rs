//! Shared fixtures: the tools over fresh sessions, in two worktrees.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use mcp::tool::{AnyTool, Context, ToolError};
use process::Guard;
use process::output::OutputLog;
use project::config::Limit;
use project::{Caller, Limits};
use serde_json::{Value, json};

use repl::adapter::python::PythonShell;
use repl::session::Handle;
use repl::{Repl, ReplOptions, tools};

/// The tools over fresh sessions.
pub(crate) struct Fixture {
    pub(crate) tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) repl: Arc<Repl>,
    /// Two worktrees.
    pub(crate) dirs: [tempfile::TempDir; 2],
    pub(crate) path: String,
    /// Additional variables of the callers.
    pub(crate) env: BTreeMap<String, String>,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Fixture {
        Fixture::with_options(ReplOptions { limits, ..ReplOptions::default() })
    }

    /// The number of seconds after which an unused session is ended.
    pub(crate) fn idle(seconds: u64) -> Fixture {
        let idle = Limit::After(Duration::from_secs(seconds));
        Fixture::with_options(ReplOptions { idle, ..ReplOptions::default() })
    }

    /// Python code runs in IPython, and the packages of the tests are installed. `None` without them.
    pub(crate) fn ipython() -> Option<Fixture> {
        let fixture = Fixture::with_options(ReplOptions { python: PythonShell::Ipython, ..ReplOptions::default() });
        fixture.with_python_packages()
    }

    /// Activates the virtual environment with the packages of the tests.
    pub(crate) fn with_python_packages(mut self) -> Option<Fixture> {
        let venv = testkit::python_packages()?.display().to_string();
        self.path = format!("{venv}/bin:{}", self.path);
        self.env.insert("VIRTUAL_ENV".to_owned(), venv);
        Some(self)
    }

    pub(crate) fn with_options(options: ReplOptions) -> Fixture {
        let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let output_dir = Some(dirs[0].path().join("output"));
        let repl = Repl::new(ReplOptions { guard: Guard::Without, output_dir, ..options });
        let path = std::env::var("PATH").expect("a PATH");
        Fixture { tools: tools(repl.clone()), repl, dirs, path, env: BTreeMap::new() }
    }

    /// Returns the same project under the next daemon.
    pub(crate) async fn next_daemon(mut self) -> Fixture {
        let output = self.dirs[0].path().join("output");
        self.tools.clear();
        self.repl = Repl::new(ReplOptions::default());
        // The previous daemon has ended once it holds no output any more.
        let places = || std::fs::read_dir(&output).expect("it is there").flatten();
        while places().any(|place| OutputLog::is_in_use(&place.path())) {
            tokio::task::yield_now().await;
        }
        let output_dir = Some(output);
        let repl = Repl::new(ReplOptions { guard: Guard::Without, output_dir, ..ReplOptions::default() });
        Fixture { tools: tools(repl.clone()), repl, ..self }
    }

    /// Returns the session of that name.
    pub(crate) fn handle(&self, session: &str) -> Handle {
        self.repl.find(&self.caller(0), Some(session)).expect("it is there")
    }

    pub(crate) fn caller(&self, worktree: usize) -> Caller {
        let dir = self.dirs[worktree].path();
        let env = [("PATH".to_owned(), self.path.clone()), ("HOME".to_owned(), dir.display().to_string())];
        let mut env = BTreeMap::from(env);
        env.extend(self.env.clone());
        Caller { env, name: Some("tester".to_owned()), ..caller(dir) }
    }

    /// Returns the text of the answer, or of the error after `error: `.
    pub(crate) async fn call_from(&self, worktree: usize, name: &str, arguments: Value) -> (String, Value) {
        let (text, full) = match call(&self.tools, self.caller(worktree), name, &arguments).await {
            Ok(answer) => answer,
            Err(error) => (format!("error: {error}"), Value::Null),
        };
        (self.plain(&text), full)
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> (String, Value) {
        self.call_from(0, name, arguments).await
    }

    pub(crate) async fn check(&self, name: &str, arguments: Value, expected: Expect) {
        expected.assert_eq(&self.call(name, arguments).await.0);
    }

    /// Checks that this worktree has no session, and that a caller is told how to start one.
    pub(crate) async fn check_that_there_is_no_session(&self) {
        let expected = expect![[r#"
            error: Unknown session "main" in this worktree.
            Start one with repl_start or repl_eval."#]];
        self.check("repl_wait", json!({}), expected).await;
    }

    /// Removes the parts of a text that differ between runs.
    fn plain(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (n, dir) in self.dirs.iter().enumerate() {
            text = text.replace(&dir.path().display().to_string(), &format!("/w{n}"));
        }
        text = text.replace(&self.path, "$PATH");
        let number = |c: char| c.is_ascii_digit() || c == '.';
        let times = [
            (", ", " ms"),
            ("for ", " ms"),
            ("for ", " s"),
            (", ", " s;"),
            (", up ", " s"),
            ("idle ", " s"),
            ("printed ", " s ago"),
            ("ends in ", " s"),
        ];
        for (before, after) in times.into_iter().chain([("process ", ","), (", ", " MiB")]) {
            let mut rest = text.as_str();
            let mut plain = String::new();
            while let Some(at) = rest.find(before) {
                let (head, tail) = rest.split_at(at + before.len());
                plain.push_str(head);
                let digits = tail.find(|c| !number(c)).unwrap_or(tail.len());
                rest = tail;
                if digits > 0 && tail[digits..].starts_with(after) {
                    plain.push('N');
                    rest = &tail[digits..];
                }
            }
            text = plain + rest;
        }
        text
    }
}

/// Calls a tool and returns its text and its structured result.
pub(crate) async fn call(
    tools: &[Arc<dyn AnyTool>],
    caller: Caller,
    name: &str,
    arguments: &Value,
) -> Result<(String, Value), ToolError> {
    let tool = tools.iter().find(|tool| tool.declaration().name == name).expect("a tool").clone();
    let arguments = serde_json::value::to_raw_value(arguments).expect("JSON");
    let outcome = tool.call(Context::detached(Arc::new(caller)), Some(&arguments)).await?;
    let text = outcome.content[0].as_text().expect("a text").to_owned();
    let full = outcome.structured.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).expect("JSON"));
    Ok((text, full))
}

/// Returns an agent in a directory, with this process's search path and home.
pub(crate) fn caller(dir: &Path) -> Caller {
    let keep = |name: &str| (name.to_owned(), std::env::var(name).unwrap_or_default());
    let env = BTreeMap::from([keep("PATH"), keep("HOME")]);
    Caller { pid: 1, env, name: None, stands_in: None, ..testkit::caller(dir, "") }
}
