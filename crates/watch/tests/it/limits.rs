//! Limits: the kernel's event queue and watches, and those of the options.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use watch::{Mode, Options, PollReason, SyncError, Watcher};

use crate::fixture::{LIMIT, Other, Watched, on_disk, options, paths};

fn dirs(root: &Path, name: &str, count: usize) {
    for number in 0..count {
        std::fs::create_dir(root.join(format!("{name}{number}"))).unwrap();
    }
}

/// The watching process is stopped while more events occur than the kernel queues.
#[test]
fn what_the_kernels_queue_loses_is_found_by_a_scan() {
    let place = tempfile::tempdir().unwrap();
    dirs(place.path(), "dir", 4);
    std::fs::write(place.path().join("dir0/same"), "before").unwrap();
    let mut other = Other::start(&[], place.path());
    assert_eq!(other.ask("check"), "0 rescans, inotify");
    let queue = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queue: usize = queue.trim().parse().unwrap();
    other.signal(Signal::STOP);
    // Each write causes at least one event.
    for number in 0..queue {
        std::fs::write(place.path().join(format!("dir1/{number}")), "x").unwrap();
    }
    std::fs::write(place.path().join("dir0/same"), "after!").unwrap();
    std::fs::rename(place.path().join("dir1"), place.path().join("dir2/moved")).unwrap();
    std::fs::remove_dir(place.path().join("dir3")).unwrap();
    other.signal(Signal::CONT);
    assert_eq!(other.ask("check"), "1 rescans, inotify");
    // Later events are received.
    std::fs::write(place.path().join("dir2/moved/new"), "x").unwrap();
    assert_eq!(other.ask("check"), "1 rescans, inotify");
}

/// Runs in a separate user namespace with its own limits.
#[test]
fn without_watches_left_it_polls_and_says_so() {
    const LIMITED: &str = "echo 100 >/proc/sys/user/max_inotify_watches && exec \"$@\"";
    let by = ["unshare", "--user", "--map-root-user", "sh", "-c", LIMITED, "sh"];
    if !Command::new(by[0]).args(&by[1..]).arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: there are no user namespaces here");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    dirs(place.path(), "dir", 98);
    let mut other = Other::start(&by, place.path());
    assert_eq!(other.ask("check"), "0 rescans, inotify");
    dirs(&place.path().join("dir7"), "more", 10);
    std::fs::write(place.path().join("dir7/more9/file"), "x").unwrap();
    let polls = other.ask("check");
    assert!(
        polls.ends_with("polling: no inotify watches left; raise fs.inotify.max_user_watches with sysctl"),
        "{polls}"
    );
    std::fs::write(place.path().join("dir7/more9/file"), "another").unwrap();
    assert!(other.ask("check").contains("polling"));
}

#[test]
fn without_an_inotify_instance_it_polls_and_says_so() {
    const LIMITED: &str = "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$@\"";
    let by = ["unshare", "--user", "--map-root-user", "sh", "-c", LIMITED, "sh"];
    if !Command::new(by[0]).args(&by[1..]).arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: there are no user namespaces here");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut other = Other::start(&by, place.path());
    std::fs::write(place.path().join("file"), "x").unwrap();
    let polls = other.ask("check");
    assert!(polls.contains("polling: inotify fails: Too many open files"), "{polls}");
}

#[tokio::test]
async fn under_the_limit_again_it_listens_again() {
    let place = tempfile::tempdir().unwrap();
    dirs(place.path(), "dir", 9);
    let mut watched = Watched::start(place.path(), Options { max_watches: 10, ..options() }).await;
    assert_eq!(watched.watcher.mode(), Mode::Inotify);
    dirs(&place.path().join("dir0"), "more", 1);
    watched.check().await;
    assert_eq!(watched.watcher.mode(), Mode::Polling { why: PollReason::MaxWatches { limit: 10 } });
    std::fs::remove_dir(place.path().join("dir8")).unwrap();
    watched.check().await;
    assert_eq!(watched.watcher.mode(), Mode::Inotify);
    std::fs::write(place.path().join("dir0/more0/file"), "x").unwrap();
    watched.check().await;
    assert_eq!(watched.watcher.mode(), Mode::Inotify);
}

#[tokio::test]
async fn more_paths_than_the_limit_are_said_to_be_missing() {
    let place = tempfile::tempdir().unwrap();
    dirs(place.path(), "dir", 10);
    let options = Options { max_entries: 10, poll_every: Duration::from_millis(1), ..options() };
    let watcher = Watcher::start(place.path(), options).await.unwrap();
    assert_eq!((watcher.sync().await, watcher.view().len()), (Ok(()), 10));
    std::fs::write(place.path().join("dir3/one"), "x").unwrap();
    assert_eq!((watcher.sync().await, watcher.view().len()), (Err(SyncError::MaxEntries { limit: 10 }), 10));
    assert_eq!(watcher.mode(), Mode::Polling { why: PollReason::MaxEntries { limit: 10 } });
    std::fs::remove_dir(place.path().join("dir9")).unwrap();
    assert_eq!(watcher.sync().await, Ok(()));
    assert_eq!((paths(&watcher.view()), watcher.mode()), (on_disk(place.path()), Mode::Inotify));
}

/// The tree is polled without a sync.
#[tokio::test]
async fn polling_delivers_without_being_asked() {
    let place = tempfile::tempdir().unwrap();
    let options = Options { polling: true, poll_every: Duration::from_millis(5), ..options() };
    let mut watched = Watched::start(place.path(), options).await;
    assert_eq!(watched.watcher.mode().to_string(), "polling: requested");
    std::fs::write(place.path().join("file"), "x").unwrap();
    assert_eq!(&*watched.next().await.changes[0].path, Path::new("file"));
    watched.check().await;
}

#[tokio::test]
async fn a_sync_that_takes_too_long_says_so() {
    let place = tempfile::tempdir().unwrap();
    let watcher = Watcher::start(place.path(), Options { sync_timeout: Duration::ZERO, ..options() }).await.unwrap();
    let begun = Instant::now();
    // The thread may answer faster than the timeout.
    while watcher.sync().await != Err(SyncError::TimedOut { after: Duration::ZERO }) {
        assert!(begun.elapsed() < LIMIT);
        dirs(tempfile::tempdir_in(place.path()).unwrap().path(), "dir", 20);
    }
}
