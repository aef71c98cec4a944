//! Cassettes: answers of models as they were recorded, so that a call can be made again without a model. They are kept beside
//! the node files (`nodes/cassettes/NODE.jsonl`), an entry a line, sorted, without headers.
//!
//! An entry is found by everything that its answer depends on. A changed node makes exactly its own entries stale.

mod entry;
mod file;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Node;
use crate::folder::Folder;
use crate::outcome::Class;
use crate::provider::{Failed, Heard, Model, Request, Response};
pub(crate) use entry::Entry;
use entry::Parts;
use file::Files;

/// The directory, in that of the node files.
pub const DIRECTORY: &str = "cassettes";

/// What is done with a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The model is asked, and nothing is recorded.
    #[default]
    Live,
    /// No model is asked; what is not recorded fails.
    Replay,
    /// The model is asked, and its answer recorded.
    Record,
    /// What is recorded is replayed, and the rest recorded.
    RefreshStale,
}

/// The cassettes of a daemon or a command.
#[derive(Debug, Default)]
pub struct Cassettes {
    mode: Mode,
    files: Files,
}

/// How an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    Direct,
    Cassette,
    Cache,
}

impl Cassettes {
    pub fn new(mode: Mode) -> Cassettes {
        Cassettes { mode, files: Files::default() }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The answer to a request, by the mode. In replay no model is needed, and one that is not configured is any.
    pub(crate) async fn ask(
        &self,
        directory: &Path,
        node: &Node,
        model: Option<&Model>,
        request: &Request,
        (attempt, heard): (u32, Option<Heard<'_>>),
    ) -> Result<(Via, Response), Failed> {
        let path = directory.join(format!("{}.jsonl", node.name));
        let parts = Parts::of(node, model, request, attempt);
        if matches!(self.mode, Mode::Replay | Mode::RefreshStale) {
            let found = self.files.find(&path, &parts, model.is_some());
            let found = found.map_err(|error| Failed::new(Class::NotRecorded, said(&path, &error.to_string())))?;
            match found {
                Ok(entry) => return Ok((Via::Cassette, Response::recorded(entry.status, entry.body))),
                Err(nearest) if self.mode == Mode::Replay => {
                    let why = format!(
                        "this call of {} is not recorded in {}: {nearest}; `hob node record {}` records it",
                        node.name,
                        shown(&path),
                        node.name
                    );
                    return Err(Failed::new(Class::NotRecorded, why));
                }
                Err(_) => {}
            }
        }
        let model = model.ok_or_else(|| Failed::new(Class::NotRecorded, "no model is configured"))?;
        let response = model.post(request, heard).await?;
        if matches!(self.mode, Mode::Record | Mode::RefreshStale) {
            let entry = Entry::of(parts, &response);
            self.files
                .put(&path, entry)
                .map_err(|error| Failed::new(Class::NotRecorded, said(&path, &error.to_string())))?;
        }
        Ok((Via::Direct, response))
    }

    /// Removes what no node of the folder produces any more. Gives the number of entries removed, and of those that stay.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn collect_garbage(folder: &Folder) -> std::io::Result<(usize, usize)> {
        let directory = directory(folder);
        let (mut removed, mut kept) = (0, 0);
        for (name, path) in file::all(&directory)? {
            let hash = folder.file_node(&name).ok().map(|node| node.hash);
            let entries = file::read(&path)?;
            let (stay, go): (Vec<Entry>, Vec<Entry>) =
                entries.into_iter().partition(|entry| Some(&entry.parts.node) == hash.as_ref());
            removed += go.len();
            kept += stay.len();
            if !go.is_empty() {
                file::write(&path, &stay)?;
            }
        }
        Ok((removed, kept))
    }
}

/// The directory of the cassettes of these node files.
pub fn directory(folder: &Folder) -> PathBuf {
    folder.worktree().join(folder.path()).join(DIRECTORY)
}

fn shown(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    format!("{DIRECTORY}/{}", project::visible::path(Path::new(name)))
}

fn said(path: &Path, why: &str) -> String {
    format!("{}: {why}", shown(path))
}
