//! The files of cassettes: read when they have changed, and written whole.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::entry::{Entry, Parts};

/// The longest file, in bytes.
const FILE_MAX: u64 = 64 * 1024 * 1024;
/// How many files are kept in memory.
const MAX_KEPT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Files(Mutex<HashMap<PathBuf, Loaded>>);

#[derive(Debug)]
struct Loaded {
    stamp: Option<(SystemTime, u64)>,
    entries: Arc<Vec<Entry>>,
}

impl Files {
    /// The entry of these parts; `Err` says what the nearest one has otherwise.
    pub(super) fn find(&self, path: &Path, parts: &Parts, with_model: bool) -> io::Result<Result<Entry, String>> {
        let entries = self.load(path)?;
        let differences = |entry: &&Entry| entry.parts.differences(parts, with_model);
        Ok(match entries.iter().min_by_key(|entry| differences(entry).len()) {
            None => Err("there is no entry".to_owned()),
            Some(nearest) => match differences(&nearest)[..] {
                [] => Ok(nearest.clone()),
                ref others => {
                    Err(format!("the nearest entry, {}…, has another {}", &short(&nearest.key), others.join(", ")))
                }
            },
        })
    }

    pub(super) fn put(&self, path: &Path, entry: Entry) -> io::Result<()> {
        let mut files = self.0.lock();
        let mut entries = read(path)?;
        entries.retain(|former| former.key != entry.key);
        entries.push(entry);
        files.remove(path);
        write(path, &entries)
    }

    fn load(&self, path: &Path) -> io::Result<Arc<Vec<Entry>>> {
        let stamp = match fs::metadata(path) {
            Ok(metadata) => Some((metadata.modified()?, metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut files = self.0.lock();
        if let Some(loaded) = files.get(path).filter(|loaded| loaded.stamp == stamp) {
            return Ok(loaded.entries.clone());
        }
        let entries = Arc::new(read(path)?);
        if files.len() >= MAX_KEPT {
            files.clear();
        }
        files.insert(path.to_owned(), Loaded { stamp, entries: entries.clone() });
        Ok(entries)
    }
}

/// The entries of a file; none if it is not there.
pub(super) fn read(path: &Path) -> io::Result<Vec<Entry>> {
    let text = match project::regular::read(path, FILE_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let entry = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default().to_owned();
            io::Error::new(io::ErrorKind::InvalidData, format!("line {}: {said}", number + 1))
        })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(entry).collect()
}

/// Replaces a file; without entries it is removed.
pub(super) fn write(path: &Path, entries: &[Entry]) -> io::Result<()> {
    if entries.is_empty() {
        return fs::remove_file(path);
    }
    let mut lines = entries.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    // Each begins with its key.
    lines.sort();
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    project::draft::replace(path, None, (lines.join("\n") + "\n").as_bytes())
}

/// The files of a directory, with the names of their nodes.
pub(super) fn all(directory: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let named = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?.strip_suffix(".jsonl")?.to_owned();
        Some((name, entry.path()))
    };
    let mut files: Vec<(String, PathBuf)> = entries.flatten().filter_map(named).collect();
    files.sort();
    Ok(files)
}

fn short(key: &str) -> &str {
    key.get(..12).unwrap_or(key)
}
