//! Cassettes: recorded answers of models, so that a call can be replayed without a model. `nodes/cassettes/NODE.jsonl` has one
//! entry per line, sorted and without headers. Reads and writes follow no links, because a checkout could bring a link that points
//! out of it.
//!
//! The key of an entry covers everything that its answer depends on. A changed node invalidates only its own entries.

mod entry;
mod file;

use std::io;

use serde::Serialize;

use crate::Node;
use crate::folder::Folder;
use crate::outcome::Class;
use crate::provider::{Failed, Model, Request, Response, TokenProgress};
pub use crate::settings::Mode;
pub(crate) use entry::Entry;
use entry::Parts;
use file::{CassetteFile, Files};

/// The cassettes of a daemon or a command.
#[derive(Debug, Default)]
pub struct Cassettes {
    mode: Mode,
    files: Files,
}

/// The source of an answer.
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

    /// Returns the answer to a request according to the mode. Replay needs no model; an unconfigured model matches any.
    pub(crate) async fn ask(
        &self,
        folder: &Folder,
        node: &Node,
        model: Option<&Model>,
        request: &Request,
        (attempt, heard): (u32, Option<TokenProgress<'_>>),
    ) -> Result<(Via, Response), Failed> {
        let place = CassetteFile::new(folder, &node.name);
        let parts = Parts::new(node, model, request, attempt);
        if matches!(self.mode, Mode::Replay | Mode::RefreshStale) {
            let found = self.files.find(&place, &parts, model.is_some());
            let found = found.map_err(|error| Failed::new(Class::NotRecorded, place.describe_error(&error)))?;
            match found {
                Ok(entry) => return Ok((Via::Cassette, Response::recorded(entry.status, entry.body))),
                Err(nearest) if self.mode == Mode::Replay => {
                    let why = format!(
                        "this call of {} is not recorded in {}: {nearest}; `hob node record {}` records it",
                        node.name,
                        place.display(),
                        node.name
                    );
                    return Err(Failed::new(Class::NotRecorded, why));
                }
                Err(_) => {}
            }
        }
        let model = model.ok_or_else(|| Failed::new(Class::NotRecorded, "no model is configured"))?;
        let writes = matches!(self.mode, Mode::Record | Mode::RefreshStale);
        let not_written = |error: io::Error| Failed::new(Class::NotRecorded, place.describe_error(&error));
        if writes {
            // A paid model is not asked if its answer cannot be stored.
            self.files.load(&place).map_err(not_written)?;
        }
        let response = model.post(request, heard).await?;
        if writes {
            self.files.put(&place, Entry::new(parts, &response)).map_err(not_written)?;
        }
        Ok((Via::Direct, response))
    }

    /// Removes entries that no node of the folder uses. Returns the numbers of removed and remaining entries.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn collect_garbage(folder: &Folder) -> io::Result<(usize, usize)> {
        let (mut removed, mut kept) = (0, 0);
        for name in file::all(folder)? {
            let hash = folder.file_node(&name).ok().map(|node| node.hash);
            let place = CassetteFile::new(folder, &name);
            let named = |error: io::Error| io::Error::new(error.kind(), place.describe_error(&error));
            let entries = place.read().map_err(named)?;
            let (stay, go): (Vec<Entry>, Vec<Entry>) =
                entries.into_iter().partition(|entry| Some(&entry.parts.node) == hash.as_ref());
            removed += go.len();
            kept += stay.len();
            if !go.is_empty() {
                place.write(&stay).map_err(named)?;
            }
        }
        Ok((removed, kept))
    }
}
