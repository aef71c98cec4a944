//! Cassette files: reloaded after a change, and written as a whole.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use project::checkout_dir::Inside;

use super::entry::{Entry, Parts};
use crate::folder::Folder;

/// The name of the directory inside the folder of node files.
const DIRECTORY: &str = "cassettes";
const SUFFIX: &str = ".jsonl";
/// The maximum file size in bytes.
const FILE_MAX: u64 = 64 * 1024 * 1024;
/// The maximum number of files in memory.
const MAX_KEPT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Files(Mutex<HashMap<CassetteFile, Loaded>>);

#[derive(Debug)]
struct Loaded {
    stamp: Option<(SystemTime, u64)>,
    entries: Arc<Vec<Entry>>,
}

/// The location of a node's cassette.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CassetteFile {
    worktree: PathBuf,
    /// The directory, relative to the worktree.
    directory: PathBuf,
    name: PathBuf,
}

impl CassetteFile {
    pub(super) fn new(folder: &Folder, node: &str) -> CassetteFile {
        let name = PathBuf::from(format!("{node}{SUFFIX}"));
        CassetteFile { worktree: folder.worktree().to_owned(), directory: directory(folder), name }
    }

    /// Returns the path for messages to people.
    pub(super) fn display(&self) -> String {
        format!("{}/{}", DIRECTORY, project::visible::path(&self.name))
    }

    pub(super) fn describe_error(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.display())
    }

    fn open(&self) -> io::Result<Option<File>> {
        existing(Inside::open(&self.worktree, &self.directory).and_then(|directory| directory.file(&self.name)))
    }

    /// Returns the entries of the file; an empty list if it does not exist.
    pub(super) fn read(&self) -> io::Result<Vec<Entry>> {
        self.open()?.map_or_else(|| Ok(Vec::new()), entries)
    }

    /// Replaces the file. Without entries, the file is removed.
    pub(super) fn write(&self, entries: &[Entry]) -> io::Result<()> {
        if entries.is_empty() {
            return Inside::open(&self.worktree, &self.directory)?.remove(&self.name);
        }
        let mut lines = entries.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        // Each line begins with its key.
        lines.sort();
        let directory = Inside::create(&self.worktree, &self.directory)?;
        directory.replace(&self.name, (lines.join("\n") + "\n").as_bytes())
    }
}

impl Files {
    /// Returns the entry for these parts. `Err` explains how the nearest entry differs.
    pub(super) fn find(
        &self,
        place: &CassetteFile,
        parts: &Parts,
        with_model: bool,
    ) -> io::Result<Result<Entry, String>> {
        let entries = self.load(place)?;
        let differences = |entry: &&Entry| entry.parts.differences(parts, with_model);
        Ok(match entries.iter().min_by_key(|entry| differences(entry).len()) {
            None => Err("no entry exists".to_owned()),
            Some(nearest) => match differences(&nearest)[..] {
                [] => Ok(nearest.clone()),
                ref others => {
                    Err(format!("the nearest entry, {}…, differs in {}", &short(&nearest.key), others.join(", ")))
                }
            },
        })
    }

    pub(super) fn put(&self, place: &CassetteFile, entry: Entry) -> io::Result<()> {
        let mut files = self.0.lock();
        let mut entries = place.read()?;
        entries.retain(|former| former.key != entry.key);
        entries.push(entry);
        files.remove(place);
        place.write(&entries)
    }

    pub(super) fn load(&self, place: &CassetteFile) -> io::Result<Arc<Vec<Entry>>> {
        let file = place.open()?;
        let stamp = match &file {
            Some(file) => {
                let metadata = file.metadata()?;
                Some((metadata.modified()?, metadata.len()))
            }
            None => None,
        };
        let mut files = self.0.lock();
        if let Some(loaded) = files.get(place).filter(|loaded| loaded.stamp == stamp) {
            return Ok(loaded.entries.clone());
        }
        let entries = Arc::new(file.map_or_else(|| Ok(Vec::new()), entries)?);
        if files.len() >= MAX_KEPT {
            files.clear();
        }
        files.insert(place.clone(), Loaded { stamp, entries: entries.clone() });
        Ok(entries)
    }
}

/// Parses the entries of an open file. Errors give the position and no content.
fn entries(file: File) -> io::Result<Vec<Entry>> {
    let text = project::regular::text(file, FILE_MAX)?;
    let entry = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|_| {
            let why =
                format!("line {} is not a valid recording; remove the file and run `hob node record`", number + 1);
            io::Error::new(io::ErrorKind::InvalidData, why)
        })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(entry).collect()
}

/// Returns the names of the nodes that have a file, sorted.
pub(super) fn all(folder: &Folder) -> io::Result<Vec<String>> {
    let Some(directory) = existing(Inside::open(folder.worktree(), &directory(folder)))? else {
        return Ok(Vec::new());
    };
    let names = directory.names()?.into_iter();
    Ok(names.filter_map(|name| Some(name.to_str()?.strip_suffix(SUFFIX)?.to_owned())).collect())
}

/// Returns the directory of the cassettes, relative to the worktree.
fn directory(folder: &Folder) -> PathBuf {
    folder.path().join(DIRECTORY)
}

fn existing<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn short(key: &str) -> &str {
    key.get(..12).unwrap_or(key)
}
