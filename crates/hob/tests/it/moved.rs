//! A project is identified by its directory, not its path: a moved project keeps its mail, and another project at its old
//! path gets none of it, whichever is used first, with or without a running daemon.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{Ran, TestProject};

use crate::{fresh, says};

/// A project with a session and an unread message.
struct Moved {
    project: TestProject,
}

impl Moved {
    fn new() -> Moved {
        let project = fresh();
        project.run(["quickstart", "--name", "anna", "--role", "dev"]).ok();
        project.run(["quickstart", "--name", "carl", "--role", "dev"]).ok();
        project.run(["send", "of the first", "--to", "anna", "--as", "carl"]).ok();
        project.run(["call", "repl_start", "--profile", "bash"]).ok();
        Moved { project }
    }

    fn new_location(&self) -> PathBuf {
        self.project.top().join("elsewhere")
    }

    /// Moves the directory and creates another in its place.
    fn replace(&self) {
        fs::rename(self.project.root(), self.new_location()).unwrap();
        fs::create_dir(self.project.root()).unwrap();
    }

    fn run(&self, directory: &Path, args: &[&str]) -> Ran {
        let mut command = self.project.hob(args);
        Ran::run(command.current_dir(directory).env("HOB_PROJECT", directory))
    }

    fn agents(&self, directory: &Path) -> String {
        self.run(directory, &["agents"]).ok()
    }

    fn inbox(&self, directory: &Path) -> String {
        self.run(directory, &["inbox", "--as", "anna"]).stdout
    }

    fn check_both(&self) {
        let (here, there) = (self.project.root(), self.new_location());
        assert!(!self.agents(&here).contains("anna"), "the new one has agents of the other");
        assert!(!self.inbox(&here).contains("of the first"));
        let sessions = self.run(&here, &["call", "repl_list"]).ok();
        assert!(sessions.contains("No sessions"), "{sessions}");
        assert!(self.inbox(&there).contains("of the first"), "the moved one has lost its mail");
        assert!(self.agents(&there).contains("carl"));
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        if self.new_location().exists() {
            self.run(&self.new_location(), &["stop"]);
            if self.project.root().exists() {
                self.run(&self.project.root(), &["stop"]);
                let _ = fs::remove_dir_all(self.project.root());
            }
            let _ = fs::rename(self.new_location(), self.project.root());
        }
    }
}

#[test]
fn what_stands_in_its_place_gets_nothing_of_it_while_its_daemon_runs() {
    let moved = Moved::new();
    let pid = moved.project.daemon_pid().expect("it runs");
    moved.replace();
    moved.check_both();
    let is_left = moved.project.processes().iter().any(|process| process.pid == pid);
    assert!(!is_left, "nobody finds that daemon any more");
}

#[test]
fn it_is_served_where_it_is_now_though_its_daemon_runs() {
    let moved = Moved::new();
    fs::rename(moved.project.root(), moved.new_location()).unwrap();
    assert!(moved.inbox(&moved.new_location()).contains("of the first"));
}

#[test]
fn what_was_set_aside_is_told() {
    let moved = Moved::new();
    moved.project.run(["stop"]).ok();
    moved.replace();
    let here = moved.project.root();
    let state = moved.project.state_dir().to_string_lossy().into_owned();
    let note = "this path belonged to another directory";
    let check = |where_it_waits: &str| {
        for command in [&["status"][..], &["status", "--json"], &["doctor"]] {
            says(&moved.run(&here, command).stdout, &[note, where_it_waits]);
        }
    };
    // Before any daemon starts, while one runs, and after it has exited.
    check(&state);
    assert_eq!(moved.project.daemon_pid(), None);
    moved.agents(&here);
    check(&format!("{state}."));
    moved.run(&here, &["stop"]).ok();
    check(&format!("{state}."));
    moved.check_both();
    assert!(!moved.run(&here, &["status"]).stdout.contains(note));
}
