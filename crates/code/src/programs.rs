//! Programs of a search path, without those of the checkout: who may write there may not choose what runs.

use std::path::{Path, PathBuf};

/// Where a program of this name stands, as a shell looks for it; executable or not. None lies in the worktree, or leads there.
pub(crate) fn places(name: &str, search_path: &str, worktree: &Path) -> Vec<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .filter(|program| program.is_file() && !is_of(program, worktree))
        .collect()
}

/// A search path without the directories of the worktree, for who looks for further programs there.
pub(crate) fn outside(search_path: &str, worktree: &Path) -> String {
    let directories =
        std::env::split_paths(search_path).filter(|one| one.is_absolute() && !is_of(&one.join("."), worktree));
    std::env::join_paths(directories).ok().and_then(|path| path.into_string().ok()).unwrap_or_default()
}

/// Whether a program lies in a worktree, by any of its names: the directory that is searched may be a link into it, and so may the
/// program.
fn is_of(program: &Path, worktree: &Path) -> bool {
    let is_below = |path: &Path| path.starts_with(worktree);
    let real = |path: &Path| path.canonicalize().ok();
    let inside = worktree.canonicalize().unwrap_or_else(|_| worktree.to_owned());
    is_below(program)
        || real(program).is_none_or(|program| program.starts_with(&inside))
        || program.parent().and_then(real).is_some_and(|directory| directory.starts_with(&inside))
}

pub(crate) fn is_executable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    program.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Whether a program is a stand-in that runs what lies in the project: Volta's run what `package.json` depends on.
pub(crate) fn runs_own_copy(program: &str) -> bool {
    let real = Path::new(program).canonicalize().ok();
    real.is_some_and(|real| real.file_name().is_some_and(|name| name == "volta-shim"))
}
