//! The open connections: their numbers, their count, and the limit.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use project::journal::Record;
use project::{Caller, Role, ancestry};
use tokio::sync::watch;

use crate::journal::Journal;

/// The number of command-line connections admitted beyond the limit.
const CONTROL_ROOM: usize = 16;

/// The open connections of a daemon.
pub(crate) struct Connections {
    open: Mutex<BTreeMap<u64, Open>>,
    last: Mutex<u64>,
    count: watch::Sender<usize>,
    limit: usize,
    journal: Arc<Journal>,
}

/// One open connection.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub number: u64,
    /// The role of the connection.
    pub role: Role,
    /// The process at the other end.
    pub pid: u32,
    /// The name of its agent.
    pub name: Option<String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The worktree of the process's directory, according to the kernel.
    pub stands_in: Option<PathBuf>,
    /// The profile it chose.
    pub profile: Option<String>,
    /// The run of its agent.
    pub run: Option<String>,
    /// The time when the connection was made.
    pub since: Instant,
}

/// A slot among the connections; freed when dropped.
pub(crate) struct Slot {
    connections: Arc<Connections>,
    number: u64,
    reason: &'static str,
    /// True if the connection is recorded in the journal.
    is_journalled: bool,
}

/// Returns the reason why a process may not speak for the person: an agent started it.
pub(crate) fn refusal(connections: &Option<Arc<Connections>>, pid: u32) -> Option<String> {
    let front_ends = connections.as_ref().map_or_else(Vec::new, |connections| connections.front_ends());
    ancestry::refusal(pid, &front_ends, std::process::id())
}

impl Connections {
    /// Returns an empty set with the given limit.
    pub(crate) fn new(limit: usize, journal: Arc<Journal>) -> Arc<Connections> {
        Arc::new(Connections {
            open: Mutex::default(),
            last: Mutex::default(),
            count: watch::channel(0).0,
            limit,
            journal,
        })
    }

    /// Returns the next connection's number.
    pub(crate) fn next_number(&self) -> u64 {
        let mut last = self.last.lock();
        *last += 1;
        *last
    }

    /// Takes a slot for a caller; at the limit, returns the number of connections.
    pub(crate) fn enter(self: &Arc<Self>, caller: &Caller) -> Result<Slot, usize> {
        let mut open = self.open.lock();
        // The command line is still admitted, to explain the refusal of agents or to stop the daemon.
        let limit = match caller.role {
            Role::Mcp => self.limit,
            Role::Control => self.limit.saturating_add(CONTROL_ROOM),
        };
        if open.len() >= limit {
            return Err(open.len());
        }
        let number = caller.connection;
        open.insert(
            number,
            Open {
                number,
                role: caller.role,
                pid: caller.pid,
                name: caller.name.clone(),
                cwd: caller.cwd.clone(),
                stands_in: caller.stands_in.clone(),
                profile: caller.profile.clone(),
                run: caller.run.clone(),
                since: Instant::now(),
            },
        );
        self.count.send_replace(open.len());
        drop(open);
        let (role, pid, name) = (caller.role, caller.pid, caller.name.clone());
        let is_journalled = !caller.brief;
        if is_journalled {
            self.journal.record(Record::ConnectionOpened { connection: number, role, pid, name });
        }
        Ok(Slot { connections: Arc::clone(self), number, reason: "its end was lost", is_journalled })
    }

    /// Returns all connections, in order of arrival.
    pub(crate) fn list(&self) -> Vec<Open> {
        self.open.lock().values().cloned().collect()
    }

    /// Returns true if a program of an agent with that name, or started without a name, is in the worktree.
    pub(crate) fn has_agent(&self, name: Option<&str>, worktree: &Path) -> bool {
        let is_it = |open: &Open| {
            open.role == Role::Mcp
                && open.stands_in.as_deref() == Some(worktree)
                && open.name.as_deref().map(|said| said.trim_start_matches('@')) == name
        };
        self.open.lock().values().any(is_it)
    }

    /// Returns the connections of agents whose programs are in the worktree.
    pub(crate) fn agents(&self, worktree: &Path) -> Vec<Open> {
        let stands_there = |open: &&Open| open.role == Role::Mcp && open.stands_in.as_deref() == Some(worktree);
        self.open.lock().values().filter(stands_there).cloned().collect()
    }

    /// Returns true if that run of an agent is connected. A connection with unfinished calls outlives its process.
    pub(crate) fn has_run(&self, run: &str) -> bool {
        let open = self.open.lock();
        let of_run = open.values().filter(|open| open.run.as_deref() == Some(run));
        let pids: Vec<u32> = of_run.map(|open| open.pid).collect();
        drop(open);
        pids.into_iter().any(is_alive)
    }

    /// Returns the processes at the other ends of agents' connections.
    pub(crate) fn front_ends(&self) -> Vec<u32> {
        let open = self.open.lock();
        open.values().filter(|open| open.role == Role::Mcp).map(|open| open.pid).collect()
    }

    /// Returns the number of connections; the receiver wakes up on each change.
    pub(crate) fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }
}

/// Returns true if a process of this user is alive; zombies do not count, since they have no such directory. True for
/// an unknown process.
pub(crate) fn is_alive(pid: u32) -> bool {
    pid == 0 || system::working_directory(pid.cast_signed()).is_some()
}

impl Slot {
    /// Frees the slot, with a reason for the journal.
    pub(crate) fn leave(mut self, reason: &'static str) {
        self.reason = reason;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.remove(&self.number);
        self.connections.count.send_replace(open.len());
        drop(open);
        if self.is_journalled {
            let (connection, reason) = (self.number, self.reason.to_owned());
            self.connections.journal.record(Record::ConnectionClosed { connection, reason });
        }
    }
}
