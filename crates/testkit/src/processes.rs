//! Processes found by what they carry in their environment: names lie and pids are reused, an environment does not
//! change. Only processes of our own user can be read, which is all that tests start.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal};

/// A process that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// Its parent's id.
    pub parent: i32,
    /// Its command line, arguments separated by spaces.
    pub command: String,
}

/// All living processes (no zombies) whose environment contains the text, the test program itself apart.
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
    (state != 'Z' && state != 'X').then_some(Process { pid, parent, command })
}

/// The state letter and the parent (`/proc/PID/stat`, proc(5)); the name before them may hold anything, even `)`.
fn state(pid: i32) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether a process lives; a zombie does not. The first thread of a killed process may be one while others still hold
/// its descriptors, so all of them are asked.
pub fn is_alive(pid: i32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .any(|task| state(task).is_some_and(|(state, _)| state != 'Z' && state != 'X'))
}

/// Ends a process with the signal it cannot handle. One that is gone already is fine.
pub fn kill_hard(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}
