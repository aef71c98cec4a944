//! Finds the project's root directory. The order is fixed: `--project`, `HOB_PROJECT`, git's main worktree, the nearest
//! `hob.toml`, `.jj` or `.hg` upwards that belongs to this user, the nearest project file (`*.cabal`, `pyproject.toml`
//! …), the current directory. No file that hob writes marks a root. `/`, a home and the temporary directory are roots
//! only if named.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::path_error::PathError;
use crate::visible::{cause, path as shown};
use crate::{git, owner, runtime_dir};

/// The file that configures a project.
pub(crate) const CONFIG_FILE: &str = "hob.toml";
/// The files that mark a root, besides git.
const MARKS: [&str; 3] = [CONFIG_FILE, ".jj", ".hg"];
/// The maximum number of directory entries searched for a project file whose name is a pattern.
const ENTRIES_MAX: usize = 10_000;

/// The way the project root was identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// Named with `--project`.
    Argument,
    /// Named by the environment variable `HOB_PROJECT`.
    Variable,
    /// The main worktree of the git repository around the current directory.
    Git,
    /// The nearest `hob.toml`, `.jj` or `.hg` upwards.
    Marker,
    /// The nearest file of a project of some kind upwards, such as `pyproject.toml`.
    ProjectFile,
    /// There was no other hint.
    CurrentDirectory,
}

/// Reasons why no project root was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error(
        "project directory {}: {}; name an existing directory with --project DIR or HOB_PROJECT",
        shown(path),
        cause(source)
    )]
    Missing { path: PathBuf, source: io::Error },
    #[error("project root {} is not a directory; name a directory with --project DIR or HOB_PROJECT", shown(path))]
    NotADirectory { path: PathBuf },
    #[error(
        "project root {} belongs to user {owner}, not to you (user {me}), so its owner could make hob run programs as \
         you. Start hob and the agent as that user (`sudo -u '#{owner}' …`, in a container `--user {owner}`), or name \
         your own directory with --project DIR",
        shown(path)
    )]
    ForeignOwner { path: PathBuf, owner: u32, me: u32 },
    #[error(
        "{} cannot be a project: it is a home or temporary directory, or contains one. Change to your project's \
         directory (`cd DIR`), or use this one with `--project DIR` or HOB_PROJECT",
        shown(path)
    )]
    Shared { path: PathBuf },
    #[error(
        "project root {} is not valid UTF-8; rename its path, or name another directory with --project DIR",
        shown(path)
    )]
    NotUtf8 { path: PathBuf },
    #[error(transparent)]
    State(#[from] PathError),
}

/// Finds the root: absolute, without links, a directory of this user.
pub(crate) fn find(
    argument: Option<&Path>,
    variable: Option<&Path>,
    cwd: &Path,
) -> Result<(PathBuf, FoundBy), FindError> {
    let (path, found_by) = choose(argument, variable, cwd)?;
    let root = path.canonicalize().map_err(|source| FindError::Missing { path: path.clone(), source })?;
    let metadata = root.metadata().map_err(|source| FindError::Missing { path: path.clone(), source })?;
    if !metadata.is_dir() {
        return Err(FindError::NotADirectory { path: root });
    }
    if metadata.uid() != owner::current_user() {
        return Err(FindError::ForeignOwner { path: root, owner: metadata.uid(), me: owner::current_user() });
    }
    // Everything that contains the root (the hello line, journals, structured results) is JSON.
    if root.to_str().is_none() {
        return Err(FindError::NotUtf8 { path: root });
    }
    Ok((root, found_by))
}

/// Returns the directories around `directory` that may be roots, nearest first: the directories upwards, as the path
/// names them and without links, below the shared ones. A main worktree stands for its linked worktrees, whose own
/// copies of a project's files do not count.
pub fn candidate_roots(directory: &Path) -> Vec<PathBuf> {
    let shared = Shared::of_environment();
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let worktrees: Vec<git::Worktree> = git::worktrees(&real).collect();
    let mut roots: Vec<PathBuf> = Vec::new();
    for top in real.ancestors().chain(directory.ancestors()).filter(|top| !shared.contains(top)) {
        let main = worktrees.iter().find(|worktree| worktree.top == top).map(|worktree| worktree.main.as_path());
        let root = main.unwrap_or(top);
        if !roots.iter().any(|known| known == root) && !shared.contains(root) {
            roots.push(root.to_owned());
        }
    }
    roots
}

/// Returns 16 hexadecimal digits that identify a root, or a worktree.
pub fn hash_of(root: &Path) -> String {
    hex::encode(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..8])
}

/// Returns true if the last component of a path is such a hash.
pub(crate) fn is_hash(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() == 16 && name.iter().all(u8::is_ascii_hexdigit)
}

/// Files of projects of some kind: their directory is the root. `*` matches anything.
const PROJECT_FILES: &[&str] = &[
    "cabal.project",
    "*.cabal",
    "stack.yaml",
    "package.yaml",
    "pyproject.toml",
    "setup.py",
    "Cargo.toml",
    "package.json",
    "mix.exs",
    "rebar.config",
    "dune-project",
    "go.mod",
    "Gemfile",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
];

fn choose(argument: Option<&Path>, variable: Option<&Path>, cwd: &Path) -> Result<(PathBuf, FoundBy), FindError> {
    if let Some(path) = argument {
        return Ok((cwd.join(path), FoundBy::Argument));
    }
    if let Some(path) = variable.filter(|path| !path.as_os_str().is_empty()) {
        return Ok((cwd.join(path), FoundBy::Variable));
    }
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let shared = Shared::of_environment();
    if let Some(worktree) = git::worktree(&cwd).filter(|worktree| !shared.contains(&worktree.main)) {
        return Ok((worktree.main, FoundBy::Git));
    }
    // Directories above a home do not belong to a project either.
    let upwards = || cwd.ancestors().take_while(|directory| !shared.contains(directory));
    let marked = |directory: &&Path| MARKS.iter().any(|name| owner::is_mine(&directory.join(name)));
    if let Some(directory) = upwards().find(marked) {
        return Ok((directory.to_owned(), FoundBy::Marker));
    }
    if let Some(directory) = upwards().find(|directory| has_project_file(directory)) {
        return Ok((directory.to_owned(), FoundBy::ProjectFile));
    }
    if shared.contains(&cwd) { Err(FindError::Shared { path: cwd }) } else { Ok((cwd, FoundBy::CurrentDirectory)) }
}

/// Returns the nearest directory upwards from `directory`, below `root`, that has a project file.
pub(crate) fn project_below(root: &Path, directory: &Path) -> Option<PathBuf> {
    let below = directory.ancestors().take_while(|path| *path != root && path.starts_with(root));
    below.into_iter().find(|path| has_project_file(path)).map(Path::to_owned)
}

fn has_project_file(directory: &Path) -> bool {
    let plain = PROJECT_FILES.iter().filter(|name| !name.starts_with('*'));
    if plain.into_iter().any(|name| is_my_file(&directory.join(name))) {
        return true;
    }
    let endings = || PROJECT_FILES.iter().filter_map(|name| name.strip_prefix('*'));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(ENTRIES_MAX);
    entries.into_iter().any(|entry| {
        let name = entry.file_name();
        // `.cabal` alone is cabal's own directory in a home.
        let fits = |ending: &str| name.len() > ending.len() && name.as_encoded_bytes().ends_with(ending.as_bytes());
        endings().any(fits) && is_my_file(&entry.path())
    })
}

fn is_my_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file()) && owner::is_mine(path)
}

/// Directories that many projects share: a root here would include everything below. They are roots only if the user
/// names them.
struct Shared(Vec<PathBuf>);

impl Shared {
    fn of_environment() -> Shared {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let places = [home, Some(runtime_dir::temporary()), Some("/tmp".into()), Some("/var/tmp".into())];
        let places = places.into_iter().flatten().filter(|path| path.is_absolute());
        Shared(places.map(|path| path.canonicalize().unwrap_or(path)).collect())
    }

    /// Returns true if a directory is one of them, or above one.
    fn contains(&self, directory: &Path) -> bool {
        directory.parent().is_none() || self.0.iter().any(|place| place.starts_with(directory))
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
        // State does not mark a root, and an explicit marker precedes a project file.
        fs::create_dir_all(top.join("marked/a/.hob")).unwrap();
        fs::write(top.join("marked/a/package.json"), "").unwrap();
        check(&inner, None, None, (&top.join("marked"), FoundBy::Marker));
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        check(&inner, None, None, (&top, FoundBy::Git));
        check(&inner, None, Some(other.to_str().unwrap()), (&other, FoundBy::Variable));
        check(&inner, None, Some(""), (&top, FoundBy::Git));
        check(&inner, Some("../.."), Some("/"), (&top.join("marked"), FoundBy::Argument));
    }

    #[test]
    fn a_projects_own_file_makes_a_root() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let inner = top.join("a/b/c");
        fs::create_dir_all(&inner).unwrap();
        for (file, directory) in [("x.cabal", "a"), ("Cargo.toml", "a/b"), (".cabal", "a/b/c")] {
            fs::write(top.join(directory).join(file), "").unwrap();
        }
        check(&inner, None, None, (&top.join("a/b"), FoundBy::ProjectFile));
        check(&top.join("a"), None, None, (&top.join("a"), FoundBy::ProjectFile));
        fs::create_dir(top.join("a/.jj")).unwrap();
        check(&inner, None, None, (&top.join("a"), FoundBy::Marker));
        assert_eq!(project_below(&top.join("a"), &inner), Some(top.join("a/b")));
        assert_eq!(project_below(&top.join("a/b"), &inner), None);
    }

    #[test]
    fn what_holds_many_projects_is_none() {
        let shared = |places: &[&str]| Shared(places.iter().map(PathBuf::from).collect());
        let places = shared(&["/home/me", "/tmp"]);
        for (directory, expected) in [
            ("/", true),
            ("/home", true),
            ("/home/me", true),
            ("/home/me/x", false),
            ("/home/other", false),
            ("/tmp", true),
            ("/tmp/x", false),
        ] {
            assert_eq!(places.contains(Path::new(directory)), expected, "{directory}");
        }
        assert!(shared(&[]).contains(Path::new("/")));
        let refused = find(None, None, Path::new("/")).unwrap_err().to_string();
        assert!(refused.starts_with("/ cannot be a project") && refused.contains("--project DIR"), "{refused}");
    }

    #[test]
    fn errors_say_what_to_do() {
        let temp = tempfile::tempdir().unwrap();
        let missing = find(Some(Path::new("nowhere")), None, temp.path()).unwrap_err().to_string();
        assert!(missing.contains("nowhere: No such file") && missing.contains("--project DIR"), "{missing}");
        fs::write(temp.path().join("file"), "").unwrap();
        let file = find(Some(Path::new("file")), None, temp.path()).unwrap_err();
        assert!(matches!(file, FindError::NotADirectory { .. }));
        if owner::current_user() == 0 {
            let foreign = temp.path().join("foreign");
            fs::create_dir(&foreign).unwrap();
            std::os::unix::fs::chown(&foreign, Some(12345), None).unwrap();
            let foreign = find(Some(&foreign), None, temp.path()).unwrap_err().to_string();
            assert!(foreign.contains("belongs to user 12345, not to you (user 0)"), "{foreign}");
        }
    }
}
