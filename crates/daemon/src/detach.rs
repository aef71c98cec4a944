//! Detaches the daemon from the process that started it: its own session, nothing inherited, init as its parent.
//!
//! There are two steps, both run by this binary. The first (`hob serve --background`, started by a front-end) becomes a
//! session leader, starts the second and exits at once. So the daemon is a child of init, not a session leader, and
//! signals to the agent's group do not reach it. The second step's stdout is the front-end's pipe until readiness is
//! reported; then it becomes /dev/null.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use project::Readiness;
use project::daemon_environment::{self, Keep};
use rustix::io::FdFlags;

/// The environment variable that marks the second step.
const SECOND_STEP: &str = "HOB_DETACHED";

/// Returns true if this process is the second step. If so, sets its process name: it was started through a link called
/// `exe`, which `ps` and `top` would show.
pub(crate) fn is_detached() -> bool {
    let detached = std::env::var_os(SECOND_STEP).is_some();
    if detached {
        // The name is only for people.
        system::set_process_name(c"hob");
    }
    detached
}

/// Performs the first step: starts the second and returns; the caller then exits. `arguments` are those of this process.
pub(crate) fn start_second(arguments: &[std::ffi::OsString], root: &Path) -> io::Result<()> {
    // EPERM means that this process already leads a group (as under a shell); then the second step is not a leader
    // either.
    let _ = rustix::process::setsid();
    close_inherited_on_exec()?;
    // A daemon started within a session of another daemon must not end with that session.
    ::process::unmark();
    let mut command = Command::new(system::this_program());
    if !daemon_environment::is_handed_over() {
        // The daemon was started by hand.
        daemon_environment::hand_over(&mut command, Keep::Needed)?;
    }
    command
        .arg0("hob")
        .args(arguments)
        .env(SECOND_STEP, "1")
        // The second step has another working directory and would find another project there.
        .env("HOB_PROJECT", root)
        .env_remove(::process::SESSION_VARIABLE)
        .current_dir("/")
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map(drop)
}

/// Executes this program again, without environment variables that a session must not see. Returns only on failure.
pub(crate) fn start_clean(arguments: &[std::ffi::OsString]) -> io::Error {
    let mut command = Command::new(system::this_program());
    match daemon_environment::hand_over(&mut command, Keep::ForSessions) {
        Ok(()) => command.arg0("hob").args(arguments).exec(),
        Err(error) => error,
    }
}

/// Reports on stdout that the daemon accepts connections, and closes stdout.
pub(crate) fn say_ready() -> io::Result<()> {
    report_readiness(&Readiness::ready())
}

/// Reports a start failure on stdout, and closes stdout.
pub(crate) fn say_failed(reason: &str) -> io::Result<()> {
    report_readiness(&Readiness::failed(reason))
}

fn report_readiness(readiness: &Readiness) -> io::Result<()> {
    let line = serde_json::to_string(readiness)?;
    // The front-end may already be gone.
    let _ = writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush());
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(null.as_fd())?;
    Ok(())
}

/// Sends panics and stray prints to the log directory once it exists.
pub(crate) fn stderr_to(path: &Path) -> io::Result<()> {
    let file = File::options().create(true).append(true).mode(0o600).open(path)?;
    rustix::stdio::dup2_stderr(file.as_fd())?;
    Ok(())
}

/// Closes inherited descriptors on exec. Agents leak descriptors to their children; a daemon would keep a pipe open indefinitely.
fn close_inherited_on_exec() -> io::Result<()> {
    for entry in std::fs::read_dir(system::OWN_DESCRIPTORS)? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if number > 2 {
            #[expect(unsafe_code, reason = "a descriptor known by its number alone is borrowed raw")]
            // SAFETY: the descriptor was open when the directory was read, and this process has one thread. The
            // descriptor of the directory itself may be closed; then the call fails with EBADF, which is ignored.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
    }
    Ok(())
}
