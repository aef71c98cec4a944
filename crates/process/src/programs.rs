//! Program lookup on a search path that excludes the worktree: write access to the checkout must not decide which program runs.

use std::path::{Path, PathBuf};

/// Returns the paths of a program on a search path, executable or not. Excludes all that are in the worktree or link into it.
pub fn program_paths(name: &str, search_path: &str, worktree: &Path) -> Vec<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .filter(|program| program.is_file() && !is_inside(program, worktree))
        .collect()
}

/// Removes the directories of the worktree from a search path, for programs that search it themselves.
pub fn exclude_worktree(search_path: &str, worktree: &Path) -> String {
    let directories =
        std::env::split_paths(search_path).filter(|one| one.is_absolute() && !is_inside(&one.join("."), worktree));
    std::env::join_paths(directories).ok().and_then(|path| path.into_string().ok()).unwrap_or_default()
}

/// True if a program is in a worktree. The directory or the program itself may be a link into it.
fn is_inside(program: &Path, worktree: &Path) -> bool {
    let is_below = |path: &Path| path.starts_with(worktree);
    let real = |path: &Path| path.canonicalize().ok();
    let inside = worktree.canonicalize().unwrap_or_else(|_| worktree.to_owned());
    is_below(program)
        || real(program).is_none_or(|program| program.starts_with(&inside))
        || program.parent().and_then(real).is_some_and(|directory| directory.starts_with(&inside))
}

pub fn is_executable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    program.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// True if a program is a launcher that runs a version from the project, such as Volta with `package.json`.
pub fn runs_own_copy(program: &str) -> bool {
    let real = Path::new(program).canonicalize().ok();
    real.is_some_and(|real| real.file_name().is_some_and(|name| name == "volta-shim"))
}
