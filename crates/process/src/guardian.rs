//! The guardian: one tiny process per session, which ends the session if this process exits for any reason.
//!
//! There are two sides: [`Guardian`] is ours, and [`run`] is the body of the guardian process. Between them is a pipe,
//! the guardian's standard input, which carries two kinds of lines: `watch PID START` and `farewell`. On an end of file
//! without a farewell, the guardian ends the session. It starts before the session's first process, and identifies the
//! session by its nonce until it learns more.

use parking_lot::Mutex;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::exec::{close_on_exec_from, default_signals};
use crate::nonce::Nonce;
use crate::procfs::{Identity, Member, ProcessSet};
use crate::subreaper;

/// The time from TERM to KILL, after our death.
const GRACE: Duration = Duration::from_millis(400);
/// The time after which the guardian gives up on processes that hang in the kernel.
const LIMIT: Duration = Duration::from_secs(30);
/// The number of replacements for guardians that died.
const REPLACEMENTS: u32 = 3;

/// Our side. Dropping it without [`Guardian::farewell`] ends the session.
#[derive(Debug)]
pub(crate) struct Guardian(Arc<Supervisor>);

/// Starts guardian processes, one after the other, and sends each its information.
#[derive(Debug)]
struct Supervisor {
    program: PathBuf,
    args: Vec<OsString>,
    nonce: Nonce,
    line: Mutex<Line>,
}

/// The pipe to the guardian, and the text written to it.
#[derive(Debug, Default)]
struct Line {
    pipe: Option<std::fs::File>,
    watch: Option<(i32, u64)>,
    farewell: bool,
}

impl Guardian {
    /// Starts the guardian: `program args… NONCE`.
    pub(crate) fn start(program: &Path, args: &[OsString], nonce: &Nonce) -> io::Result<Guardian> {
        let supervisor = Arc::new(Supervisor {
            program: program.to_owned(),
            args: args.to_vec(),
            nonce: nonce.clone(),
            line: Mutex::default(),
        });
        let (child, pid) = supervisor.spawn()?;
        tokio::spawn(replace(child, pid, Arc::downgrade(&supervisor)));
        Ok(Guardian(supervisor))
    }

    /// Tells the guardian the session's first process.
    pub(crate) fn watch(&self, pid: i32, start: u64) {
        let mut line = self.0.line();
        line.watch = Some((pid, start));
        line.say_watch();
    }

    /// Dismisses the guardian: nothing is left to guard.
    pub(crate) fn farewell(self) {
        let mut line = self.0.line();
        line.farewell = true;
        line.say_farewell();
    }
}

impl Supervisor {
    /// Starts a guardian process and connects the line to it.
    fn spawn(&self) -> io::Result<(tokio::process::Child, i32)> {
        let Ready { read, write, told } = self.ready()?;
        let mut command = tokio::process::Command::new(&self.program);
        // No environment, and above all no nonce of the session: the guardian would find and end itself by it.
        command.arg0("hob").args(&self.args).arg(self.nonce.as_str()).env_clear().current_dir("/");
        command.stdin(Stdio::from(read)).stdout(Stdio::null()).stderr(Stdio::null());
        in_own_session(&mut command);
        let (child, pid) = subreaper::spawn_owned(|| {
            let child = command.spawn()?;
            let pid = child.id().expect("a child that was not awaited has a number").cast_signed();
            Ok((child, pid))
        })?;
        let mut line = self.line();
        line.pipe = Some(write);
        if line.watch != told {
            line.say_watch();
        }
        if line.farewell {
            line.say_farewell();
        }
        Ok((child, pid))
    }

    /// Returns a pipe that already contains all known lines. A guardian started on it knows the session from its first
    /// moment, even if this process dies in the next.
    fn ready(&self) -> io::Result<Ready> {
        let (read, write) = io::pipe()?;
        let told = self.line().watch;
        let mut line = Line { pipe: Some(std::os::fd::OwnedFd::from(write).into()), watch: told, farewell: false };
        line.say_watch();
        Ok(Ready { read: read.into(), write: line.pipe.expect("just put there"), told })
    }

    fn line(&self) -> parking_lot::MutexGuard<'_, Line> {
        self.line.lock()
    }
}

/// A pipe that already contains all known lines, for a guardian that is not yet started.
struct Ready {
    read: std::os::fd::OwnedFd,
    write: std::fs::File,
    told: Option<(i32, u64)>,
}

impl Line {
    fn say_farewell(&mut self) {
        self.write_pipe("farewell\n");
        self.pipe = None;
    }

    fn say_watch(&mut self) {
        if let Some((pid, start)) = self.watch {
            self.write_pipe(&format!("watch {pid} {start}\n"));
        }
    }

    /// Writes to the pipe. A few bytes never block on an empty pipe; a dead guardian gets replaced.
    fn write_pipe(&mut self, text: &str) {
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(text.as_bytes());
        }
    }
}

/// Awaits the guardian's end, and starts another one unless the session is over.
async fn replace(mut child: tokio::process::Child, mut pid: i32, supervisor: Weak<Supervisor>) {
    for left in (0..=REPLACEMENTS).rev() {
        let ended = child.wait().await;
        subreaper::unregister(pid);
        let Some(supervisor) = supervisor.upgrade() else { return };
        if supervisor.line().farewell {
            return;
        }
        let nonce = &supervisor.nonce;
        if left == 0 {
            tracing::error!(%nonce, ?ended, "the session's guardian died again and is not replaced");
            return;
        }
        tracing::warn!(%nonce, ?ended, "the session's guardian died and is replaced");
        match supervisor.spawn() {
            Ok(next) => (child, pid) = next,
            Err(error) => {
                tracing::error!(%nonce, %error, "the session's guardian could not be replaced");
                return;
            }
        }
    }
}

#[expect(unsafe_code, reason = "pre_exec is unsafe: between fork and exec only async-signal-safe calls are sound")]
fn in_own_session(command: &mut tokio::process::Command) {
    // SAFETY: only system calls, no lock, no allocation.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            default_signals();
            close_on_exec_from(3);
            Ok(())
        })
    };
}

/// Runs the guardian process. Call it with the arguments after the hidden command's name, before anything else is set
/// up (no runtime, no logging). Returns when the session is over.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let nonce = args.next().and_then(|text| text.to_str()?.parse::<Nonce>().ok());
    let (Some(nonce), None) = (nonce, args.next()) else {
        // A person who started it by hand should see an explanation.
        let _ = writeln!(io::stderr(), "guardian: started by hob itself, with the nonce of a session");
        return ExitCode::from(64);
    };
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    system::set_process_name(c"hob-guardian");
    ignore_signals();
    // The session's first process starts after its guardian.
    let since = Member::read(std::process::id().cast_signed()).map_or(0, |me| me.start);
    match listen(Identity { nonce, leader: None, since }) {
        Some(orphaned) => {
            let (_, left) = orphaned.end(ProcessSet::new(), GRACE, LIMIT);
            if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        None => ExitCode::SUCCESS,
    }
}

/// Reads until the pipe ends. Returns the session if there was no farewell.
fn listen(mut session: Identity) -> Option<Identity> {
    let mut kept = [0u8; 128];
    let mut filled = 0;
    loop {
        match io::stdin().read(&mut kept[filled..]) {
            Ok(0) => return Some(session),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Some(session),
        }
        while let Some(end) = memchr::memchr(b'\n', &kept[..filled]) {
            let line = std::str::from_utf8(&kept[..end]).unwrap_or_default();
            if line == "farewell" {
                return None;
            }
            if let Some((pid, start)) = line.strip_prefix("watch ").and_then(|rest| rest.split_once(' '))
                && let (Ok(pid), Ok(start)) = (pid.parse(), start.parse())
            {
                session.leader = Some((pid, start));
                // A replacement guardian is younger than the session.
                session.since = session.since.min(start);
            }
            kept.copy_within(end + 1..filled, 0);
            filled -= end + 1;
        }
        if filled == kept.len() {
            // No valid line is that long.
            filled = 0;
        }
    }
}

/// Ignores all other signals: only the end of its pipe, or KILL, may end a guardian.
#[expect(unsafe_code, reason = "rustix sets no signal dispositions")]
fn ignore_signals() {
    // SAFETY: plain system calls; a guardian has one thread and executes no other program.
    unsafe {
        for number in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2] {
            libc::signal(number, libc::SIG_IGN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_finds_what_to_watch_in_its_pipe_when_it_starts() {
        let supervisor = Supervisor {
            program: PathBuf::from("/proc/self/exe"),
            args: Vec::new(),
            nonce: Nonce::random(),
            line: Mutex::new(Line { watch: Some((42, 4711)), ..Line::default() }),
        };
        let Ready { read, write, .. } = supervisor.ready().expect("a pipe");
        drop(write);
        let mut said = String::new();
        std::fs::File::from(read).read_to_string(&mut said).expect("it ends");
        assert_eq!(said, "watch 42 4711\n");
    }
}
