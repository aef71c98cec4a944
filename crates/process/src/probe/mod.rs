//! The activity of a session's processes, according to the kernel: wait for input, sleep or compute; and their memory
//! use. Nothing is guessed from text.
//!
//! A program waits for input if one of its threads is in `read`, `poll` or `select` on the session's input pipe or terminal, or if
//! its runtime has armed that pipe in an epoll set for one shot (as GHC's does while a thread is in `getLine`).
//! Runtimes that watch their input all the time (Node) give no verdict, unless the session's own process is known to
//! watch it only while a program reads. Only processes that hold the session's own
//! input pipe count: in `yes | sort`, `sort` waits for `yes`, not for a person.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux::{is_running, verdict};

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos::{is_running, verdict};

use std::time::{Duration, Instant};

use crate::group::Group;
use crate::procfs::Member;

/// The activity of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// One of its processes waits for bytes on the session's standard input.
    WaitingForInput,
    /// None of its processes uses a processor or waits for input: it waits for a timer, a lock or a network.
    Sleeping,
    /// One of its processes uses a processor, or waits for a disk.
    Computing,
    /// The kernel does not report it, or the session has ended.
    Unknown,
}

/// Probes one session repeatedly: the processor time between two observations tells sleeping from computing.
#[derive(Debug)]
pub struct Prober {
    group: Group,
    last: Option<(Instant, Duration)>,
    watches_to_read: bool,
}

/// A session that used less than one part in `BUSY_PART` of a processor between two looks was asleep.
const BUSY_PART: u32 = 20;

/// The maximum age of a list of processes: sessions that are watched at the same time share one.
const CACHE_AGE: Duration = Duration::from_millis(500);

/// Returns the maximum age of the list of processes for an observation that comes `since` after the previous one.
/// During repeated observations it is half that time. An observation after a pause concerns new activity.
fn cache_age(since: Duration) -> Duration {
    if since < CACHE_AGE { since / 2 } else { Duration::ZERO }
}

impl Prober {
    /// Returns a prober for one session.
    pub fn new(group: &Group) -> Prober {
        Prober { group: group.clone(), last: None, watches_to_read: false }
    }

    /// Sets if the session's first process watches its input only while a program reads it.
    #[must_use]
    pub fn watching_to_read(self, watches_to_read: bool) -> Prober {
        Prober { watches_to_read, ..self }
    }

    /// Observes now. Takes some milliseconds on a blocking thread; the first observation takes 30 ms longer, since it
    /// needs two samples.
    pub async fn observe(&mut self) -> Doing {
        if self.last.is_none() {
            let first = self.sample().await;
            self.last = first.map(|(_, _, cpu)| (Instant::now(), cpu));
            if let Some((verdict @ (Doing::WaitingForInput | Doing::Computing), ..)) = first {
                return verdict;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        let Some((verdict, _, cpu)) = self.sample().await else { return Doing::Unknown };
        let now = Instant::now();
        let before = self.last.replace((now, cpu));
        let busy = before.is_some_and(|(then, used)| cpu.saturating_sub(used) * BUSY_PART > now - then);
        if busy && verdict != Doing::WaitingForInput { Doing::Computing } else { verdict }
    }

    /// Checks now if a processor is used, even if another thread waits for input: a server reads in one thread and
    /// computes in others. Takes some milliseconds on a blocking thread; the first observation takes 100 ms longer.
    pub async fn is_computing(&mut self) -> bool {
        for _ in 0..2 {
            let Some((_, is_running, cpu)) = self.sample().await else { return false };
            let now = Instant::now();
            let before = self.last.replace((now, cpu));
            let is_busy = |(then, used)| cpu.saturating_sub(used) * BUSY_PART > now - then;
            match before {
                _ if is_running => return true,
                Some(before) => return is_busy(before),
                None => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        false
    }

    /// Returns the activity, true if one of its threads uses a processor, and the time used by all.
    async fn sample(&self) -> Option<(Doing, bool, Duration)> {
        let group = self.group.clone();
        let reader = self.watches_to_read.then(|| group.pid());
        let age = self.last.map_or(Duration::ZERO, |(then, _)| cache_age(then.elapsed()));
        tokio::task::spawn_blocking(move || {
            // The list of processes may come from the last observation of any session; the activity of each may not.
            let now = |member: Member| Member::read(member.pid).filter(|now| now.key() == member.key());
            let members: Vec<_> = group.near_members_cached(age).into_iter().filter_map(now).collect();
            let cpu = members.iter().map(thread_time).sum();
            (!members.is_empty())
                .then(|| (verdict(&members, group.input(), reader), members.iter().any(is_running), cpu))
        })
        .await
        .ok()?
    }
}

/// The memory that a session's processes use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// Resident bytes; pages that two processes share count twice.
    pub resident: u64,
    /// The numbers of the processes.
    pub processes: Vec<i32>,
}

/// Returns the resident memory of the session's processes, from a list at most half a second old. Takes at most
/// some milliseconds.
pub fn memory(group: &Group) -> Memory {
    let mut memory = Memory::default();
    for member in group.near_members_cached(CACHE_AGE) {
        // The process id may be reused by now; the next observation corrects that.
        memory.resident += system::resident_memory(member.pid).unwrap_or(0);
        memory.processes.push(member.pid);
    }
    memory
}

/// Returns the processor time of the living threads, to the nanosecond if the kernel counts that precisely.
fn thread_time(member: &Member) -> Duration {
    match system::thread_times(member.pid).map(|time| Some(time?.ran)).sum::<Option<u64>>() {
        Some(nanos) => Duration::from_nanos(nanos),
        None => system::processor_time(member.pid).unwrap_or_default(),
    }
}
