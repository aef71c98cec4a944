//! Obstacles in the place of a file that a decision depends on: none is read as an empty file.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::agents::Agent;
use crate::policy::{Facts, Subject, decide};

const DENY: &str = "[[rule]]\nid = \"push\"\ncommand = \"git push -f\"\ndecide = \"deny\"\n";

/// A project whose state is in the user's state directory, and is removed with the test.
struct Here {
    project: Project,
    _temp: tempfile::TempDir,
}

impl Here {
    fn new() -> Here {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        Here { project: Project::find(Some(&root), &root).unwrap(), _temp: temp }
    }

    fn policy(&self) -> PathBuf {
        self.project.root().join(FILE)
    }

    fn record(&self) -> PathBuf {
        self.project.state_dir().join(HELD)
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.project.state_dir());
    }
}

fn verdict(standing: &ActivePolicies, command: &str) -> Verdict {
    let payload =
        serde_json::json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
    let event = crate::read(Agent::Claude, "", payload.to_string().as_bytes());
    let subject = Subject::from_event(&event, Path::new("/p"), Path::new("/p"));
    decide(&standing.policies, &event, &subject, &Facts::new()).verdict
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
}

/// A callback that creates an obstacle at a path.
type Obstacle = Box<dyn Fn(&Path)>;

/// Returns callbacks that replace a file with something unreadable.
fn obstacles() -> Vec<(&'static str, Obstacle)> {
    let fifo = |path: &Path| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    };
    let written = |bytes: Vec<u8>| move |path: &Path| std::fs::write(path, &bytes).unwrap();
    vec![
        ("a directory", Box::new(|path: &Path| std::fs::create_dir(path).unwrap())),
        ("a pipe", Box::new(fifo)),
        ("an endless device", Box::new(|path: &Path| symlink("/dev/zero", path).unwrap())),
        ("too much", Box::new(written(vec![b'#'; 9 * 1024 * 1024]))),
        ("no text", Box::new(written(vec![0xff; 10]))),
        ("no TOML and no JSON", Box::new(written(b"[[rule".to_vec()))),
        ("half a record", Box::new(written(b"{\"rules\":[{\"id\":\"a\",\"decide\":\"deny\"".to_vec()))),
    ]
}

#[test]
fn a_record_that_cannot_be_read_denies_until_it_is_granted_anew() {
    for (name, put) in obstacles() {
        let here = Here::new();
        std::fs::write(here.policy(), DENY).unwrap();
        Files::new(&here.project).active(true);
        remove(&here.record());
        put(&here.record());
        let record = std::fs::symlink_metadata(here.record()).unwrap();
        if record.is_file() {
            std::fs::set_permissions(here.record(), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        // An agent has also emptied the file.
        std::fs::write(here.policy(), "").unwrap();
        let mut files = Files::new(&here.project);
        let standing = files.active(true);
        assert_eq!(
            (verdict(&standing, "git push -f"), verdict(&standing, "ls")),
            (Verdict::Deny, Verdict::Deny),
            "{name}"
        );
        let said = format!("{}\n{}", standing.broken.join("\n"), standing.pending.join("\n"));
        assert!(said.matches(&here.record().display().to_string()).count() == 2, "{name}: {said}");
        let reason = standing.policies[1].rules.last().unwrap().table.reason.clone().unwrap();
        assert!(reason.contains("hooks-policy.json") && reason.contains("`hob trust`"), "{name}: {reason}");
        put_damaged_record_aside(&here.project).unwrap();
        assert_eq!(verdict(&files.active(true), "ls"), Verdict::Pass, "{name}");
    }
}

#[test]
fn others_could_have_written_the_record() {
    let here = Here::new();
    std::fs::write(here.policy(), DENY).unwrap();
    Files::new(&here.project).active(true);
    std::fs::set_permissions(here.record(), std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(verdict(&Files::new(&here.project).active(true), "ls"), Verdict::Deny);
}

#[test]
fn a_policy_that_cannot_be_read_changes_nothing_or_asks() {
    for (name, put) in obstacles() {
        let here = Here::new();
        put(&here.policy());
        let standing = Files::new(&here.project).active(true);
        assert_eq!(verdict(&standing, "ls"), Verdict::Ask, "no rule is known: {name}");
        let broken = &standing.broken[0];
        assert!(broken.starts_with("hob-policy.toml: ") && broken.ends_with("hob asks before every tool"), "{broken}");
        remove(&here.policy());
        std::fs::write(here.policy(), DENY).unwrap();
        Files::new(&here.project).active(true);
        remove(&here.policy());
        put(&here.policy());
        let mut files = Files::new(&here.project);
        let standing = files.active(true);
        assert_eq!(
            (verdict(&standing, "git push -f"), verdict(&standing, "ls")),
            (Verdict::Deny, Verdict::Pass),
            "{name}"
        );
        // After the file is removed, the rules stay in force until a grant.
        remove(&here.policy());
        let standing = files.active(true);
        assert_eq!(verdict(&standing, "git push -f"), Verdict::Deny);
        assert_eq!(standing.pending, ["rule push (deny) was removed or changed"]);
        assert!(standing.broken.is_empty());
    }
}
