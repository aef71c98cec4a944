//! Running servers, as displayed by `code_status` and `hob status`.

use lsp::server::{Canary, Server, ServerSnapshot, State};
use project::dashboard::SessionRow;
use project::journal;
use schemars::JsonSchema;
use serde::Serialize;

use crate::inquiry::explain;

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
        reason: stopped_reason(server, &seen),
        state,
        owner: "hob".to_owned(),
        since: seen.started.map(journal::time_of).unwrap_or_default(),
        is_server: true,
        ..SessionRow::default()
    }
}

/// Returns why a server does not run, and what to do.
fn stopped_reason(server: &Server, seen: &ServerSnapshot) -> Option<String> {
    let is_broken = matches!(
        seen.state,
        State::CannotStart { .. } | State::Crashed { .. } | State::Hung { .. } | State::OverBudget
    );
    is_broken.then(|| explain(server, seen).1)
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
    /// Why it does not run, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Running {
    pub(crate) fn from_server(server: &Server) -> Running {
        let seen = server.snapshot();
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
            why: stopped_reason(server, &seen),
        }
    }

    /// Formats the server, such as `rust-analyzer 1.96.0 in /home/me/project: ready, 412 MiB, probe agrees: area`.
    pub fn line(&self) -> String {
        let version = self.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let memory = self.memory_bytes.map(|bytes| format!(", {} MiB", bytes >> 20)).unwrap_or_default();
        let probe = self.probe.as_deref().map(|probe| format!(", probe {probe}")).unwrap_or_default();
        let percent = self.progress.map(|percent| format!(" {percent} %")).unwrap_or_default();
        let state = self.why.clone().unwrap_or_else(|| format!("{}{percent}", self.state.replace('_', " ")));
        format!("{}{version} in {}: {state}{memory}{probe}", self.server, self.root)
    }
}
