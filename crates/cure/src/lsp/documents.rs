//! The documents that the editor has open: their texts, kept up to date by its changes.

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::messages::{Change, Range};
use super::positions::{Encoding, LineStarts};
use crate::diagnostic::Span;

/// Maximum number of open documents.
const MOST: usize = 1_000;

/// An open document.
#[derive(Debug)]
pub(super) struct Document {
    /// Its address as the editor writes it.
    pub uri: String,
    /// Path of its file, with existing links resolved; `None` for a text without a file.
    pub path: Option<PathBuf>,
    pub version: Option<i64>,
    pub text: Arc<str>,
    pub lines: LineStarts,
}

impl Document {
    fn new(uri: String, version: i64, text: String) -> Document {
        let path = path_of(&uri).map(|path| real(&path));
        Document { uri, path, version: Some(version), lines: LineStarts::new(&text), text: text.into() }
    }

    fn change(&mut self, changes: Vec<Change>, encoding: Encoding) {
        for Change { range, text } in changes {
            let new = match range {
                None => text,
                Some(range) => {
                    let start = self.lines.byte(&self.text, range.start, encoding);
                    let end = self.lines.byte(&self.text, range.end, encoding).max(start);
                    [&self.text[..start], &text, &self.text[end..]].concat()
                }
            };
            self.lines = LineStarts::new(&new);
            self.text = new.into();
        }
    }

    /// The range of a span of its text.
    pub(super) fn range(&self, span: Span, encoding: Encoding) -> Range {
        self.lines.range(&self.text, span, encoding)
    }
}

/// All open documents, by address.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: BTreeMap<String, Document>,
}

impl Documents {
    pub(super) fn get(&self, uri: &str) -> Option<&Document> {
        self.open.get(uri)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Document> {
        self.open.values()
    }

    /// Opens a document; refused if there are too many.
    pub(super) fn open(&mut self, uri: String, version: i64, text: String) -> Result<(), String> {
        if self.open.len() >= MOST && !self.open.contains_key(&uri) {
            return Err(format!("the limit of {MOST} open documents is reached; close some of them"));
        }
        self.open.insert(uri.clone(), Document::new(uri, version, text));
        Ok(())
    }

    /// Changes an open document; gives whether it is open.
    pub(super) fn change(&mut self, uri: &str, version: Option<i64>, changes: Vec<Change>, encoding: Encoding) -> bool {
        let Some(document) = self.open.get_mut(uri) else { return false };
        document.change(changes, encoding);
        document.version = version.or(document.version);
        true
    }

    pub(super) fn close(&mut self, uri: &str) -> Option<Document> {
        self.open.remove(uri)
    }
}

/// The path of a file's address.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // A host may stand before the path; the files are those of this machine all the same.
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let [first, rest @ ..] = left {
        left = rest;
        let byte = match (first, rest) {
            (b'%', [high, low, rest @ ..]) => {
                left = rest;
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (digit(*high)? * 16 + digit(*low)?) as u8
            }
            (byte, _) => *byte,
        };
        bytes.push(byte);
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

/// The address of a file.
pub(super) fn uri_of(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path with links resolved. A file that does not exist yet is in the directory that does.
fn real(path: &Path) -> PathBuf {
    let whole = path.canonicalize().ok();
    let beside = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    whole.or_else(beside).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::messages::Position;

    fn changed(text: &str, changes: &[(Option<[u32; 4]>, &str)], encoding: Encoding) -> String {
        let mut documents = Documents::default();
        documents.open("file:///a.cure".into(), 1, text.to_owned()).unwrap();
        let change = |(range, text): &(Option<[u32; 4]>, &str)| Change {
            range: range.map(|[line, character, to, until]| Range {
                start: Position { line, character },
                end: Position { line: to, character: until },
            }),
            text: (*text).to_owned(),
        };
        let changes = changes.iter().map(change).collect();
        assert!(documents.change("file:///a.cure", Some(2), changes, encoding));
        documents.get("file:///a.cure").unwrap().text.to_string()
    }

    #[test]
    fn changes_of_parts_and_of_all_are_made_in_order() {
        let part = changed("a😀b\nc\n", &[(Some([0, 3, 0, 4]), "x"), (Some([1, 0, 2, 0]), "d")], Encoding::Utf16);
        assert_eq!(part, "a😀x\nd");
        assert_eq!(changed("a😀b", &[(Some([0, 5, 0, 6]), "x")], Encoding::Utf8), "a😀x");
        assert_eq!(changed("old", &[(None, "new\n"), (Some([0, 0, 0, 1]), "N")], Encoding::Utf16), "New\n");
        // A range behind the end, or the wrong way round, changes nothing that is not there.
        assert_eq!(changed("ab", &[(Some([9, 9, 0, 0]), "c")], Encoding::Utf16), "abc");
    }

    #[test]
    fn addresses_are_paths_and_back() {
        let path = Path::new("/a b/ž%/c.cure");
        assert_eq!(uri_of(path), "file:///a%20b/%C5%BE%25/c.cure");
        assert_eq!(path_of(&uri_of(path)).unwrap(), path);
        assert_eq!(path_of("file://host/x%2Fy.cure").unwrap(), Path::new("/x/y.cure"));
        for other in ["untitled:Untitled-1", "file:", "file://", "file:///%zz", "http://x/y.cure"] {
            assert_eq!(path_of(other), None, "{other}");
        }
        assert_eq!(path_of("file:///a%").unwrap(), Path::new("/a%"));
    }
}
