//! Maps positions of the protocol to the texts that were read. Positions that do not exist in these texts are discarded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use lsp::server::Document;
use lsp::{Encoding, Location, Positions};
use syntax::{Language, Occurrence, occurrences_at};

use super::blocking;
use crate::answer::Texts;
use crate::search::read;

/// Returns a text without its byte order mark, as a server should have it.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns a file as a server should have it; `None` if it is not UTF-8, because the server would have different bytes.
pub(crate) fn document(path: PathBuf, text: &[u8]) -> Option<Document> {
    let language = Language::detect(&path, text)?;
    Some(Document { language, text: without_mark(str::from_utf8(text).ok()?).into(), path })
}

/// True if a word begins at an offset.
fn begins_word(text: &str, at: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split_at_checked(at).is_some_and(|(before, after)| after.starts_with(is_word) && !before.ends_with(is_word))
}

/// The texts of a question, and of further files that a server refers to.
pub(crate) struct Sheets {
    root: PathBuf,
    encoding: Encoding,
    /// The deadline of the answer.
    until: Instant,
    texts: BTreeMap<PathBuf, Option<Arc<str>>>,
}

/// A place in a file, by offset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    /// An absolute path.
    pub path: PathBuf,
    pub start: usize,
    pub end: usize,
}

impl Spot {
    /// Returns the spot of a name of which only the start is known.
    pub(crate) fn at(path: PathBuf, start: usize) -> Spot {
        Spot { path, start, end: start }
    }

    /// True if both begin at the same place.
    pub(crate) fn begins_at(&self, other: &Spot) -> bool {
        (&self.path, self.start) == (&other.path, other.start)
    }
}

/// The maximum number of files to read besides those of the search.
const MOST_READ: usize = 500;

impl Sheets {
    pub(crate) fn new(root: &Path, texts: &Texts, encoding: Encoding, until: Instant) -> Sheets {
        let whole = |text: &[u8]| -> Option<Arc<str>> { Some(str::from_utf8(text).ok()?.into()) };
        let texts = texts.iter().map(|(path, text)| (root.join(path), whole(text))).collect();
        Sheets { root: root.to_owned(), encoding, until, texts }
    }

    /// Returns the deadline of the answer.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Returns the occurrence of the name at a spot.
    pub(crate) fn occurrence(&self, spot: &Spot) -> Option<Occurrence> {
        let text = self.get(&spot.path)?.as_bytes();
        let language = Language::detect(&spot.path, text)?;
        let start = if text.get(spot.start..)?.starts_with(b"r#") { spot.start + 2 } else { spot.start };
        let place = start..start + self.word(spot).len();
        blocking(|| occurrences_at(language, text, &[place], self.until))?.into_iter().next()
    }

    /// Returns a file that was read as a server should have it.
    pub(crate) fn document(&self, path: &Path) -> Option<Document> {
        document(path.to_owned(), self.get(path)?.as_bytes())
    }

    /// Returns the texts of the project files that were read.
    pub(crate) fn of_the_project(&self) -> Texts {
        let all = self.texts.iter().filter_map(|(path, text)| Some((self.relative_path(path)?, text.clone()?)));
        all.map(|(path, text)| (path.into(), text.into())).collect()
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&str> {
        self.texts.get(path)?.as_deref()
    }

    /// Reads a file that a server refers to, unless it was read already.
    pub(crate) fn read(&mut self, path: &Path) {
        if !self.texts.contains_key(path) && self.texts.len() < MOST_READ {
            let text = blocking(|| read(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            self.texts.insert(path.to_owned(), text.map(Arc::from));
        }
    }

    /// Returns the position of an offset for a request.
    pub(crate) fn position(&self, path: &Path, at: usize) -> Option<serde_json::Value> {
        let text = self.get(path)?;
        let bare = without_mark(text);
        Some(Positions::new(bare, self.encoding).at(at.saturating_sub(text.len() - bare.len())))
    }

    /// Converts a location to offsets; `None` if the text has no such place.
    pub(crate) fn spot(&mut self, place: &Location) -> Option<Spot> {
        self.read(&place.path);
        let text = self.get(&place.path)?;
        let offsets = |text: &str, before: usize| {
            let positions = Positions::new(text, self.encoding);
            Some((positions.offset(place.range.start)? + before, positions.offset(place.range.end)? + before))
        };
        let bare = without_mark(text);
        let mut found = offsets(bare, text.len() - bare.len());
        let is_word = |found: &(usize, usize)| begins_word(text, found.0);
        if bare.len() < text.len() && place.range.start.line == 0 && !found.as_ref().is_some_and(is_word) {
            // A server that read the file itself may count the byte order mark as a character.
            found = offsets(text, 0).filter(is_word).or(found);
        }
        let (start, end) = found?;
        Some(Spot { path: place.path.clone(), start, end: end.max(start) })
    }

    /// Converts locations to offsets. Omits those that do not exist in their texts.
    pub(crate) fn spots(&mut self, places: &[Location]) -> Vec<Spot> {
        places.iter().filter_map(|place| self.spot(place)).collect()
    }

    pub(crate) fn text(&self, spot: &Spot) -> &str {
        let text = self.get(&spot.path).and_then(|text| text.get(spot.start..spot.end)).unwrap_or_default();
        text.strip_prefix("r#").unwrap_or(text)
    }

    /// Returns the text after an offset; empty for a file that was not read.
    pub(crate) fn text_from(&self, path: &Path, at: usize) -> &str {
        self.get(path).and_then(|text| text.get(at..)).unwrap_or_default()
    }

    /// Returns the text before an offset; empty for a file that was not read.
    pub(crate) fn text_before(&self, path: &Path, at: usize) -> &str {
        self.get(path).and_then(|text| text.get(..at)).unwrap_or_default()
    }

    pub(crate) fn word(&self, spot: &Spot) -> &str {
        let rest = self.text_from(&spot.path, spot.start);
        let rest = rest.strip_prefix("r#").unwrap_or(rest);
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
    }

    /// Returns the place of an embedded field's name, which gopls starts at its type: `*geo.Base`.
    pub(crate) fn embedded(&self, spot: &Spot, name: &str) -> Option<Spot> {
        let is_go = spot.path.extension().is_some_and(|extension| extension == "go");
        let whole = self.get(&spot.path).filter(|_| is_go)?.get(spot.start..)?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let of = whole.trim_start_matches(['*', ' ']);
        let rest = of.trim_start_matches(is_name).strip_prefix('.').unwrap_or(of);
        let after = rest.strip_prefix(name).filter(|after| !after.starts_with(is_name))?;
        let start = spot.start + whole.len() - name.len() - after.len();
        (start > spot.start).then(|| Spot { path: spot.path.clone(), start, end: start + name.len() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the absolute path of a project file.
    pub(crate) fn path(&self, below: &Path) -> PathBuf {
        self.root.join(below)
    }

    /// Returns the path relative to the root; `None` if it is outside.
    pub(crate) fn relative_path<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.root).ok()
    }
}
