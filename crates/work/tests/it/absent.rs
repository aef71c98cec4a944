//! Missing programs and repositories: an answer is still given, with the reason and the fix.

use std::collections::BTreeMap;

use expect_test::expect;
use testkit::has_program;
use work::{Source, State};

use crate::repository::{Repository, query_directory};

fn render(found: Result<work::Git, Source>) -> String {
    let source = found.expect_err("nothing is there");
    format!("{:?}: {}. {}", source.state, source.detail.unwrap_or_default(), source.next.unwrap_or_default())
}

#[test]
fn no_repository_no_git_and_a_git_that_hangs() {
    if !has_program("git") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let repository = Repository::new();
    expect!["Absent: not a git repository. `git init` creates one."]
        .assert_eq(&render(query_directory(temp.path(), &repository.env())));
    let empty = BTreeMap::from([("PATH".to_owned(), temp.path().display().to_string())]);
    expect!["NotInstalled: git is not on the PATH. Install git."]
        .assert_eq(&render(query_directory(&repository.root(), &empty)));
    let program = temp.path().join("git");
    std::fs::write(&program, "#!/bin/sh\nexec /bin/sleep 60\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let begun = std::time::Instant::now();
    let found = query_directory(&repository.root(), &empty).expect_err("it hangs");
    assert_eq!(found.state, State::Timeout);
    assert!(begun.elapsed().as_millis() < 4000, "{:?}", begun.elapsed());
}

#[test]
fn a_bare_an_unborn_a_shallow_and_a_locked_one() {
    if !has_program("git") {
        return;
    }
    let repository = Repository::new();
    let unborn = repository.query().unwrap();
    assert_eq!((unborn.branch.as_deref(), unborn.head, unborn.unpushed), (Some("main"), None, None));
    repository.write("a", "1\n");
    repository.git(&["add", "a"]);
    repository.git(&["commit", "-qm", "First"]);
    repository.write("a", "2\n");
    repository.git(&["commit", "-qam", "Second"]);
    // With the index locked by another process, the queries need no lock and leave none.
    repository.write(".git/index.lock", "");
    repository.write("a", "3\n");
    let locked = repository.query().unwrap();
    assert_eq!((locked.unstaged, locked.subject.as_deref()), (1, Some("Second")));
    std::fs::remove_file(repository.root().join(".git/index.lock")).unwrap();
    repository.git(&["clone", "-q", "--bare", ".", "../bare"]);
    let bare = query_directory(&repository.temp.path().join("bare"), &repository.env()).unwrap();
    assert!(bare.bare && bare.branch.is_none());
    let url = format!("file://{}", repository.root().display());
    repository.git(&["clone", "-q", "--depth", "1", &url, "../shallow"]);
    let shallow = query_directory(&repository.temp.path().join("shallow"), &repository.env()).unwrap();
    assert!(shallow.shallow && shallow.upstream.as_deref() == Some("origin/main"), "{shallow:?}");
    assert_eq!((shallow.base.as_deref(), shallow.unpushed), (Some("origin/main"), Some(0)));
}
