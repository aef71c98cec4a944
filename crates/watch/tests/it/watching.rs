//! Contents and timing of the batches, and the end of a watcher.

use std::path::{Path, PathBuf};
use std::time::Duration;

use watch::{Batch, ChangeKind, FileKind, Mode, Options, PollReason, StartError, SyncError, Watcher};

use crate::fixture::{LIMIT, Watched, options};

/// The quiet time never elapses: only a sync delivers.
fn patient() -> Options {
    Options { quiet: LIMIT, max_delay: LIMIT, ..options() }
}

fn list(batch: &Batch) -> Vec<(ChangeKind, FileKind, &str)> {
    batch.changes.iter().map(|change| (change.kind, change.file, change.path.to_str().unwrap())).collect()
}

#[tokio::test]
async fn one_batch_tells_what_came_of_it_all() {
    use ChangeKind::{Created, Modified, Removed};
    use FileKind::{Directory, File};
    let place = tempfile::tempdir().unwrap();
    let at = |path: &str| place.path().join(path);
    std::fs::create_dir_all(at("old/inner")).unwrap();
    for file in ["edited", "gone", "old/inner/file", "replaced", "touched"] {
        std::fs::write(at(file), "12").unwrap();
    }
    let mut watched = Watched::start(place.path(), patient()).await;
    std::fs::rename(at("old"), at("new")).unwrap();
    std::fs::write(at("edited"), "34").unwrap();
    std::fs::remove_file(at("gone")).unwrap();
    std::fs::write(at("brief"), "").unwrap();
    std::fs::remove_file(at("brief")).unwrap();
    std::fs::write(at("saved~"), "56").unwrap();
    std::fs::rename(at("saved~"), at("replaced")).unwrap();
    std::fs::read(at("touched")).unwrap();
    watched.watcher.sync().await.unwrap();
    let batch = watched.subscription.try_next().unwrap();
    let expected = [
        (Modified, File, "edited"),
        (Removed, File, "gone"),
        (Created, Directory, "new"),
        (Created, Directory, "new/inner"),
        (Created, File, "new/inner/file"),
        (Removed, Directory, "old"),
        (Removed, Directory, "old/inner"),
        (Removed, File, "old/inner/file"),
        (Modified, File, "replaced"),
    ];
    assert_eq!(list(&batch), expected);
    assert_eq!(watched.subscription.try_next(), None);
}

/// A file's content may change without its size or time, because the kernel's clock is coarse.
#[tokio::test]
async fn writes_that_leave_no_trace_are_told() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "0").unwrap();
    let mut watched = Watched::start(place.path(), patient()).await;
    for round in 0..50 {
        std::fs::write(&file, (round % 10).to_string()).unwrap();
        watched.watcher.sync().await.unwrap();
        assert_eq!(list(&watched.subscription.try_next().unwrap()), [(ChangeKind::Modified, FileKind::File, "file")]);
    }
}

#[tokio::test]
async fn a_batch_comes_by_itself_even_under_constant_change() {
    let place = tempfile::tempdir().unwrap();
    let options = Options { quiet: LIMIT, max_delay: Duration::from_millis(5), ..options() };
    let mut watched = Watched::start(place.path(), options).await;
    std::fs::write(place.path().join("file"), "x").unwrap();
    watched.next().await;
    let mut watched =
        Watched::start(place.path(), Options { max_delay: LIMIT, quiet: Duration::from_millis(5), ..patient() }).await;
    std::fs::write(place.path().join("file"), "y").unwrap();
    watched.next().await;
}

#[tokio::test]
async fn a_slow_subscriber_gets_its_batches_as_one() {
    let place = tempfile::tempdir().unwrap();
    let mut watched = Watched::start(place.path(), patient()).await;
    let (_, mut quick) = watched.watcher.subscribe();
    for round in 0..100 {
        std::fs::write(place.path().join(format!("{}", round % 3)), "x").unwrap();
        std::fs::write(place.path().join(format!("brief{round}")), "x").unwrap();
        watched.watcher.sync().await.unwrap();
        assert!(quick.try_next().is_some());
        std::fs::remove_file(place.path().join(format!("brief{round}"))).unwrap();
        watched.watcher.sync().await.unwrap();
        assert!(quick.try_next().is_some());
    }
    let batch = watched.next().await;
    let created = ["0", "1", "2"].map(|path| (ChangeKind::Created, FileKind::File, path));
    assert_eq!(list(&batch), created);
    watched.check().await;
    let (view, mut late) = watched.watcher.subscribe();
    assert_eq!((view.len(), late.try_next()), (3, None));
}

#[tokio::test]
async fn other_rules_hold_from_when_they_are_written() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("build/deep")).unwrap();
    std::fs::write(place.path().join("build/deep/file"), "x").unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    for rules in ["build/\n", "*.o\n", "build\n!build\n", "/build/*\n!/build/deep\n"] {
        std::fs::write(place.path().join(".gitignore"), rules).unwrap();
        watched.check().await;
        std::fs::write(place.path().join("build/deep/another.o"), rules).unwrap();
        watched.check().await;
    }
    std::fs::remove_file(place.path().join(".gitignore")).unwrap();
    watched.check().await;
    // An ignored directory has no watch, and gets one when it is no longer ignored.
    std::fs::rename(place.path().join("build"), place.path().join("target")).unwrap();
    watched.check().await;
    assert_eq!(watched.watcher.status().directories, 1);
    std::fs::rename(place.path().join("target/deep"), place.path().join("out")).unwrap();
    watched.check().await;
    std::fs::write(place.path().join("out/new"), "x").unwrap();
    watched.check().await;
    assert_eq!(watched.watcher.status().directories, 2);
}

#[tokio::test]
async fn a_root_that_goes_and_comes_back_is_watched_again() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("above/root");
    let fill = |text: &str| {
        std::fs::create_dir_all(root.join("dir")).unwrap();
        std::fs::write(root.join("dir/file"), text).unwrap();
    };
    fill("1");
    let mut watched = Watched::start(&root, Options { poll_every: Duration::from_millis(5), ..options() }).await;
    for go in [&root, root.parent().unwrap()] {
        std::fs::remove_dir_all(go).unwrap();
        watched.check().await;
        assert!(watched.told.is_empty());
        assert_eq!(watched.watcher.mode(), Mode::Polling { why: PollReason::NoRoot });
        fill("2");
        watched.check().await;
        assert_eq!((watched.told.len(), watched.watcher.mode()), (2, Mode::Inotify));
        // Removed and restored before the thread looks.
        std::fs::rename(go, place.path().join("away")).unwrap();
        fill("3");
        watched.check().await;
        std::fs::write(root.join("dir/file"), "4").unwrap();
        let batch = watched.next().await;
        assert_eq!(list(&batch), [(ChangeKind::Modified, FileKind::File, "dir/file")]);
        std::fs::remove_dir_all(place.path().join("away")).unwrap();
    }
    // Without a sync.
    std::fs::remove_dir_all(&root).unwrap();
    while !watched.told.is_empty() {
        watched.next().await;
    }
    fill("5");
    while watched.told.len() < 2 {
        watched.next().await;
    }
    watched.check().await;
}

#[tokio::test]
async fn with_the_last_handle_everything_ends() {
    let place = tempfile::tempdir().unwrap();
    let watched = Watched::start(place.path(), options()).await;
    let other = watched.watcher.clone();
    let mut subscription = watched.subscription;
    drop(watched.watcher);
    std::fs::write(place.path().join("file"), "x").unwrap();
    other.sync().await.unwrap();
    let sync = {
        let syncing = other.sync();
        tokio::pin!(syncing);
        // A sync that is requested but never awaited does not keep the watcher alive.
        let _ = poll_once(syncing.as_mut()).await;
        other.mode()
    };
    assert_eq!(sync, Mode::Inotify);
    drop(other);
    let end = async { while subscription.next().await.is_some() {} };
    tokio::time::timeout(LIMIT, end).await.unwrap();
}

async fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut future).poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

/// The cookie is an unnamed file: it is visible neither in the checkout nor outside.
#[tokio::test]
async fn a_sync_leaves_no_file_and_tells_nobody() {
    let place = tempfile::tempdir().unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        first.push(watched.watcher.sync().await);
        let (one, two) = tokio::join!(watched.watcher.sync(), watched.watcher.sync());
        second.extend([one, two]);
    }
    assert!(first.iter().chain(&second).all(|answer| *answer == Ok::<(), SyncError>(())));
    assert_eq!((watched.subscription.try_next(), std::fs::read_dir(place.path()).unwrap().count()), (None, 0));
    let named: Vec<PathBuf> = std::fs::read_dir(std::env::temp_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name().unwrap().to_string_lossy().starts_with(&format!("hob-watch-{}-", std::process::id()))
        })
        .collect();
    assert_eq!(named, Vec::<PathBuf>::new());
    assert_eq!(watched.watcher.status().rescans, 0);
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("file"), "x").unwrap();
    let started = Watcher::start(place.path().join("file"), options()).await;
    assert!(matches!(started.err(), Some(StartError::NoDirectory { .. })));
    let started = Watcher::start(Path::new("/nowhere/at/all"), options()).await;
    assert!(matches!(started.err(), Some(StartError::Root { .. })));
}
