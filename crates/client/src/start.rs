//! Starts a daemon and waits until it serves or reports a failure.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use project::daemon_environment::{self, Keep};
use project::{Project, Readiness};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// The limit of the kept output of a failing daemon, in bytes.
const PRINTED_MAX: usize = 16 * 1024;

/// The program of the daemon. By default this program, even if its file was replaced meanwhile.
#[derive(Debug, Clone)]
pub struct Launch {
    pub program: PathBuf,
    /// The arguments before `--project ROOT`.
    pub arguments: Vec<String>,
}

impl Default for Launch {
    fn default() -> Launch {
        // An upgrade replaces this process's file; the link still leads to the running version.
        Launch { program: system::this_program(), arguments: vec!["serve".to_owned(), "--background".to_owned()] }
    }
}

/// The right to start a daemon, see [`turn`].
pub(crate) struct Turn {
    /// Locked until it is closed.
    _file: Option<File>,
}

/// The outcome of an attempt to start a daemon.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StartOutcome {
    /// The daemon serves.
    Ready,
    /// The daemon could not start, for this reason.
    Failed(String),
}

/// Starts a daemon. The caller holds the [`turn`].
pub(crate) fn start(project: &Project, launch: &Launch, within: Duration) -> StartOutcome {
    match spawn(project, launch) {
        Ok((child, output)) => {
            let started = wait_until_ready(project, output, within);
            reap(child);
            started
        }
        Err(error) => StartOutcome::Failed(format!(
            "cannot start the daemon with {}: {error}; start it manually with `hob serve`",
            project::visible::path(&launch.program)
        )),
    }
}

/// Takes the turn to start a daemon, until it is dropped; `None` while another process has it. Of many front-ends that
/// start at once, one starts the daemon. This lock only saves work: the daemon's own lock ensures that there is one
/// daemon, so failing to take this one (a full disk) is harmless.
pub(crate) fn turn(project: &Project) -> Option<Turn> {
    let open = || {
        let directory = project.create_state_dir().ok()?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(directory.join("start.lock")).ok()
    };
    let Some(file) = open() else { return Some(Turn { _file: None }) };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => None,
        _ => Some(Turn { _file: Some(file) }),
    }
}

/// Spawns the daemon. One pipe takes both outputs: the readiness line, or the output of a failing program.
fn spawn(project: &Project, launch: &Launch) -> io::Result<(Child, File)> {
    let (output, theirs) = io::pipe()?;
    let mut command = Command::new(&launch.program);
    daemon_environment::hand_over(&mut command, Keep::Needed)?;
    let child = command
        .arg0("hob")
        .args(&launch.arguments)
        .arg("--project")
        .arg(project.root())
        .current_dir(project.root())
        .stdout(theirs.try_clone()?)
        .stderr(theirs)
        .spawn()?;
    Ok((child, File::from(std::os::fd::OwnedFd::from(output))))
}

fn wait_until_ready(project: &Project, mut output: File, within: Duration) -> StartOutcome {
    let deadline = Instant::now() + within;
    let mut printed = Vec::new();
    loop {
        match readable_before(&output, deadline) {
            Ok(true) => {}
            Ok(false) => {
                let seconds = within.as_secs_f64();
                return StartOutcome::Failed(format!(
                    "the daemon was not ready after {seconds:.1} s{}; read its log in {}, or run `hob serve` to see \
                     its output",
                    quoted(&printed),
                    project::visible::path(&project.log_dir()),
                ));
            }
            Err(error) => {
                return StartOutcome::Failed(format!(
                    "cannot wait for the daemon: {error}; run `hob serve` to see its output"
                ));
            }
        }
        let mut chunk = [0; 4096];
        match output.read(&mut chunk) {
            Ok(0) => {
                let said = quoted(&printed);
                return StartOutcome::Failed(format!(
                    "the daemon exited at startup{said}; run `hob serve` to see its output"
                ));
            }
            Ok(count) => printed.extend_from_slice(&chunk[..count.min(PRINTED_MAX.saturating_sub(printed.len()))]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return StartOutcome::Failed(format!(
                    "cannot read from the daemon: {error}; run `hob serve` to see its output"
                ));
            }
        }
        if let Some(readiness) = readiness(&printed) {
            return match readiness.error {
                None => StartOutcome::Ready,
                Some(error) => StartOutcome::Failed(error),
            };
        }
    }
}

/// Finds the readiness line in the output.
fn readiness(printed: &[u8]) -> Option<Readiness> {
    let whole = &printed[..=memchr::memrchr(b'\n', printed)?];
    let readiness = |line| serde_json::from_slice::<Readiness>(line).ok();
    whole.split(|byte| *byte == b'\n').filter_map(readiness).find(|line| line.ready || line.error.is_some())
}

fn quoted(printed: &[u8]) -> String {
    match String::from_utf8_lossy(printed).trim() {
        "" => String::new(),
        text => format!(" with the output: {text}"),
    }
}

/// Returns true if there is something to read, or the end of the stream, before the deadline.
pub(crate) fn readable_before(file: &impl AsFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left)) {
            Ok(count) => return Ok(count > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Reaps the started process. It detaches the daemon and exits; a daemon that stays our child is reaped too.
fn reap(mut child: Child) {
    if let Ok(Some(_)) = child.try_wait() {
        return;
    }
    let reaper = thread::Builder::new().name("reaper".to_owned()).stack_size(64 * 1024);
    // Without the thread (out of resources) a zombie remains until this process ends.
    let _ = reaper.spawn(move || child.wait());
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::path::Path;

    const LONG: Duration = Duration::from_secs(60);

    fn check(script: &str, expected: Expect) {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let launch = Launch { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into(), "sh".into()] };
        expected.assert_eq(&format!("{:?}", start(&project, &launch, LONG)));
    }

    #[test]
    fn what_a_daemon_says_at_its_start() {
        check(r#"echo '{"ready":true}'"#, expect!["Ready"]);
        check(r#"echo noise; echo '{"ready":true}'"#, expect!["Ready"]);
        check(r#"echo '{"error":"no room; make some"}'"#, expect![[r#"Failed("no room; make some")"#]]);
        check(
            "echo broken >&2; exit 1",
            expect![[
                r#"Failed("the daemon exited at startup with the output: broken; run `hob serve` to see its output")"#
            ]],
        );
    }

    #[test]
    fn one_starter_at_a_time() {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let held = turn(&project).unwrap();
        assert!(turn(&project).is_none());
        drop(held);
        assert!(turn(&project).is_some());
    }

    #[test]
    fn a_program_that_is_not_there() {
        let temp = tempfile::tempdir().unwrap();
        let project = Project::find(Some(temp.path()), Path::new("/")).unwrap();
        let launch = Launch { program: "/nonexistent/hob".into(), arguments: Vec::new() };
        let StartOutcome::Failed(reason) = start(&project, &launch, LONG) else { panic!("started") };
        assert!(reason.starts_with("cannot start the daemon with /nonexistent/hob: No such file"), "{reason}");
    }
}
