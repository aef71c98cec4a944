//! Replaced directories: no directory loses its watch to its predecessor or its successor.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use watch::Options;

use crate::fixture::{Other, Watched, options};

/// Its rules are read again by path, which now leads to the root.
#[tokio::test]
async fn a_link_to_the_root_in_a_directorys_place_does_not_take_the_roots_watch() {
    let place = tempfile::tempdir().unwrap();
    let at = |path: &str| place.path().join(path);
    std::fs::create_dir_all(at("a/d")).unwrap();
    std::fs::write(at("a/d/.gitignore"), "x\n").unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    std::fs::remove_dir_all(at("a/d")).unwrap();
    symlink("..", at("a/d")).unwrap();
    watched.check().await;
    std::fs::write(at("g"), "x").unwrap();
    watched.check().await;
    assert_eq!(watched.watcher.status().rescans, 0);
}

/// The same race at any moment of a look.
#[tokio::test]
async fn a_link_to_the_root_that_keeps_changing_places_with_a_directory_does_not_take_the_roots_watch() {
    let place = tempfile::tempdir().unwrap();
    let at = |path: &str| place.path().join(path);
    std::fs::create_dir_all(at("a/d/e")).unwrap();
    symlink("..", at("a/link")).unwrap();
    let options = Options { quiet: Duration::ZERO, max_delay: Duration::from_millis(1), ..options() };
    let mut watched = Watched::start(place.path(), options).await;
    for round in 0..20 {
        let (directory, link) = (at("a/d"), at("a/link"));
        let changing = tokio::task::spawn_blocking(move || {
            for _ in 0..500 {
                renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                // Either path may be the directory.
                let _ = std::fs::write(directory.join("e/.gitignore"), "x\n");
            }
        });
        while !changing.is_finished() {
            watched.drained().await;
        }
        changing.await.unwrap();
        watched.check().await;
        for path in ["g", "a/g", "a/d/e/g"] {
            std::fs::write(at(path), round.to_string()).unwrap();
            watched.check().await;
            std::fs::remove_file(at(path)).unwrap();
            watched.check().await;
        }
    }
}

/// Independent of the order in which the old and the new path are examined.
#[tokio::test]
async fn what_is_in_a_directory_that_moved_is_heard_at_its_new_place() {
    let place = tempfile::tempdir().unwrap();
    let at = |path: &str| place.path().join(path);
    std::fs::create_dir_all(at("b/x/y")).unwrap();
    std::fs::create_dir_all(at("other/x/y")).unwrap();
    let mut watched = Watched::start(place.path(), options()).await;
    for (from, to) in [("b", "a"), ("a", "c"), ("c/x", "b"), ("b", "c/x"), ("c", "other/x/c"), ("other/x/c", "b")] {
        std::fs::rename(at(from), at(to)).unwrap();
        watched.check().await;
        std::fs::write(at(to).join("new"), "x").unwrap();
        watched.check().await;
        std::fs::remove_file(at(to).join("new")).unwrap();
    }
    for _ in 0..3 {
        renameat_with(CWD, at("b"), CWD, at("other"), RenameFlags::EXCHANGE).unwrap();
        watched.check().await;
        for path in ["b/x/y/new", "other/x/y/new", "b/new", "other/new"] {
            std::fs::write(at(path), "x").unwrap();
            watched.check().await;
            std::fs::remove_file(at(path)).unwrap();
        }
    }
    // Moved out of sight and back, while another directory took its path.
    for hidden in ["target", ".git"] {
        std::fs::rename(at("b"), at(hidden)).unwrap();
        std::fs::create_dir_all(at("b/x")).unwrap();
        watched.check().await;
        std::fs::rename(at("b"), at("d")).unwrap();
        std::fs::rename(at(hidden), at("b")).unwrap();
        watched.check().await;
        for path in ["b/x/y/new", "d/x/new"] {
            std::fs::write(at(path), "x").unwrap();
            watched.check().await;
            std::fs::remove_file(at(path)).unwrap();
        }
        std::fs::remove_dir_all(at("d")).unwrap();
    }
    assert_eq!(watched.watcher.status().rescans, 0);
}

/// The kernel assigns both the same watch. Runs in a separate user namespace, which permits mounts.
#[test]
fn a_directory_that_is_mounted_a_second_time_is_heard_at_both_places() {
    const MOUNTED: &str = "mount --bind \"$0/a\" \"$0/b\" && exec \"$@\"";
    let place = tempfile::tempdir().unwrap();
    let root = place.path().to_str().unwrap();
    let by = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNTED, root];
    std::fs::create_dir_all(place.path().join("a/x")).unwrap();
    std::fs::create_dir(place.path().join("b")).unwrap();
    if !Command::new(by[0]).args(&by[1..]).arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: there are no user namespaces here");
        return;
    }
    let mut other = Other::start(&by, place.path());
    assert_eq!(other.ask("check"), "0 rescans, inotify");
    for path in ["a/new", "a/x/new"] {
        std::fs::write(place.path().join(path), "x").unwrap();
        assert_eq!(other.ask("check"), "0 rescans, inotify");
    }
    std::fs::rename(place.path().join("a/x"), place.path().join("x")).unwrap();
    assert_eq!(other.ask("check"), "0 rescans, inotify");
    std::fs::write(place.path().join("x/more"), "x").unwrap();
    assert_eq!(other.ask("check"), "0 rescans, inotify");
}
