//! The environment of a daemon. A daemon gets only the variables it needs: every session that it starts can read its
//! environment (`/proc/PID/environ`) while it runs. Secrets go through a pipe, and stay in the daemon's memory.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::Environment;

/// Marks an environment that was handed over; the secrets are then on standard input.
const MARK: &str = "HOB_HANDED_OVER";
/// Variables for the daemon itself, or for processes it starts without a caller. `*` matches anything.
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
    // Disables one rule, for measurements.
    "HOB_CODE_WITHOUT",
    "HOB_PROJECT",
    "RUST_BACKTRACE",
];
/// Variables that go through the pipe: `HOB_…_DATABASE`, database addresses with their credentials.
const ADDRESS: (&str, &str) = ("HOB_", "_DATABASE");
/// The suffix of further variables for the pipe: API keys of services.
pub const KEY: &str = "_API_KEY";
/// The number of bytes that the pipe accepts without a reader.
const PIPE_MAX: u64 = 64 * 1024;
/// The length limit of such a variable, in bytes; a longer one is neither an address nor a key.
const SECRET_MAX: usize = 4096;

/// The variables that this process received through the pipe.
static HANDED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// The part of this process's environment that a daemon gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Only the daemon's own variables: each session gets the environment of its own caller.
    Needed,
    /// Also variables for sessions whose caller has no environment (HTTP).
    ForSessions,
}

/// Prepares a command that becomes a daemon: its environment, and its standard input.
///
/// # Errors
/// If no pipe can be created.
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
    let names: BTreeSet<String> = names.collect();
    let with = |is: fn(&str) -> bool| {
        names.iter().filter(move |name| is(name)).filter_map(|name| secret(name).map(|value| (name.clone(), value)))
    };
    let mut secrets: BTreeMap<String, String> = with(is_address).collect();
    if let Some((name, value)) = secrets.iter().find(|(_, value)| value.len() > SECRET_MAX) {
        let why = format!("{name} is too long for an address ({} bytes); correct it or unset it", value.len());
        return Err(io::Error::other(why));
    }
    let mut text = serde_json::to_vec(&secrets)?;
    if text.len() as u64 > PIPE_MAX {
        return Err(io::Error::other("too many variables HOB_…_DATABASE; unset those that are not needed"));
    }
    // A machine may have many keys for other programs: keys that do not fit are dropped.
    for (name, value) in with(is_key).filter(|(_, value)| value.len() <= SECRET_MAX) {
        secrets.insert(name.clone(), value);
        let longer = serde_json::to_vec(&secrets)?;
        if longer.len() as u64 > PIPE_MAX {
            secrets.remove(&name);
        } else {
            text = longer;
        }
    }
    if secrets.is_empty() {
        command.stdin(Stdio::null());
        return Ok(());
    }
    let (read, mut write) = io::pipe()?;
    write.write_all(&text)?;
    drop(write);
    command.stdin(read);
    Ok(())
}

/// Returns true if this process's environment was handed over by [`hand_over`].
pub fn is_handed_over() -> bool {
    env::var_os(MARK).is_some()
}

/// Reads the variables from the pipe. Call it once, at the daemon's start.
pub fn take() {
    let Ok(stdin) = rustix::io::dup(rustix::stdio::stdin()) else { return };
    let input = File::from(stdin);
    if !is_handed_over() || !input.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        return;
    }
    let mut text = Vec::new();
    // The rest of a truncated text is not a valid secret.
    let _ = input.take(PIPE_MAX).read_to_end(&mut text);
    let _ = HANDED.set(serde_json::from_slice(&text).unwrap_or_default());
}

/// Returns a variable that may be secret: as handed over to the daemon, otherwise from the environment. An empty one
/// counts as absent.
pub fn secret(name: &str) -> Option<String> {
    let handed = HANDED.get().and_then(|handed| handed.get(name).cloned());
    handed.or_else(|| env::var(name).ok()).filter(|value| !value.is_empty())
}

fn is_address(name: &str) -> bool {
    name.starts_with(ADDRESS.0) && name.ends_with(ADDRESS.1)
}

/// Returns true if a variable of that name reaches the daemon as a key.
pub fn is_key(name: &str) -> bool {
    name.ends_with(KEY)
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}
