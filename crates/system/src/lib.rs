//! Information about processes and descriptors from the operating system, in one form for Linux and macOS.
//!
//! Each system has one module with the same functions. A value that a system does not report is `None` or empty; no
//! function guesses. docs/reference/platforms.md lists the differences.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as platform;

pub use platform::{
    OWN_DESCRIPTORS, arguments, boot_id, children, descriptor_path, end_descriptor, environment, input_terminal,
    is_ignored, is_same_program, is_starting, lock_holders, nonblocking_unix_socket, one_by_one, open_terminal_peer,
    owner, peer, process, processes, processor_time, program, reopen_input, resident_memory, send_signal,
    set_process_name, start_time_ago, this_program, thread_processor_time, thread_times, total_memory, unsent,
    working_directory,
};

/// A process as the system reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// The number of its process group.
    pub group: i32,
    /// The number of its session.
    pub session: i32,
    /// Its controlling terminal; 0 for none.
    pub terminal: i32,
    /// The letter of its state: `R`, `S`, `D`, `T`, `Z`, ….
    pub state: char,
    /// The short name of its program.
    pub name: String,
    /// The start time in the unit of the system. No two processes of one boot share it together with their number.
    pub start: u64,
}

impl Process {
    /// Returns true if it has exited but was not yet reaped by its parent.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// The processor time of a thread, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTime {
    /// The number of the thread.
    pub thread: u64,
    /// The time that it ran.
    pub ran: u64,
    /// The time that it waited for a processor; 0 where the system does not report it.
    pub queued: u64,
}
