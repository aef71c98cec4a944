//! Random repositories: compares every value with git's plumbing at the same moment. `HOB_WORK_REPOSITORIES` sets the
//! number of repositories; each is generated from its number.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use testkit::{Random, has_program};
use work::git::{ChangeKind, OperationKind};

use crate::repository::{Repository, runtime};

#[test]
fn random_repositories_are_told_as_gits_plumbing_tells_them() {
    if !has_program("git") {
        return;
    }
    let count = std::env::var("HOB_WORK_REPOSITORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let next = AtomicU64::new(0);
    let seen = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < count) {
                    let mut random = Random::new(seed);
                    let repository = Repository::new();
                    if random.chance(70) {
                        diverge(&repository, &mut random);
                    }
                    for _ in 0..2 + random.below(8) {
                        change(&repository, &mut random);
                    }
                    if random.chance(40) {
                        operate(&repository, &mut random);
                    }
                    let kinds = compare(&repository, seed);
                    seen.lock().expect("no thread failed").extend(kinds);
                }
            });
        }
    });
    let seen = seen.into_inner().expect("no thread failed");
    println!("{count} repositories: 0 differences; seen: {seen:?}");
    if count >= 20 {
        let kinds = ["conflict", "detached", "unborn", "stash", "rename", "upstream", "worktree", "merge", "rebase"];
        for kind in kinds.into_iter().chain(["cherry-pick", "revert", "bisect", "submodule"]) {
            assert!(seen.contains(kind), "no repository had a {kind}; there were {seen:?}");
        }
    }
}

/// Creates two branches that changed the same file in different ways.
fn diverge(repository: &Repository, random: &mut Random) {
    let git = |args: &[&str]| drop(repository.git(args));
    let commit = |text: &str, message: &str| {
        repository.write("a", text);
        git(&["add", "--all"]);
        git(&["commit", "-qm", message]);
    };
    commit("1\n2\n3\n", "First");
    git(&["switch", "-qc", "feature"]);
    commit("1\nfeature\n3\n", "On feature");
    git(&["switch", "-q", "main"]);
    commit("1\nmain\n3\n", "On main");
    if random.chance(50) {
        git(&["switch", "-q", "feature"]);
    }
}

/// Makes one change: a file, a commit, a branch, an operation that may end in a conflict, and so on. Changes that git
/// refuses have no effect.
fn change(repository: &Repository, random: &mut Random) {
    let git = |args: &[&str]| drop(repository.try_git(args));
    let names = ["a", "b.txt", "src/lib.rs", "two words", "naïve", "new\nline", "src/-odd", "\"quoted\""];
    let name = *random.pick(&names);
    let text = format!("{}\n", random.below(1000)).repeat(1 + random.below(8));
    let branch = *random.pick(&["feature", "bd-7/fix", "wip"]);
    match random.below(26) {
        0..6 => repository.write(name, &text),
        6 => {
            let name = OsString::from_vec(b"inv\xffalid".to_vec());
            repository.write(name, &text);
        }
        7..10 => git(&["add", "--all"]),
        10..13 => {
            git(&["add", "--all"]);
            git(&["commit", "-qm", &format!("Change {name:?}")]);
        }
        13 => git(&["switch", "-qc", branch]),
        14 => git(&["switch", "-q", *random.pick(&["main", branch])]),
        15 => git(&["checkout", "-q", "--detach"]),
        16..19 => operate(repository, random),
        19 | 20 => match random.below(4) {
            0 => git(&["stash", "-q"]),
            1 => git(&["mv", "a", "moved"]),
            2 => git(&["rm", "-q", "--cached", name]),
            _ => drop(std::fs::remove_file(repository.root().join(name))),
        },
        21 => {
            git(&["init", "-q", "--bare", "../origin.git"]);
            git(&["remote", "add", "origin", "../origin.git"]);
            git(&["push", "-qu", "origin", "HEAD"]);
            git(&["remote", "set-head", "origin", "--auto"]);
        }
        22 => git(&["worktree", "add", "-q", "--detach", &format!("../tree-{}", random.below(3))]),
        23 | 24 => submodule(repository, random),
        _ => {
            git(&["bisect", "start"]);
            git(&["bisect", "bad"]);
            git(&["bisect", "good", "main"]);
        }
    }
}

/// Adds a submodule, or makes a commit or a change inside an existing one.
fn submodule(repository: &Repository, random: &mut Random) {
    let git = |args: &[&str]| repository.try_git(args).0;
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
    if !repository.root().join("lib/.git").exists() {
        git(&["init", "-q", "../library"]);
        git(&[&["-C", "../library"], &identity[..], &["commit", "-q", "--allow-empty", "-m", "First"]].concat());
        git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "lib"]);
        return;
    }
    match random.below(3) {
        0 => repository.write("lib/untracked", "1"),
        _ => {
            git(&[&["-C", "lib"], &identity[..], &["commit", "-q", "--allow-empty", "-m", "Next"]].concat());
        }
    }
}

/// Starts a merge, rebase or similar operation, which may end in a conflict.
fn operate(repository: &Repository, random: &mut Random) {
    let git = |args: &[&str]| drop(repository.try_git(args));
    // More of these operations start in a clean worktree.
    git(&["add", "--all"]);
    git(&["commit", "-qm", "Before"]);
    git(&[*random.pick(&["merge", "rebase", "cherry-pick", "revert"]), *random.pick(&["main", "feature"])]);
}

/// Compares the answer with git's plumbing, and returns the features that the repository had.
fn compare(repository: &Repository, seed: u64) -> Vec<&'static str> {
    let git = repository.query().unwrap_or_else(|source| panic!("repository {seed}: {source:?}"));
    let said = |args: &[&str]| repository.git_text(args).filter(|said| !said.is_empty());
    let is = |what: &str, found: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "repository {seed}: {what}");
    };
    is("root", &git.root, &repository.root());
    let head = said(&["rev-parse", "--verify", "-q", "HEAD"]);
    is("head", &git.head, &head);
    let branch = said(&["symbolic-ref", "-q", "HEAD"]).map(|name| name.trim_start_matches("refs/heads/").to_owned());
    is("branch", &git.branch, &branch);
    is("subject", &git.subject, &head.as_ref().and_then(|_| said(&["log", "-1", "--format=%s"])));
    let stashes =
        said(&["rev-list", "-g", "--count", "refs/stash"]).map_or(0, |count| count.parse().expect("a number"));
    is("stashes", &git.stashes, &stashes);
    let upstream = said(&[
        "for-each-ref",
        "--format=%(upstream:short)",
        &format!("refs/heads/{}", branch.clone().unwrap_or_default()),
    ]);
    is("upstream", &git.upstream, &upstream.filter(|_| branch.is_some() && head.is_some()));
    let counts = |range: &str| {
        let counts = said(&["rev-list", "--left-right", "--count", range])?;
        let (behind, ahead) = counts.split_once('\t')?;
        Some((ahead.parse::<u64>().expect("a number"), behind.parse::<u64>().expect("a number")))
    };
    is("ahead, behind", &git.ahead.zip(git.behind), &git.upstream.as_ref().and_then(|_| counts("@{upstream}...HEAD")));
    let base = git.base.as_ref().filter(|_| head.is_some()).and_then(|base| counts(&format!("{base}...HEAD")));
    is("of the base", &git.ahead_of_base.zip(git.behind_base), &base);
    let has_remote = said(&["remote"]).is_some();
    let unpushed = said(&["rev-list", "--count", "HEAD", "--not", "--remotes"]).filter(|_| has_remote);
    is("unpushed", &git.unpushed.map(|count| count.to_string()), &unpushed);

    // Split at git's own separators; invalid UTF-8 is replaced in both.
    let paths = |args: &[&str]| -> BTreeSet<String> {
        let list = repository.try_git(args).1;
        list.split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect()
    };
    let of = |is: &dyn Fn(&work::git::Change) -> bool| -> BTreeSet<String> {
        git.changes.iter().filter(|change| is(change)).map(|change| change.path.clone()).collect()
    };
    // `ls-files -u` lists each path once per side.
    let conflicted: BTreeSet<String> =
        paths(&["ls-files", "-u", "-z"]).iter().filter_map(|line| Some(line.split_once('\t')?.1.to_owned())).collect();
    is("conflicts", &of(&|change| change.kind == ChangeKind::Conflicted), &conflicted);
    let without_conflicts = |paths: BTreeSet<String>| &paths - &conflicted;
    let staged = if head.is_some() {
        paths(&["diff-index", "--cached", "-M", "--name-only", "--ignore-submodules=none", "-z", "HEAD"])
    } else {
        paths(&["ls-files", "-z"])
    };
    is("staged", &of(&|change| change.staged), &without_conflicts(staged));
    // diff-files trusts file times, so refresh the index first.
    repository.try_git(&["update-index", "-q", "--refresh"]);
    let unstaged = paths(&["diff-files", "--name-only", "--ignore-submodules=dirty", "-z"]);
    is("not staged", &of(&|change| change.unstaged), &without_conflicts(unstaged));
    let untracked = paths(&["ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"]);
    is("untracked", &of(&|change| change.kind == ChangeKind::Untracked), &untracked);
    let renamed: BTreeSet<String> = git.changes.iter().filter_map(|change| change.renamed_from.clone()).collect();
    let moves = if head.is_some() {
        paths(&["diff-index", "--cached", "-M", "--diff-filter=R", "--name-status", "-z", "HEAD"])
    } else {
        BTreeSet::new()
    };
    is("renames", &renamed.is_subset(&moves), &true);

    let listed = runtime().block_on(work::git::worktrees(&repository.root(), &repository.env())).expect("a list");
    let names = std::fs::read_dir(repository.root().join(".git/worktrees")).map_or(0, Iterator::count);
    is("worktrees", &listed.len(), &(names + 1));
    is("the main one", &listed[0].path, &repository.root());

    let kind = git.operation.as_ref().map(|operation| operation.kind);
    let exists = |name: &str| repository.root().join(".git").join(name).exists();
    // A merge in the middle of a rebase is part of the rebase.
    let rebases = exists("rebase-merge") || exists("rebase-apply");
    let merges = exists("MERGE_HEAD") && !rebases;
    is("merge", &(kind == Some(OperationKind::Merge)), &merges);
    is("rebase", &(kind == Some(OperationKind::Rebase)), &rebases);
    let picks = exists("CHERRY_PICK_HEAD") && !rebases && !merges;
    is("cherry-pick", &(kind == Some(OperationKind::CherryPick)), &picks);
    let reverts = exists("REVERT_HEAD") && !rebases && !merges && !picks;
    is("revert", &(kind == Some(OperationKind::Revert)), &reverts);
    let bisects = exists("BISECT_LOG") && !rebases && !merges && !picks && !reverts;
    is("bisect", &(kind == Some(OperationKind::Bisect)), &bisects);
    let links = paths(&["ls-files", "--stage", "-z"]).iter().filter(|line| line.starts_with("160000")).count();
    [
        ("conflict", !conflicted.is_empty()),
        ("detached", git.detached),
        ("unborn", head.is_none()),
        ("stash", stashes > 0),
        ("rename", !renamed.is_empty()),
        ("upstream", git.upstream.is_some()),
        ("worktree", names > 0),
        ("merge", merges),
        ("rebase", rebases),
        ("cherry-pick", picks),
        ("revert", reverts),
        ("bisect", bisects),
        ("submodule", links > 0),
    ]
    .into_iter()
    .filter_map(|(name, is)| is.then_some(name))
    .collect()
}
