//! The cache of values for nodes with `policy.cache`: one private file each in `.hob/nodes/cache/`, until they expire.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::Node;

/// The maximum size of a cached value in bytes.
const VALUE_MAX: u64 = 16 * 1024 * 1024;

/// The value cache of a project.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct CachedValue {
    /// Seconds since 1970.
    expires: u64,
    model: String,
    value: Value,
}

impl Cache {
    pub fn new(directory: PathBuf) -> Cache {
        Cache { directory }
    }

    /// Returns the value and its model for this version of the node, these models and this input. Blocks on the disk.
    pub(crate) fn get(&self, node: &Node, models: &[String], input: &Map<String, Value>) -> Option<(String, Value)> {
        let bytes = project::private::read(&self.path(node, models, input), VALUE_MAX).ok()??;
        let kept: CachedValue = serde_json::from_slice(&bytes).ok()?;
        (kept.expires > now()).then_some((kept.model, kept.value))
    }

    /// Stores a value. Blocks on the disk.
    pub(crate) fn put(
        &self,
        node: &Node,
        models: &[String],
        input: &Map<String, Value>,
        (model, value): (String, Value),
        lasts: Duration,
    ) -> io::Result<()> {
        let kept = CachedValue { expires: now() + lasts.as_secs(), model, value };
        project::private::replace(&self.path(node, models, input), &serde_json::to_vec(&kept)?)
    }

    /// Removes expired values. Returns the number of removed values.
    ///
    /// # Errors
    /// If the directory cannot be read or a file cannot be removed.
    pub fn collect_garbage(&self) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut removed = 0;
        for path in entries.flatten().map(|entry| entry.path()) {
            let bytes = project::private::read(&path, VALUE_MAX)?.unwrap_or_default();
            let is_over = serde_json::from_slice::<CachedValue>(&bytes).map_or(true, |kept| kept.expires <= now());
            if is_over {
                fs::remove_file(&path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn path(&self, node: &Node, models: &[String], input: &Map<String, Value>) -> PathBuf {
        let key = json!([node.name, node.hash, models, input]).to_string();
        self.directory.join(format!("{}.json", &hex::encode(Sha256::digest(key))[..32]))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
