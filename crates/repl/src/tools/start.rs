//! `repl_start`: starts a session of a chosen profile; `repl_eval` starts the suggested one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{budget, caller, with_heartbeat};
use crate::not_started::not_started;
use crate::result::Completion;
use crate::session::{Handle, SessionError, SessionInfo, SessionState};
use crate::sessions::{Repl, StartRequest};

/// Start a REPL session, or return the running one of that name. Only needed to choose profile, command, directory or
/// environment; repl_eval starts what the project suggests by itself. Waits for the first prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Its name; default is this worktree's own.
    pub session: Option<String>,
    /// ghci, cabal, stack, python or bash, or a configured one; detected from the project's files by default.
    pub profile: Option<String>,
    /// The command instead of the profile's, such as ["ghci", "-isrc"].
    pub command: Option<Vec<String>>,
    /// Where it runs; default is the caller's directory.
    pub cwd: Option<PathBuf>,
    /// Added to its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How long to wait for the first prompt; default 30000, at most 50000.
    pub wait_ms: Option<u64>,
}

/// The session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Its name.
    pub session: String,
    /// Whether it was started just now.
    pub fresh: bool,
    /// How it stands.
    pub state: SessionState,
    /// Its profile.
    pub profile: String,
    /// The language's version, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// What it printed before its first prompt.
    pub banner: String,
    /// How sure the ends of evaluations are.
    pub completion: Completion,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pid: Option<u32>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What runs.
    pub command: Vec<String>,
    /// What else is worth knowing.
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
        };
        let started = self.0.start(caller(&cx)?, request).await?;
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

/// Waits until the session has started, at most this long.
pub(super) async fn ready(handle: &Handle, wait: Duration) -> SessionInfo {
    let mut seen = handle.watch();
    // Out of time or ended: the present state is the answer.
    let _ = tokio::time::timeout(wait, seen.wait_for(|info| info.state != SessionState::Starting)).await;
    handle.info()
}

/// Waits for a session that is just starting. One that ended instead of starting is an error that says what it printed;
/// one that is still starting when the time is over is not.
pub(crate) async fn wait_for_start(cx: &Context, handle: &Handle, wait: Duration) -> Result<SessionInfo, ToolError> {
    let started = async { Ok::<_, SessionError>(ready(handle, wait).await) };
    let info = with_heartbeat(cx, "starting", started).await?;
    if info.state.is_alive() { Ok(info) } else { Err(not_started(&info)) }
}

pub(super) fn output(info: SessionInfo, fresh: bool, notes: Vec<String>) -> Output {
    Output {
        session: info.name,
        fresh,
        state: info.state,
        profile: info.profile,
        version: info.version,
        banner: info.banner,
        completion: info.completion,
        pid: info.pid,
        cwd: info.cwd,
        command: info.command,
        notes,
    }
}

pub(super) fn text(output: &Output) -> String {
    let mut text = String::new();
    let banner = output.banner.trim_end();
    if !banner.is_empty() {
        text.push_str(banner);
        text.push('\n');
    }
    let version = output.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let pid = output.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
    let fresh = if output.fresh { "" } else { ", it ran already" };
    let state = output.state.name();
    text.push_str(&format!(
        "[{}: {}{version}, {state}{pid}, in {}{fresh}]",
        output.session,
        output.profile,
        output.cwd.display()
    ));
    for note in &output.notes {
        text.push('\n');
        text.push_str(note);
    }
    text
}
