//! The activity of a session's processes, according to the kernel: wait for input, sleep or compute; and their memory
//! use. Nothing is guessed from text.
//!
//! A program waits for input if one of its threads is in `read`, `poll` or `select` on the session's input pipe or terminal, or if
//! its runtime has armed that pipe in an epoll set for one shot (as GHC's does while a thread is in `getLine`).
//! Runtimes that watch their input all the time (Node) give no verdict, unless the session's own process is known to
//! watch it only while a program reads. Only processes that hold the session's own
//! input pipe count: in `yes | sort`, `sort` waits for `yes`, not for a person.

use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::group::Group;
use crate::procfs::{self, Member};

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
    pub async fn look(&mut self) -> Doing {
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

/// Returns the resident memory of the session's processes, from a list at most half a second old. Reads `/proc`: at
/// most some milliseconds.
pub fn memory(group: &Group) -> Memory {
    let page = rustix::param::page_size() as u64;
    let mut memory = Memory::default();
    for member in group.near_members_cached(CACHE_AGE) {
        // The process id may be reused by now; the next observation corrects that.
        let pages = procfs::read_small(member.pid, "statm", 256).and_then(|text| number_after(&text, 1));
        memory.resident += pages.unwrap_or(0) * page;
        memory.processes.push(member.pid);
    }
    memory
}

/// Returns true if one of its threads uses a processor, or waits for a disk.
fn is_running(member: &Member) -> bool {
    let is_running = |thread| matches!(thread_state(member.pid, thread), ThreadState::Running);
    matches!(member.state, 'R' | 'D') || threads(member.pid).any(is_running)
}

/// `reader` is a process that watches the input only while it reads.
fn verdict(members: &[Member], input: &str, reader: Option<i32>) -> Doing {
    let mut computing = false;
    let mut unclear = false;
    let mut reading = false;
    for member in members {
        let held = InputUse::read(member.pid, input);
        let is_reader = reader == Some(member.pid);
        reading |= held.always_watched && is_reader;
        unclear |= held.always_watched && !is_reader || held.hidden;
        if held.armed {
            return Doing::WaitingForInput;
        }
        for thread in threads(member.pid) {
            match thread_state(member.pid, thread) {
                ThreadState::Running => computing = true,
                ThreadState::In(call) if held.waits_in(member.pid, &call) => return Doing::WaitingForInput,
                ThreadState::In(_) => {}
                ThreadState::Hidden => unclear = true,
            }
        }
        computing |= matches!(member.state, 'R' | 'D');
    }
    match (computing, reading, unclear) {
        (true, ..) => Doing::Computing,
        (false, true, _) => Doing::WaitingForInput,
        (false, false, true) => Doing::Unknown,
        (false, false, false) => Doing::Sleeping,
    }
}

/// How a process holds the session's input.
#[derive(Default)]
struct InputUse {
    /// Its descriptors of that input.
    numbers: Vec<i32>,
    /// True if it is in an epoll set, armed to report once.
    armed: bool,
    /// True if it is in an epoll set that reports repeatedly.
    always_watched: bool,
    /// True if its descriptors are not visible to us.
    hidden: bool,
}

impl InputUse {
    fn read(pid: i32, input: &str) -> InputUse {
        let mut held = InputUse::default();
        let mut sets = Vec::new();
        let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
            held.hidden = Member::read(pid).is_some_and(|member| !member.is_zombie());
            return held;
        };
        let is_terminal = input.starts_with('/');
        for entry in entries.flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let (Some(number), Ok(target)) = (number, std::fs::read_link(entry.path())) else { continue };
            if target.as_os_str() == input || is_terminal && target.as_os_str() == "/dev/tty" {
                held.numbers.push(number);
            } else if target.as_os_str() == "anon_inode:[eventpoll]" {
                sets.push(number);
            }
        }
        if !held.numbers.is_empty() {
            sets.into_iter().for_each(|set| held.look_into(pid, set));
        }
        held
    }

    /// Parses `tfd:        0 events: 40000019 data: …`, one line for each descriptor in the set.
    fn look_into(&mut self, pid: i32, set: i32) {
        const IN: u32 = 0x1;
        const ONE_SHOT: u32 = 1 << 30;
        let text = procfs::read_small(pid, &format!("fdinfo/{set}"), 256 << 10).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some("tfd:"), Some(number), Some("events:"), Some(events)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let ours = number.parse().is_ok_and(|number| self.numbers.contains(&number));
            match u32::from_str_radix(events, 16) {
                // After its one shot the entry stays in the set with no events.
                Ok(events) if ours && events & IN != 0 && events & ONE_SHOT != 0 => self.armed = true,
                Ok(events) if ours && events & IN != 0 => self.always_watched = true,
                _ => {}
            }
        }
    }

    /// Returns true if a system call waits for this input.
    fn waits_in(&self, pid: i32, call: &Call) -> bool {
        let holds = |number: u64| i32::try_from(number).is_ok_and(|number| self.numbers.contains(&number));
        match call.kind() {
            Kind::Read => holds(call.arguments[0]),
            Kind::Poll => {
                // Entries of a descriptor, the requested events and the returned ones.
                const POLLIN: i16 = 1;
                let count = usize::try_from(call.arguments[1]).unwrap_or(0).min(1024);
                let entries = remote(pid, call.arguments[0], count * 8).unwrap_or_default();
                entries.chunks_exact(8).any(|entry| {
                    let number = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
                    let wanted = i16::from_ne_bytes([entry[4], entry[5]]);
                    wanted & POLLIN != 0 && self.numbers.contains(&number)
                })
            }
            Kind::Select => {
                let count = usize::try_from(call.arguments[0]).unwrap_or(0).min(1 << 16);
                let set = remote(pid, call.arguments[1], count.div_ceil(64) * 8).unwrap_or_default();
                let bit = |number: usize| set.get(number / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1);
                self.numbers.iter().any(|&number| usize::try_from(number).is_ok_and(|at| at < count && bit(at)))
            }
            Kind::Other => false,
        }
    }
}

/// The state of a thread.
enum ThreadState {
    /// On a processor, or ready for one.
    Running,
    In(Call),
    /// The state is not visible to us.
    Hidden,
}

/// The system call that a thread is in.
struct Call {
    number: i64,
    arguments: [u64; 2],
}

enum Kind {
    Read,
    Poll,
    Select,
    Other,
}

impl Call {
    fn kind(&self) -> Kind {
        match self.number {
            libc::SYS_read | libc::SYS_readv => Kind::Read,
            libc::SYS_ppoll => Kind::Poll,
            libc::SYS_pselect6 => Kind::Select,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => Kind::Poll,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => Kind::Select,
            _ => Kind::Other,
        }
    }
}

/// Parses `running`, or the call's number and its arguments in hexadecimal, or `-1` when blocked outside of any call.
fn thread_state(pid: i32, thread: i32) -> ThreadState {
    let Some(text) = procfs::read_small(pid, &format!("task/{thread}/syscall"), 512) else {
        // The thread is gone, or not visible to us.
        return if Member::read(pid).is_some() {
            ThreadState::Hidden
        } else {
            ThreadState::In(Call { number: -1, arguments: [0; 2] })
        };
    };
    let text = String::from_utf8_lossy(&text);
    let mut words = text.split_ascii_whitespace();
    let number = match words.next() {
        Some("running") => return ThreadState::Running,
        Some(word) => word.parse().unwrap_or(-1),
        None => -1,
    };
    let mut argument = || {
        let word = words.next()?.strip_prefix("0x")?;
        u64::from_str_radix(word, 16).ok()
    };
    ThreadState::In(Call { number, arguments: [argument().unwrap_or(0), argument().unwrap_or(0)] })
}

pub(crate) fn threads(pid: i32) -> impl Iterator<Item = i32> + use<> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"));
    entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Reads the memory of another process.
fn remote(pid: i32, address: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    std::fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    Some(bytes)
}

/// Returns the processor time of the living threads, to the nanosecond if the kernel counts that precisely.
fn thread_time(member: &Member) -> Duration {
    let exact = |thread| {
        let text = procfs::read_small(member.pid, &format!("task/{thread}/schedstat"), 256)?;
        number_after(&text, 0)
    };
    match threads(member.pid).map(exact).sum::<Option<u64>>() {
        Some(nanos) => Duration::from_nanos(nanos),
        None => {
            let ticks = ticks(member.pid).unwrap_or(0);
            Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
        }
    }
}

/// Returns the process's own time in user and kernel mode, and that of its reaped children.
fn ticks(pid: i32) -> Option<u64> {
    let stat = procfs::read_small(pid, "stat", 4096)?;
    let rest = &stat[memchr::memrchr(b')', &stat)? + 1..];
    (11..=14).map(|index| number_after(rest, index)).sum()
}

/// Parses word number `index` of a line, counted from 0, as a number.
fn number_after(text: &[u8], index: usize) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(index)?.parse().ok()
}
