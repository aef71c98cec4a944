//! Who is at the other end of a connection: what the daemon attaches to it and tools read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{Hello, Project, Role};

/// How the daemon knows who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// By its process: the kernel tells which that is and where it stands.
    ByProcess,
    /// By the token of one agent, which was made for the holder of its name.
    ByAgentToken,
    /// By a token that many share, so not as one agent.
    BySharedToken,
}

/// The caller of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The number of the connection in this life of the daemon.
    pub connection: u64,
    /// What the connection is for.
    pub role: Role,
    /// The process at the other end, according to the kernel; 0 without one.
    pub pid: u32,
    /// Its working directory: where sessions start that name no other.
    pub cwd: PathBuf,
    /// Its worktree: what default names belong to.
    pub worktree: PathBuf,
    /// The environment for what is started on its behalf.
    pub env: BTreeMap<String, String>,
    /// The session that it means when it names none.
    pub session: Option<String>,
    /// The name it goes by (`--as`, `HOB_AGENT`).
    pub name: Option<String>,
    /// Whether to take that name from its holder elsewhere.
    pub takeover: bool,
    /// This run of the agent, the same over all its connections.
    pub run: Option<String>,
    /// Whether answers that handed something out were lost with the connection before.
    pub answers_lost: bool,
    /// The first message in the last answer that came and handed something out.
    pub last_receipt: Option<String>,
    /// The worktree that the process at the other end stands in, as the kernel says and not as it says itself; `None`
    /// where the kernel does not tell.
    pub stands_in: Option<PathBuf>,
    /// The system whose tools are imitated for it.
    pub profile: Option<String>,
    /// How it is known.
    pub known: Known,
    /// Whether it comes by requests that each have a connection of their own: nothing reaches it but their answers.
    pub by_requests: bool,
}

impl Caller {
    /// The caller that said `hello` on the connection of that number.
    pub fn new(project: &Project, hello: &Hello, connection: u64, pid: u32) -> Caller {
        Caller {
            connection,
            role: hello.role,
            pid,
            worktree: hello.worktree.clone().unwrap_or_else(|| project.worktree(&hello.cwd)),
            cwd: hello.cwd.clone(),
            env: hello.env.clone(),
            session: hello.session.clone(),
            name: hello.name.clone(),
            takeover: hello.takeover,
            run: hello.run.clone(),
            answers_lost: hello.answers_lost,
            last_receipt: hello.last_receipt.clone(),
            stands_in: working_directory(pid).map(|cwd| project.worktree(&cwd)),
            profile: hello.profile.clone(),
            known: Known::ByProcess,
            by_requests: false,
        }
    }
}

/// Where a process stands (proc(5)); `None` for none, or for one that is gone.
fn working_directory(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}
