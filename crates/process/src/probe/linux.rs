//! Linux: the system call of each thread, and the descriptors and epoll sets of each process (proc(5)).

use std::io::Read;
use std::os::unix::fs::FileExt;

use super::Doing;
use crate::procfs::Member;

/// Returns true if one of its threads uses a processor, or waits for a disk.
pub(super) fn is_running(member: &Member) -> bool {
    let is_running = |thread| matches!(thread_state(member.pid, thread), ThreadState::Running);
    matches!(member.state, 'R' | 'D') || threads(member.pid).any(is_running)
}

/// `reader` is a process that watches the input only while it reads. It still watches while it exits, so a thread has to wait.
pub(super) fn verdict(members: &[Member], input: &str, reader: Option<i32>) -> Doing {
    let mut computing = false;
    let mut unclear = false;
    let mut reading = false;
    for member in members {
        let held = InputUse::read(member.pid, input);
        let is_reader = reader == Some(member.pid);
        unclear |= !held.watching.is_empty() && !is_reader || held.hidden;
        if held.armed {
            return Doing::WaitingForInput;
        }
        for thread in threads(member.pid) {
            match thread_state(member.pid, thread) {
                ThreadState::Running => computing = true,
                ThreadState::In(call) if held.waits_in(member.pid, &call) => return Doing::WaitingForInput,
                ThreadState::In(call) => reading |= is_reader && call.waits_in_one_of(&held.watching),
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
    /// Its epoll sets that report the input repeatedly.
    watching: Vec<i32>,
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
        let text = read_small(pid, &format!("fdinfo/{set}"), 256 << 10).unwrap_or_default();
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
                Ok(events) if ours && events & IN != 0 => self.watching.push(set),
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

    /// Returns true if it waits for the events of one of these epoll sets.
    fn waits_in_one_of(&self, sets: &[i32]) -> bool {
        let is_epoll = match self.number {
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => true,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => true,
            _ => false,
        };
        is_epoll && sets.iter().any(|set| u64::try_from(*set).is_ok_and(|set| set == self.arguments[0]))
    }
}

/// Parses `running`, or the call's number and its arguments in hexadecimal, or `-1` when blocked outside of any call.
fn thread_state(pid: i32, thread: i32) -> ThreadState {
    let Some(text) = read_small(pid, &format!("task/{thread}/syscall"), 512) else {
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

fn threads(pid: i32) -> impl Iterator<Item = i32> + use<> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"));
    entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Reads the memory of another process.
fn remote(pid: i32, address: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    std::fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    Some(bytes)
}

/// Returns a file of `/proc/PID`, at most `limit` bytes of it.
fn read_small(pid: i32, file: &str, limit: u64) -> Option<Vec<u8>> {
    // Enough for most files to be read in one call; growing from empty would take five.
    let mut bytes = Vec::with_capacity(1024);
    std::fs::File::open(format!("/proc/{pid}/{file}")).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
