//! Queries while an agent commits: none of its commands meets a lock, and its index is never written.

use std::sync::atomic::{AtomicBool, Ordering};

use testkit::has_program;

use crate::repository::Repository;

#[test]
fn an_agent_that_commits_meets_no_lock() {
    if !has_program("git") {
        return;
    }
    let calls: usize = std::env::var("HOB_WORK_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(15);
    let repository = Repository::new();
    // After some thousand commits git would collect garbage in the background, which locks HEAD.
    repository.git(&["config", "gc.auto", "0"]);
    repository.git(&["config", "maintenance.auto", "false"]);
    repository.write("a", "0\n");
    repository.git(&["add", "a"]);
    repository.git(&["commit", "-qm", "First"]);
    let is_over = AtomicBool::new(false);
    let commits = std::thread::scope(|scope| {
        let agent = scope.spawn(|| {
            let mut commits = 0;
            while !is_over.load(Ordering::Relaxed) {
                commits += 1;
                repository.write("a", &format!("{commits}\n"));
                // A command that fails ends the test with git's message.
                repository.git(&["add", "a"]);
                repository.git(&["commit", "-qm", &format!("Commit {commits}")]);
                repository.git(&["status", "--short"]);
            }
            commits
        });
        let looks = || {
            for _ in 0..calls {
                let git = repository.query().unwrap_or_else(|source| panic!("{source:?}"));
                assert_eq!(git.branch.as_deref(), Some("main"));
            }
        };
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(looks));
        is_over.store(true, Ordering::Relaxed);
        let commits = agent.join().expect("none of its commands failed");
        looked.map(|()| commits).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    println!("{calls} looks beside {commits} commits");
    // The files match the commit but have new times: a plain `git status` would refresh the index.
    let index = repository.root().join(".git/index");
    let before = (std::fs::read(&index).expect("an index"), index.metadata().and_then(|data| data.modified()).ok());
    let text = std::fs::read_to_string(repository.root().join("a")).expect("a file");
    repository.write("a", &text);
    repository.query().expect("a state");
    let after = (std::fs::read(&index).expect("an index"), index.metadata().and_then(|data| data.modified()).ok());
    assert!(before == after, "the index was written");
    assert!(!repository.root().join(".git/index.lock").exists());
}
