//! macOS: libproc, `sysctl` and kqueue. Type-checked only: it has never run.

use std::ffi::{CStr, OsStr, c_int};
use std::fs;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::ioctl::{Getter, Opcode, ioctl, opcode};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, Signal};

use crate::{Process, ThreadTime};

/// The directory with the open descriptors of the process that looks.
pub const OWN_DESCRIPTORS: &str = "/dev/fd";
/// The flavor of `proc_pidinfo` that lists the numbers of the threads (`sys/proc_info.h`).
const LIST_THREADS: c_int = 6;
/// The maximum number of threads examined.
const THREADS_MAX: usize = 4096;

/// Returns the path of this process's program.
pub fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("hob"))
}

/// Does nothing: a process cannot change the name that `ps` shows.
pub fn set_process_name(_: &CStr) {}

/// Returns a process; `None` when it is gone.
pub fn process(pid: i32) -> Option<Process> {
    // With 1 as its argument, the call also finds zombies.
    let info: libc::proc_bsdinfo = process_info(pid, libc::PROC_PIDTBSDINFO, 1)?;
    let name = if info.pbi_name[0] == 0 { &info.pbi_comm[..] } else { &info.pbi_name[..] };
    let name: Vec<u8> = name.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    let group = info.pbi_pgid.cast_signed();
    let session = Pid::from_raw(pid).and_then(|pid| rustix::process::getsid(Some(pid)).ok());
    Some(Process {
        pid,
        parent: info.pbi_ppid.cast_signed(),
        group,
        session: session.map_or(group, Pid::as_raw_pid),
        // No terminal is `NODEV`, which is -1.
        terminal: match info.e_tdev.cast_signed() {
            -1 => 0,
            terminal => terminal,
        },
        state: match info.pbi_status {
            libc::SZOMB => 'Z',
            libc::SSTOP => 'T',
            // The system calls every other process runnable, whether it waits or not.
            _ => 'S',
        },
        name: String::from_utf8_lossy(&name).into_owned(),
        start: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
    })
}

/// Returns the numbers of all processes.
pub fn processes() -> impl Iterator<Item = i32> {
    list(|buffer, size| {
        #[expect(unsafe_code, reason = "libproc has no safe wrapper")]
        // SAFETY: the call writes at most `size` bytes to the buffer, which has that size.
        unsafe {
            libc::proc_listallpids(buffer.cast(), size)
        }
    })
    .into_iter()
}

/// Returns all processes in ascending order.
pub fn one_by_one() -> impl Iterator<Item = i32> {
    let mut all: Vec<i32> = processes().collect();
    all.sort_unstable();
    all.into_iter()
}

/// Returns the current children of a process.
pub fn children(pid: i32) -> Vec<i32> {
    list(|buffer, size| {
        #[expect(unsafe_code, reason = "libproc has no safe wrapper")]
        // SAFETY: the call writes at most `size` bytes to the buffer, which has that size.
        unsafe {
            libc::proc_listchildpids(pid, buffer.cast(), size)
        }
    })
}

/// Calls a function that fills a buffer with process numbers and returns their count.
fn list(fill: impl Fn(*mut i32, c_int) -> c_int) -> Vec<i32> {
    let mut pids = vec![0_i32; 1024];
    loop {
        let size = c_int::try_from(mem::size_of_val(&*pids)).unwrap_or(c_int::MAX);
        let count = usize::try_from(fill(pids.as_mut_ptr(), size)).unwrap_or(0);
        // A full buffer may have cut the list.
        if count < pids.len() {
            pids.truncate(count);
            return pids;
        }
        pids.resize(pids.len() * 2, 0);
    }
}

/// Returns the arguments of a process, each followed by a zero byte.
pub fn arguments(pid: i32) -> Option<Vec<u8>> {
    Some(started_with(pid)?.0)
}

/// Returns the environment that a process was started with, each entry followed by a zero byte. The system hides that of
/// other users' processes and of system programs.
pub fn environment(pid: i32) -> Option<Vec<u8>> {
    Some(started_with(pid)?.1)
}

/// Returns the arguments and the environment (`KERN_PROCARGS2`).
fn started_with(pid: i32) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut size = 0_usize;
    let mut bytes = Vec::new();
    // The first call tells the size.
    for _ in 0..2 {
        bytes.resize(size, 0_u8);
        let buffer = if size == 0 { std::ptr::null_mut() } else { bytes.as_mut_ptr().cast() };
        #[expect(unsafe_code, reason = "sysctl has no safe wrapper")]
        // SAFETY: the name has three numbers, and the call writes at most `size` bytes to the buffer.
        let failed = unsafe { libc::sysctl(name.as_mut_ptr(), 3, buffer, &raw mut size, std::ptr::null_mut(), 0) };
        if failed != 0 {
            return None;
        }
    }
    bytes.truncate(size);
    parse_started_with(&bytes)
}

/// Parses the count of arguments, the program's path, zeros, the arguments, and the environment up to an empty entry.
fn parse_started_with(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (count, rest) = bytes.split_first_chunk()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path = memchr::memchr(0, rest)?;
    let begin = path + rest[path..].iter().position(|byte| *byte != 0).unwrap_or(rest.len() - path);
    let rest = &rest[begin..];
    let end = memchr::memchr_iter(0, rest).nth(count.checked_sub(1)?).map_or(rest.len(), |zero| zero + 1);
    let (arguments, entries) = rest.split_at(end);
    let entries = entries.split_inclusive(|byte| *byte == 0).take_while(|entry| **entry != [0]);
    Some((arguments.to_vec(), entries.flatten().copied().collect()))
}

/// Returns true if a process is just executing another program. The system does not report it.
pub fn is_starting(_: i32) -> bool {
    false
}

/// Returns the working directory of a process; `None` for a zombie, and for a process of another user.
pub fn working_directory(pid: i32) -> Option<PathBuf> {
    let info: libc::proc_vnodepathinfo = process_info(pid, libc::PROC_PIDVNODEPATHINFO, 0)?;
    let path: Vec<u8> = info.pvi_cdir.vip_path.as_flattened().iter().map(|byte| byte.cast_unsigned()).collect();
    let path = CStr::from_bytes_until_nul(&path).ok()?.to_bytes();
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// Returns the file of the program that a process runs.
pub fn program(pid: i32) -> Option<PathBuf> {
    let mut path = vec![0_u8; 4096];
    #[expect(unsafe_code, reason = "libproc has no safe wrapper")]
    // SAFETY: the call writes at most 4096 bytes to the buffer, which has that size.
    let length = unsafe { libc::proc_pidpath(pid, path.as_mut_ptr().cast(), 4096) };
    path.truncate(usize::try_from(length).ok().filter(|length| *length > 0)?);
    Some(PathBuf::from(OsStr::from_bytes(&path)))
}

/// Returns true if a process runs the same file as this one; `None` if that is unknown.
pub fn is_same_program(pid: i32) -> Option<bool> {
    let file = |path: PathBuf| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    Some(file(program(pid)?)? == file(this_program())?)
}

/// Returns the user of a process.
pub fn owner(pid: i32) -> Option<u32> {
    process_info::<libc::proc_bsdinfo>(pid, libc::PROC_PIDTBSDINFO, 1).map(|info| info.pbi_uid)
}

/// Returns the resident memory of a process in bytes.
pub fn resident_memory(pid: i32) -> Option<u64> {
    process_info::<libc::proc_taskinfo>(pid, libc::PROC_PIDTASKINFO, 0).map(|info| info.pti_resident_size)
}

/// Returns the time in user and kernel mode of a process, and that of its reaped children.
pub fn processor_time(pid: i32) -> Option<Duration> {
    #[expect(unsafe_code, reason = "the libc crate deprecates its declaration")]
    unsafe extern "C" {
        /// Writes the numerator and the denominator by which this clock's unit becomes nanoseconds.
        fn mach_timebase_info(ratio: *mut [u32; 2]) -> c_int;
    }
    let mut usage = MaybeUninit::<libc::rusage_info_v2>::zeroed();
    let mut ratio = [1, 1];
    #[expect(unsafe_code, reason = "neither call has a safe wrapper")]
    // SAFETY: the flavor names the type of the first structure, for which all-zero bytes are valid, and both are our own.
    let usage = unsafe {
        if libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V2, usage.as_mut_ptr().cast()) != 0 {
            return None;
        }
        mach_timebase_info(&raw mut ratio);
        usage.assume_init()
    };
    // The unit is that of `mach_absolute_time`: not a nanosecond on arm64.
    let time = usage.ri_user_time + usage.ri_system_time + usage.ri_child_user_time + usage.ri_child_system_time;
    let nanos = u128::from(time) * u128::from(ratio[0]) / u128::from(ratio[1].max(1));
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// Returns the processor time of the calling thread.
pub fn thread_processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[expect(unsafe_code, reason = "rustix has this call only with one more feature")]
    // SAFETY: the call writes to a structure of our own.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (failed == 0).then(|| Duration::new(seconds, nanos))
}

/// Returns the memory of the machine in bytes (`hw.memsize`).
pub fn total_memory() -> Option<u64> {
    let mut bytes = [0; 8];
    (system_value(c"hw.memsize", &mut bytes)? == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

/// Returns the processor times of the living threads; `None` for a thread that has just ended. The system does not
/// report how long a thread waited.
pub fn thread_times(pid: i32) -> impl Iterator<Item = Option<ThreadTime>> {
    let mut threads = vec![0_u64; THREADS_MAX];
    let size = c_int::try_from(mem::size_of_val(&*threads)).unwrap_or(c_int::MAX);
    #[expect(unsafe_code, reason = "libproc has no safe wrapper")]
    // SAFETY: the call writes at most `size` bytes to the buffer, which has that size.
    let written = unsafe { libc::proc_pidinfo(pid, LIST_THREADS, 0, threads.as_mut_ptr().cast(), size) };
    threads.truncate(usize::try_from(written).unwrap_or(0) / mem::size_of::<u64>());
    let time = move |thread: u64| {
        let info: libc::proc_threadinfo = process_info(pid, libc::PROC_PIDTHREADINFO, thread)?;
        Some(ThreadTime { thread, ran: info.pth_user_time + info.pth_system_time, queued: 0 })
    };
    threads.into_iter().map(time)
}

/// Returns the start time of a process that began `age` ago, in the unit of [`Process::start`]: microseconds since 1970.
pub fn start_time_ago(age: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(age).as_micros()).unwrap_or(u64::MAX)
}

/// Returns the id of this boot of the machine (`kern.bootsessionuuid`).
pub fn boot_id() -> String {
    let mut id = [0; 64];
    let size = system_value(c"kern.bootsessionuuid", &mut id);
    let id = size.and_then(|_| CStr::from_bytes_until_nul(&id).ok());
    id.map(|id| id.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Writes a value that the system keeps under a name into a buffer. Returns its size.
fn system_value(name: &CStr, buffer: &mut [u8]) -> Option<usize> {
    let mut size = buffer.len();
    #[expect(unsafe_code, reason = "sysctl has no safe wrapper")]
    // SAFETY: the name ends with a zero byte, and the call writes at most `size` bytes to the buffer.
    let failed = unsafe {
        libc::sysctlbyname(name.as_ptr(), buffer.as_mut_ptr().cast(), &raw mut size, std::ptr::null_mut(), 0)
    };
    (failed == 0).then_some(size)
}

/// Returns nothing: the system does not report who holds an advisory lock.
pub fn lock_holders(_: &fs::File) -> Vec<(i32, bool)> {
    Vec::new()
}

/// Returns a new Unix socket that does not wait and that exec closes.
///
/// # Errors
/// If the system refuses it.
pub fn nonblocking_unix_socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Returns the process and the user at the other end of a Unix socket.
///
/// # Errors
/// If it is not such a socket.
pub fn peer(stream: &impl AsFd) -> io::Result<(i32, u32)> {
    let socket = stream.as_fd().as_raw_fd();
    let (mut pid, mut user, mut group): (i32, u32, u32) = (0, 0, 0);
    let mut size = libc::socklen_t::try_from(mem::size_of::<i32>()).unwrap_or_default();
    #[expect(unsafe_code, reason = "neither call has a safe wrapper")]
    // SAFETY: the descriptor is open, and the calls write to values of our own of the given sizes.
    let failed = unsafe {
        libc::getpeereid(socket, &raw mut user, &raw mut group) != 0
            || libc::getsockopt(socket, 0, libc::LOCAL_PEERPID, (&raw mut pid).cast(), &raw mut size) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok((pid, user)) }
}

/// Returns a descriptor that becomes readable when the process ends: a kqueue with one filter.
///
/// # Errors
/// If the process is gone.
pub fn end_descriptor(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    let queue = kqueue()?;
    let filter = EventFilter::Proc { pid, flags: ProcessEvents::EXIT };
    let change = [Event::new(filter, EventFlags::ADD, std::ptr::null_mut())];
    let mut none: [Event; 0] = [];
    #[expect(unsafe_code, reason = "kevent is unsafe for filters of raw descriptors")]
    // SAFETY: the filter names a process, not a descriptor.
    unsafe {
        kevent(&queue, &change, &mut none[..], Some(Duration::ZERO))?;
    }
    Ok(queue)
}

/// Sends a signal to a process if `is_same` holds for it. Returns false if nothing was sent. The system has no process
/// descriptors: a number that is reused between the check and the signal hits another process.
pub fn send_signal(pid: i32, signal: Signal, is_same: impl FnOnce() -> bool) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    is_same() && rustix::process::kill_process(pid, signal).is_ok()
}

/// Returns true if this process ignores a signal.
pub fn is_ignored(signal: Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    #[expect(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: without a new action the call only writes the present one, to a structure of our own for which all-zero bytes
    // are valid.
    let action = unsafe {
        if libc::sigaction(signal.as_raw(), std::ptr::null(), action.as_mut_ptr()) != 0 {
            return false;
        }
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Returns the path of an open directory, without links (`F_GETPATH`). Unlike on Linux, it is as long as the path is, and
/// a directory that was moved meanwhile is elsewhere.
///
/// # Errors
/// If the directory was removed.
pub fn descriptor_path(directory: &impl AsFd) -> io::Result<PathBuf> {
    Ok(PathBuf::from(OsStr::from_bytes(rustix::fs::getpath(directory)?.as_bytes())))
}

/// Returns the controlling terminal of a process, such as `ttys003`. The system reports it rather than the standard input.
pub fn input_terminal(pid: i32) -> Option<String> {
    let number = process(pid)?.terminal;
    let terminals =
        fs::read_dir("/dev").ok()?.flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)));
    let mut terminals = terminals.filter(|(name, _)| name.starts_with("tty"));
    let has_number =
        |entry: &fs::DirEntry| entry.metadata().is_ok_and(|file| file.rdev() == u64::from(number.cast_unsigned()));
    terminals.find_map(|(name, entry)| (number != 0 && has_number(&entry)).then_some(name))
}

/// Returns `None`: a process's standard input cannot be opened from outside.
pub fn reopen_input(_: i32) -> Option<OwnedFd> {
    None
}

/// Opens the program's end of a terminal.
///
/// # Errors
/// If the descriptor is not the other end of a terminal.
pub fn open_terminal_peer(terminal: &impl AsFd) -> io::Result<OwnedFd> {
    let path = rustix::pty::ptsname(terminal, Vec::new())?;
    Ok(rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Returns the number of bytes that a terminal has not sent yet (`TIOCOUTQ`); 0 for a socket, for which the system does
/// not report what its peer has not read.
pub fn unsent(descriptor: impl AsFd) -> u64 {
    const TIOCOUTQ: Opcode = opcode::read::<c_int>(b't', 115);
    #[expect(unsafe_code, reason = "rustix names no TIOCOUTQ")]
    // SAFETY: the request writes one C int, and a descriptor of another kind refuses it.
    let result = unsafe { ioctl(descriptor, Getter::<TIOCOUTQ, c_int>::new()) };
    result.ok().and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

/// Asks libproc for one structure about a process.
fn process_info<T: Info>(pid: i32, flavor: c_int, argument: u64) -> Option<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let size = c_int::try_from(mem::size_of::<T>()).ok()?;
    #[expect(unsafe_code, reason = "libproc has no safe wrapper")]
    // SAFETY: the call writes at most `size` bytes to the structure. All-zero bytes are valid for each type of `Info`.
    unsafe {
        let written = libc::proc_pidinfo(pid, flavor, argument, info.as_mut_ptr().cast(), size);
        (written == size).then(|| info.assume_init())
    }
}

/// The structures of libproc, which hold only integers.
trait Info {}
impl Info for libc::proc_bsdinfo {}
impl Info for libc::proc_taskinfo {}
impl Info for libc::proc_threadinfo {}
impl Info for libc::proc_vnodepathinfo {}
