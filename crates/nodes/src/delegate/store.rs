//! The store of delegated calls that wait for a value, one private file each. The task and the answer survive a restart.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::FILE_MAX;

/// The maximum number of waiting calls.
const MAX_WAITING: usize = 256;
/// The maximum record size in bytes: a node file, plus an input and a value that fit into a request.
const RECORD_MAX: u64 = 64 * 1024 * 1024;

/// A delegated call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    /// The expiry in seconds since 1970.
    pub expires: u64,
    pub node: String,
    /// The text of the node's file in the version of the call.
    pub text: String,
    /// The included texts in the same version.
    #[serde(default)]
    pub parts: BTreeMap<String, String>,
    /// The complete input.
    pub input: Map<String, Value>,
    pub attempts_left: u32,
    /// The last submitted value with its problems. The problems are empty if it was accepted.
    pub last: Option<SubmittedValue>,
    /// The hash of the node's version, the input and the caller.
    #[serde(default)]
    pub task: String,
    /// The hashes of the rejected values, the latest first, with repetitions.
    #[serde(default)]
    pub failed: Vec<String>,
}

/// The maximum number of rejected values that are counted per call.
pub(super) const FAILED_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SubmittedValue {
    pub value: Value,
    pub problems: Vec<String>,
}

/// The directory of delegated calls.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
}

impl Store {
    pub(super) fn new(directory: PathBuf) -> Store {
        Store { directory }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }

    /// Removes expired calls, and fails if there is no room for another one.
    pub(super) fn make_room(&self, now: u64) -> io::Result<()> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut waiting = 0;
        for entry in entries.flatten() {
            let path = entry.path();
            // An unreadable record is useless. The file's time is not used, because file clocks may differ.
            let is_over = match self.read(&path) {
                Ok(Some(call)) => call.expires <= now,
                Ok(None) | Err(_) => true,
            };
            if is_over {
                fs::remove_file(&path)?;
            } else {
                waiting += 1;
            }
        }
        if waiting >= MAX_WAITING {
            let why =
                format!("{MAX_WAITING} delegated calls wait for node_submit, the limit; answer some, or wait an hour");
            return Err(io::Error::other(why));
        }
        Ok(())
    }

    /// Returns the rejected values of all calls for the same task.
    pub(super) fn failed(&self, task: &str) -> io::Result<Vec<String>> {
        let mut failed = Vec::new();
        for entry in fs::read_dir(&self.directory)?.flatten() {
            // Another process may have removed it meanwhile.
            let call = self.read(&entry.path()).ok().flatten();
            failed.extend(call.filter(|call| call.task == task).into_iter().flat_map(|call| call.failed));
        }
        Ok(failed)
    }

    pub(super) fn put(&self, id: &str, call: &Call) -> io::Result<()> {
        project::private::replace(&self.path(id), serde_json::to_string(call)?.as_bytes())
    }

    /// Returns `None` if the record does not exist, or if another user could have written it.
    pub(super) fn get(&self, id: &str) -> io::Result<Option<Call>> {
        self.read(&self.path(id))
    }

    fn read(&self, path: &std::path::Path) -> io::Result<Option<Call>> {
        let bytes = project::private::read(path, RECORD_MAX)?;
        let call = bytes.and_then(|bytes| serde_json::from_slice::<Call>(&bytes).ok());
        Ok(call.filter(|call| call.text.len() as u64 <= FILE_MAX))
    }
}
