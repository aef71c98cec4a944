//! The shared handle on a started program and all its descendants.

use parking_lot::Mutex;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::sync::watch;

use crate::exit::Exit;
use crate::guardian::Guardian;
use crate::nonce::Nonce;
use crate::procfs::{Identity, Member, ProcessSet};
use crate::records;

/// A handle on a session's processes. Cheap to clone. If the last clone is dropped before [`Group::end`] ran, the
/// guardian ends the session.
#[derive(Clone)]
pub struct Group(Arc<Inner>);

struct Inner {
    identity: Identity,
    /// The processes alive at the last observation, which identify processes that escape later.
    known: Mutex<ProcessSet>,
    input: String,
    exit: watch::Receiver<Option<Exit>>,
    resources: Mutex<Resources>,
}

/// The resources to release once the session is empty.
#[derive(Default)]
struct Resources {
    guardian: Option<Guardian>,
    record: Option<PathBuf>,
    ended: bool,
    /// For a shell with job control: the jobs it had at the last call of [`Group::note_jobs`].
    jobs: Option<Vec<(i32, u64)>>,
}

impl Group {
    pub(crate) fn new(
        identity: Identity,
        input: String,
        exit: watch::Receiver<Option<Exit>>,
        guardian: Option<Guardian>,
    ) -> Group {
        if let (Some(guardian), Some((pid, start))) = (&guardian, identity.leader) {
            guardian.watch(pid, start);
        }
        let resources = Mutex::new(Resources { guardian, ..Resources::default() });
        Group(Arc::new(Inner { identity, known: Mutex::default(), input, exit, resources }))
    }

    /// Returns the number of the first process, which is also that of its group.
    pub fn pid(&self) -> i32 {
        self.0.identity.leader.map_or(0, |(pid, _)| pid)
    }

    /// Returns the session's name in the environment of its processes.
    pub fn nonce(&self) -> &Nonce {
        &self.0.identity.nonce
    }

    /// Returns the current command line of the first process, in words: it may have executed another program.
    pub fn command_line(&self) -> Option<String> {
        let line = system::arguments(self.pid()).filter(|line| !line.is_empty())?;
        let words: Vec<_> = line.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
        Some(words.join(" ").trim_end().to_owned())
    }

    /// Returns a receiver of the first process's exit.
    pub fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.0.exit.clone()
    }

    /// Sends a signal to the process group, as a terminal would.
    ///
    /// # Errors
    /// `NotFound` if the first process has exited: [`Group::end`] ends the processes it left behind.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        // While the first process is not reaped, its number cannot name another group.
        if self.0.exit.borrow().is_some() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the process has ended"));
        }
        let pid = Pid::from_raw(self.pid()).ok_or(io::ErrorKind::NotFound)?;
        let jobs = self.resources().jobs.clone();
        for job in jobs.iter().flat_map(|known| self.jobs().into_iter().filter(move |job| !known.contains(&job.key())))
        {
            // A job that has ended meanwhile needs no signal.
            let _ = Pid::from_raw(job.pid).map(|job| rustix::process::kill_process_group(job, signal));
        }
        Ok(rustix::process::kill_process_group(pid, signal)?)
    }

    /// Makes later signals also reach the process groups that the first process starts, as a shell with job control
    /// does: without a terminal the kernel does not know which of them is in the foreground. Groups that already exist
    /// count as background.
    pub fn note_jobs(&self) {
        let jobs = self.jobs().iter().map(Member::key).collect();
        self.resources().jobs = Some(jobs);
    }

    /// Returns children of the first process that have their own group in its session.
    fn jobs(&self) -> Vec<Member> {
        let shell = self.pid();
        let members = system::children(shell).into_iter().filter_map(Member::read);
        members.filter(|job| job.parent == shell && job.group == job.pid && job.session == shell).collect()
    }

    /// Returns everything alive that belongs to the session, including escaped descendants. Reads all of `/proc`, which
    /// takes some milliseconds.
    pub fn members(&self) -> Vec<Member> {
        self.remember(self.0.identity.members(&self.known_processes()))
    }

    /// Returns the members, without reading environments: cheaper, and enough for a session's activity and costs.
    pub(crate) fn near_members(&self) -> Vec<Member> {
        self.remember(self.0.identity.near_members(&self.known_processes()))
    }

    /// Returns the near members as observed at most `age` ago; observes now if the last observation is older.
    pub(crate) fn near_members_cached(&self, age: Duration) -> Vec<Member> {
        match self.0.identity.near_members_cached(&self.known_processes(), age) {
            none if none.is_empty() => self.near_members(),
            members => self.remember(members),
        }
    }

    /// Returns the processes alive at the last observation.
    pub(crate) fn known_processes(&self) -> ProcessSet {
        self.0.known.lock().clone()
    }

    fn remember(&self, members: Vec<Member>) -> Vec<Member> {
        let mut known = self.0.known.lock();
        *known = members.iter().map(Member::key).collect();
        members
    }

    /// Returns the file that is the session's standard input, as the links of its descriptors in `/proc` name it.
    pub(crate) fn input(&self) -> &str {
        &self.0.input
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.0.identity
    }

    pub(crate) fn keep_record(&self, path: PathBuf) {
        self.resources().record = Some(path);
    }

    /// Returns true if a process of the first one's group is left, once that one has ended.
    pub(crate) fn has_group(&self) -> bool {
        let group = rustix::process::Pid::from_raw(self.pid());
        group.is_some_and(|group| rustix::process::test_kill_process_group(group) != Err(rustix::io::Errno::SRCH))
    }

    /// Dismisses the guardian and removes the record, once the session is empty.
    pub(crate) fn release(&self) {
        let mut resources = self.resources();
        resources.ended = true;
        if let Some(guardian) = resources.guardian.take() {
            guardian.farewell();
        }
        if let Some(record) = resources.record.take() {
            records::remove(&record);
        }
    }

    fn resources(&self) -> parking_lot::MutexGuard<'_, Resources> {
        self.0.resources.lock()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let resources = self.resources.get_mut();
        if !resources.ended && resources.guardian.is_none() {
            // Without a guardian, kill at once, without waiting for zombies to be reaped.
            let known = std::mem::take(self.known.get_mut());
            self.identity.end(known, Duration::ZERO, Duration::from_millis(200));
        }
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("pid", &self.pid()).field("nonce", self.nonce()).finish_non_exhaustive()
    }
}
