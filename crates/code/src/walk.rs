//! The files below a folder that nothing leaves out: `.gitignore` and `.ignore` are honoured, hidden files are left out, links
//! are not followed. Not read are `.git/info/exclude` and a user's global excludes: agents of several users see one tree alike.
//!
//! Such rules come from a checkout, and the library that reads them opens whatever has the name: a link to a device never
//! ends, a FIFO keeps its reader waiting. A folder whose rules are no files of a sensible size is walked without rules; what
//! is looked at in vain costs time, and nothing is missed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{WalkBuilder, WalkState};

/// Which files are looked at, of those that are not ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    All,
    /// Without what builds and package managers leave in a folder of theirs, unless that folder itself is asked about.
    Written,
}

/// What a walk meets, but for links.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Met {
    File(PathBuf),
    /// It is walked into next.
    Folder(PathBuf),
    Unreadable(PathBuf),
}

/// How many threads read.
const THREADS: usize = 2;
/// Where rules are read from, in every folder.
const RULES: [&str; 2] = [".gitignore", ".ignore"];
/// Larger rules are no rules.
const MOST_RULES: u64 = 1 << 20;

/// Calls for whatever is met, on several threads, until it is over. The rules of folders above `below` count from `root` down.
pub(crate) fn walk(
    root: &Path,
    below: &Path,
    files: Files,
    is_over: impl Fn() -> bool + Sync,
    visit: impl Fn(Met) + Sync,
) {
    let mut above = below.ancestors().take_while(|folder| folder.starts_with(root));
    let has_rules = !above.any(has_bad_rules);
    for folder in walk_one(below, has_rules, files, &is_over, &visit) {
        walk_one(&folder, false, files, &is_over, &visit);
    }
}

/// Walks one folder; the folders below it that have to be walked without rules.
fn walk_one(
    below: &Path,
    has_rules: bool,
    files: Files,
    is_over: &(impl Fn() -> bool + Sync),
    visit: &(impl Fn(Met) + Sync),
) -> Vec<PathBuf> {
    let left_out: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let mut walk = WalkBuilder::new(below);
    walk.threads(THREADS).follow_links(false).require_git(false).git_exclude(false).git_global(false);
    if !has_rules {
        walk.standard_filters(false).hidden(true);
    }
    // Asked before the walk reads the rules of a folder.
    let without_rules = left_out.clone();
    walk.filter_entry(move |entry| {
        if entry.depth() == 0 || !entry.file_type().is_some_and(|kind| kind.is_dir()) {
            return true;
        }
        if files == Files::Written && is_made(entry.path()) {
            return false;
        }
        let is_bad = has_rules && has_bad_rules(entry.path());
        if is_bad {
            without_rules.lock().unwrap_or_else(PoisonError::into_inner).push(entry.path().to_owned());
        }
        !is_bad
    });
    walk.build_parallel().run(|| {
        Box::new(|entry| {
            if is_over() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => match entry.file_type() {
                    Some(kind) if kind.is_file() => visit(Met::File(entry.into_path())),
                    Some(kind) if kind.is_dir() => visit(Met::Folder(entry.into_path())),
                    _ => {}
                },
                Err(error) => {
                    if let Some(path) = path_of(&error) {
                        visit(Met::Unreadable(path));
                    }
                }
            }
            WalkState::Continue
        })
    });
    std::mem::take(&mut *left_out.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether a folder has rules that nobody should open.
fn has_bad_rules(folder: &Path) -> bool {
    RULES.iter().any(|name| {
        std::fs::symlink_metadata(folder.join(name)).is_ok_and(|what| !what.is_file() || what.len() > MOST_RULES)
    })
}

/// Whether a folder is a build's or a package manager's.
fn is_made(folder: &Path) -> bool {
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("node_modules" | "dist-newstyle" | ".hob") => true,
        // A folder of that name may be anybody's.
        Some("target") => {
            folder.join("CACHEDIR.TAG").exists()
                || folder.parent().is_some_and(|parent| parent.join("Cargo.toml").exists())
        }
        _ => false,
    }
}

fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn found(root: &Path) -> Vec<String> {
        let all = Mutex::new(Vec::new());
        let visit = |met| {
            if let Met::File(path) = met {
                all.lock().unwrap().push(path.strip_prefix(root).unwrap().display().to_string());
            }
        };
        walk(root, root, Files::All, || false, visit);
        let mut all = all.into_inner().unwrap();
        all.sort();
        all
    }

    #[test]
    fn rules_that_nobody_should_open_are_no_rules() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["a/x.rs", "a/deep/y.rs", "b/out.rs", "b/in.rs", "c/z.rs"] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        std::fs::write(root.join("b/.gitignore"), "out.rs\n").unwrap();
        symlink("/dev/zero", root.join("a/.ignore")).unwrap();
        symlink("/dev/zero", root.join("a/deep/.gitignore")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(root.join("c/.gitignore")).status().unwrap().success());
        assert_eq!(found(root), ["a/deep/y.rs", "a/x.rs", "b/in.rs", "c/z.rs"]);
        symlink("/dev/zero", root.join(".ignore")).unwrap();
        assert_eq!(found(root), ["a/deep/y.rs", "a/x.rs", "b/in.rs", "b/out.rs", "c/z.rs"]);
    }
}
