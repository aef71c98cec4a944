//! Where what a server reads begins, by the files that mark a directory.

use std::path::{Path, PathBuf};

use crate::server::profile::Profile;

/// The outermost directory between the worktree and the file that has one of the marks; the worktree if none has.
pub(crate) fn root_of(worktree: &Path, file: &Path, profile: &Profile) -> PathBuf {
    let mut directories: Vec<&Path> = file.parent().into_iter().flat_map(Path::ancestors).collect();
    directories.reverse();
    let is_marked = |directory: &PathBuf| profile.roots.iter().any(|mark| has_mark(directory, mark));
    let found = directories.into_iter().map(|directory| worktree.join(directory)).find(is_marked);
    found.unwrap_or_else(|| worktree.to_owned())
}

/// Whether a directory has a file that marks it: of this name, or with this extension (`*.cabal`).
pub(crate) fn has_mark(directory: &Path, mark: &str) -> bool {
    let Some(end) = mark.strip_prefix('*') else { return directory.join(mark).is_file() };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(end))
}
