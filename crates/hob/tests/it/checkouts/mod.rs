//! A malicious checkout: links, FIFOs, modes, shipped state and names, committed with git. hob never reads files outside it
//! as its own, changes nothing there, and never hangs.
//!
//! Here: the victim, and everyday commands in a checkout. Past attacks, by name: `shipped_state.rs` tests state and endless
//! files under hob's names, `links.rs` links where hob writes or reads, `programs.rs` programs of the checkout,
//! `environment.rs` the user's environment, `display.rs` names and values that would control a terminal or forge lines.
//! `generator.rs` combines these at random.

mod display;
mod environment;
mod generator;
mod links;
mod programs;
mod shipped_state;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use testkit::{Ran, TestProject};

use crate::fresh;

/// A user with private files, and a checkout from a stranger.
struct Victim {
    project: TestProject,
    before: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl Victim {
    fn new() -> Victim {
        let project = fresh();
        for (path, text) in [
            ("precious/one.json", "{\"mine\": 1}"),
            ("precious/00112233445566778899aabbccddeeff.json", "{}"),
            ("precious/two.jsonl", "two\n"),
            ("precious/notes", "what I wrote\n"),
            ("precious/next-evaluation", "what I wrote too, and it is longer than twenty bytes\n"),
            ("home/.bashrc", "alias ll='ls -l'\n"),
            ("home/.ssh/id", "secret\n"),
        ] {
            let path = project.top().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Victim { project, before: BTreeMap::new() }
    }

    fn root(&self) -> PathBuf {
        self.project.root()
    }

    fn precious(&self) -> PathBuf {
        self.project.top().join("precious")
    }

    fn link(&self, to: impl AsRef<Path>, at: &str) {
        let at = self.root().join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
    }

    /// From now on only hob's own state outside the checkout may change.
    fn ready(&mut self) {
        self.before = self.snapshot();
    }

    fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut waiting = vec![self.precious(), self.project.home(), self.root()];
        while let Some(next) = waiting.pop() {
            for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
                let (path, metadata) = (entry.path(), entry.path().symlink_metadata().unwrap());
                if path.starts_with(self.project.home().join(".local")) {
                    continue;
                }
                let bytes = if metadata.is_file() {
                    fs::read(&path).unwrap_or_default()
                } else if metadata.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().as_bytes().to_vec()
                } else {
                    Vec::new()
                };
                if metadata.is_dir() {
                    waiting.push(path.clone());
                }
                all.insert(path, (metadata.permissions().mode(), bytes));
            }
        }
        all
    }

    fn assert_unharmed(&self, what: &str) {
        let after = self.snapshot();
        for (path, was) in &self.before {
            assert_eq!(after.get(path), Some(was), "{what}: {} changed", path.display());
        }
        let new: Vec<_> = after.keys().filter(|path| !self.before.contains_key(*path)).collect();
        assert!(new.is_empty(), "{what}: there is more than before: {new:?}");
    }

    /// Asserts that the files outside of the checkout are as before, except those that are the user's own to change.
    fn assert_unharmed_outside(&self, what: &str, may_change: impl Fn(&Path) -> bool) {
        let (after, root) = (self.snapshot(), self.root());
        let outside = |(path, _): &(&PathBuf, &(u32, Vec<u8>))| !path.starts_with(&root) && !may_change(path);
        assert!(self.before.iter().filter(outside).eq(after.iter().filter(outside)), "{what}: {after:#?}");
    }

    fn run(&self, args: &[&str]) -> Ran {
        // A blocked read of a FIFO or device would never end.
        let mut command = self.project.command("timeout");
        command.args(["--signal=KILL", "60", "hob"]).args(args);
        let ran = Ran::run(&mut command);
        assert!(ran.code != Some(137) && ran.code.is_some(), "{args:?} hung: {ran:#?}");
        assert!(!ran.stderr.contains("panicked"), "{args:?}: {ran:#?}");
        ran
    }
}

/// Everything that an agent or a person does in a fresh clone, except commands that write into it on request.
const EVERYDAY: &[&[&str]] = &[
    &["status"],
    &["doctor"],
    &["trust"],
    &["tools"],
    &["call", "repl_start", "--profile", "bash"],
    &["call", "repl_eval", "--code", "echo $((6 * 7))"],
    &["quickstart", "--name", "planner", "--role", "lead"],
    &["send", "hello", "--to", "planner", "--as", "other"],
    &["inbox", "--all"],
    &["agents"],
    &["status"],
    &["stop"],
];

const SHABBY: &str = "module A do\ndef main(): Int=1\nend\n";
