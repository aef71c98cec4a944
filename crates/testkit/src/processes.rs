//! Finds processes by their environment. Names can mislead and pids are reused, but the initial environment stays. Only
//! the user's own processes can be read; tests start no others.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// The parent's id.
    pub parent: i32,
    /// The state's letter, as in `/proc/PID/stat`: `S` sleeps, `T` is stopped, `D` waits for a disk.
    pub state: char,
    /// The kernel function in which it waits, if the kernel tells.
    pub waits_in: String,
    /// The command line, arguments separated by spaces.
    pub command: String,
}

/// Returns all living processes (no zombies) whose environment contains the text, except the test program.
pub fn with_environment(text: &str) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != std::process::id() as i32)
        .filter_map(|pid| read(pid, text))
        .collect()
}

fn read(pid: i32, text: &str) -> Option<Process> {
    let dir = PathBuf::from(format!("/proc/{pid}"));
    let environment = fs::read(dir.join("environ")).ok()?;
    if !environment.windows(text.len().max(1)).any(|window| window == text.as_bytes()) {
        return None;
    }
    let (state, parent) = state(pid)?;
    let command = fs::read(dir.join("cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
    let waits_in = fs::read_to_string(dir.join("wchan")).unwrap_or_default();
    (state != 'Z' && state != 'X').then_some(Process { pid, parent, state, waits_in, command })
}

/// Returns the state letter and the parent (`/proc/PID/stat`, proc(5)). The name before them may contain anything, even
/// `)`.
fn state(pid: i32) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Returns true if a process is alive; a zombie is not. The first thread of a killed process may be a zombie while
/// others still hold its descriptors, so all threads are checked.
pub fn is_alive(pid: i32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .any(|task| state(task).is_some_and(|(state, _)| state != 'Z' && state != 'X'))
}

/// Kills a process with SIGKILL. It is not an error if the process has already exited.
pub fn kill_hard(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}
