//! Linux: procfs (proc(5)) and process descriptors (pidfd_open(2)).

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::pty::OpenptFlags;

use crate::{Process, ThreadTime};

/// The directory with the open descriptors of the process that looks.
pub const OWN_DESCRIPTORS: &str = "/proc/self/fd";
/// The size of one read.
const PAGE: usize = 4096;
/// The size limit of an environment or a command line, in bytes.
const TEXT_MAX: usize = 4 << 20;

/// Returns the path by which this process can start its program again, even if the file was replaced.
pub fn this_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Names this process, for people.
pub fn set_process_name(name: &CStr) {
    let _ = rustix::thread::set_name(name);
}

/// Returns a process; `None` when it is gone.
pub fn process(pid: i32) -> Option<Process> {
    parse_stat(&contents(pid, "stat", PAGE).ok()?)
}

/// Returns the numbers of all processes.
pub fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Returns all processes in ascending order, each read only after the one before was handled, so that new ones are
/// included. [`processes`] is cheaper, but reads all at once, and so misses a process that lives for a millisecond and
/// leaves another behind.
pub fn one_by_one() -> impl Iterator<Item = i32> {
    /// Room for one entry of the directory, but not two, including alignment.
    const ONE: usize = 32 + 7;
    /// Room for the longest name.
    const LONGEST: usize = ONE + 8 * 60;
    let directory = rustix::fs::open("/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
    let mut buffer = [const { MaybeUninit::uninit() }; LONGEST];
    std::iter::from_fn(move || {
        let mut room = ONE;
        loop {
            match RawDir::new(directory.as_ref()?, &mut buffer[..room]).next()? {
                Ok(entry) => match entry.file_name().to_str().map(str::parse) {
                    Ok(Ok(pid)) => return Some(pid),
                    _ => room = ONE,
                },
                // A name that is longer than any number gets exactly the space it needs.
                Err(Errno::INVAL) if room < LONGEST => room += 8,
                Err(_) => return None,
            }
        }
    })
}

/// Returns the current children of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let list = |thread: fs::DirEntry| {
        let list = format!("task/{}/children", thread.file_name().to_str()?);
        String::from_utf8(contents(pid, &list, TEXT_MAX).ok()?).ok()
    };
    let lists: Vec<String> = threads.filter_map(list).collect();
    if !lists.is_empty() {
        let pids = lists.iter().flat_map(|list| list.split_ascii_whitespace());
        return pids.filter_map(|pid| pid.parse().ok()).collect();
    }
    // This kernel lacks those lists.
    let me = rustix::process::geteuid().as_raw();
    let own = processes().filter(|of| owner(*of) == Some(me));
    own.filter(|of| process(*of).is_some_and(|process| process.parent == pid)).collect()
}

/// Returns the arguments of a process, each followed by a zero byte.
pub fn arguments(pid: i32) -> Option<Vec<u8>> {
    contents(pid, "cmdline", TEXT_MAX).ok()
}

/// Returns the environment that a process was started with, its entries separated by zero bytes.
pub fn environment(pid: i32) -> Option<Vec<u8>> {
    contents(pid, "environ", TEXT_MAX).ok()
}

/// Returns true if a process is just executing another program: for a moment it has closed its descriptors and has no
/// environment yet.
pub fn is_starting(pid: i32) -> bool {
    let is_empty = |file| {
        let mut byte = [0];
        File::open(format!("/proc/{pid}/{file}")).and_then(|mut file| file.read(&mut byte)).is_ok_and(|read| read == 0)
    };
    is_empty("environ") && is_empty("cmdline")
}

/// Returns the working directory of a process; `None` for a zombie, and for a process of another user.
pub fn working_directory(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns the file of the program that a process runs. The name of a removed file ends with ` (deleted)`.
pub fn program(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Returns true if a process runs the same file as this one; `None` if that is unknown.
pub fn is_same_program(pid: i32) -> Option<bool> {
    let file = |path: String| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    Some(file(format!("/proc/{pid}/exe"))? == file("/proc/self/exe".to_owned())?)
}

/// Returns the user of a process.
pub fn owner(pid: i32) -> Option<u32> {
    Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

/// Returns the resident memory of a process in bytes.
pub fn resident_memory(pid: i32) -> Option<u64> {
    let pages = number_after(&contents(pid, "statm", PAGE).ok()?, 1)?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Returns the time in user and kernel mode of a process, and that of its reaped children.
pub fn processor_time(pid: i32) -> Option<Duration> {
    let stat = contents(pid, "stat", PAGE).ok()?;
    let rest = &stat[memchr::memrchr(b')', &stat)? + 1..];
    let ticks: u64 = (11..=14).map(|index| number_after(rest, index)).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)))
}

/// Returns the processor time of the calling thread; `None` if the kernel does not report it.
pub fn thread_processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    number_after(text.as_bytes(), 0).map(Duration::from_nanos)
}

/// Returns the memory of the machine in bytes.
pub fn total_memory() -> Option<u64> {
    let machine = rustix::system::sysinfo();
    Some((machine.totalram as u64).saturating_mul(u64::from(machine.mem_unit)))
}

/// Returns the processor times of the living threads; `None` for a thread that has just ended.
pub fn thread_times(pid: i32) -> impl Iterator<Item = Option<ThreadTime>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let time = move |thread: u64| {
        let text = contents(pid, &format!("task/{thread}/schedstat"), PAGE).ok()?;
        Some(ThreadTime { thread, ran: number_after(&text, 0)?, queued: number_after(&text, 1)? })
    };
    threads.map(time)
}

/// Returns the start time of a process that began `age` ago, in the unit of [`Process::start`].
pub fn start_time_ago(age: Duration) -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let up = uptime.split_ascii_whitespace().next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.0);
    ((up - age.as_secs_f64()).max(0.0) * rustix::param::clock_ticks_per_second() as f64) as u64
}

/// Returns the id of this boot of the machine.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Returns the processes that hold an advisory lock on a file or directory (proc_locks(5)), each with whether its device
/// number is also that of the file. On some file systems that number differs.
pub fn lock_holders(locked: &File) -> Vec<(i32, bool)> {
    let (Ok(metadata), Ok(locks)) = (locked.metadata(), fs::read_to_string("/proc/locks")) else { return Vec::new() };
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let name = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let inode = format!(":{}", metadata.ino());
    let holders = locks.lines().filter_map(|line| {
        // `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`
        let mut words = line.split_whitespace().skip(1);
        let (kind, pid, locked) = (words.next()?, words.nth(2)?.parse().ok()?, words.next()?);
        (kind == "FLOCK" && locked.ends_with(&inode)).then(|| (pid, locked == name))
    });
    holders.collect()
}

/// Returns a new Unix socket that does not wait and that exec closes.
///
/// # Errors
/// If the system refuses it.
pub fn nonblocking_unix_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Returns the process and the user at the other end of a Unix socket.
///
/// # Errors
/// If it is not such a socket.
pub fn peer(stream: &impl AsFd) -> io::Result<(i32, u32)> {
    let credentials = rustix::net::sockopt::socket_peercred(stream)?;
    Ok((credentials.pid.as_raw_nonzero().get(), credentials.uid.as_raw()))
}

/// Returns a descriptor that becomes readable when the process ends.
///
/// # Errors
/// If the process is gone, or the kernel has no such descriptors.
pub fn end_descriptor(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK)?)
}

/// Sends a signal to a process if `is_same` holds for it. Returns false if nothing was sent.
pub fn send_signal(pid: i32, signal: Signal, is_same: impl FnOnce() -> bool) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        // The descriptor holds on to the process: the one checked after opening is the one signalled.
        Ok(fd) => is_same() && rustix::process::pidfd_send_signal(fd.as_fd(), signal).is_ok(),
        Err(Errno::SRCH) => false,
        Err(_) => is_same() && rustix::process::kill_process(pid, signal).is_ok(),
    }
}

/// Returns true if this process ignores a signal (proc_pid_status(5)).
pub fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask & (1 << (signal.as_raw() - 1)) != 0
}

/// Returns a path of an open directory that follows no link and is short.
///
/// # Errors
/// None on this system.
pub fn descriptor_path(directory: &impl AsFd) -> io::Result<PathBuf> {
    Ok(PathBuf::from(format!("{OWN_DESCRIPTORS}/{}", directory.as_fd().as_raw_fd())))
}

/// Returns the terminal from which a process reads, such as `pts/3`.
pub fn input_terminal(pid: i32) -> Option<String> {
    let input = fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    let name = input.to_str()?.strip_prefix("/dev/")?;
    (name.starts_with("pts/") || name.starts_with("tty")).then(|| name.to_owned())
}

/// Opens the standard input of a process for writing, without waiting.
pub fn reopen_input(pid: i32) -> Option<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/{pid}/fd/0"), flags, Mode::empty()).ok()
}

/// Opens the program's end of a terminal.
///
/// # Errors
/// If the descriptor is not the other end of a terminal.
pub fn open_terminal_peer(terminal: &impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(rustix::pty::ioctl_tiocgptpeer(terminal, flags)?)
}

/// Returns the number of bytes that a socket or a terminal has not sent yet; 0 if the kernel does not report it (TIOCOUTQ,
/// which is SIOCOUTQ: tty_ioctl(4), unix(7)).
pub fn unsent(descriptor: impl AsFd) -> u64 {
    const TIOCOUTQ: Opcode = 0x5411;
    #[expect(unsafe_code, reason = "rustix names no TIOCOUTQ")]
    // SAFETY: the request writes one C int; where the number has another meaning, the kernel refuses it for sockets and
    // terminals.
    let result = unsafe { ioctl(descriptor, Getter::<TIOCOUTQ, i32>::new()) };
    result.ok().and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

/// Reads a file about a process, one page at a time: each read costs as much as a long one. Stops after `most` bytes.
fn contents(pid: i32, what: &str, most: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/{what}"))?;
    let mut bytes = Vec::new();
    loop {
        let begin = bytes.len();
        bytes.resize(begin + PAGE, 0);
        let count = file.read(&mut bytes[begin..])?;
        bytes.truncate(begin + count);
        // A line of values arrives whole.
        if count == 0 || bytes.len() >= most || most == PAGE {
            return Ok(bytes);
        }
    }
}

/// Parses word number `index` of a line, counted from 0, as a number.
fn number_after(text: &[u8], index: usize) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(index)?.parse().ok()
}

/// Parses `pid (name) state ppid pgrp session …`; the name may hold spaces and parentheses, so the last one counts.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let open = memchr::memchr(b'(', stat)?;
    let close = memchr::memrchr(b')', stat)?;
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Process {
        pid,
        name,
        state: fields.first()?.chars().next()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        terminal: number(4)?,
        start: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_read_whole() {
        let stat = b"42 (a) b (c) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 9\n";
        let process = parse_stat(stat).unwrap();
        assert_eq!((process.name.as_str(), process.parent, process.group, process.session), ("a) b (c", 7, 8, 9));
        assert_eq!((process.state, process.start), ('S', 123_456));
        assert_eq!(parse_stat(b"garbage"), None);
    }

    #[test]
    fn what_starts_while_the_list_is_read_is_in_it() {
        let mut list = one_by_one();
        let lowest = list.next().unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let rest: Vec<i32> = list.collect();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(rest.contains(&child.id().cast_signed()) && rest.iter().all(|&pid| pid > lowest), "{rest:?}");
    }
}
