//! Edits of other programs' files, recorded so that every byte can be restored.
//!
//! The record is written before the file that it describes, so that undoing always works. Files are replaced, never
//! rewritten in place, so a full disk leaves the old file intact.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use project::visible::path as shown;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The timeout for another process's edits.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of another program's file, in bytes.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// A set of edited files below one directory.
pub(crate) struct Edits {
    base: PathBuf,
    record_path: PathBuf,
    record: Record,
    links: Links,
    /// Held as long as this lives: other processes that edit the same files wait.
    _lock: Option<File>,
}

/// How to treat symbolic links in the path of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The links belong to the user: people link their dotfiles.
    Follow,
    /// The links may come with a checkout and lead anywhere: never read or write through them.
    Refuse,
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
    /// The owner of the edit.
    owner: String,
    /// The owners of further edits of the same file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    more: Vec<String>,
    /// The original text; `None` if the file did not exist.
    before: Option<String>,
    after: String,
}

/// The result of undoing the edits of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The file was restored byte for byte.
    Restored,
    /// The file did not exist before, and was removed.
    Removed,
    /// The file was already as before.
    AsBefore,
    /// The file had been changed since, so only our entry was removed.
    EntryRemoved,
    /// The file had been changed since and has no entry of ours, so it was left alone.
    Left,
}

impl Record {
    /// Loads the record at `path`; empty if the file does not exist. The record decides which files are overwritten, so it is
    /// refused if others could have written it, and files outside the base are refused too.
    fn load(path: &Path) -> Result<Record> {
        let shown = path.display();
        let Some(bytes) = project::private::read(path, FILE_MAX).with_context(|| format!("cannot read {shown}"))?
        else {
            anyhow::ensure!(
                path.symlink_metadata().is_err(),
                "{shown} is not a private file of yours (it is a link, has another owner, or others can access it), \
                 so hob does not undo from it: inspect it, and move it away"
            );
            return Ok(Record::default());
        };
        let mut record: Record = serde_json::from_slice(&bytes)
            .with_context(|| format!("{shown} is corrupt; move it away, then try again"))?;
        if let Some(file) = record.files.iter().find(|file| !is_below(&file.path)) {
            let file = project::visible(&file.path.to_string_lossy());
            anyhow::bail!("{shown} names {file}, which hob did not edit: inspect it, and move it away");
        }
        // A record can contain absolute paths, which are invalid after a move.
        record.created_dirs.retain(|dir| is_below(dir) || path.ancestors().any(|above| above == dir));
        Ok(record)
    }
}

/// True if the path cannot lead above its start.
fn is_below(path: &Path) -> bool {
    path.file_name().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

impl Edits {
    /// Loads the edits below `base` from their record, if there is one. Waits for other processes that edit. `made` lists
    /// directories just created for the record.
    pub(crate) fn open(base: &Path, record_path: &Path, links: Links, made: Vec<PathBuf>) -> Result<Edits> {
        let made = made.into_iter().chain(missing_dirs(base, record_path));
        let lock = lock(record_path)?;
        let mut record = Record::load(record_path)?;
        let made: Vec<PathBuf> = made.filter(|dir| !record.created_dirs.contains(dir)).collect();
        let news = !made.is_empty() && record_path.exists();
        record.created_dirs.extend(made);
        let mut edits =
            Edits { base: base.to_owned(), record_path: record_path.to_owned(), record, links, _lock: lock };
        if news {
            // Another process created the record first, without these directories.
            edits.save()?;
        }
        Ok(edits)
    }

    /// Reads a file below `base`.
    pub(crate) fn read_below(base: &Path, path: &Path, links: Links) -> Result<Option<String>> {
        check_links(base, path, links)?;
        read(path, links)
    }

    /// Reads a file; `None` if it does not exist.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<String>> {
        check_links(&self.base, path, self.links)?;
        read(path, self.links)
    }

    /// True if there is nothing to undo.
    pub(crate) fn is_empty(&self) -> bool {
        self.record.files.is_empty()
    }

    /// True if the record has an edit of the file by this owner.
    pub(crate) fn has(&self, path: &Path, owner: &str) -> bool {
        self.record.files.iter().any(|file| self.base.join(&file.path) == path && file.owner == owner)
    }

    /// Replaces a file's text and records the original.
    pub(crate) fn write(&mut self, path: &Path, owner: &str, text: &str) -> Result<()> {
        let before = self.read(path)?;
        if before.as_deref() == Some(text) {
            return Ok(());
        }
        let key = path.strip_prefix(&self.base).unwrap_or(path).to_owned();
        match self.record.files.iter_mut().rfind(|file| file.path == key) {
            Some(file) if is_alone(&file.owner) == is_alone(owner) => {
                // For a second edit of ours, keep the original of the first.
                if before.as_deref() != Some(&file.after) {
                    file.before = before;
                }
                text.clone_into(&mut file.after);
                if file.owner != owner && !file.more.iter().any(|more| more == owner) {
                    file.more.push(owner.to_owned());
                }
            }
            _ => {
                let (owner, after) = (owner.to_owned(), text.to_owned());
                self.record.files.push(Edited { path: key, owner, more: Vec::new(), before, after });
            }
        }
        self.note_missing_dirs(path);
        self.save()?;
        replace(path, text)
    }

    /// Returns the owners whose edits can be reverted separately, with their files.
    pub(crate) fn separate_owners(&self) -> Vec<(String, PathBuf)> {
        let files = self.record.files.iter().filter(|file| is_alone(&file.owner));
        files.map(|file| (file.owner.clone(), self.base.join(&file.path))).collect()
    }

    /// Reverts the edits of a file by one owner, and keeps those of others. `without` removes the owner's content from a text;
    /// it returns `None` if there is nothing to remove.
    pub(crate) fn take_back(
        &mut self,
        path: &Path,
        owner: &str,
        without: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Undone>> {
        let current = self.read(path)?;
        let key = path.strip_prefix(&self.base).unwrap_or(path).to_owned();
        let is_it = |file: &Edited| file.path == key && file.owner == owner;
        let Some(at) = self.record.files.iter().position(is_it) else {
            // The edit is in no record of this base, for example because another project made it.
            let Some(text) = current.as_deref().and_then(&without) else { return Ok(None) };
            return replace(path, &text).map(|()| Some(Undone::EntryRemoved));
        };
        let upper = self.record.files.iter().skip(at + 1).position(|file| file.path == key).map(|more| at + 1 + more);
        let file = self.record.files.remove(at);
        let undone = match upper.map(|upper| upper - 1) {
            None => undo_file(path, &file, self.links, |_, text| without(text))?,
            Some(upper) => {
                let upper = &mut self.record.files[upper];
                let is_whole = current.as_deref() == Some(&*upper.after);
                if upper.before.as_deref() == Some(&*file.after) {
                    upper.before.clone_from(&file.before);
                } else {
                    upper.before = upper.before.take().map(|text| without(&text).unwrap_or(text));
                }
                match current.as_deref().and_then(&without) {
                    Some(text) => {
                        if is_whole {
                            upper.after.clone_from(&text);
                        }
                        self.save()?;
                        return replace(path, &text).map(|()| Some(Undone::EntryRemoved));
                    }
                    None => Undone::Left,
                }
            }
        };
        if [Undone::Removed, Undone::AsBefore].contains(&undone) {
            let is_made = |dir: &&Path| self.record.created_dirs.iter().any(|made| self.base.join(made) == **dir);
            // Keep a directory that others use now.
            path.ancestors().skip(1).take_while(is_made).for_each(|dir| _ = fs::remove_dir(dir));
        }
        if self.record.files.is_empty() {
            remove_file(&self.record_path)?
        } else {
            self.save()?
        }
        Ok(Some(undone))
    }

    /// Restores every file and removes the record. `without_entry` removes the owner's entry from a text that was changed
    /// since; it returns `None` if there is nothing to remove.
    pub(crate) fn undo(
        mut self,
        without_entry: impl Fn(&str, &str) -> Option<String>,
    ) -> Result<Vec<(PathBuf, Undone)>> {
        let mut done: Vec<(PathBuf, Undone)> = Vec::new();
        while let Some(file) = self.record.files.last() {
            let path = self.base.join(&file.path);
            check_links(&self.base, &path, self.links)?;
            let undone = undo_file(&path, file, self.links, &without_entry)?;
            match done.iter_mut().find(|(other, _)| *other == path) {
                // A file with separate edits is reported once, as it is at the end.
                Some((_, last)) if undone != Undone::Left => *last = undone,
                Some(_) => {}
                None => done.push((path, undone)),
            }
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
        // The record contains whole files of other programs, including any secrets.
        replace_with(&self.record_path, &text, Some(0o600))
    }
}

impl Drop for Edits {
    fn drop(&mut self) {
        if self.record_path.exists() {
            return;
        }
        // Innermost first: concurrent processes recorded them in any order.
        self.record.created_dirs.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
        for dir in &self.record.created_dirs {
            // Keep a directory that others use now.
            let _ = fs::remove_dir(self.base.join(dir));
        }
    }
}

/// The prefix of owners whose edits are recorded separately from other edits of the same file, so that they can be reverted alone.
pub(crate) const ALONE: &str = "hooks ";

fn is_alone(owner: &str) -> bool {
    owner.starts_with(ALONE)
}

/// Fails if links are refused and a link is between the base and the file.
fn check_links(base: &Path, path: &Path, links: Links) -> Result<()> {
    if links == Links::Follow {
        return Ok(());
    }
    let below = path.ancestors().take_while(|part| *part != base && part.starts_with(base));
    for part in below {
        if let Ok(target) = fs::read_link(part) {
            let (part, target) = (shown(part), shown(&target));
            anyhow::bail!(
                "{part} is a link (to {target}), and hob never follows links in a project: replace the link with its target, or add the entry by hand"
            );
        }
    }
    Ok(())
}

/// Returns the missing parent directories of a file, outermost first, relative to the base if they are below it.
pub(crate) fn missing_dirs(base: &Path, path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|dir| !dir.exists());
    let mut missing: Vec<PathBuf> = missing.map(|dir| dir.strip_prefix(base).unwrap_or(dir).to_owned()).collect();
    missing.reverse();
    missing
}

/// Locks the directory of the record, which needs no lock file. If the directory cannot be created, nothing will be
/// written either. Not every file system supports locks.
fn lock(record_path: &Path) -> Result<Option<File>> {
    let dir = record_path.parent().unwrap_or(Path::new("."));
    let end = Instant::now() + PATIENCE;
    loop {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        let Ok(open) = made.and_then(|()| File::open(dir)) else { return Ok(None) };
        match flock(&open, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_at(&open, dir) => return Ok(Some(open)),
            // The directory was removed in the meantime.
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            Err(Errno::WOULDBLOCK) => {
                anyhow::bail!(
                    "another `hob init` has been running here for {PATIENCE:?}: check why it hangs, then try again"
                )
            }
            Err(_) => return Ok(None),
        }
    }
}

/// True if the open directory is still the one at that path.
fn is_at(open: &File, dir: &Path) -> bool {
    let same =
        |there: fs::Metadata| open.metadata().is_ok_and(|here| (here.dev(), here.ino()) == (there.dev(), there.ino()));
    fs::metadata(dir).is_ok_and(same)
}

fn undo_file(
    path: &Path,
    file: &Edited,
    links: Links,
    without_entry: impl Fn(&str, &str) -> Option<String>,
) -> Result<Undone> {
    let current = read(path, links)?;
    if current == file.before {
        return Ok(Undone::AsBefore);
    }
    match current {
        Some(current) if current == file.after => match &file.before {
            Some(before) => replace(path, before).map(|()| Undone::Restored),
            None => remove_file(path).map(|()| Undone::Removed),
        },
        Some(current) => {
            // Start with the last edit: it may be nested in an earlier one.
            let owners = file.more.iter().rev().chain([&file.owner]);
            let without = owners.fold(None, |text: Option<String>, owner| {
                without_entry(owner, text.as_deref().unwrap_or(&current)).or(text)
            });
            match without {
                Some(text) => replace(path, &text).map(|()| Undone::EntryRemoved),
                None => Ok(Undone::Left),
            }
        }
        None => Ok(Undone::Left),
    }
}

/// Reads a file; `None` if it does not exist. Never blocks: a checkout may contain a FIFO.
fn read(path: &Path, links: Links) -> Result<Option<String>> {
    let no_links = if links == Links::Refuse { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = (OFlags::NONBLOCK | no_links).bits().cast_signed();
    let bytes = || -> io::Result<Vec<u8>> {
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > FILE_MAX {
            let why = if metadata.is_file() { "it is larger than 16 MiB" } else { "it is not a regular file" };
            return Err(io::Error::other(format!("{why}; move it away, then try again")));
        }
        let mut bytes = Vec::new();
        file.take(FILE_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match bytes() {
        Ok(bytes) => String::from_utf8(bytes).map(Some).with_context(|| format!("{} is not UTF-8 text", shown(path))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", shown(path))),
    }
}

/// Replaces a file atomically. Keeps symbolic links (people link their dotfiles) and permissions.
fn replace(path: &Path, text: &str) -> Result<()> {
    replace_with(path, text, None)
}

/// Like [`replace`], with the given mode.
fn replace_with(path: &Path, text: &str, mode: Option<u32>) -> Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let write = || -> io::Result<()> {
        let dir = target.parent().unwrap_or(Path::new("."));
        // A private file gets private directories, as in the daemon.
        let open = if mode.is_some() { 0o700 } else { 0o777 };
        fs::DirBuilder::new().recursive(true).mode(open).create(dir)?;
        // A new file gets the usual permissions.
        let kept = mode.or_else(|| Some(target.metadata().ok()?.permissions().mode()));
        project::draft::replace(&target, kept, text.as_bytes())
    };
    write().with_context(|| format!("cannot write {}", shown(path)))
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", shown(path)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(base: &Path) -> Edits {
        Edits::open(base, &base.join("state/init.json"), Links::Follow, Vec::new()).unwrap()
    }

    /// Writes a record with the permissions that hob uses.
    fn keep(record: &Path, text: &str) {
        project::private::replace(record, text.as_bytes()).unwrap();
    }

    #[test]
    fn a_record_that_hob_did_not_write_is_not_acted_on() {
        let temp = tempfile::tempdir().unwrap();
        let (base, outside) = (temp.path().join("project"), temp.path().join("outside"));
        let record = temp.path().join("state/init.json");
        fs::create_dir(&base).unwrap();
        fs::write(&outside, "mine").unwrap();
        let open = || Edits::open(&base, &record, Links::Refuse, Vec::new());
        let forged = |path: &Path| {
            let path = path.display();
            format!(
                r#"{{"files": [{{"path": "{path}", "owner": "x", "before": "theirs", "after": "mine"}}], "created_dirs": []}}"#
            )
        };
        for path in [&outside, Path::new("../outside"), Path::new("a/../../outside"), Path::new("")] {
            keep(&record, &forged(path));
            let refused = open().map(drop).unwrap_err();
            assert!(format!("{refused:#}").contains("which hob did not edit"), "{refused:#}");
        }
        // A file that others could have written is refused as a record, and so is a link.
        keep(&record, &forged(Path::new("file")));
        fs::set_permissions(&record, fs::Permissions::from_mode(0o644)).unwrap();
        let refused = open().map(drop).unwrap_err();
        assert!(format!("{refused:#}").contains("not a private file of yours"), "{refused:#}");
        fs::rename(&record, temp.path().join("elsewhere.json")).unwrap();
        std::os::unix::fs::symlink(temp.path().join("elsewhere.json"), &record).unwrap();
        assert!(open().is_err());
        fs::remove_file(&record).unwrap();
        // Directories outside the base are kept, even if empty.
        let empty = temp.path().join("empty");
        fs::create_dir(&empty).unwrap();
        keep(&record, &format!(r#"{{"files": [], "created_dirs": ["{}", "../empty"]}}"#, empty.display()));
        open().unwrap().undo(no_entry).unwrap();
        assert!(empty.exists());
        assert_eq!(fs::read_to_string(outside).unwrap(), "mine");
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
        assert!(!base.join("new").exists() && !base.join("state").exists());

        // Separate edits of a file are one result, and a file that was never written was not removed.
        for (name, owner, text) in [("new", "x", "c"), ("new", "hooks x", "cc"), ("gone", "x", "c")] {
            edits(&base).write(&base.join(name), owner, text).unwrap();
        }
        fs::remove_file(base.join("gone")).unwrap();
        let done = edits(&base).undo(no_entry).unwrap();
        assert_eq!(done, [(base.join("new"), Undone::Removed), (base.join("gone"), Undone::AsBefore)]);
    }

    #[test]
    fn a_checkout_leads_nowhere() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let (base, outside) = (temp.path().join("project"), temp.path().join("outside"));
        for dir in [&base, &outside] {
            fs::create_dir(dir).unwrap();
        }
        fs::write(outside.join("file"), "mine").unwrap();
        symlink(outside.join("file"), base.join("file")).unwrap();
        symlink(outside.join("absent"), base.join("dangling")).unwrap();
        symlink(&outside, base.join("dir")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, base.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let record = temp.path().join("state/init.json");
        let mut edits = Edits::open(&base, &record, Links::Refuse, Vec::new()).unwrap();
        for (name, why) in [
            ("file", "is a link"),
            ("dangling", "is a link"),
            ("dir/new", "is a link"),
            ("pipe", "it is not a regular file"),
        ] {
            let refused = edits.write(&base.join(name), "x", "ours").unwrap_err();
            assert!(format!("{refused:#}").contains(why), "{name}: {refused:#}");
        }
        assert!(edits.is_empty());
        // A file that has become a link is not written through either.
        edits.write(&base.join("real"), "x", "ours").unwrap();
        fs::remove_file(base.join("real")).unwrap();
        symlink(outside.join("file"), base.join("real")).unwrap();
        edits.undo(no_entry).unwrap_err();
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
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
        // The record after two concurrent processes.
        keep(&record, r#"{"files": [], "created_dirs": ["a/b/c", "a", "a/b"]}"#);
        Edits::open(temp.path(), &record, Links::Refuse, Vec::new()).unwrap().undo(|_, _| None).unwrap();
        assert!(!temp.path().join("a").exists());
    }
}
