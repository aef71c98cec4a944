//! The data of `hob status`: one snapshot, taken without waiting.

use std::path::PathBuf;

use project::config::Limit;
use project::{Role, VERSION, hello};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::daemon::Daemon;
use crate::parts;
use crate::toolsets::Toolset;

/// A snapshot of a daemon.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The process itself.
    pub daemon: Process,
    /// The open connections.
    pub connections: Vec<Connection>,
    /// The status of each part.
    #[serde(flatten)]
    pub parts: Map<String, Value>,
    /// The available toolsets.
    pub toolsets: Vec<ToolsetLine>,
    /// The systems whose tools can be imitated.
    pub profiles: Vec<ToolsetLine>,
    /// The settings in `hob.toml` that lack a grant; `hob trust` shows and grants them.
    pub withheld: Vec<project::trust::Request>,
    /// True if they were granted since this daemon started: only the next one applies them.
    pub granted_since: bool,
    /// Environment variables that the settings need and this daemon lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The reason why the daemon is stopping, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping: Option<String>,
}

/// The daemon as a process.
#[derive(Debug, Clone, Serialize)]
pub struct Process {
    pub pid: u32,
    pub version: &'static str,
    /// The highest protocol number it speaks.
    pub protocol: u32,
    /// The id of this daemon process.
    pub life: String,
    /// The uptime.
    pub uptime_ms: u64,
    /// The project it serves.
    pub root: PathBuf,
    /// The directory of the project's state.
    pub state: PathBuf,
    /// The socket that it listens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Its log directory.
    pub log: PathBuf,
    /// Resident memory, in bytes; absent if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The HTTP address; absent without HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// The file with the HTTP token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_token: Option<PathBuf>,
    /// The idle time without connections and sessions after which it stops; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_limit_ms: Option<u64>,
}

/// One connection.
#[derive(Debug, Clone, Serialize)]
pub struct Connection {
    pub connection: u64,
    /// Its role.
    pub role: Role,
    /// The process at the other end.
    pub pid: u32,
    /// The name of its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The profile it chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its age.
    pub age_ms: u64,
}

/// A toolset or a profile.
#[derive(Debug, Clone, Serialize)]
pub struct ToolsetLine {
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// The number of its tools.
    pub tools: usize,
}

impl Status {
    /// Takes the snapshot.
    pub(crate) fn from_daemon(daemon: &Daemon) -> Status {
        let line = |set: &Toolset| ToolsetLine { name: set.name, about: set.about, tools: set.tools.len() };
        let connection = |open: crate::connections::Open| Connection {
            connection: open.number,
            role: open.role,
            pid: open.pid,
            name: open.name,
            profile: open.profile,
            cwd: open.cwd,
            age_ms: millis(open.since.elapsed()),
        };
        let catalog = daemon.parts.catalog();
        Status {
            daemon: Process {
                pid: std::process::id(),
                version: VERSION,
                protocol: hello::PROTOCOL,
                life: daemon.life.clone(),
                uptime_ms: millis(daemon.started.elapsed()),
                root: daemon.project.root().to_owned(),
                state: daemon.project.state_dir().to_owned(),
                socket: daemon.project.socket_path().ok(),
                log: daemon.project.log_dir(),
                memory_bytes: system::resident_memory(std::process::id().cast_signed()),
                http: daemon.http.as_ref().map(|(address, _)| crate::http::Http::url(*address)),
                http_token: daemon.http.as_ref().map(|(_, file)| file.clone()),
                idle_limit_ms: match daemon.config.idle {
                    _ if daemon.http.is_some() => None,
                    Limit::After(time) => Some(millis(time)),
                    Limit::Never => None,
                },
            },
            connections: daemon.connections.list().into_iter().map(connection).collect(),
            parts: daemon.parts.status(),
            toolsets: catalog.toolsets().map(line).collect(),
            profiles: merged(catalog.profiles().map(line)),
            withheld: daemon.config.withheld.clone(),
            granted_since: daemon.config.is_granted_by_now(&daemon.project, &parts::sections()),
            lacks: parts::missing_variables(&daemon.config),
            stopping: daemon.stop.borrow().clone(),
        }
    }
}

/// Merges lines of the same name: several parts may add tools to one profile.
fn merged(lines: impl Iterator<Item = ToolsetLine>) -> Vec<ToolsetLine> {
    let mut merged: Vec<ToolsetLine> = Vec::new();
    for line in lines {
        match merged.iter_mut().find(|other| other.name == line.name) {
            Some(other) => other.tools += line.tools,
            None => merged.push(line),
        }
    }
    merged
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
