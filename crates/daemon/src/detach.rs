//! Detaching the daemon from the process that started it: a session of its own, nothing inherited, init as its parent.
//!
//! Two steps, both of this same binary. The first (`hob serve --background`, started by a front-end) becomes a session
//! leader, starts the second and ends at once, so that the daemon is a child of init only, not a session leader, and
//! out of reach of signals to the agent's group. The stdout of the second is the front-end's pipe until it has said
//! whether it is ready; then it goes to null.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use project::Readiness;
use project::handed::{self, Keep};
use rustix::io::FdFlags;

/// Marks the second step.
const SECOND_STEP: &str = "HOB_DETACHED";

/// Whether this process is the second step. Then it goes by its own name from here on: it was started through a link
/// called `exe`, which is what `ps` and `top` would show.
pub(crate) fn is_detached() -> bool {
    let detached = std::env::var_os(SECOND_STEP).is_some();
    if detached {
        // For people only.
        let _ = rustix::thread::set_name(c"hob");
    }
    detached
}

/// The first step: starts the second and returns; the caller exits. `arguments` are those of this process.
pub(crate) fn start_second(arguments: &[std::ffi::OsString], root: &Path) -> io::Result<()> {
    // EPERM means that this process already leads a group (someone's shell); the second is then no leader either.
    let _ = rustix::process::setsid();
    close_inherited_on_exec()?;
    // Started from within a session of another daemon's, it must not end with that.
    ::process::unmark();
    let mut command = Command::new("/proc/self/exe");
    if !handed::is_handed_over() {
        // Started by hand.
        handed::hand_over(&mut command, Keep::Needed)?;
    }
    command
        .arg0("hob")
        .args(arguments)
        .env(SECOND_STEP, "1")
        // The second stands elsewhere and would look for another project there.
        .env("HOB_PROJECT", root)
        .env_remove(::process::SESSION_VARIABLE)
        .current_dir("/")
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map(drop)
}

/// Goes on as the same process with nothing in its environment that a session must not see. Returns only if it cannot.
pub(crate) fn start_clean(arguments: &[std::ffi::OsString]) -> io::Error {
    let mut command = Command::new("/proc/self/exe");
    match handed::hand_over(&mut command, Keep::ForSessions) {
        Ok(()) => command.arg0("hob").args(arguments).exec(),
        Err(error) => error,
    }
}

/// Says on stdout that the daemon accepts connections, and lets go of stdout.
pub(crate) fn say_ready() -> io::Result<()> {
    say(&Readiness::ready())
}

/// Says on stdout why there is no daemon, and lets go of stdout.
pub(crate) fn say_failed(reason: &str) -> io::Result<()> {
    say(&Readiness::failed(reason))
}

fn say(readiness: &Readiness) -> io::Result<()> {
    let line = serde_json::to_string(readiness)?;
    // A front-end that is already gone does not matter to the daemon.
    let _ = writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush());
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(null.as_fd())?;
    Ok(())
}

/// Sends panics and stray prints to the log directory once there is one.
pub(crate) fn stderr_to(path: &Path) -> io::Result<()> {
    let file = File::options().create(true).append(true).mode(0o600).open(path)?;
    rustix::stdio::dup2_stderr(file.as_fd())?;
    Ok(())
}

/// Agents leak descriptors to their children; a daemon that kept one would hold a pipe open for ever.
fn close_inherited_on_exec() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if number > 2 {
            #[expect(unsafe_code, reason = "a descriptor known by its number alone is borrowed raw")]
            // SAFETY: the descriptor was open when the directory was read and this process has one thread; the one
            // that reads the directory itself may be gone, and then the call fails with EBADF, which is ignored.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
    }
    Ok(())
}
