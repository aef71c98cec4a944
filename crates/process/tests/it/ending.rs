//! Ending a session: the ladder, escaped processes, daemons, and a killed parent.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use process::{Ladder, Rung, Signal, records, subreaper};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{alive, exited, have, line, role, shell, spec, until};

/// A shell that starts a child in its group, one that left for its own session with an empty environment, and one that
/// left and also lost its parent. It prints their numbers and then runs the test's commands.
const FAMILY: &str = "
    sleep 1000 & echo $!
    env -i setsid sleep 1001 & echo $!
    (setsid sh -c 'trap \"\" TERM; sleep 1002 & echo $!; wait; sleep 1003' &)
";

/// Returns the parent process: starts a session with the given script and record directory, prints the numbers, and
/// waits to be killed.
pub(crate) fn parent(args: Vec<OsString>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut wanted = shell(args[0].to_str().unwrap());
        wanted.records = Some(args[1].clone().into());
        let mut child = wanted.spawn().unwrap();
        println!("number {}", child.pid);
        let mut stdout = child.stdout.take().unwrap();
        for _ in 0..3 {
            println!("number {}", line(&mut stdout).await);
        }
        stdout.read_u8().await.unwrap();
    });
    ExitCode::SUCCESS
}

/// A parent process, killed at the latest when a test fails.
struct Parent(std::process::Child);

impl Parent {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a parent; returns it and the numbers of its session's processes, the first one first.
fn start_parent(script: &str, records: &Path) -> (Parent, Vec<i32>) {
    let (program, args) = role("role-parent");
    let mut command = std::process::Command::new(program);
    command.args(args).arg(script).arg(records).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut parent = Parent(command.spawn().unwrap());
    let lines = BufReader::new(parent.0.stdout.take().unwrap()).lines();
    // The test harness prints its own text at the start of the first line.
    let number = |line: String| line.rsplit_once("number ").map(|(_, number)| number.parse().unwrap());
    let numbers: Vec<i32> = lines.map_while(Result::ok).filter_map(number).take(4).collect();
    assert_eq!(numbers.len(), 4);
    (parent, numbers)
}

/// Returns the guardians of a parent.
fn guardians(parent: u32) -> Vec<i32> {
    let parent_of = |stat: String| stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok();
    let read = |pid: i32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|&pid| read(pid, "cmdline").contains("role-guardian") && parent_of(read(pid, "stat")) == Some(parent))
        .collect()
}

/// Returns true if the parent's guardian is ready: from then on it ignores TERM.
fn guarded(parent: u32) -> bool {
    let ready = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let ignored =
            status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        ignored.is_some_and(|set| set >> 14 & 1 == 1)
    };
    guardians(parent).iter().any(ready)
}

#[test]
fn nothing_outlives_a_killed_parent() {
    let records = tempfile::tempdir().unwrap();
    let (mut parent, numbers) = start_parent(&format!("{FAMILY} wait"), records.path());
    until("the guardian is there", || guarded(parent.0.id()));
    let guardian = guardians(parent.0.id())[0];
    // Signals to everything else do not reach the guardian, and those that reach it do not end it.
    for signal in ["TERM", "INT", "HUP"] {
        let sent = std::process::Command::new("kill").args(["-s", signal, &guardian.to_string()]).status().unwrap();
        assert!(sent.success());
    }
    assert!(numbers.iter().all(|&number| alive(number)));
    parent.kill();
    let took = until("all are gone", || !numbers.iter().any(|&number| alive(number)));
    until("the guardian is gone", || !alive(guardian));
    println!("all ended {took:?} after the parent was killed");
    assert!(took < Duration::from_secs(2), "{took:?}");
    // The record stays, but nothing is left to end.
    let swept = records::sweep(records.path()).unwrap();
    assert_eq!((swept.sessions, swept.ended, swept.left, swept.spared), (1, 0, 0, 0));
    assert_eq!(std::fs::read_dir(records.path()).unwrap().count(), 0);
}

/// Returns a parent that starts one session after the other, of processes with the given mark, until it is killed.
pub(crate) fn start_sessions_forever(args: Vec<OsString>) -> ExitCode {
    let mark = args[0].to_str().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut kept = Vec::new();
        println!("it begins");
        for _ in 0..8 {
            let script =
                format!("sleep {mark}1 & env -i setsid sleep {mark}2 & (setsid sleep {mark}3 &); sleep {mark}4");
            kept.push(shell(&script).spawn().unwrap());
        }
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

#[test]
fn nothing_outlives_a_parent_that_is_killed_at_any_moment() {
    // A sleep time that no other process uses.
    let mark = format!("1000.{}", std::process::id());
    let marked = || -> Vec<String> {
        let all = std::fs::read_dir("/proc").unwrap();
        let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let read = |pid: i32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        pids.filter(|&pid| {
            let line = read(pid, "cmdline");
            line.contains(&mark) && !line.contains("role-") && alive(pid)
        })
        .map(|pid| format!("{} {} {}", read(pid, "stat"), read(pid, "cmdline"), read(pid, "environ")))
        .collect()
    };
    for round in 0..24u64 {
        let (program, args) = role("role-restless");
        let mut command = std::process::Command::new(program);
        command.args(args).arg(&mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut parent = Parent(command.spawn().unwrap());
        let mut lines = BufReader::new(parent.0.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("it begins")));
        std::thread::sleep(Duration::from_millis(3 * round)); // polls: nothing; the moment is what the test is about
        if round == 23 {
            until("one is caught in its life", || !marked().is_empty());
        }
        parent.kill();
        let took = until("all are gone", || marked().is_empty());
        assert!(took < Duration::from_secs(2), "round {round}: {took:?}");
    }
    // And nothing appears later: no guardian missed a process that was just starting.
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(200) {
        assert_eq!(marked(), Vec::<String>::new());
        std::thread::sleep(Duration::from_millis(10)); // polls: the process table
    }
}

#[test]
fn a_stopped_session_is_ended_too() {
    let records = tempfile::tempdir().unwrap();
    let (mut parent, numbers) = start_parent(&format!("{FAMILY} trap '' TERM INT HUP; kill -STOP $$"), records.path());
    parent.kill();
    let took = until("all are gone", || !numbers.iter().any(|&number| alive(number)));
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn records_clean_up_where_the_guardian_was_killed() {
    let records = tempfile::tempdir().unwrap();
    let (mut parent, numbers) = start_parent(&format!("{FAMILY} wait"), records.path());
    let spared = records::sweep(records.path()).unwrap();
    assert_eq!((spared.spared, spared.sessions), (1, 0), "its owner lives");
    until("the guardian is there", || guarded(parent.0.id()));
    // Stopped, so that it cannot replace the first guardian.
    let signal = |name: &str, number: String| {
        assert!(std::process::Command::new("kill").args(["-s", name, &number]).status().unwrap().success());
    };
    signal("STOP", parent.0.id().to_string());
    signal("KILL", guardians(parent.0.id())[0].to_string());
    parent.kill();
    assert!(numbers.iter().all(|&number| alive(number)));
    let swept = records::sweep(records.path()).unwrap();
    assert_eq!((swept.sessions, swept.left, swept.spared), (1, 0, 0));
    assert!(swept.ended >= 4, "{swept:?}");
    assert!(!numbers.iter().any(|&number| alive(number)));
}

#[test]
fn a_killed_guardian_is_replaced() {
    let records = tempfile::tempdir().unwrap();
    let (mut parent, numbers) = start_parent(&format!("{FAMILY} wait"), records.path());
    until("the guardian is there", || guarded(parent.0.id()));
    let first = guardians(parent.0.id())[0];
    let sent = std::process::Command::new("kill").args(["-s", "KILL", &first.to_string()]).status().unwrap();
    assert!(sent.success());
    until("another is at its post", || {
        !alive(first) && guardians(parent.0.id()).iter().any(|&pid| pid != first) && guarded(parent.0.id())
    });
    parent.kill();
    let took = until("all are gone", || !numbers.iter().any(|&number| alive(number)));
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_record_of_another_boot_or_a_reused_number_ends_nothing() {
    let records = tempfile::tempdir().unwrap();
    let mut bystander = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let nonce = process::Nonce::random();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for boot in ["another", boot.trim()] {
        let record = format!(
            r#"{{"boot":"{boot}","nonce":"{nonce}","pid":{},"start":1,"owner":1,"owner_start":1}}"#,
            bystander.id()
        );
        std::fs::write(records.path().join(format!("{nonce}.json")), record).unwrap();
        let swept = records::sweep(records.path()).unwrap();
        assert_eq!((swept.ended, swept.left, swept.spared), (0, 0, 0));
    }
    std::fs::write(records.path().join(format!("{nonce}.json")), "{").unwrap();
    records::sweep(records.path()).unwrap();
    assert_eq!(std::fs::read_dir(records.path()).unwrap().count(), 0);
    // Neither files that hob did not name nor the targets of links are hob's to remove.
    let precious = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(records.path().join("package.json"), "{").unwrap();
    std::os::unix::fs::symlink(precious.path(), records.path().join(format!("{nonce}.json"))).unwrap();
    records::sweep(records.path()).unwrap();
    assert_eq!(std::fs::read_dir(records.path()).unwrap().count(), 2);
    assert!(precious.path().exists());
    assert!(alive(bystander.id().cast_signed()));
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_does_not_hide_the_exit() {
    let mut child = shell("sleep 1000 & echo $!; exit 7").spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let grandchild: i32 = line(&mut stdout).await.parse().unwrap();
    assert_eq!(exited(&mut child.exit).await.code, Some(7));
    assert!(alive(grandchild));
    // The pipe is open and empty: no end of file, nothing to read.
    let mut buffer = [0u8; 16];
    assert_eq!(stdout.try_read(&mut buffer).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let ended = child.group.end(None, &Ladder::default()).await;
    assert_eq!((ended.rung, ended.swept, ended.left), (Rung::AlreadyEnded, 1, 0));
    assert!(!alive(grandchild));
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_session() {
    let mut child = shell("sleep 1000 & echo $!; wait").spawn().unwrap();
    let grandchild: i32 = line(child.stdout.as_mut().unwrap()).await.parse().unwrap();
    drop(child);
    until("the guardian ended it", || !alive(grandchild));
}

#[tokio::test]
async fn each_rung_is_reached_when_the_one_before_fails() {
    let ladder = |quit: Option<&str>| Ladder {
        quit: quit.map(|line| line.as_bytes().to_vec()),
        quit_wait: Duration::from_millis(200),
        close_wait: Duration::from_millis(200),
        term_wait: Duration::from_millis(200),
        ..Ladder::default()
    };
    for (script, quit, expected) in [
        ("echo up; read x; [ $x = quit ]", Some("quit\n"), Rung::Quit),
        ("echo up; while read x; do :; done", Some("quit\n"), Rung::CloseInput),
        ("echo up; while read x; do :; done", None, Rung::CloseInput),
        ("echo up; exec sleep 1000", Some("quit\n"), Rung::Terminate),
        ("trap '' TERM; echo up; while :; do sleep 1000; done", Some("quit\n"), Rung::Kill),
        ("trap '' TERM; echo up; while :; do kill -STOP $$; done", Some("quit\n"), Rung::Kill),
    ] {
        let mut child = shell(script).spawn().unwrap();
        assert_eq!(line(child.stdout.as_mut().unwrap()).await, "up");
        let ended = child.group.end(child.stdin.take(), &ladder(quit)).await;
        assert_eq!((ended.rung, ended.left), (expected, 0), "{script}");
        assert_eq!(
            ended.exit.unwrap().signal,
            match expected {
                Rung::Terminate => Some(15),
                Rung::Kill => Some(9),
                _ => None,
            }
        );
        assert_eq!(child.group.members(), []);
    }
}

#[tokio::test]
async fn a_full_input_pipe_does_not_hold_the_ladder() {
    let mut child = spec("sleep", &["1000"]).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    while stdin.try_write(&[b'x'; 4096]).is_ok() {}
    let began = Instant::now();
    let ladder = Ladder { quit: Some(b"quit\n".to_vec()), quit_wait: Duration::from_millis(50), ..Ladder::default() };
    let ended = child.group.end(Some(stdin), &ladder).await;
    assert_eq!(ended.rung, Rung::Terminate);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(child.group.signal(Signal::INT).unwrap_err().to_string(), "the process has ended");
}

#[tokio::test]
async fn escaped_descendants_are_found_killed_and_reaped() {
    if !have("setsid", "escaped_descendants_are_found_killed_and_reaped") {
        return;
    }
    subreaper::become_subreaper().unwrap();
    let reaper = tokio::spawn(subreaper::task());
    let mut child = shell(&format!("{FAMILY} wait")).spawn().unwrap();
    let mut other = shell(&format!("{FAMILY} wait")).spawn().unwrap();
    let mut numbers: Vec<i32> = Vec::new();
    let mut spared: Vec<i32> = Vec::new();
    for _ in 0..3 {
        numbers.push(line(child.stdout.as_mut().unwrap()).await.parse().unwrap());
        spared.push(line(other.stdout.as_mut().unwrap()).await.parse().unwrap());
    }
    let escaped = |group: &process::Group| {
        let all = subreaper::adopted();
        all.into_iter().filter(|found| found.nonce.as_ref() == Some(group.nonce())).count()
    };
    until("the orphan was adopted", || escaped(&child.group) == 1 && escaped(&other.group) == 1);
    assert!(child.group.members().len() >= 5, "{:?}", child.group.members());

    let ended = child.group.end(child.stdin.take(), &Ladder::default()).await;
    assert_eq!((ended.rung, ended.left), (Rung::Terminate, 0));
    assert!(ended.swept >= 3, "{ended:?}");
    for &number in &numbers {
        until("it is reaped", || !Path::new(&format!("/proc/{number}")).exists());
    }
    assert!(spared.iter().all(|&number| alive(number)), "the other session lives");
    assert_eq!(escaped(&other.group), 1);
    assert_eq!(other.group.end(None, &Ladder::at_once()).await.left, 0);
    for number in spared {
        until("it is reaped", || !Path::new(&format!("/proc/{number}")).exists());
    }
    reaper.abort();
}

#[tokio::test]
async fn the_reaper_takes_no_ones_status() {
    subreaper::become_subreaper().unwrap();
    let reaper = tokio::spawn(subreaper::task());
    let mut bare = std::process::Command::new("sh").args(["-c", "exit 5"]).spawn().unwrap();
    let mut children = Vec::new();
    for code in 0..20 {
        children.push(shell(&format!("exit {code}")).spawn().unwrap());
    }
    for (code, child) in children.iter_mut().enumerate() {
        subreaper::reap_adopted();
        assert_eq!(exited(&mut child.exit).await.code, i32::try_from(code).ok());
        child.group.end(None, &Ladder::default()).await;
    }
    subreaper::reap_adopted();
    assert_eq!(bare.wait().unwrap().code(), Some(5));
    reaper.abort();
}

#[test]
fn the_reaper_works_where_the_session_leader_is_outside() {
    if !have("unshare", "the reaper in a namespace of process ids") {
        return;
    }
    // As in a container: inside, the numbers of our session and our parent are 0.
    let mut again = std::process::Command::new("unshare");
    again.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    let ran = again.args(["--exact", "ending::the_reaper_takes_no_ones_status"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    if said.contains("unshare failed") || said.contains("Operation not permitted") {
        println!("skipped: this machine gives no namespaces: {said}");
        return;
    }
    assert!(ran.status.success(), "{}{said}", String::from_utf8_lossy(&ran.stdout));
}

#[tokio::test]
async fn what_was_seen_once_is_known_even_when_nothing_tells_it_any_more() {
    subreaper::become_subreaper().unwrap();
    // No nonce, its own session, and no parent: only having been seen with its parent identifies it.
    let mut child = shell("(env -i setsid sleep 1000 & echo $!; read x); echo alone; read x").spawn().unwrap();
    let escaped: i32 = line(child.stdout.as_mut().unwrap()).await.parse().unwrap();
    until("it has left", || child.group.members().iter().any(|member| member.session == escaped));
    child.stdin.as_mut().unwrap().write_all(b"\n").await.unwrap();
    assert_eq!(line(child.stdout.as_mut().unwrap()).await, "alone");
    assert!(child.group.members().iter().any(|member| member.pid == escaped));
    let ended = child.group.end(child.stdin.take(), &Ladder::default()).await;
    assert_eq!((ended.rung, ended.left), (Rung::CloseInput, 0));
    until("it is reaped", || !Path::new(&format!("/proc/{escaped}")).exists());
}
