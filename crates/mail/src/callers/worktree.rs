//! Reads the files of a caller's worktree without running git.

use std::path::{Path, PathBuf};

/// The maximum number of bytes read of a file that names a branch, which is one line.
const BRANCH_MAX: u64 = 8 * 1024;

/// Returns the branch that is checked out (gitrepository-layout(5)).
pub(super) fn branch(worktree: &str) -> Option<String> {
    let git = PathBuf::from(worktree).join(".git");
    let read = |path: &Path| project::regular::read(path, BRANCH_MAX);
    let dir = match read(&git) {
        Ok(text) => PathBuf::from(worktree).join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let head = read(&dir.join("HEAD")).ok()?;
    Some(head.trim().strip_prefix("ref: refs/heads/")?.chars().take(200).collect())
}
