//! The caller at the other end of a connection: the data that the daemon has about it and tools read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{Hello, Project, Role};

/// How the daemon identifies a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identification {
    /// By its process: the kernel names the process and its working directory.
    ByProcess,
    /// By the token of one agent, made for the holder of its name.
    ByAgentToken,
    /// By a token that many callers share, which identifies no single agent.
    BySharedToken,
}

/// The caller of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The number of the connection since the daemon started.
    pub connection: u64,
    /// The role of the connection.
    pub role: Role,
    /// The process at the other end, according to the kernel; 0 without one.
    pub pid: u32,
    /// Its working directory: the default for new sessions.
    pub cwd: PathBuf,
    /// Its worktree: the default names belong to it.
    pub worktree: PathBuf,
    /// The environment of processes started on its behalf.
    pub env: BTreeMap<String, String>,
    /// Additional variables, for short-lived programs run on its behalf, not for sessions.
    pub asked_env: BTreeMap<String, String>,
    /// The session that tools use when the call names none.
    pub session: Option<String>,
    /// The agent's name (`--as`, `HOB_AGENT`).
    pub name: Option<String>,
    /// True to take that name from its holder elsewhere.
    pub takeover: bool,
    /// The run of the agent, the same over all its connections.
    pub run: Option<String>,
    /// True if the previous connection lost answers that delivered something.
    pub answers_lost: bool,
    /// The first message in the last answer that arrived and delivered something.
    pub last_receipt: Option<String>,
    /// The worktree of the process's directory according to the kernel, not to itself; `None` if the kernel does not
    /// report it.
    pub stands_in: Option<PathBuf>,
    /// The system whose tools are imitated for this caller.
    pub profile: Option<String>,
    /// How the daemon identified the caller.
    pub known: Identification,
    /// True if each of its requests has its own connection: only answers to requests reach it.
    pub by_requests: bool,
    /// True if the connection is for one request, and left out of the journal.
    pub brief: bool,
}

impl Caller {
    /// Returns the caller that said `hello` on this connection.
    pub fn new(project: &Project, hello: &Hello, connection: u64, pid: u32) -> Caller {
        Caller {
            connection,
            role: hello.role,
            pid,
            worktree: hello.worktree.clone().unwrap_or_else(|| project.worktree(&hello.cwd)),
            cwd: hello.cwd.clone(),
            env: hello.env.clone(),
            asked_env: hello.asked_env.clone(),
            session: hello.session.clone(),
            name: hello.name.clone(),
            takeover: hello.takeover,
            run: hello.run.clone(),
            answers_lost: hello.answers_lost,
            last_receipt: hello.last_receipt.clone(),
            stands_in: working_directory(pid).map(|cwd| project.worktree(&cwd)),
            profile: hello.profile.clone(),
            known: Identification::ByProcess,
            by_requests: false,
            brief: hello.brief,
        }
    }
}

/// Returns the working directory of a process; `None` if the process is gone.
fn working_directory(pid: u32) -> Option<PathBuf> {
    system::working_directory(pid.cast_signed())
}
