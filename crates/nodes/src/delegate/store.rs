//! The delegated calls that wait for their value, a private file each: what is asked for must be known after a restart, and
//! so must what was answered.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::FILE_MAX;

/// How many calls may wait at once.
const MAX_WAITING: usize = 256;
/// The longest record, in bytes: a node file, and an input and a value that fit into a request.
const RECORD_MAX: u64 = 64 * 1024 * 1024;

/// A delegated call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    /// Seconds since 1970.
    pub expires: u64,
    pub node: String,
    /// The text of the node's file, in the version that the call began with.
    pub text: String,
    /// What it includes, in the same version.
    #[serde(default)]
    pub parts: BTreeMap<String, String>,
    /// The whole input.
    pub input: Map<String, Value>,
    pub attempts_left: u32,
    /// The last value that was submitted, with its problems; none if it was accepted.
    pub last: Option<Answered>,
    /// Identifies the version of the node, the input and the caller.
    #[serde(default)]
    pub task: String,
    /// Identifies the values that were not accepted, the latest first; equal ones as often as they were submitted.
    #[serde(default)]
    pub failed: Vec<String>,
}

/// How many values of a call are counted.
pub(super) const FAILED_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Answered {
    pub value: Value,
    pub problems: Vec<String>,
}

/// Where they are kept.
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

    /// Makes room for one more, and removes those that have expired.
    pub(super) fn make_room(&self, now: u64) -> io::Result<()> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut waiting = 0;
        for entry in entries.flatten() {
            let path = entry.path();
            // One that cannot be read serves nobody. The time of the file would do, but clocks of files can be others.
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

    /// The values that were not accepted, of all calls for the same task.
    pub(super) fn failed(&self, task: &str) -> io::Result<Vec<String>> {
        let mut failed = Vec::new();
        for entry in fs::read_dir(&self.directory)?.flatten() {
            // Another may have been removed meanwhile.
            let call = self.read(&entry.path()).ok().flatten();
            failed.extend(call.filter(|call| call.task == task).into_iter().flat_map(|call| call.failed));
        }
        Ok(failed)
    }

    pub(super) fn put(&self, id: &str, call: &Call) -> io::Result<()> {
        project::private::replace(&self.path(id), serde_json::to_string(call)?.as_bytes())
    }

    /// `None` if there is none, or if another user could have written it.
    pub(super) fn get(&self, id: &str) -> io::Result<Option<Call>> {
        self.read(&self.path(id))
    }

    fn read(&self, path: &std::path::Path) -> io::Result<Option<Call>> {
        let bytes = project::private::read(path, RECORD_MAX)?;
        let call = bytes.and_then(|bytes| serde_json::from_slice::<Call>(&bytes).ok());
        Ok(call.filter(|call| call.text.len() as u64 <= FILE_MAX))
    }
}
