//! The output log under a flood, and on a disk that is full or read-only.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::time::Duration;

use process::output::{Disk, Limits, OutputLog, Query, Stream};
use process::{Ladder, Rung};

use crate::fixture::{exited, role, shell, until};

/// Returns the anonymous memory of this process, in bytes.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Prints a hundred million bytes through a log with the usual memory and a small disk share, in a separate process, so
/// that memory can be measured.
pub(crate) fn flood(_args: Vec<OsString>) -> ExitCode {
    const BYTES: u64 = 100_000_000;
    let place = tempfile::tempdir().unwrap();
    let limits = Limits { disk: 32 << 20, ..Limits::default() };
    let log = OutputLog::create(Some(place.path()), limits).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = anonymous();
    let mut most = before;
    runtime.block_on(async {
        let mut child = shell("yes 'a line of output, one of very many' | head -c 100000000; read x").spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut buffer = vec![0; 64 << 10];
        let mut read = 0;
        while read < BYTES {
            stdout.readable().await.unwrap();
            if let Ok(count) = stdout.try_read(&mut buffer) {
                assert_eq!(log.append(Stream::Stdout, Some(1), &buffer[..count]), read);
                read += count as u64;
                most = most.max(anonymous());
            }
        }
        drop(child.stdin.take());
        exited(&mut child.exit).await;
        assert_eq!(child.group.end(None, &Ladder::default()).await.rung, Rung::AlreadyEnded);
    });
    assert!(log.flush(Duration::from_secs(20)));
    let status = log.status();
    assert_eq!((status.end, status.total.stdout), (BYTES, BYTES));
    // Exactly the bytes that were not dropped are present, and they are the newest.
    assert_eq!(status.dropped.stdout, status.oldest);
    assert!(status.oldest >= BYTES - (32 << 20), "{status:?}");
    let kept = log.read_blocking(&Query { max_bytes: usize::MAX, ..Query::default() });
    assert_eq!((kept.bytes().len() as u64, kept.missing), (BYTES - status.oldest, status.oldest));
    let line = b"a line of output, one of very many\n";
    let from = usize::try_from(status.oldest).unwrap();
    assert!(kept.bytes().iter().enumerate().all(|(index, &byte)| byte == line[(from + index) % line.len()]));
    assert_eq!(log.printed(1).unwrap().counts.stdout, BYTES);
    let grown = most - before;
    println!("a flood of {BYTES} bytes took {grown} bytes of memory");
    assert!(grown < 8 << 20, "{grown}");
    ExitCode::SUCCESS
}

/// Fills a tiny disk in its own mount namespace, then frees space.
pub(crate) fn full_disk(args: Vec<OsString>) -> ExitCode {
    let place = Path::new(&args[0]);
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(place).status().unwrap();
    if !mounted.success() {
        println!("not permitted to mount");
        return ExitCode::SUCCESS;
    }
    let filler = place.join("filler");
    std::fs::write(&filler, vec![0; 160 << 10]).unwrap();
    let directory = place.join("log");
    let log = OutputLog::create(Some(&directory), Limits { memory: 64 << 10, ..Limits::default() }).unwrap();
    let line = |number: u64| format!("line {number:>10} of some length, so that the disk is soon full\n").into_bytes();
    let append = |from: u64, to: u64| {
        for number in from..to {
            log.append(Stream::Stdout, Some(number), &line(number));
        }
    };
    append(0, 5000);
    until("the disk is full", || !log.flush(Duration::from_millis(100)));
    let Disk::Failing(reason) = log.status().disk else { panic!("{:?}", log.status()) };
    assert_eq!(reason, "No space left on device (os error 28)");
    // The newest bytes are in memory, every byte is accounted for, and appending still works.
    let whole = || {
        let status = log.status();
        let kept = log.read_blocking(&Query { max_bytes: usize::MAX, ..Query::default() });
        assert_eq!(kept.missing, status.dropped.stdout);
        assert_eq!(kept.bytes().len() as u64 + kept.missing, status.end);
        assert!(kept.bytes().ends_with(&line(status.end / line(0).len() as u64 - 1)));
        kept.bytes().len()
    };
    assert!(whole() >= 60_000);
    assert!(log.status().dropped.stdout > 0);
    append(5000, 5100);
    assert!(whole() >= 60_000);

    std::fs::remove_file(&filler).unwrap();
    until("it is written again", || log.flush(Duration::from_millis(100)));
    append(5100, 5200);
    assert!(log.flush(Duration::from_secs(20)));
    let (before, kept) = (log.status(), whole());
    drop(log);
    let again = OutputLog::open(&directory).unwrap();
    assert_eq!((again.status().end, again.status().dropped, again.status().damaged), (before.end, before.dropped, 0));
    assert_eq!(again.read_blocking(&Query { max_bytes: usize::MAX, ..Query::default() }).bytes().len(), kept);
    println!("the disk was full");
    ExitCode::SUCCESS
}

fn succeeded(output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_flood_is_bounded_in_memory_and_counted() {
    let (program, args) = role("role-flood");
    let text = succeeded(Command::new(program).args(args).output().unwrap());
    assert!(text.contains("a flood of"), "{text}");
    println!("{text}");
}

#[test]
fn a_full_disk_leaves_memory_and_exact_counts() {
    let place = tempfile::tempdir().unwrap();
    let (program, args) = role("role-full-disk");
    let allowed = Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|output| output.status.success());
    if !allowed {
        println!("skipped: a_full_disk_leaves_memory_and_exact_counts needs a mount namespace (run as root)");
        return;
    }
    let output = Command::new("unshare").arg("-m").arg(program).args(args).arg(place.path()).output().unwrap();
    let text = succeeded(output);
    if !text.contains("the disk was full") {
        println!("skipped: a_full_disk_leaves_memory_and_exact_counts may not mount a tmpfs");
    }
}

#[test]
fn a_directory_that_vanished_leaves_memory() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("log");
    let log = OutputLog::create(Some(&directory), Limits::default()).unwrap();
    std::fs::remove_dir(&directory).unwrap();
    log.append(Stream::Stdout, None, b"still here");
    until("it was tried", || matches!(log.status().disk, Disk::Failing(_)));
    assert_eq!(log.read_blocking(&Query::default()).bytes(), b"still here");
    // A directory that cannot be created is an immediate error.
    std::fs::write(place.path().join("file"), "").unwrap();
    assert!(OutputLog::create(Some(&place.path().join("file/log")), Limits::default()).is_err());
}
