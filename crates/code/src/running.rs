//! Running servers, as displayed by `code_status` and `hob status`.

use project::journal;
use project::rooms::SessionRow;
use schemars::JsonSchema;
use serde::Serialize;

use crate::server::{Canary, Server, State};

/// Returns the row of a server for faces. Cheaper than [`Running`], which measures the memory.
pub(crate) fn row(server: &Server) -> SessionRow {
    let seen = server.snapshot();
    let state = seen.state.word().to_owned();
    let root = server.root.to_string_lossy().into_owned();
    SessionRow {
        id: format!("{root}\u{1f}server\u{1f}{}", server.profile.name),
        name: server.profile.name.clone(),
        worktree: root,
        profile: "server".to_owned(),
        code: seen.state.percent().map(|percent| format!("{percent} % loaded")).unwrap_or_default(),
        reason: ended(&seen.state),
        state,
        owner: "hob".to_owned(),
        since: seen.started.map(journal::time_of).unwrap_or_default(),
        is_server: true,
        ..SessionRow::default()
    }
}

/// Returns the exit status and the last lines of standard error after a crash.
fn ended(state: &State) -> Option<String> {
    match state {
        State::CannotStart { exit, stderr } => Some(exit.iter().chain(stderr).cloned().collect::<Vec<_>>().join(": ")),
        State::Crashed { exit, stderr, .. } if stderr.is_empty() => Some(exit.clone()),
        State::Crashed { exit, stderr, .. } => Some(format!("{exit}: {}", stderr.join(" / "))),
        _ => None,
    }
}

/// A running server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Running {
    server: String,
    /// The directory that it serves.
    root: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    state: &'static str,
    /// The progress in percent while it loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<u8>,
    /// The result of the readiness probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime_ms: Option<u64>,
    /// The exit status and the last lines of standard error after a crash.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// How to restart it if hob does not restart it automatically.
    #[serde(skip)]
    next: Option<&'static str>,
}

impl Running {
    pub(crate) fn from_server(server: &Server) -> Running {
        let seen = server.snapshot();
        let next = match &seen.state {
            State::Crashed { retry_in: None, .. } | State::Hung { retry_in: None } => {
                Some("; once the cause is gone, `hob code restart` starts it")
            }
            State::OverBudget => {
                Some("; it alone needs more than `memory` below [code] allows: raise it, then `hob code restart`")
            }
            _ => None,
        };
        let uptime = seen.started.filter(|_| seen.state.is_up()).map(|started| started.elapsed());
        Running {
            server: server.profile.name.clone(),
            root: project::visible::path(&server.root),
            version: seen.version.clone(),
            state: seen.state.word(),
            progress: seen.state.percent(),
            probe: seen.canary.as_ref().map(Canary::describe),
            pid: seen.pid,
            memory_bytes: server.group().map(|group| process::probe::memory(&group).resident),
            uptime_ms: uptime.map(|uptime| uptime.as_millis().try_into().unwrap_or(u64::MAX)),
            ended: ended(&seen.state),
            next,
        }
    }

    /// Formats the server, such as `rust-analyzer 1.96.0 in /home/me/project: ready, 412 MiB, probe agrees: area`.
    pub fn line(&self) -> String {
        let version = self.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let memory = self.memory_bytes.map(|bytes| format!(", {} MiB", bytes >> 20)).unwrap_or_default();
        let probe = self.probe.as_deref().map(|probe| format!(", probe {probe}")).unwrap_or_default();
        let percent = self.progress.map(|percent| format!(" {percent} %")).unwrap_or_default();
        let ended = self.ended.as_deref().map(|ended| format!(" ({ended})")).unwrap_or_default();
        let (state, next) = (self.state.replace('_', " "), self.next.unwrap_or_default());
        format!("{}{version} in {}: {state}{percent}{ended}{memory}{probe}{next}", self.server, self.root)
    }
}
