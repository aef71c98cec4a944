//! The commit that is checked out in a worktree, read without running git (gitrepository-layout(5), "HEAD").

use std::path::{Path, PathBuf};

use super::{common_dir_at, read_line};
use crate::regular;

/// The size limit of a list of packed references.
const MAX_PACKED: u64 = 16 << 20;

/// Returns the commit that is checked out in the worktree at `top`. `None` outside of git, before the first commit, and
/// for unsupported reference storage (reftable).
pub fn head_commit(top: &Path) -> Option<String> {
    let common = common_dir_at(top)?;
    let head = read_line(&own_dir(top)?.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref: ") else { return is_commit(&head).then_some(head) };
    // A reference must be a path below the git directory.
    let is_below = reference.starts_with("refs/") && !reference.split('/').any(|part| matches!(part, "" | "." | ".."));
    let loose = is_below.then(|| read_line(&common.join(reference))).flatten();
    loose.filter(|commit| is_commit(commit)).or_else(|| packed(&common, reference))
}

/// Returns the worktree's own git directory; a linked worktree has a separate one.
fn own_dir(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let named = read_line(&dot_git)?;
    Some(top.join(named.strip_prefix("gitdir: ")?))
}

fn packed(common: &Path, reference: &str) -> Option<String> {
    let text = regular::read(&common.join("packed-refs"), MAX_PACKED).ok()?;
    let commits = text.lines().filter_map(|line| line.split_once(' '));
    commits
        .into_iter()
        .find(|(commit, name)| *name == reference && is_commit(commit))
        .map(|(commit, _)| commit.to_owned())
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::tests::git;
    use super::*;

    fn rev_parse(cwd: &Path) -> String {
        let output = Command::new("git").current_dir(cwd).args(["rev-parse", "HEAD"]).output().expect("git runs");
        String::from_utf8(output.stdout).expect("a name").trim().to_owned()
    }

    #[test]
    fn as_git_says() {
        let top = tempfile::tempdir().expect("a directory");
        let top = top.path().canonicalize().expect("it exists");
        assert_eq!(head_commit(&top), None);
        let main = top.join("main");
        std::fs::create_dir(&main).expect("made");
        git(&main, &["init", "-q"]);
        assert_eq!(head_commit(&main), None);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "First"]);
        assert_eq!(head_commit(&main), Some(rev_parse(&main)));
        git(&main, &["worktree", "add", "-q", "../linked", "-b", "topic"]);
        git(&top.join("linked"), &["commit", "-q", "--allow-empty", "-m", "Second"]);
        assert_eq!(head_commit(&top.join("linked")), Some(rev_parse(&top.join("linked"))));
        git(&main, &["pack-refs", "--all"]);
        assert_eq!(head_commit(&main), Some(rev_parse(&main)));
        assert_eq!(head_commit(&top.join("linked")), Some(rev_parse(&top.join("linked"))));
        git(&main, &["checkout", "-q", "--detach"]);
        assert_eq!(head_commit(&main), Some(rev_parse(&main)));
    }
}
