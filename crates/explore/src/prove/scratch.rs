//! The copy of a worktree: the same files, links to its installed packages, and none of its ignored files.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The maximum size of a copy, in bytes.
const MOST: u64 = 2 << 30;
/// The folder of installed packages of Node, which the copy shares.
const PACKAGES: &str = "node_modules";

/// A copy of a worktree. It stays for the next proof, so that compilers compile only what changed.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    root: PathBuf,
    /// The copy.
    pub tree: PathBuf,
    /// The output of the compilers.
    pub output: PathBuf,
}

impl Scratch {
    pub(super) fn new(directory: &Path, root: &Path) -> Scratch {
        let mut hasher = DefaultHasher::new();
        root.hash(&mut hasher);
        let own = directory.join(format!("{:016x}", hasher.finish()));
        Scratch { root: root.to_owned(), tree: own.join("tree"), output: own.join("output") }
    }

    /// Copies changed files, and removes files that the worktree no longer has.
    pub(super) fn update(&self) -> Result<(), String> {
        let failed = |error: io::Error| format!("cannot copy the worktree to {}: {error}", self.tree.display());
        fs::create_dir_all(&self.tree).and_then(|()| fs::create_dir_all(&self.output)).map_err(failed)?;
        let mut files = code::facts::written_files(&self.root);
        // Hidden or ignored files that decide a build.
        files.extend([".cargo/config.toml", ".cargo/config", "Cargo.lock"].map(PathBuf::from));
        files.retain(|file| self.root.join(file).is_file());
        let size: u64 =
            files.iter().filter_map(|file| self.root.join(file).metadata().ok()).map(|file| file.len()).sum();
        if size > MOST {
            return Err(format!("the worktree has {} MiB of files; at most {} are copied", size >> 20, MOST >> 20));
        }
        let mut kept: BTreeSet<PathBuf> = BTreeSet::new();
        for file in files {
            self.copy(&file).map_err(failed)?;
            let packages = file.with_file_name(PACKAGES);
            if file.ends_with("package.json") && self.root.join(&packages).is_dir() {
                let link = self.tree.join(&packages);
                if link.symlink_metadata().is_err() {
                    symlink(self.root.join(&packages), link).map_err(failed)?;
                }
                kept.insert(packages);
            }
            kept.insert(file);
        }
        self.remove_others(Path::new(""), &kept).map_err(failed)
    }

    /// Copies a file with its time, by which compilers know what changed.
    fn copy(&self, file: &Path) -> io::Result<()> {
        let (from, to) = (self.root.join(file), self.tree.join(file));
        let source = from.metadata()?;
        let is_same = |copy: fs::Metadata| {
            copy.len() == source.len() && copy.modified().ok() == source.modified().ok() && copy.is_file()
        };
        if to.symlink_metadata().is_ok_and(is_same) {
            return Ok(());
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&from, &to)?;
        File::options().append(true).open(&to)?.set_times(FileTimes::new().set_modified(source.modified()?))
    }

    fn remove_others(&self, folder: &Path, kept: &BTreeSet<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(self.tree.join(folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.remove_others(&path, kept)?;
                // Only an empty folder is removed.
                _ = fs::remove_dir(entry.path());
            } else if !kept.contains(&path) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Writes a text in place of a file's.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.tree.join(file);
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}
