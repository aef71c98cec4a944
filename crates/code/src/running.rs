//! Running servers, as displayed by `code_status` and `hob status`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::inquiry::explain;
use crate::server::{Canary, Server, State};

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
        let is_broken = matches!(
            seen.state,
            State::CannotStart { .. } | State::Crashed { .. } | State::Hung { .. } | State::OverBudget
        );
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
            why: is_broken.then(|| explain(server, &seen).1),
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
