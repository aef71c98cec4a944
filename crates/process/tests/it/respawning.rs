//! Programs that keep starting themselves again, outside the session and without its environment.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use process::{Child, Ladder};

use crate::fixture::{alive, have, shell, until};

/// A program that lives for `seconds`, then restarts itself in its own session with an empty environment, and ends. It
/// stops once its file is removed.
struct Respawning(tempfile::TempDir);

impl Respawning {
    fn new(seconds: &str) -> Respawning {
        let directory = tempfile::tempdir().unwrap();
        let program = "echo >>\"$0.lives\"\n[ SECONDS = 0 ] || sleep SECONDS\nsetsid env -i sh \"$0\" &\n";
        std::fs::write(directory.path().join("again"), program.replace("SECONDS", seconds)).unwrap();
        Respawning(directory)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("again")
    }

    fn count_lives(&self) -> u64 {
        std::fs::metadata(self.0.path().join("again.lives")).map_or(0, |data| data.len())
    }

    /// Returns a session that starts the program, lives on, and loses track of it.
    fn session(&self) -> Child {
        let child = shell(&format!("setsid env -i sh {} & read x", self.file().display())).spawn().unwrap();
        until("it has come back a few times", || self.count_lives() >= 5);
        child
    }

    /// Asserts that the program does not come back.
    fn is_over(&self) {
        let lives = self.count_lives();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(300) {
            assert_eq!((self.count_lives(), running(&self.file())), (lives, Vec::new()));
            std::thread::sleep(Duration::from_millis(10)); // polls: the process table
        }
    }
}

/// Returns the processes that run a file.
fn running(file: &Path) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap();
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let runs = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let file = file.to_str().unwrap();
    pids.filter(|&pid| runs(pid).split('\0').any(|word| word == file) && alive(pid)).collect()
}

async fn check(seconds: &str) {
    if !have("setsid", "programs that start themselves again") {
        return;
    }
    let (one, other) = (Respawning::new(seconds), Respawning::new("0.1"));
    let (mut child, spared) = (one.session(), other.session());
    let ended = child.group.end(child.stdin.take(), &Ladder::default()).await;
    assert_eq!(ended.left, 0, "{ended:?}");
    one.is_over();
    let lives = other.count_lives();
    until("that of the other session goes on", || other.count_lives() > lives);
    assert_eq!(spared.group.end(None, &Ladder::at_once()).await.left, 0);
    other.is_over();
}

#[tokio::test]
async fn what_starts_itself_again_is_ended_with_its_session() {
    check("0.1").await;
}

#[tokio::test]
async fn as_fast_as_it_can_too() {
    check("0").await;
}

#[tokio::test]
async fn where_only_the_guardian_is_left_too() {
    if !have("setsid", "a guardian and programs that start themselves again") {
        return;
    }
    let one = Respawning::new("0.1");
    drop(one.session());
    until("the guardian ended it", || running(&one.file()).is_empty());
    one.is_over();
}
