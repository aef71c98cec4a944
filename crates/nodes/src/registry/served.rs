//! What is served at one moment, and how it follows from what was served before and the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::file::hash;
use crate::folder::{Folder, FolderError, Listing, PassedOver};
use crate::{Node, Record};

/// The nodes of a worktree at one moment.
#[derive(Debug, Default, PartialEq)]
pub struct Served {
    pub entries: BTreeMap<String, Entry>,
    /// What looks like a node file and is none.
    pub passed_over: Vec<PassedOver>,
    /// Why the directory cannot be read; the entries are then what they were.
    pub error: Option<String>,
}

/// A node file.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The version that is served.
    pub node: Option<Arc<Node>>,
    /// What is wrong with the file as it is now.
    pub error: Option<String>,
    /// The hash of the file's text as it was read; none if it could not be.
    read: Option<String>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        let hash = |entry: &Entry| entry.node.as_ref().map(|node| node.hash.clone());
        hash(self) == hash(other) && self.error == other.error && self.read == other.read
    }
}

/// How a node file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum State {
    Serving,
    /// The file is invalid, and the version before it is served.
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
    /// Why there is no node of that name.
    pub(crate) fn unknown(&self, folder: &Folder, name: &str) -> String {
        let names = || self.entries.keys().cloned().collect();
        self.error.clone().unwrap_or_else(|| folder.unknown(name, names(), &self.passed_over).to_string())
    }

    /// Returns what is served once the files are read, and what is new. `checked` is told after each file, and can have what
    /// is served with the files so far.
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
            // A file never takes a tool's name, whatever was served before.
            let last = former.and_then(|former| former.node.clone());
            Entry { node: last, error: Some(error.to_string()), read }
        }
    }
}
