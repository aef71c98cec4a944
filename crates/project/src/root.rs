//! Which directory is the project. The order is fixed: `--project`, `HOB_PROJECT`, git's main worktree, the nearest
//! `hob.toml` or `.hob` upwards that belongs to this user, the current directory.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{git, owner};

/// The file that configures a project.
pub(crate) const CONFIG_FILE: &str = "hob.toml";
/// The directory in which a project keeps its state.
pub(crate) const HOB_DIR: &str = ".hob";

/// What made a directory the project root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// Named with `--project`.
    Argument,
    /// Named by the environment variable `HOB_PROJECT`.
    Variable,
    /// The main worktree of the git repository around the current directory.
    Git,
    /// The nearest `hob.toml` or `.hob` upwards.
    Marker,
    /// Nothing pointed anywhere else.
    CurrentDirectory,
}

/// Why there is no project root.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum FindError {
    #[error("project directory {path}: {source}; name an existing directory with --project DIR or HOB_PROJECT")]
    Missing { path: PathBuf, source: io::Error },
    #[error("project root {path} is not a directory; name a directory with --project DIR or HOB_PROJECT")]
    NotADirectory { path: PathBuf },
    #[error(
        "project root {path} belongs to user {owner}, not to you (user {me}): refused, because whoever owns it could \
         make hob run things as you; name a directory of your own with --project DIR"
    )]
    ForeignOwner { path: PathBuf, owner: u32, me: u32 },
    #[error(
        "project root {path} is not valid UTF-8; move the project to a path that is, or name another with --project DIR"
    )]
    NotUtf8 { path: PathBuf },
}

/// Finds the root: absolute, without links, a directory of this user.
pub(crate) fn find(
    argument: Option<&Path>,
    variable: Option<&Path>,
    cwd: &Path,
) -> Result<(PathBuf, FoundBy), FindError> {
    let (path, found_by) = choose(argument, variable, cwd);
    let root = path.canonicalize().map_err(|source| FindError::Missing { path: path.clone(), source })?;
    let metadata = root.metadata().map_err(|source| FindError::Missing { path: path.clone(), source })?;
    if !metadata.is_dir() {
        return Err(FindError::NotADirectory { path: root });
    }
    if metadata.uid() != owner::me() {
        return Err(FindError::ForeignOwner { path: root, owner: metadata.uid(), me: owner::me() });
    }
    // Everything that names the root (the hello line, journals, structured results) is JSON.
    if root.to_str().is_none() {
        return Err(FindError::NotUtf8 { path: root });
    }
    Ok((root, found_by))
}

fn choose(argument: Option<&Path>, variable: Option<&Path>, cwd: &Path) -> (PathBuf, FoundBy) {
    if let Some(path) = argument {
        return (cwd.join(path), FoundBy::Argument);
    }
    if let Some(path) = variable.filter(|path| !path.as_os_str().is_empty()) {
        return (cwd.join(path), FoundBy::Variable);
    }
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    if let Some(worktree) = git::worktree(&cwd) {
        return (worktree.main, FoundBy::Git);
    }
    let marked = |directory: &&Path| [CONFIG_FILE, HOB_DIR].iter().any(|name| owner::is_mine(&directory.join(name)));
    match cwd.ancestors().find(marked) {
        Some(directory) => (directory.to_owned(), FoundBy::Marker),
        None => (cwd, FoundBy::CurrentDirectory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn check(cwd: &Path, argument: Option<&str>, variable: Option<&str>, expected: (&Path, FoundBy)) {
        let (root, by) = find(argument.map(Path::new), variable.map(Path::new), cwd).expect("found");
        assert_eq!((root.as_path(), by), expected);
    }

    #[test]
    fn the_order_of_the_sources() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (inner, other) = (top.join("marked/a/b"), top.join("other"));
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(&other).unwrap();
        check(&inner, None, None, (&inner, FoundBy::CurrentDirectory));
        fs::write(top.join("marked/hob.toml"), "").unwrap();
        check(&inner, None, None, (&top.join("marked"), FoundBy::Marker));
        fs::create_dir_all(top.join("marked/a/.hob")).unwrap();
        check(&inner, None, None, (&top.join("marked/a"), FoundBy::Marker));
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        check(&inner, None, None, (&top, FoundBy::Git));
        check(&inner, None, Some(other.to_str().unwrap()), (&other, FoundBy::Variable));
        check(&inner, None, Some(""), (&top, FoundBy::Git));
        check(&inner, Some("../.."), Some("/"), (&top.join("marked"), FoundBy::Argument));
    }

    #[test]
    fn errors_say_what_to_do() {
        let temp = tempfile::tempdir().unwrap();
        let missing = find(Some(Path::new("nowhere")), None, temp.path()).unwrap_err().to_string();
        assert!(missing.contains("nowhere: No such file") && missing.contains("--project DIR"), "{missing}");
        fs::write(temp.path().join("file"), "").unwrap();
        let file = find(Some(Path::new("file")), None, temp.path()).unwrap_err();
        assert!(matches!(file, FindError::NotADirectory { .. }));
        if owner::me() == 0 {
            let foreign = temp.path().join("foreign");
            fs::create_dir(&foreign).unwrap();
            std::os::unix::fs::chown(&foreign, Some(12345), None).unwrap();
            let foreign = find(Some(&foreign), None, temp.path()).unwrap_err().to_string();
            assert!(foreign.contains("belongs to user 12345, not to you (user 0)"), "{foreign}");
        }
    }
}
