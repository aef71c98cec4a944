//! Root directories of servers, found by marker files.

use std::path::{Path, PathBuf};

use crate::server::profile::Profile;

/// Returns the outermost directory between the worktree and the file that has a marker; the worktree if there is no marker.
pub(crate) fn root_of(worktree: &Path, file: &Path, profile: &Profile) -> PathBuf {
    let mut directories: Vec<&Path> = file.parent().into_iter().flat_map(Path::ancestors).collect();
    directories.reverse();
    let is_marked = |directory: &PathBuf| profile.roots.iter().any(|mark| has_mark(directory, mark));
    let found = directories.into_iter().map(|directory| worktree.join(directory)).find(is_marked);
    found.unwrap_or_else(|| worktree.to_owned())
}

/// True if the directory contains a marker: a file with this name, or with this extension (`*.cabal`).
pub(crate) fn has_mark(directory: &Path, mark: &str) -> bool {
    let Some(end) = mark.strip_prefix('*') else { return directory.join(mark).is_file() };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(end))
}
