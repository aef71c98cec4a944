//! The nodes that are available at one moment, and their update from the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::file::hash;
use crate::folder::{Folder, FolderError, Listing, PassedOver};
use crate::{Node, Record};

/// The nodes of a worktree at one moment.
#[derive(Debug, Default, PartialEq)]
pub struct Served {
    pub entries: BTreeMap<String, Entry>,
    /// Entries that look like node files and are not.
    pub passed_over: Vec<PassedOver>,
    /// The reason why the directory cannot be read, if so. The previous entries stay.
    pub error: Option<String>,
}

/// The state of a node file.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The version that is available.
    pub node: Option<Arc<Node>>,
    /// The error of the file's current text.
    pub error: Option<String>,
    /// The hash of the file's text; `None` if it could not be read.
    read: Option<String>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        let hash = |entry: &Entry| entry.node.as_ref().map(|node| node.hash.clone());
        hash(self) == hash(other) && self.error == other.error && self.read == other.read
    }
}

/// The state of a node file, for results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum State {
    Serving,
    /// The file is invalid, and its previous version is available.
    LastGood,
    Invalid,
}

impl Entry {
    pub fn state(&self) -> State {
        match (&self.node, &self.error) {
            (Some(_), None) => State::Serving,
            (Some(_), Some(_)) => State::LastGood,
            (None, _) => State::Invalid,
        }
    }
}

impl Served {
    /// Returns the error for an unknown node.
    pub(crate) fn unknown(&self, folder: &Folder, name: &str) -> String {
        let names = || self.entries.keys().cloned().collect();
        self.error.clone().unwrap_or_else(|| folder.unknown(name, names(), &self.passed_over).to_string())
    }

    /// Reads the files. Returns the available nodes and the changes. `checked` is called after each file, and can get the nodes of
    /// the files so far.
    pub(crate) fn read(
        folder: &Folder,
        before: &Served,
        mut checked: impl FnMut(&dyn Fn() -> Served),
    ) -> (Served, Vec<Record>) {
        let worktree = project::visible::path(folder.worktree()).to_string();
        let Listing { names, passed_over } = match folder.listing() {
            Ok(listing) => listing,
            Err(error) => {
                let entries = before.entries.clone();
                let served = Served { entries, error: Some(error.to_string()), ..Served::default() };
                return (served, Vec::new());
            }
        };
        let mut news = Vec::new();
        let mut entries = BTreeMap::new();
        for name in names {
            let former = before.entries.get(&name);
            let entry = entry(folder, &name, former);
            let record = |entry: &Entry| match (&entry.error, &entry.node) {
                (Some(error), _) => {
                    Some(Record::NodeInvalid { node: name.clone(), worktree: worktree.clone(), error: error.clone() })
                }
                (None, Some(node)) => {
                    Some(Record::NodeServed { node: name.clone(), worktree: worktree.clone(), hash: node.hash.clone() })
                }
                (None, None) => None,
            };
            if former != Some(&entry) {
                news.extend(record(&entry));
            }
            entries.insert(name, entry);
            checked(&|| {
                let mut so_far = before.entries.clone();
                so_far.extend(entries.clone());
                Served { entries: so_far, ..Served::default() }
            });
        }
        let gone = before.entries.keys().filter(|name| !entries.contains_key(*name));
        news.extend(gone.map(|name| Record::NodeGone { node: name.clone(), worktree: worktree.clone() }));
        (Served { entries, passed_over, error: None }, news)
    }
}

fn entry(folder: &Folder, name: &str, former: Option<&Entry>) -> Entry {
    let text = folder.text(name);
    let read = text.as_ref().ok().map(|(text, parts)| hash(text, parts));
    if let Some(former) = former.filter(|former| former.read.is_some() && former.read == read) {
        return former.clone();
    }
    let parsed: Result<Node, FolderError> = text.and_then(|(text, parts)| folder.parse_with(name, &text, parts));
    match parsed {
        Ok(node) => Entry { node: Some(Arc::new(node)), error: None, read },
        Err(error) => {
            // A file never takes a tool's name, whatever was available before.
            let last = former.and_then(|former| former.node.clone());
            Entry { node: last, error: Some(error.to_string()), read }
        }
    }
}
