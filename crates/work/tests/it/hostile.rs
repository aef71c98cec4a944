//! A repository whose configuration names programs: none of them runs, and nothing is written.

use std::os::unix::fs::PermissionsExt;

use testkit::has_program;

use crate::repository::Repository;

#[test]
fn what_a_repository_configures_does_not_run() {
    if !has_program("git") {
        return;
    }
    let repository = Repository::new();
    repository.write("a.txt", "1\n");
    repository.write(".gitattributes", "*.txt filter=evil diff=evil\n");
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "-qm", "First"]);
    let ran = repository.temp.path().join("ran");
    let program = repository.temp.path().join("evil");
    std::fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", ran.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let evil = program.display().to_string();
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "filter.evil.clean",
        "filter.evil.process",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "gpg.program",
    ] {
        repository.git(&["config", name, &evil]);
    }
    repository.git(&["config", "log.showSignature", "true"]);
    repository.git(&["config", "core.hooksPath", &repository.temp.path().display().to_string()]);
    // The file's time is new, so that git has to look into it.
    repository.write("a.txt", "2\n");
    let index = std::fs::read(repository.root().join(".git/index")).unwrap();
    let git = repository.look().unwrap();
    assert_eq!((git.unstaged, git.subject.as_deref()), (1, Some("First")));
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
    assert_eq!(std::fs::read(repository.root().join(".git/index")).unwrap(), index, "the index is as it was");
}
