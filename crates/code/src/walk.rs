//! Walks the files below a folder. It honours `.gitignore` and `.ignore` from the root down, skips hidden files and does not
//! follow links. It ignores rules above the root, `.git/info/exclude` and global excludes, so that agents of several users
//! see the same tree.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::ignore_rules::Rules;

/// The files to visit among those that are not ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    All,
    /// Skips the output folders of builds and package managers, unless the walk starts in one.
    Written,
}

/// An entry of a walk; links are not visited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    File(PathBuf),
    /// A folder that is walked next.
    Folder(PathBuf),
    Unreadable(PathBuf),
}

const THREADS: usize = 2;

/// Visits each entry on several threads until `is_over`. Rules of folders from `root` down to `below` apply too.
pub(crate) fn walk(
    root: &Path,
    below: &Path,
    files: Files,
    is_over: impl Fn() -> bool + Sync,
    visit: impl Fn(Entry) + Sync,
) {
    let entered = FolderRules(Mutex::new([(below.to_owned(), Rules::for_folder(root, below))].into()));
    let mut walk = WalkBuilder::new(below);
    walk.threads(THREADS).follow_links(false).standard_filters(false);
    walk.filter_entry(move |entry| entry.depth() == 0 || entered.takes(entry, files));
    walk.build_parallel().run(|| {
        Box::new(|entry| {
            if is_over() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => match entry.file_type() {
                    Some(kind) if kind.is_file() => visit(Entry::File(entry.into_path())),
                    Some(kind) if kind.is_dir() => visit(Entry::Folder(entry.into_path())),
                    _ => {}
                },
                Err(error) => {
                    if let Some(path) = path_of(&error) {
                        visit(Entry::Unreadable(path));
                    }
                }
            }
            WalkState::Continue
        })
    });
}

struct FolderRules(Mutex<HashMap<PathBuf, Rules>>);

impl FolderRules {
    /// True if no rule excludes an entry. Records the rules of a folder.
    fn takes(&self, entry: &DirEntry, files: Files) -> bool {
        let lock = || self.0.lock();
        let (path, is_folder) = (entry.path(), entry.file_type().is_some_and(|kind| kind.is_dir()));
        let rules = path.parent().and_then(|folder| lock().get(folder).cloned()).unwrap_or(Rules::None);
        if rules.leave_out(path, is_folder) || is_folder && files == Files::Written && is_made(path) {
            return false;
        }
        if is_folder {
            let inner = rules.entered(path);
            lock().insert(path.to_owned(), inner);
        }
        true
    }
}

/// True if a folder belongs to a build or a package manager.
fn is_made(folder: &Path) -> bool {
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("node_modules" | "dist-newstyle" | ".hob") => true,
        // A folder of that name may also hold sources.
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

    fn walked(root: &Path) -> Vec<String> {
        found_below(root, root)
    }

    fn found_below(root: &Path, below: &Path) -> Vec<String> {
        let all = Mutex::new(Vec::new());
        let visit = |met| {
            if let Entry::File(path) = met {
                all.lock().push(path.strip_prefix(root).unwrap().display().to_string());
            }
        };
        walk(root, below, Files::All, || false, visit);
        let mut all = all.into_inner();
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
        assert_eq!(walked(root), ["a/deep/y.rs", "a/x.rs", "b/in.rs", "c/z.rs"]);
        symlink("/dev/zero", root.join(".ignore")).unwrap();
        assert_eq!(walked(root), ["a/deep/y.rs", "a/x.rs", "b/in.rs", "b/out.rs", "c/z.rs"]);
    }

    #[test]
    fn rules_count_from_the_root_down() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("outer/root");
        for path in ["lib/a.rs", "in/lib/b.rs", "in/made/c.rs", "in/deep/made.rs"] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        std::fs::write(folder.path().join(".gitignore"), "lib/\n").unwrap();
        // Must not be read: a reader would never end.
        symlink("/dev/zero", folder.path().join("outer/.ignore")).unwrap();
        std::fs::write(root.join(".gitignore"), "made.rs\n").unwrap();
        std::fs::write(root.join("in/.ignore"), "made\n").unwrap();
        assert_eq!(walked(&root), ["in/lib/b.rs", "lib/a.rs"]);
        // The named folder is searched although a rule excludes it, and the rules between it and the root apply.
        assert_eq!(found_below(&root, &root.join("in/made")), ["in/made/c.rs"]);
        assert!(found_below(&root, &root.join("in/deep")).is_empty());
        assert_eq!(found_below(&root.join("in"), &root.join("in/deep")), ["deep/made.rs"]);
    }
}
