//! A table of missing parts: `work_status` always answers, and `sources` gives the reason and the fix. The cases of gh are in
//! `pulls_absent.rs`.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use testkit::has_program;
use work::{Work, WorkSettings};

use crate::fixture::{Answer, call, find_program, program, work_of};
use crate::repository::{Repository, runtime};

/// A repository without gh.
struct Fixture {
    repository: Repository,
    work: Arc<Work>,
    env: BTreeMap<String, String>,
}

impl Fixture {
    fn new() -> Option<Fixture> {
        has_program("git").then(Fixture::with_what_there_is)
    }

    fn with_what_there_is() -> Fixture {
        let repository = Repository::new();
        let bin = repository.temp.path().join("bin");
        std::fs::create_dir(&bin).expect("a directory");
        for (name, file) in ["git", "sh", "cat"].into_iter().filter_map(|name| Some((name, find_program(name)?))) {
            std::os::unix::fs::symlink(file, bin.join(name)).expect("a link");
        }
        let mut env = repository.env();
        env.insert("PATH".to_owned(), bin.display().to_string());
        let work = work_of(&repository, WorkSettings::default());
        Fixture { repository, work, env }
    }

    fn ask_in(&self, directory: &Path, arguments: Value) -> Answer {
        let mut caller = testkit::caller(directory, "ann");
        (caller.env, caller.run) = (self.env.clone(), Some("run".to_owned()));
        runtime().block_on(call(&self.work, caller, "work_status", arguments))
    }

    fn ask(&self) -> Answer {
        self.ask_in(&self.repository.root(), json!({}))
    }

    fn commit(&self) {
        self.repository.git(&["commit", "-q", "--allow-empty", "-m", "First"]);
    }

    fn issue(&self, id: &str) -> Answer {
        self.ask_in(&self.repository.root(), json!({"issue": id}))
    }
}

#[test]
fn no_repository() {
    let Some(there) = Fixture::new() else { return };
    let elsewhere = there.repository.temp.path().join("home");
    let said = there.ask_in(&elsewhere, json!({}));
    assert_eq!(said.source("git"), "absent: not a git repository. `git init` creates one.");
    assert_eq!(said.text, "git: not a git repository. `git init` creates one.");
    for part in ["pull", "issue"] {
        assert_eq!(said.value["sources"][part]["state"], "absent", "{}", said.text);
    }
    let said = there.ask_in(&elsewhere, json!({"sections": ["worktrees"]}));
    assert_eq!(said.source("worktrees"), "absent: not a git repository. `git init` creates one.");
}

#[test]
fn a_repository_without_a_commit_on_an_unborn_branch() {
    let Some(there) = Fixture::new() else { return };
    there.repository.git(&["remote", "add", "origin", "https://github.com/up/web"]);
    there.repository.write("a", "");
    let said = there.ask();
    assert_eq!((&said.value["git"]["branch"], &said.value["git"]["head"]), (&json!("main"), &Value::Null));
    assert_eq!(said.text, "branch main, without a commit\n1 untracked\n  untracked a");
    assert_eq!(said.source("pull"), "absent: the branch main has no commit. ");
}

#[test]
fn a_bare_repository() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    there.repository.git(&["clone", "-q", "--bare", ".", "../bare"]);
    let said = there.ask_in(&there.repository.temp.path().join("bare"), json!({}));
    assert_eq!(said.source("git"), "absent: a bare repository has no worktree. ");
    assert_eq!((&said.value["git"]["bare"], &said.value["pull"]), (&json!(true), &Value::Null));
}

#[test]
fn a_detached_head() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    there.repository.git(&["checkout", "-q", "--detach"]);
    let said = there.ask();
    assert_eq!((&said.value["git"]["detached"], &said.value["git"]["branch"]), (&json!(true), &Value::Null));
    assert_eq!(said.source("pull"), "absent: HEAD is detached. `git switch BRANCH` checks out a branch.");
}

#[test]
fn a_shallow_repository() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    there.commit();
    let url = format!("file://{}", there.repository.root().display());
    there.repository.git(&["clone", "-q", "--depth", "1", &url, "../shallow"]);
    let said = there.ask_in(&there.repository.temp.path().join("shallow"), json!({}));
    assert_eq!(said.source("git"), "ok: the clone is shallow: counts may be too small. ");
}

#[test]
fn submodules() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    there.repository.git(&["clone", "-q", ".", "../part"]);
    there.repository.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", "../part", "part"]);
    there.repository.git(&["commit", "-qm", "A part"]);
    there.repository.write("part/new", "");
    assert_eq!(there.ask().value["git"]["files"], 0, "what stands in it is its own");
    there.repository.git(&[
        "-C",
        "part",
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@example.org",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "More",
    ]);
    let said = there.ask();
    assert_eq!((&said.value["git"]["files"], &said.value["git"]["changes"][0]["path"]), (&json!(1), &json!("part")));
    // A submodule is a separate repository.
    let said = there.ask_in(&there.repository.root().join("part"), json!({}));
    assert_eq!((&said.value["git"]["subject"], &said.value["git"]["untracked"]), (&json!("More"), &json!(1)));
}

#[test]
fn an_index_that_somebody_has_locked() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    there.repository.write("a", "");
    there.repository.write(".git/index.lock", "");
    let said = there.ask();
    assert_eq!((&said.value["sources"]["git"]["state"], &said.value["git"]["untracked"]), (&json!("ok"), &json!(1)));
}

#[test]
fn ten_thousand_untracked_files() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    let root = there.repository.root();
    for number in 0..10_000 {
        std::fs::File::create(root.join(format!("f{number}"))).unwrap();
    }
    let said = there.ask();
    assert_eq!(said.value["sources"]["git"]["state"], "ok", "{}", said.text);
    assert_eq!((&said.value["git"]["untracked"], &said.value["git"]["files"]), (&json!(10_000), &json!(10_000)));
    assert_eq!(said.value["git"]["changes"].as_array().unwrap().len(), 200);
}

#[test]
fn names_with_line_breaks_and_invalid_utf_8() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    let root = there.repository.root();
    for name in [&b"a\nb"[..], b"c\xffd", b"\x1b[2J"] {
        std::fs::write(root.join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
    }
    let said = there.ask();
    let mut paths: Vec<&str> = said.value["git"]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["\u{1b}[2J", "a\nb", "c\u{fffd}d"]);
    assert!(!said.text.contains('\u{1b}') && !said.text.contains("a\nb"), "{:?}", said.text);
}

#[test]
fn no_remote() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    let said = there.ask();
    assert_eq!(said.source("pull"), "absent: no remote is configured. `git remote add origin ADDRESS` adds one.");
    assert_eq!(said.value["git"]["unpushed"], Value::Null);
}

#[test]
fn git_missing() {
    let mut there = Fixture::with_what_there_is();
    there.env.insert("PATH".to_owned(), there.repository.temp.path().join("nothing").display().to_string());
    let said = there.ask();
    assert_eq!(said.source("git"), "not_installed: git is not on the PATH. Install git.");
    assert!(said.text.contains("git: git is not on the PATH. Install git."), "{}", said.text);
    assert_eq!(said.value["git"], Value::Null);
    // Issues in the repository need no gh.
    there.repository.write(".beads/issues.jsonl", "{\"id\":\"web-a1\",\"title\":\"Lists\"}\n");
    assert_eq!(there.issue("web-a1").value["issue"]["title"], "Lists");
}

#[test]
fn bd_missing_with_a_file_of_issues() {
    let Some(there) = Fixture::new() else { return };
    there.repository.write(".beads/issues.jsonl", "{\"id\":\"web-a1\",\"title\":\"Lists\"}\n");
    let said = there.issue("web-a1");
    assert_eq!((&said.value["issue"]["title"], said.source("issue").as_str()), (&json!("Lists"), "ok: . "));
}

#[test]
fn bd_missing_without_a_file_of_issues() {
    let Some(there) = Fixture::new() else { return };
    std::fs::create_dir(there.repository.root().join(".beads")).unwrap();
    let said = there.issue("web-a1");
    let expected = "absent: .beads has no issues.jsonl. `bd export` or `br sync --flush-only` creates it.";
    assert_eq!((&said.value["issue"], said.source("issue").as_str()), (&Value::Null, expected));
    // A tracker's program that fails.
    program(&there.repository.temp.path().join("bin"), "bd", "echo 'panic: no database' >&2; exit 1");
    let said = there.issue("web-a1");
    let expected = "failed: `bd list --json`: panic: no database. Run `bd doctor` to find the cause.";
    assert_eq!(said.source("issue"), expected);
    assert_eq!(said.value["git"]["branch"], "main");
}

#[test]
fn a_file_of_issues_that_is_half_written() {
    let Some(there) = Fixture::new() else { return };
    there.repository.write(".beads/issues.jsonl", "{\"id\":\"web-a1\",\"title\":\"Lists\"}\n{\"id\":\"web-b2\",\"ti");
    let said = there.issue("web-a1");
    assert_eq!(
        (&said.value["issue"]["id"], said.source("issue").as_str()),
        (&json!("web-a1"), "ok: invalid lines skipped: 1. ")
    );
}

#[test]
fn an_issue_that_does_not_exist() {
    let Some(there) = Fixture::new() else { return };
    there.repository.write(".beads/issues.jsonl", "{\"id\":\"web-a1\",\"title\":\"Lists\"}\n");
    let said = there.issue("web-a2");
    assert_eq!(said.source("issue"), "absent: unknown issue web-a2. Did you mean web-a1?");
    assert!(said.text.contains("issue: unknown issue web-a2. Did you mean web-a1?"), "{}", said.text);
}

#[test]
fn the_predecessors_fault_data_gathered_and_thrown_away() {
    let Some(there) = Fixture::new() else { return };
    there.commit();
    there.repository.write("new", "");
    // The issue, the pull request and gh are all missing: git's state is still reported.
    there.repository.git(&["remote", "add", "origin", "https://github.com/up/web"]);
    let said = there.issue("web-a1");
    assert_eq!(said.value["git"]["changes"][0]["path"], "new");
    assert_eq!(said.value["sources"]["pull"]["state"], "not_installed");
    assert_eq!(said.value["sources"]["issue"]["state"], "absent");
}

#[test]
fn the_predecessors_fault_one_fixed_repository_prefix_and_base_branch() {
    let Some(mut there) = Fixture::new() else { return };
    there.repository.git(&["switch", "-qc", "trunk"]);
    there.commit();
    there.repository.write(".beads/issues.jsonl", "{\"id\":\"any-thing-a1\",\"title\":\"Lists\"}\n");
    there.repository.git(&["switch", "-qc", "any-thing-a1-lists"]);
    there.repository.git(&["config", "init.defaultBranch", "trunk"]);
    let said = there.ask();
    assert_eq!((&said.value["git"]["base"], &said.value["issue"]["id"]), (&json!("trunk"), &json!("any-thing-a1")));
    // The base in the settings wins if the branch exists.
    there.repository.git(&["branch", "develop"]);
    for (base, expected) in [("develop", "develop"), ("gone", "trunk")] {
        let settings = WorkSettings { base: Some(base.to_owned()), ..WorkSettings::default() };
        there.work = work_of(&there.repository, settings);
        assert_eq!(there.ask().value["git"]["base"], expected);
    }
}
