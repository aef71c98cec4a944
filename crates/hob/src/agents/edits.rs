//! Writes files of other programs, and remembers what they were so that every byte can be put back.
//!
//! The record is written before the file it describes: whatever happens in between, undoing knows what to do. Files
//! are replaced, never rewritten in place, so a full disk leaves the old one whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// How long another one may take over its edits.
const PATIENCE: Duration = Duration::from_secs(10);

/// A set of edited files below one directory.
pub(crate) struct Edits {
    base: PathBuf,
    record_path: PathBuf,
    record: Record,
    /// Held for as long as this lives: who edits the same files waits.
    _lock: Option<File>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    files: Vec<Edited>,
    created_dirs: Vec<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Edited {
    /// Relative to the base, so that a moved project can still be undone.
    path: PathBuf,
    /// For whom it was edited.
    owner: String,
    /// `None`: the file did not exist.
    before: Option<String>,
    after: String,
}

/// What undoing did to a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// As it was, byte for byte.
    Restored,
    /// It did not exist before, nor does it now.
    Removed,
    /// Somebody changed it since, so only our entry was taken out.
    EntryRemoved,
    /// Somebody changed it since and there is no entry of ours to take out, so it was left as it is.
    Left,
}

impl Edits {
    /// The edits made below `base` so far, from their record if there is one. Waits for others who are about it.
    pub(crate) fn open(base: &Path, record_path: &Path) -> Result<Edits> {
        let made = missing_dirs(base, record_path);
        let lock = lock(record_path)?;
        let mut record = match read(record_path)? {
            None => Record::default(),
            Some(text) => serde_json::from_str(&text)
                .with_context(|| format!("{} does not hold a record of edits", record_path.display()))?,
        };
        let made: Vec<PathBuf> = made.into_iter().filter(|dir| !record.created_dirs.contains(dir)).collect();
        let news = !made.is_empty() && record_path.exists();
        record.created_dirs.extend(made);
        let mut edits = Edits { base: base.to_owned(), record_path: record_path.to_owned(), record, _lock: lock };
        if news {
            // Another one was faster than us, and did not know that the directory is ours.
            edits.save()?;
        }
        Ok(edits)
    }

    /// A file's text; `None` when it does not exist.
    pub(crate) fn read(path: &Path) -> Result<Option<String>> {
        read(path)
    }

    /// Whether there is anything to undo.
    pub(crate) fn is_empty(&self) -> bool {
        self.record.files.is_empty()
    }

    /// Replaces a file's text and remembers the old one.
    pub(crate) fn write(&mut self, path: &Path, owner: &str, text: &str) -> Result<()> {
        let before = read(path)?;
        if before.as_deref() == Some(text) {
            return Ok(());
        }
        let key = path.strip_prefix(&self.base).unwrap_or(path).to_owned();
        match self.record.files.iter_mut().find(|file| file.path == key) {
            // Ours on top of ours: the original stays the original.
            Some(file) if before.as_deref() == Some(&file.after) => text.clone_into(&mut file.after),
            Some(file) => (file.before, file.after) = (before, text.to_owned()),
            None => {
                self.record.files.push(Edited { path: key, owner: owner.to_owned(), before, after: text.to_owned() })
            }
        }
        self.note_missing_dirs(path);
        self.save()?;
        replace(path, text)
    }

    /// Puts everything back and forgets the record. `without_entry` takes our entry out of a text that somebody
    /// changed since, given the edit's owner; `None` when there is none.
    pub(crate) fn undo(
        mut self,
        without_entry: impl Fn(&str, &str) -> Option<String>,
    ) -> Result<Vec<(PathBuf, Undone)>> {
        let mut done = Vec::new();
        while let Some(file) = self.record.files.last() {
            let path = self.base.join(&file.path);
            let undone = undo_file(&path, file, &without_entry)?;
            done.push((path, undone));
            self.record.files.pop();
            self.save()?;
        }
        remove_file(&self.record_path)?;
        done.reverse();
        Ok(done)
    }

    fn note_missing_dirs(&mut self, path: &Path) {
        self.record.created_dirs.extend(missing_dirs(&self.base, path));
    }

    fn save(&mut self) -> Result<()> {
        self.note_missing_dirs(&self.record_path.clone());
        let text = serde_json::to_string_pretty(&self.record).context("cannot write the record of edits")?;
        // It holds other programs' files whole, and what secrets are in them.
        replace_with(&self.record_path, &text, Some(0o600))
    }
}

impl Drop for Edits {
    fn drop(&mut self) {
        if self.record_path.exists() {
            return;
        }
        // The innermost first: several who were at work at once noted them in any order.
        self.record.created_dirs.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
        for dir in &self.record.created_dirs {
            // Not empty: somebody else's now.
            let _ = fs::remove_dir(self.base.join(dir));
        }
    }
}

/// The directories below the base that are still to be made for a file, the outermost first, relative to the base.
fn missing_dirs(base: &Path, path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|dir| dir.starts_with(base) && !dir.exists());
    let mut missing: Vec<PathBuf> = missing.map(|dir| dir.strip_prefix(base).unwrap_or(dir).to_owned()).collect();
    missing.reverse();
    missing
}

/// Locks the directory of the record, which leaves nothing behind that would have to be put back. Where it cannot be
/// made, nothing will be written either; and not every file system has locks.
fn lock(record_path: &Path) -> Result<Option<File>> {
    let dir = record_path.parent().unwrap_or(Path::new("."));
    let end = Instant::now() + PATIENCE;
    loop {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        let Ok(open) = made.and_then(|()| File::open(dir)) else { return Ok(None) };
        match flock(&open, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_at(&open, dir) => return Ok(Some(open)),
            // Whoever had it has removed the directory.
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            Err(Errno::WOULDBLOCK) => {
                anyhow::bail!(
                    "another `hob init` has been at work here for {PATIENCE:?}: see what holds it up, and run it again"
                )
            }
            Err(_) => return Ok(None),
        }
    }
}

/// Whether a directory that was opened still is the one of that name.
fn is_at(open: &File, dir: &Path) -> bool {
    let same =
        |there: fs::Metadata| open.metadata().is_ok_and(|here| (here.dev(), here.ino()) == (there.dev(), there.ino()));
    fs::metadata(dir).is_ok_and(same)
}

fn undo_file(path: &Path, file: &Edited, without_entry: impl Fn(&str, &str) -> Option<String>) -> Result<Undone> {
    let current = read(path)?;
    if current == file.before {
        return Ok(if current.is_some() { Undone::Restored } else { Undone::Removed });
    }
    match current {
        Some(current) if current == file.after => match &file.before {
            Some(before) => replace(path, before).map(|()| Undone::Restored),
            None => remove_file(path).map(|()| Undone::Removed),
        },
        Some(current) => match without_entry(&file.owner, &current) {
            Some(text) => replace(path, &text).map(|()| Undone::EntryRemoved),
            None => Ok(Undone::Left),
        },
        None => Ok(Undone::Left),
    }
}

/// A file's text; `None` when it does not exist.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).with_context(|| format!("{} is not UTF-8 text", path.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Replaces a file at once. A symbolic link stays one (people link their dotfiles), and permissions stay.
fn replace(path: &Path, text: &str) -> Result<()> {
    replace_with(path, text, None)
}

/// The same, with a mode of its own.
fn replace_with(path: &Path, text: &str, mode: Option<u32>) -> Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let write = || -> io::Result<()> {
        let dir = target.parent().unwrap_or(Path::new("."));
        // What is private gets private directories, as the daemon makes them.
        let open = if mode.is_some() { 0o700 } else { 0o777 };
        fs::DirBuilder::new().recursive(true).mode(open).create(dir)?;
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".hob-{}", std::process::id()));
        let temporary = dir.join(name);
        let kept = mode.or_else(|| Some(target.metadata().ok()?.permissions().mode()));
        let written = (|| {
            // Nobody else reads it before it has the permissions of what it replaces; a new file gets the usual ones.
            let first = if kept.is_some() { 0o600 } else { 0o666 };
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(first).open(&temporary)?;
            file.write_all(text.as_bytes())?;
            if let Some(mode) = kept {
                file.set_permissions(fs::Permissions::from_mode(mode))?;
            }
            file.sync_all()?;
            fs::rename(&temporary, &target)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(base: &Path) -> Edits {
        Edits::open(base, &base.join(".hob/init.json")).unwrap()
    }

    fn no_entry(_: &str, _: &str) -> Option<String> {
        None
    }

    #[test]
    fn undoing_restores_bytes_links_modes_and_directories() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::write(base.join("real"), "a\r\n").unwrap();
        fs::set_permissions(base.join("real"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("real", base.join("link")).unwrap();
        let mut first = edits(&base);
        first.write(&base.join("link"), "x", "b").unwrap();
        first.write(&base.join("new/deep/file"), "x", "c").unwrap();
        assert!(base.join("link").is_symlink());
        assert_eq!(fs::metadata(base.join("real")).unwrap().permissions().mode() & 0o777, 0o600);

        drop(first);
        let mut second = edits(&base);
        second.write(&base.join("link"), "x", "bb").unwrap();
        drop(second);
        let done = edits(&base).undo(no_entry).unwrap();
        assert_eq!(done, [(base.join("link"), Undone::Restored), (base.join("new/deep/file"), Undone::Removed)]);
        assert_eq!(fs::read_to_string(base.join("real")).unwrap(), "a\r\n");
        assert!(!base.join("new").exists() && !base.join(".hob").exists());
    }

    #[test]
    fn what_somebody_changed_since_keeps_their_change() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        for name in ["a", "b"] {
            edits(base).write(&base.join(name), name, "ours").unwrap();
            fs::write(base.join(name), "ours and theirs").unwrap();
        }
        let done = edits(base).undo(|owner, text| (owner == "a").then(|| text.replace("ours and ", ""))).unwrap();
        assert_eq!(done, [(base.join("a"), Undone::EntryRemoved), (base.join("b"), Undone::Left)]);
        assert_eq!(fs::read_to_string(base.join("a")).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(base.join("b")).unwrap(), "ours and theirs");
    }

    #[test]
    fn directories_go_in_whatever_order_they_were_noted() {
        let temp = tempfile::tempdir().unwrap();
        let (state, record) = (temp.path().join("a/b/c"), temp.path().join("a/b/c/init.json"));
        fs::create_dir_all(state).unwrap();
        // As two leave it that were at work at the same time.
        fs::write(&record, r#"{"files": [], "created_dirs": ["a/b/c", "a", "a/b"]}"#).unwrap();
        Edits::open(temp.path(), &record).unwrap().undo(|_, _| None).unwrap();
        assert!(!temp.path().join("a").exists());
    }
}
