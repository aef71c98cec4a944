//! Processes of a session; and signals that cannot hit the wrong process.
//!
//! A process is identified by its number together with its start time, because numbers are reused. [`Identity`]
//! identifies a whole session; [`Identity::members`] finds everything that belongs to it, including escaped
//! descendants.

use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::mark::Mark;
use crate::nonce::Nonce;

/// Read while a session is being ended; written before this process exits.
static ENDING: RwLock<()> = parking_lot::const_rwlock(());

/// Waits, for at most five seconds, until no session is being ended, and makes later attempts block. For a process that is
/// about to exit: [`Identity::end`] stops processes before it kills them, and an exit between the two would leave them
/// stopped.
pub fn finish_ending() {
    std::mem::forget(ENDING.try_write_for(Duration::from_secs(5)));
}

/// One process of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The process number.
    pub pid: i32,
    /// The number of its parent.
    pub parent: i32,
    /// The number of its process group.
    pub group: i32,
    /// The number of its session.
    pub session: i32,
    /// The kernel's letter for its state: `R`, `S`, `D`, `T`, `Z`, ….
    pub state: char,
    /// The short name of its program.
    pub name: String,
    /// Start time in the unit of [`system::Process::start`].
    pub(crate) start: u64,
}

impl Member {
    /// Reads one process; `None` when it is gone.
    pub(crate) fn read(pid: i32) -> Option<Member> {
        let system::Process { pid, parent, group, session, state, name, start, .. } = system::process(pid)?;
        Some(Member { pid, parent, group, session, state, name, start })
    }

    /// Returns the pair that no other process of this boot shares.
    pub(crate) fn key(&self) -> (i32, u64) {
        (self.pid, self.start)
    }

    /// Returns true if it has exited but was not yet reaped by its parent.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Sends a signal if this is still the same process. Returns false if it was already gone.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let is_same = || Member::read(self.pid).is_some_and(|now| now.start == self.start);
        system::send_signal(self.pid, signal, is_same)
    }
}

/// Processes, by number and start time.
pub(crate) type ProcessSet = HashSet<(i32, u64)>;

/// A session as seen from outside: its nonce, and its first process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) nonce: Nonce,
    /// The first process, if one was started: its number is also that of its group and session.
    pub(crate) leader: Option<(i32, u64)>,
    /// No process that started earlier can belong to the session, so those environments need not be read.
    pub(crate) since: u64,
}

impl Identity {
    /// Returns everything alive that belongs to the session: processes with its mark, with its nonce in the
    /// environment, in the leader's session or group, or known from before; and all descendants of those. Never this
    /// process itself, and no zombies.
    pub(crate) fn members(&self, known: &ProcessSet) -> Vec<Member> {
        let (entry, mark) = (self.nonce.entry(), Mark::from_nonce(&self.nonce));
        self.find(&all_processes(Duration::ZERO), |member| {
            known.contains(&member.key()) || mark.is_on(member.pid) || carries(member.pid, &entry)
        })
    }

    /// Returns the members without reading limits and environments. Much cheaper; misses only processes that left the
    /// session and lost their parent before they were known.
    pub(crate) fn near_members(&self, known: &ProcessSet) -> Vec<Member> {
        self.near_members_cached(known, Duration::ZERO)
    }

    /// Returns the near members as observed at most `age` ago, by any session.
    pub(crate) fn near_members_cached(&self, known: &ProcessSet, age: Duration) -> Vec<Member> {
        self.find(&all_processes(age), |member| known.contains(&member.key()))
    }

    fn find(&self, all: &[Member], belongs: impl Fn(&Member) -> bool) -> Vec<Member> {
        let me = std::process::id().cast_signed();
        // The group keeps the leader's number while any of its processes lives. If another process has that number, the
        // group is empty; if no process has it, only our own adopted children count.
        let holder = self.leader.and_then(|(pid, _)| all.iter().find(|found| found.pid == pid));
        let leader_lives = holder.is_some_and(|holder| self.leader == Some(holder.key()));
        let reused = holder.is_some() && !leader_lives;
        let mut ours: HashSet<i32> = HashSet::new();
        for found in all {
            let in_group = self.leader.is_some_and(|(pid, _)| found.session == pid || found.group == pid);
            if found.start < self.since {
                continue;
            }
            if (in_group && !reused && (leader_lives || found.parent == me)) || belongs(found) {
                ours.insert(found.pid);
            }
        }
        let parents: HashMap<i32, i32> = all.iter().map(|found| (found.pid, found.parent)).collect();
        all.iter()
            .filter(|found| !found.is_zombie() && found.pid != 1 && descends(found.pid, &ours, &parents))
            .cloned()
            .collect()
    }

    /// Ends everything that belongs to the session: TERM, then KILL after `grace`, repeated until two observations in a
    /// row find nothing or `limit` has passed. Blocks. Returns the number of different processes that were signalled,
    /// and of those that are left.
    ///
    /// Processes that left the session and its environment are known only by their parents, which may exit first. So
    /// every process found once stays known, and all are stopped before any is ended.
    pub(crate) fn end(&self, mut known: ProcessSet, grace: Duration, limit: Duration) -> (usize, usize) {
        const BETWEEN: Duration = Duration::from_millis(25);
        /// No program takes longer than this to begin.
        const UNDECIDED: Duration = Duration::from_secs(1);
        let _ending = ENDING.read();
        let began = Instant::now();
        let mut signalled = ProcessSet::new();
        let mut clean = 0;
        loop {
            let hard = began.elapsed() >= grace;
            // Decided before the observation, which may take long on a busy machine: no process is found and then left stopped.
            let last = began.elapsed() >= limit;
            // A process that got TERM is left alone until its grace is over.
            let spared = if hard { ProcessSet::new() } else { signalled.clone() };
            let members = self.stop_all(&mut known, spared);
            let clear = members.is_empty() && !(began.elapsed() < UNDECIDED && self.undecided());
            clean = if clear { clean + 1 } else { 0 };
            for member in &members {
                let first = signalled.insert(member.key());
                if hard {
                    member.signal(Signal::KILL);
                } else if first {
                    member.signal(Signal::TERM);
                    // A stopped process acts on TERM only once it continues.
                    member.signal(Signal::CONT);
                }
            }
            // One look misses a process whose number is lower than its parent's: numbers wrap around.
            if clean == 2 || last {
                return (signalled.len(), members.len());
            }
            std::thread::sleep(BETWEEN);
        }
    }

    /// Returns true if a process that may belong to the session is just executing another program: for a moment it has
    /// closed our descriptors and has no environment yet.
    fn undecided(&self) -> bool {
        const KERNEL: i32 = 2;
        let mut young = system::processes().filter_map(Member::read).filter(|found| {
            found.start >= self.since && !found.is_zombie() && found.parent != KERNEL && found.pid != KERNEL
        });
        young.any(|found| system::is_starting(found.pid))
    }

    /// Stops everything but `spared`, until a look finds nothing new: a stopped process starts nothing, and stays the
    /// parent of its children.
    fn stop_all(&self, known: &mut ProcessSet, spared: ProcessSet) -> Vec<Member> {
        let mut stopped = spared;
        let enough = stopped.len() + 1000;
        loop {
            let before = stopped.len();
            self.stop_marked(&mut stopped);
            let members = self.members(known);
            known.extend(members.iter().map(Member::key));
            for member in &members {
                if stopped.insert(member.key()) {
                    member.signal(Signal::STOP);
                }
            }
            // A process that forks faster than we observe is found again in the next round.
            if stopped.len() == before || stopped.len() > enough {
                return members;
            }
        }
    }

    /// Stops marked processes as soon as they are found. A process that restarts itself and ends is followed from one
    /// instance to the next: the next has a higher number, which [`one_by_one`] reaches later.
    fn stop_marked(&self, stopped: &mut ProcessSet) {
        let (me, mark) = (std::process::id().cast_signed(), Mark::from_nonce(&self.nonce));
        for met in system::one_by_one().filter(|&pid| pid != me && mark.is_on(pid)).filter_map(Member::read) {
            if met.start >= self.since && !met.is_zombie() && stopped.insert(met.key()) {
                met.signal(Signal::STOP);
            }
        }
    }
}

/// Returns true if a process, or one it descends from, is in the set.
fn descends(pid: i32, set: &HashSet<i32>, parents: &HashMap<i32, i32>) -> bool {
    let mut at = pid;
    // Bounded, because the table was read while processes came and went, and could hold a cycle.
    for _ in 0..1000 {
        if set.contains(&at) {
            return true;
        }
        match parents.get(&at) {
            Some(&parent) => at = parent,
            None => return false,
        }
    }
    false
}

/// Returns all processes but this one, as seen at most `age` ago. Reading them takes milliseconds on a full machine, so
/// callers that allow some age share the last observation.
fn all_processes(age: Duration) -> Arc<Vec<Member>> {
    static LAST: Mutex<Option<(Instant, Arc<Vec<Member>>)>> = Mutex::new(None);
    let last = || LAST.lock();
    if let Some((_, all)) = last().as_ref().filter(|(looked, _)| looked.elapsed() < age) {
        return all.clone();
    }
    let (looked, me) = (Instant::now(), std::process::id().cast_signed());
    let all: Arc<Vec<Member>> =
        Arc::new(system::processes().filter_map(Member::read).filter(|found| found.pid != me).collect());
    *last() = Some((looked, all.clone()));
    all
}

/// Returns true if the environment that a process was started with holds the entry.
pub(crate) fn carries(pid: i32, entry: &[u8]) -> bool {
    system::environment(pid).is_some_and(|bytes| bytes.split(|&byte| byte == 0).any(|one| one == entry))
}

/// Returns a variable's value in the environment that a process was started with.
pub(crate) fn variable(pid: i32, name: &str) -> Option<String> {
    let bytes = system::environment(pid)?;
    let prefix = format!("{name}=");
    let entry = bytes.split(|&byte| byte == 0).find(|one| one.starts_with(prefix.as_bytes()))?;
    String::from_utf8(entry[prefix.len()..].to_vec()).ok()
}

/// Returns the inode that both ends of a pipe share.
pub(crate) fn inode(fd: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(fd)?.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_number_that_is_used_again_is_not_the_session() {
        let mut spec = crate::Spec::new("sleep", "/").args(["1000"]).env([("PATH", "/usr/bin:/bin")]);
        spec.guard = crate::Guard::Without;
        let child = spec.spawn().unwrap();
        let start = Member::read(child.pid).unwrap().start;
        let session = |start| Identity { nonce: Nonce::random(), leader: Some((child.pid, start)), since: 0 };
        assert_eq!(session(start).near_members(&ProcessSet::new()).len(), 1);
        assert_eq!(session(start + 1).near_members(&ProcessSet::new()), []);
    }

    #[tokio::test]
    async fn what_is_found_when_the_time_is_over_is_not_left_stopped() {
        let mut spec = crate::Spec::new("sleep", "/").args(["1000"]).env([("PATH", "/usr/bin:/bin")]);
        spec.guard = crate::Guard::Without;
        let mut child = spec.spawn().unwrap();
        assert_eq!(child.group.identity().end(ProcessSet::new(), Duration::ZERO, Duration::ZERO), (1, 1));
        let ended = tokio::time::timeout(Duration::from_secs(20), child.exit.wait_for(Option::is_some)).await;
        assert_eq!(ended.expect("it ends").unwrap().as_ref().unwrap().signal, Some(libc::SIGKILL));
    }

    #[test]
    fn this_process_reads_itself() {
        let me = std::process::id().cast_signed();
        assert_eq!(Member::read(me).unwrap().pid, me);
        assert!(!carries(me, &Nonce::random().entry()));
        assert_eq!(system::boot_id().len(), 36);
    }
}
