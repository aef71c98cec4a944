//! `repl_list`: lists all sessions of the project.

use std::path::PathBuf;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::caller;
use crate::running_evaluation::Running;
use crate::session::{SessionInfo, SessionState};
use crate::sessions::Repl;

/// List the REPL sessions of this project, running and ended: the running evaluation and its duration, the queue,
/// memory use, and when an unused session will be ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

/// All sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The sessions, sorted by worktree and name.
    pub sessions: Vec<Item>,
    /// Sessions of this worktree that ended with an earlier daemon, the most recently used first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub former: Vec<Former>,
}

/// A session that ended with an earlier daemon.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Former {
    /// Its name.
    pub session: String,
    /// The time since its last output, in seconds.
    pub printed_s: u64,
}

/// One session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Item {
    /// Its name.
    pub session: String,
    /// Its worktree.
    pub worktree: PathBuf,
    /// True if that is the caller's worktree.
    pub here: bool,
    /// The caller that started it.
    pub owner: String,
    /// Its profile.
    pub profile: String,
    /// Its state.
    pub state: SessionState,
    /// How it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The language's version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// Its process id.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pid: Option<u32>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Resident memory of its processes in MiB, as last measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory_mib: Option<u64>,
    /// Its uptime, in seconds.
    pub uptime_s: u64,
    /// The time since the last evaluation, in seconds.
    pub idle_s: u64,
    /// The number of seconds until it is ended: if it stays idle, or, while it computes, if it stays unused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle_left_s: Option<u64>,
    /// The number of the running evaluation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub eval: Option<u64>,
    /// Details of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runs: Option<Running>,
    /// True if it is in use: a connection that used it is open, or a call about it is pending.
    pub in_use: bool,
    /// The number of queued evaluations.
    pub queue_depth: usize,
    /// The number of ended evaluations.
    pub evals: u64,
}

pub(super) struct List(pub(super) Arc<Repl>);

impl Tool for List {
    const NAME: &'static str = "repl_list";
    const TITLE: &'static str = "List sessions";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, _: Args) -> Result<Output, ToolError> {
        let caller = caller(&cx)?;
        let sessions = self.0.status().into_iter().map(|info| item(info, caller)).collect();
        let former = self.0.former(caller).into_iter();
        let former = former.map(|(session, ago)| Former { session, printed_s: ago.as_secs() }).collect();
        Ok(Output { sessions, former })
    }

    fn text(output: &Output) -> String {
        let mut lines: Vec<String> = output.sessions.iter().map(line).collect();
        if lines.is_empty() {
            lines.push("No sessions. repl_eval starts one.".to_owned());
        }
        lines.extend(output.former.iter().map(|Former { session, printed_s }| {
            let ago = time(*printed_s);
            format!("{session}: ended with an earlier daemon, last printed {ago} ago; repl_read {{\"session\": {session:?}}} has its output")
        }));
        lines.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "What runs", arguments: json!({}), text: None }]
    }
}

fn item(info: SessionInfo, caller: &project::Caller) -> Item {
    // Running code is ended when the session has been unused for as long.
    let unused = match (info.state, info.current, info.away) {
        (SessionState::Idle, ..) => Some(info.idle),
        (state, Some(_), Some(away)) if state.is_alive() => Some(away),
        _ => None,
    };
    let idle_left = info.idle_limit.zip(unused).map(|(limit, unused)| limit.saturating_sub(unused).as_secs());
    let runs = Running::from_info(&info);
    Item {
        here: info.worktree == caller.worktree,
        session: info.name,
        worktree: info.worktree,
        owner: info.owner,
        profile: info.profile,
        state: info.state,
        reason: info.reason,
        version: info.version,
        pid: info.pid.filter(|_| info.state.is_alive()),
        cwd: info.cwd,
        memory_mib: info.memory.filter(|_| info.state.is_alive()).map(|bytes| bytes >> 20),
        uptime_s: info.uptime.as_secs(),
        idle_s: info.idle.as_secs(),
        idle_left_s: idle_left,
        eval: info.current,
        runs,
        in_use: info.away.is_none(),
        queue_depth: info.queue_depth,
        evals: info.evals,
    }
}

fn line(item: &Item) -> String {
    let mut line = format!("{} ({}): ", item.session, item.profile);
    match &item.runs {
        Some(runs) => line.push_str(&runs.describe(&item.session, item.state)),
        // The reason already includes that it was stopped.
        None if item.state == SessionState::Stopped => {}
        None => line.push_str(item.state.name()),
    }
    if let Some(reason) = &item.reason {
        line.push_str(if item.state == SessionState::Stopped { "" } else { ", " });
        line.push_str(reason);
    }
    if item.queue_depth > 0 {
        line.push_str(&format!(", {} queued", item.queue_depth));
    }
    if let Some(memory) = item.memory_mib {
        line.push_str(&format!(", {memory} MiB"));
    }
    line.push_str(&format!(", up {}", time(item.uptime_s)));
    match (item.idle_left_s, &item.runs) {
        (None, _) => {}
        (Some(left), None) => line.push_str(&format!(", idle {}, ends in {}", time(item.idle_s), time(left))),
        (Some(left), Some(_)) => line.push_str(&format!(", no connection uses it, ends in {}", time(left))),
    }
    if !item.here {
        line.push_str(&format!(", of {}", item.worktree.display()));
    }
    line
}

fn time(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
