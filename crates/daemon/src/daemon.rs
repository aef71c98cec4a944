//! The state of a running daemon, shared by all its tasks. `lifecycle.rs` starts and ends it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use mcp::server::Limits;
use project::journal::Record;
use project::{Config, Project};
use tokio::sync::watch;

use crate::connections::Connections;
use crate::dashboard::Latest;
use crate::journal::Journal;
use crate::servers::Parts;

/// The minimum line limit for an agent's hook event: `hob hook` accepts 6 MiB, and each byte may be encoded as six.
const HOOK_LINE: usize = 40 * 1024 * 1024;

/// A running daemon.
pub(crate) struct Daemon {
    pub project: Project,
    pub config: Config,
    /// The id of this daemon process: a different value means that the previous process's sessions are gone.
    pub life: String,
    pub started: Instant,
    /// The same time in milliseconds since 1970.
    pub started_ms: u64,
    pub journal: Arc<Journal>,
    pub connections: Arc<Connections>,
    pub parts: Parts,
    /// The rows that faces show.
    pub rooms: Latest,
    /// The address that HTTP is served on, and the file with its token.
    pub http: Option<(SocketAddr, PathBuf)>,
    /// The reason for stopping, once the daemon stops.
    pub stop: watch::Sender<Option<String>>,
}

impl Daemon {
    /// Begins a graceful stop. The first reason is kept.
    pub(crate) fn begin_stop(&self, reason: impl Into<String>) {
        self.stop.send_if_modified(|stop| match stop {
            Some(_) => false,
            None => {
                *stop = Some(reason.into());
                true
            }
        });
    }

    /// Stops the parts gracefully, within limits, after new connections are refused.
    pub(crate) async fn wind_down(&self) {
        let reason = self.stop.borrow().clone().unwrap_or_default();
        tracing::info!(%reason, "stopping");
        self.journal.record(Record::DaemonStopping { reason });
        self.parts.shutdown().await;
    }

    /// Describes the sessions that would be lost if the daemon stopped now; `None` without sessions.
    pub(crate) fn busy(&self) -> Option<String> {
        let sessions = self.parts.sessions();
        match sessions.len() {
            0 => None,
            1 => Some(format!("the session {}", sessions[0])),
            count => Some(format!("{count} sessions ({})", sessions.join(", "))),
        }
    }

    /// Returns the limits of a command-line connection. A checkout's `limits.line_bytes` must not block decisions on an
    /// agent's hook events: the largest event fits into a line.
    pub(crate) fn control_limits(&self) -> Limits {
        let limits = self.connection_limits();
        Limits { line: limits.line.max(HOOK_LINE), ..limits }
    }

    /// Returns the configured limits of one connection.
    pub(crate) fn connection_limits(&self) -> Limits {
        let limit = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let limits = &self.config.limits;
        Limits {
            line: limit(limits.line_bytes),
            line_hint: "send less in one message, or raise limits.line_bytes in hob.toml",
            running: limit(limits.calls_running),
            paused: limit(limits.calls_waiting),
            waiting: limit(limits.calls_waiting),
            ..Limits::default()
        }
    }
}
