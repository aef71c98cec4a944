//! Documents that a server has open: those of the last questions, with the same texts that the syntax tier read. An
//! open document hides the file on disk, so a document whose file changed is closed before the next question.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::profile::language_id;
use crate::{Client, Failure, of_path};
use syntax::Language;

#[derive(Debug, Clone)]
pub struct Document {
    /// Absolute path.
    pub path: PathBuf,
    pub language: Language,
    pub text: Arc<str>,
}

/// Maximum length of a document, in bytes.
const MAX_READ: u64 = 64 << 20;

impl Document {
    /// Reads the file; `None` unless it is text in a known language. Blocks.
    pub fn read(path: PathBuf) -> Option<Document> {
        let language = Language::by_name(&path)?;
        let text = project::regular::read(&path, MAX_READ).ok()?;
        Some(Document { path, language, text: text.into() })
    }

    /// True if the file still has this text, ignoring a byte order mark. Blocks.
    pub(super) fn is_on_disk(&self) -> bool {
        fn bare(text: &str) -> &str {
            text.strip_prefix('\u{feff}').unwrap_or(text)
        }
        project::regular::read(&self.path, MAX_READ).is_ok_and(|text| bare(&text) == bare(&self.text))
    }
}

#[derive(Debug, Default)]
pub(super) struct Documents {
    open: HashMap<PathBuf, Open>,
    clock: u64,
}

#[derive(Debug)]
struct Open {
    version: i64,
    text: Arc<str>,
    /// Stamp of the file, if it is certain to have this text.
    stamp: Option<Stamp>,
    used: u64,
}

/// Stamp that changes with the file: status change time, which programs cannot set, inode number and size.
pub(super) type Stamp = (i64, i64, u64, u64);

/// Maximum number of open documents.
const MOST: usize = 200;

impl Documents {
    /// Returns the notifications that open the wanted documents and close outdated ones.
    pub(super) fn open_notifications(&mut self, wanted: &[Document]) -> Vec<(&'static str, Value)> {
        self.clock += 1;
        let mut told = Vec::new();
        for document in wanted {
            let uri = of_path(&document.path);
            let stamp = stamp(&document.path);
            // The text was read earlier, so the file may have changed since.
            let of_text = |known: Option<Stamp>| stamp.filter(|_| known == stamp || document.is_on_disk());
            match self.open.get_mut(&document.path) {
                Some(open) => {
                    let is_same = open.text == document.text;
                    (open.used, open.stamp) = (self.clock, of_text(open.stamp.filter(|_| is_same)));
                    if !is_same {
                        open.version += 1;
                        open.text = document.text.clone();
                        let identifier = json!({"uri": uri, "version": open.version});
                        let changes = json!([{"text": &*document.text}]);
                        told.push((
                            "textDocument/didChange",
                            json!({"textDocument": identifier, "contentChanges": changes}),
                        ));
                    }
                }
                None => {
                    told.push(opened(document));
                    let open = Open { version: 1, text: document.text.clone(), stamp: of_text(None), used: self.clock };
                    self.open.insert(document.path.clone(), open);
                }
            }
        }
        let clock = self.clock;
        let mut closing: Vec<(u64, PathBuf)> = Vec::new();
        let mut kept: Vec<(u64, &PathBuf)> = Vec::new();
        for (path, open) in self.open.iter().filter(|(_, open)| open.used < clock) {
            if stamp(path) == open.stamp && open.stamp.is_some() {
                kept.push((open.used, path));
            } else {
                closing.push((open.used, path.clone()));
            }
        }
        kept.sort();
        let over = self.open.len().saturating_sub(closing.len()).saturating_sub(MOST);
        closing.extend(kept.into_iter().take(over).map(|(used, path)| (used, path.clone())));
        for (_, path) in closing {
            self.open.remove(&path);
            told.push(closed(&path));
        }
        told
    }

    /// Returns the notifications that close all documents.
    pub(super) fn close_all(&mut self) -> Vec<(&'static str, Value)> {
        self.open.drain().map(|(path, _)| closed(&path)).collect()
    }

    /// True if the server has a text for the path that differs from the file.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.open.contains_key(path)
    }
}

/// Changed files for which a server's index or cache may be outdated. They are opened for each question.
#[derive(Debug, Default)]
pub(super) struct Changed(BTreeSet<PathBuf>);

/// Above this number the server is restarted, and reads them for its index.
const MOST_CHANGED: usize = 60;

impl Changed {
    /// Adds files. Returns true if there are now too many.
    pub(super) fn add(&mut self, files: impl Iterator<Item = PathBuf>) -> bool {
        self.0.extend(files);
        self.0.len() > MOST_CHANGED
    }

    /// Returns the URIs of those files that occur in the notifications.
    pub(super) fn uris_in(&self, told: &[(&'static str, Value)]) -> Vec<Value> {
        let uris: Vec<_> = self.0.iter().map(|path| json!(of_path(path))).collect();
        let texts =
            told.iter().filter(|(method, _)| matches!(*method, "textDocument/didOpen" | "textDocument/didChange"));
        texts.map(|(_, params)| params["textDocument"]["uri"].clone()).filter(|uri| uris.contains(uri)).collect()
    }

    /// Returns the documents, extended by the changed files that are not among them.
    pub(super) async fn with(&self, documents: &[Document]) -> Vec<Document> {
        let mut all = documents.to_vec();
        let is_there = |path: &PathBuf| documents.iter().any(|one| one.path == *path);
        let files: Vec<PathBuf> = self.0.iter().filter(|path| !is_there(path)).cloned().collect();
        if !files.is_empty() {
            let read = move || files.into_iter().filter_map(Document::read).collect::<Vec<_>>();
            all.extend(tokio::task::spawn_blocking(read).await.unwrap_or_default());
        }
        all
    }
}

/// Returns a receiver that turns true once the server has read these documents and all earlier ones. It never turns
/// true if the server ends first.
pub(super) fn caught_up(
    client: &Client,
    fresh: Vec<Value>,
    mut before: watch::Receiver<bool>,
) -> watch::Receiver<bool> {
    if fresh.is_empty() {
        return before;
    }
    let (done, caught_up) = watch::channel(false);
    let client = client.clone();
    tokio::spawn(async move {
        for uri in fresh {
            let params = json!({"textDocument": {"uri": uri}});
            loop {
                match client.request("textDocument/documentSymbol", &params, Duration::from_secs(60)).await {
                    Ok(_) | Err(Failure::Refused { .. } | Failure::Odd { .. }) => break,
                    Err(Failure::TimedOut { .. }) => {}
                    Err(Failure::Closed) => return,
                }
            }
        }
        if before.wait_for(|is_it| *is_it).await.is_ok() {
            let _ = done.send(true);
        }
    });
    caught_up
}

/// Returns the notifications that make a server read changed files again although they are not open. Some servers (ty)
/// compare only size and time unless a file was open. Blocks.
pub(super) fn read_again(changed: Vec<PathBuf>) -> Vec<(&'static str, Value)> {
    let documents = back_dated(changed).into_iter().filter_map(Document::read).take(MOST);
    documents.flat_map(|document| [opened(&document), closed(&document.path)]).collect()
}

fn opened(document: &Document) -> (&'static str, Value) {
    let extension = document.path.extension().and_then(|extension| extension.to_str());
    let item = json!({
        "uri": of_path(&document.path),
        "languageId": language_id(document.language, extension),
        "version": 1,
        "text": &*document.text,
    });
    ("textDocument/didOpen", json!({"textDocument": item}))
}

fn closed(path: &Path) -> (&'static str, Value) {
    ("textDocument/didClose", json!({"textDocument": {"uri": of_path(path)}}))
}

pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.ctime(), metadata.ctime_nsec(), metadata.ino(), metadata.len()))
}

/// Returns the files whose modification time is older than their change. Blocks.
pub(super) fn back_dated(mut changed: Vec<PathBuf>) -> Vec<PathBuf> {
    changed.retain(|path| is_back_dated(path));
    changed
}

/// True if the file's modification time is older than its change, as for a copy that preserves times.
fn is_back_dated(path: &Path) -> bool {
    let metadata = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file);
    metadata.is_some_and(|one| (one.mtime(), one.mtime_nsec()) < (one.ctime(), one.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_the_texts_of_the_question_and_none_that_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Document { path, language: Language::Rust, text: text.into() }
        };
        let mut documents = Documents::default();
        let methods = |told: Vec<(&'static str, Value)>| told.into_iter().map(|(method, _)| method).collect::<Vec<_>>();
        let (a, b) = (file("a.rs", "a"), file("b.rs", "b"));
        assert_eq!(methods(documents.open_notifications(&[a.clone(), b.clone()])), ["textDocument/didOpen"; 2]);
        // Nothing is sent twice.
        assert_eq!(methods(documents.open_notifications(std::slice::from_ref(&a))), [""; 0]);
        let a = file("a.rs", "a new");
        assert_eq!(methods(documents.open_notifications(std::slice::from_ref(&a))), ["textDocument/didChange"]);
        // Changed on disk and not requested: the server reads the file itself again.
        file("b.rs", "other");
        assert_eq!(methods(documents.open_notifications(std::slice::from_ref(&a))), ["textDocument/didClose"]);
        assert!(documents.open.contains_key(&a.path) && !documents.open.contains_key(&b.path));
        std::fs::remove_file(&a.path).unwrap();
        assert_eq!(methods(documents.open_notifications(&[])), ["textDocument/didClose"]);
        // Changed between reading and opening.
        let read = file("c.rs", "c");
        file("c.rs", "d");
        assert_eq!(methods(documents.open_notifications(std::slice::from_ref(&read))), ["textDocument/didOpen"]);
        assert_eq!(methods(documents.open_notifications(&[])), ["textDocument/didClose"]);
        // The least recently used are closed first.
        let many: Vec<Document> = (0..MOST).map(|number| file(&format!("{number}.rs"), "x")).collect();
        documents.open_notifications(&many[..1]);
        documents.open_notifications(&many[1..]);
        let one = file("one.rs", "x");
        let told = documents.open_notifications(std::slice::from_ref(&one));
        assert_eq!(told[1].1["textDocument"]["uri"], of_path(&many[0].path));
    }
}
