//! Shared fixtures. This test binary also plays the processes that need our code: run with `--exact fixture::play
//! ROLE…`, it becomes a guardian, or a parent that starts a session.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use process::{Exit, Guard, Spec};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// The limit of every wait in the tests; none is expected to come near it.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

const PLAY: [&str; 3] = ["--exact", "fixture::play", "--nocapture"];

/// Is the entry point for this binary's other roles; tests nothing when run with the others.
#[test]
fn play() {
    let args: Vec<OsString> = std::env::args_os().collect();
    let Some(role) = args.iter().position(|arg| arg.to_string_lossy().starts_with("role-")) else { return };
    let rest = args[role + 1..].to_vec();
    let code = match args[role].to_str() {
        Some("role-guardian") => process::guardian::run(rest),
        Some("role-parent") => super::ending::parent(rest),
        Some("role-restless") => super::ending::start_sessions_forever(rest),
        Some("role-flood") => super::output_log::flood(rest),
        Some("role-full-disk") => super::output_log::full_disk(rest),
        other => panic!("no such role: {other:?}"),
    };
    std::process::exit(if code == ExitCode::SUCCESS { 0 } else { 1 });
}

pub(crate) fn role(name: &str) -> (PathBuf, Vec<OsString>) {
    let args = PLAY.into_iter().chain([name]).map(OsString::from).collect();
    (std::env::current_exe().unwrap(), args)
}

pub(crate) fn guard() -> Guard {
    let (program, args) = role("role-guardian");
    Guard::Program(program, args)
}

/// Returns a spec with a guardian, in the root directory, with only `PATH`.
pub(crate) fn spec(program: &str, args: &[&str]) -> Spec {
    let mut spec = Spec::new(program, "/").args(args).env([("PATH", std::env::var("PATH").unwrap())]);
    spec.guard = guard();
    spec
}

pub(crate) fn shell(script: &str) -> Spec {
    spec("sh", &["-c", script])
}

pub(crate) async fn exited(exit: &mut watch::Receiver<Option<Exit>>) -> Exit {
    let seen = tokio::time::timeout(LIMIT, exit.wait_for(Option::is_some)).await;
    seen.expect("it ends in time").unwrap().unwrap()
}

pub(crate) async fn line(pipe: &mut pipe::Receiver) -> String {
    let read = async {
        let mut line = Vec::new();
        loop {
            match pipe.read_u8().await {
                Ok(b'\n') | Err(_) => return String::from_utf8(line).unwrap(),
                Ok(byte) => line.push(byte),
            }
        }
    };
    tokio::time::timeout(LIMIT, read).await.expect("a line in time")
}

pub(crate) async fn to_end(mut pipe: pipe::Receiver) -> String {
    let mut bytes = Vec::new();
    tokio::time::timeout(LIMIT, pipe.read_to_end(&mut bytes)).await.expect("an end in time").unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Returns true if a process runs: a zombie does not.
pub(crate) fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

/// Waits for an external condition without an event.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(5)); // polls: the process table
    }
    began.elapsed()
}

/// Returns true if `program` is installed; names the skipped test if not.
pub(crate) fn have(program: &str, test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).exists());
    if !found {
        println!("skipped: {test} needs {program}");
    }
    found
}
