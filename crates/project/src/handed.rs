//! The environment of a daemon. A daemon is handed what it needs and nothing else: its environment can be read by every
//! session that it starts (`/proc/PID/environ`), for as long as it runs. Secrets go through a pipe, and stay in the
//! daemon's memory.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::pipe::{PipeFlags, pipe_with};

use crate::Environment;

/// Marks an environment that was handed over; what is secret is on standard input then.
const MARK: &str = "HOB_HANDED_OVER";
/// What a daemon itself reads, or what it starts without any caller. `*` stands for anything.
const NEEDED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HOB_LOG",
    "HOB_PROJECT",
    "RUST_BACKTRACE",
];
/// What is handed over by the pipe: `HOB_…_DATABASE`, addresses of databases with what opens them.
const SECRET: (&str, &str) = ("HOB_", "_DATABASE");
/// How many bytes the pipe takes without a reader.
const PIPE_MAX: u64 = 64 * 1024;
/// How long one of them may be, in bytes; a longer one is no address.
const SECRET_MAX: usize = 4096;

/// What this process was handed by the pipe.
static HANDED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Which part of this process's environment a daemon gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// What it needs itself: each session has the environment of its own caller.
    Needed,
    /// Also what sessions may have, for those that no caller with an environment starts (HTTP).
    ForSessions,
}

/// Prepares a command that becomes a daemon: its environment, and its standard input.
///
/// # Errors
/// When there is no pipe to be had.
pub fn hand_over(command: &mut Command, keep: Keep) -> io::Result<()> {
    let variables = || env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let needed = variables().filter(|(name, _)| NEEDED.iter().any(|pattern| fits(pattern, name)));
    command.env_clear().envs(needed);
    if keep == Keep::ForSessions {
        command.envs(Environment::of_this_process());
    }
    command.env(MARK, "1");
    let names =
        variables().map(|(name, _)| name).chain(HANDED.get().into_iter().flat_map(|handed| handed.keys().cloned()));
    let secret: BTreeMap<String, String> =
        names.filter(|name| is_secret(name)).filter_map(|name| secret(&name).map(|value| (name, value))).collect();
    if let Some((name, value)) = secret.iter().find(|(_, value)| value.len() > SECRET_MAX) {
        let why = format!("{name} has {} bytes, which no address has; correct it or unset it", value.len());
        return Err(io::Error::other(why));
    }
    if secret.is_empty() {
        command.stdin(Stdio::null());
        return Ok(());
    }
    let text = serde_json::to_vec(&secret)?;
    if text.len() as u64 > PIPE_MAX {
        return Err(io::Error::other("there are too many variables HOB_…_DATABASE; unset those that are not needed"));
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    File::from(write).write_all(&text)?;
    command.stdin(read);
    Ok(())
}

/// Whether this process's environment was handed over by [`hand_over`].
pub fn is_handed_over() -> bool {
    env::var_os(MARK).is_some()
}

/// Reads what was handed over by the pipe. Call it once, where the daemon begins.
pub fn take() {
    let Ok(stdin) = rustix::io::dup(rustix::stdio::stdin()) else { return };
    let input = File::from(stdin);
    if !is_handed_over() || !input.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        return;
    }
    let mut text = Vec::new();
    // What was cut off is no secret of ours.
    let _ = input.take(PIPE_MAX).read_to_end(&mut text);
    let _ = HANDED.set(serde_json::from_slice(&text).unwrap_or_default());
}

/// A variable that may be secret: the one handed over to a daemon, else that of the environment. An empty one counts as
/// absent.
pub fn secret(name: &str) -> Option<String> {
    let handed = HANDED.get().and_then(|handed| handed.get(name).cloned());
    handed.or_else(|| env::var(name).ok()).filter(|value| !value.is_empty())
}

fn is_secret(name: &str) -> bool {
    name.starts_with(SECRET.0) && name.ends_with(SECRET.1)
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}
