//! `repl_start`: starts a session of a chosen profile; `repl_eval` starts the suggested one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{attach_connection, budget, caller, with_heartbeat};
use crate::not_started::not_started;
use crate::result::Completion;
use crate::running_evaluation::Running;
use crate::sandboxed::SandboxMode;
use crate::session::{Handle, SessionError, SessionInfo, SessionState};
use crate::sessions::{Repl, StartRequest};

/// Start a session with a chosen command, directory or environment. Otherwise repl_eval starts it. Returns the session if it already runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// Profile: ghci, cabal, stack, python, node, bash, sqlite3, lua, ruby, r, gdb, terminal, or a configured one (default: configured, else detected).
    pub profile: Option<String>,
    /// Command instead of the profile's, such as ["ghci", "-isrc"].
    pub command: Option<Vec<String>>,
    /// Component of a cabal or stack project, such as exe:app.
    pub component: Option<String>,
    /// "workspace": write only in the worktree, no TCP.
    #[schemars(with = "Option<String>")]
    pub sandbox: Option<SandboxMode>,
    /// Working directory, relative to the caller's (default: the caller's, or the one of the detected profile).
    pub cwd: Option<PathBuf>,
    /// Additional environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How long to wait for the first prompt, in ms (default 30000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
}

/// The session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Its name.
    pub session: String,
    /// True if it was started by this call.
    pub fresh: bool,
    /// Its state.
    pub state: SessionState,
    /// Its profile.
    pub profile: String,
    /// The language's version, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// Its output before the first prompt.
    pub banner: String,
    /// The number of the running evaluation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runs: Option<Running>,
    /// The reliability with which the ends of evaluations are detected.
    pub completion: Completion,
    /// Its process id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pid: Option<u32>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its command.
    pub command: Vec<String>,
    /// Further notes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

pub(super) struct Start(pub(super) Arc<Repl>);

impl Tool for Start {
    const NAME: &'static str = "repl_start";
    const TITLE: &'static str = "Start a session";
    const EFFECT: Effect = Effect::WRITE.idempotent().open_world();
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let request = StartRequest {
            session: args.session,
            profile: args.profile,
            command: args.command.filter(|command| !command.is_empty()),
            cwd: args.cwd,
            env: args.env,
            component: args.component,
            sandbox: args.sandbox,
        };
        let started = self.0.start(caller(&cx)?, request).await?;
        attach_connection(&cx, &started.handle);
        let wait = budget(&cx, args.wait_ms, Duration::from_secs(30));
        let info = wait_for_start(&cx, &started.handle, wait).await?;
        Ok(output(info, started.fresh, started.notes))
    }

    fn text(output: &Output) -> String {
        text(output)
    }

    fn examples() -> Vec<Example> {
        vec![Example {
            title: "GHCi in its own session",
            arguments: json!({"session": "scratch", "profile": "ghci"}),
            text: None,
        }]
    }
}

/// Waits until the session has started, for a limited time.
pub(super) async fn ready(handle: &Handle, wait: Duration) -> SessionInfo {
    let mut seen = handle.watch();
    // On a timeout or after the end, the current state is the answer.
    let _ = tokio::time::timeout(wait, seen.wait_for(|info| info.state != SessionState::Starting)).await;
    handle.info()
}

/// Waits for a session that is starting. A session that exited instead is an error with its output; one that is still
/// starting at the timeout is not.
pub(crate) async fn wait_for_start(cx: &Context, handle: &Handle, wait: Duration) -> Result<SessionInfo, ToolError> {
    let started = async { Ok::<_, SessionError>(ready(handle, wait).await) };
    let info = with_heartbeat(cx, "starting", started).await?;
    if info.state.is_alive() { Ok(info) } else { Err(not_started(&info)) }
}

pub(super) fn output(info: SessionInfo, fresh: bool, notes: Vec<String>) -> Output {
    let runs = Running::from_info(&info);
    Output {
        session: info.name,
        fresh,
        state: info.state,
        profile: info.profile,
        version: info.version,
        banner: info.banner,
        runs,
        completion: info.completion,
        pid: info.pid,
        cwd: info.cwd,
        command: info.command,
        notes,
    }
}

pub(super) fn text(output: &Output) -> String {
    let mut text = String::new();
    // The caller that started a session has already seen its start output.
    let banner = if output.fresh { output.banner.as_str() } else { "" };
    for line in banner.lines().filter(|line| !is_greeting(line, output.version.as_deref())) {
        text.push_str(line);
        text.push('\n');
    }
    let Output { session, profile, .. } = output;
    let version = output.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let pid = output.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
    let already = if output.fresh { "" } else { "; it ran already" };
    let state = match (&output.runs, output.state) {
        (Some(runs), state) => runs.describe(&output.session, state),
        (None, state) => state.name().to_owned(),
    };
    let next = match output.state {
        SessionState::Starting => format!(
            "; repl_eval waits for it, repl_read {{\"session\": {session:?}}} has its output, repl_stop {{\"session\": {session:?}}} ends it"
        ),
        _ => String::new(),
    };
    text.push_str(&format!(
        "[{session}: {profile}{version}, {state}{pid}, in {}{already}{next}]",
        output.cwd.display()
    ));
    for note in &output.notes {
        text.push('\n');
        text.push_str(note);
    }
    text
}

/// Returns true if a line of the banner only gives the version, which the status line has too.
fn is_greeting(line: &str, version: Option<&str>) -> bool {
    let greets =
        ["GHCi, version ", "GNU bash ", "Python ", "Node.js v"].iter().any(|greeting| line.starts_with(greeting));
    greets && version.is_some_and(|version| line.contains(version))
}
