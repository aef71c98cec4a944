//! Hostile checkouts: links that leave it, FIFOs, unreadable directories, and unusual names and depths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, mknodat};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use watch::{ChangeKind, FileKind};

use crate::fixture::{Watched, git, options};

#[tokio::test]
async fn links_are_seen_and_never_followed() {
    let (place, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(outside.path().join("dir")).unwrap();
    symlink(outside.path(), place.path().join("out")).unwrap();
    symlink(".", place.path().join("loop")).unwrap();
    std::fs::create_dir(place.path().join("swapped")).unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    std::fs::write(outside.path().join("dir/secret"), "x").unwrap();
    watched.check().await;
    assert_eq!(watched.watcher.view().get(Path::new("out")), Some(FileKind::Symlink));
    std::fs::remove_dir(place.path().join("swapped")).unwrap();
    symlink(outside.path().join("dir"), place.path().join("swapped")).unwrap();
    watched.check().await;
    std::fs::write(outside.path().join("dir/another"), "x").unwrap();
    watched.check().await;
    assert_eq!(watched.told.len(), 3);
    // A linked rules file is not applied.
    std::fs::write(outside.path().join("rules"), "*").unwrap();
    symlink(outside.path().join("rules"), place.path().join(".gitignore")).unwrap();
    watched.synced().await;
    assert_eq!(watched.told.len(), 4);
    assert_eq!(watched.watcher.status().rules_refused, [PathBuf::from(".gitignore")]);
}

/// Opening a FIFO would block forever.
#[tokio::test]
async fn a_fifo_is_seen_and_never_opened() {
    let place = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = place.path().join(name);
        mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    make("first");
    std::fs::create_dir(place.path().join("dir")).unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    make("second");
    make("dir/.gitignore");
    // The comparison scan would open it.
    watched.synced().await;
    assert_eq!(watched.watcher.view().get(Path::new("second")), Some(FileKind::Other));
    assert_eq!(watched.watcher.status().rules_refused, [PathBuf::from("dir/.gitignore")]);
    // A FIFO replaces a file and a directory.
    std::fs::remove_dir_all(place.path().join("dir")).unwrap();
    make("dir");
    watched.check().await;
}

/// Root may read everything, so this thread and its children drop that capability.
#[test]
fn a_directory_that_may_not_be_read_is_named_until_it_may() {
    let mut sets = capabilities(None).unwrap();
    sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let test = async {
        let place = tempfile::tempdir().unwrap();
        let locked = place.path().join("locked");
        let mode = |mode| std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::create_dir_all(locked.join("inner")).unwrap();
        std::fs::write(locked.join("inner/file"), "x").unwrap();
        mode(0o000);
        let mut watched = Watched::start(place.path(), options()).await;
        watched.check().await;
        assert_eq!((watched.told.len(), watched.watcher.status().unreadable), (1, vec![PathBuf::from("locked")]));
        mode(0o700);
        watched.check().await;
        assert_eq!((watched.told.len(), watched.watcher.status().unreadable), (3, vec![]));
        std::fs::write(locked.join("inner/another"), "x").unwrap();
        watched.check().await;
        mode(0o000);
        watched.check().await;
        assert_eq!(watched.told.len(), 1);
        mode(0o700);
        watched.check().await;
        assert_eq!(watched.told.len(), 4);
        for (bits, known, unreadable) in [(0o300, 0, vec![PathBuf::new()]), (0o700, 4, vec![])] {
            std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(bits)).unwrap();
            watched.check().await;
            assert_eq!((watched.told.len(), watched.watcher.status().unreadable), (known, unreadable));
        }
    };
    std::thread::spawn(move || {
        set_capabilities(None, sets).unwrap();
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    })
    .join()
    .unwrap();
}

#[tokio::test]
async fn names_that_are_no_text_are_names() {
    let place = tempfile::tempdir().unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    let name = Path::new(OsStr::from_bytes(b"dir\xff\n"));
    std::fs::create_dir(place.path().join(name)).unwrap();
    std::fs::write(place.path().join(name).join(name), "x").unwrap();
    watched.check().await;
    assert_eq!(watched.watcher.view().get(&name.join(name)), Some(FileKind::File));
}

/// Deeper than the maximum path length: reachable paths are seen, and the directory that cannot be read is named.
#[tokio::test]
async fn a_path_that_is_too_long_is_named() {
    let place = tempfile::tempdir().unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    let name = "d".repeat(200);
    let mut dir = rustix::fs::openat(
        rustix::fs::CWD,
        place.path(),
        rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::PATH,
        Mode::empty(),
    )
    .unwrap();
    for _ in 0..40 {
        rustix::fs::mkdirat(&dir, &name, Mode::RWXU).unwrap();
        dir = rustix::fs::openat(&dir, &name, rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::PATH, Mode::empty())
            .unwrap();
    }
    watched.synced().await;
    let status = watched.watcher.status();
    assert!((10..30).contains(&status.entries), "{status:?}");
    assert_eq!((status.unreadable.len(), status.mode.to_string()), (1, "inotify".to_owned()));
    std::fs::rename(place.path().join(&name), place.path().join("short")).unwrap();
    watched.synced().await;
    assert!(watched.watcher.status().entries >= status.entries);
}

/// The contents of `.git` are not seen at any depth, and cause no wake-up.
#[tokio::test]
async fn gits_own_files_are_not_seen() {
    let place = tempfile::tempdir().unwrap();
    git(place.path(), &["init", "-q", "a/nested"]);
    std::fs::write(place.path().join(".git"), "gitdir: elsewhere").unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    git(&place.path().join("a/nested"), &["commit", "-q", "--allow-empty", "-m", "x"]);
    watched.check().await;
    assert_eq!(watched.told.len(), 2);
    std::fs::write(place.path().join("a/nested/file"), "x").unwrap();
    let batch = watched.next().await;
    assert_eq!(batch.changes.iter().map(|change| change.kind).collect::<Vec<_>>(), [ChangeKind::Created]);
}
