//! Maps positions of the protocol to the texts that were read. Positions that do not exist in these texts are discarded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::blocking;
use crate::answer::Texts;
use crate::lsp::{Encoding, Location, Positions};
use crate::search::read;
use crate::server::Document;
use crate::syntax::{Language, Occurrence, occurrences_at};

/// A text in the form that a server has it.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    /// The text without a byte order mark.
    pub text: Arc<str>,
    /// The number of bytes before the text: the length of the byte order mark.
    pub skip: usize,
}

const MARK: char = '\u{feff}';

impl Sheet {
    /// True if a word begins at an offset of the file.
    fn begins_word(&self, at: usize) -> bool {
        let Some((before, after)) = at.checked_sub(self.skip).and_then(|at| self.text.split_at_checked(at)) else {
            return false;
        };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        after.starts_with(is_word) && !before.ends_with(is_word)
    }

    /// Converts the contents of a file; `None` if it is not UTF-8, because the server would have different bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Sheet> {
        let rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Some(Sheet { text: std::str::from_utf8(rest).ok()?.into(), skip: bytes.len() - rest.len() })
    }

    /// Returns the position of an offset in the file.
    pub(crate) fn position(&self, at: usize, encoding: Encoding) -> serde_json::Value {
        Positions::new(&self.text, encoding).at(at.saturating_sub(self.skip))
    }
}

/// Returns a file as a server should have it.
pub(crate) fn document(path: PathBuf, text: &[u8]) -> Option<Document> {
    Some(Document { language: Language::detect(&path, text)?, text: Sheet::from_bytes(text)?.text, path })
}

/// The texts of a question, and of further files that a server refers to.
pub(crate) struct Sheets {
    root: PathBuf,
    encoding: Encoding,
    /// The deadline of the answer.
    until: Instant,
    sheets: BTreeMap<PathBuf, Option<Sheet>>,
}

/// A place in a file, by offset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    /// An absolute path.
    pub path: PathBuf,
    pub start: usize,
    pub end: usize,
}

/// The maximum number of files to read besides those of the search.
const MOST_READ: usize = 500;

impl Sheets {
    pub(crate) fn new(root: &Path, texts: &Texts, encoding: Encoding, until: Instant) -> Sheets {
        let sheets = texts.iter().map(|(path, text)| (root.join(path), Sheet::from_bytes(text))).collect();
        Sheets { root: root.to_owned(), encoding, until, sheets }
    }

    /// Returns the deadline of the answer.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Returns the occurrence of the name at a spot, and the number of bytes before the file's text.
    pub(crate) fn occurrence(&self, spot: &Spot) -> Option<(Occurrence, usize)> {
        let sheet = self.get(&spot.path)?;
        let text = sheet.text.as_bytes();
        let language = Language::detect(&spot.path, text)?;
        let start = spot.start.checked_sub(sheet.skip)?;
        let start = if text.get(start..)?.starts_with(b"r#") { start + 2 } else { start };
        let place = start..start + self.word(spot).len();
        let all = blocking(|| occurrences_at(language, text, &[place], self.until))?;
        Some((all.into_iter().next()?, sheet.skip))
    }

    /// Returns a file that was read as a server should have it.
    pub(crate) fn document(&self, path: &Path) -> Option<Document> {
        let text = &self.get(path)?.text;
        let language = Language::detect(path, text.as_bytes())?;
        Some(Document { path: path.to_owned(), language, text: text.clone() })
    }

    /// Returns the texts of the project files that were read.
    pub(crate) fn of_the_project(&self) -> Texts {
        let all = self.sheets.iter().filter_map(|(path, sheet)| Some((self.relative_path(path)?, sheet.as_ref()?)));
        let bytes = |sheet: &Sheet| -> Arc<[u8]> {
            let mark: &[u8] = if sheet.skip > 0 { b"\xef\xbb\xbf" } else { b"" };
            [mark, sheet.text.as_bytes()].concat().into()
        };
        all.map(|(path, sheet)| (path.into(), bytes(sheet))).collect()
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&Sheet> {
        self.sheets.get(path)?.as_ref()
    }

    /// Reads a file that a server refers to, unless it was read already.
    pub(crate) fn read(&mut self, path: &Path) {
        if !self.sheets.contains_key(path) && self.sheets.len() < self.sheets.len().max(MOST_READ) {
            let sheet = blocking(|| read(path)).ok().and_then(|bytes| Sheet::from_bytes(&bytes));
            self.sheets.insert(path.to_owned(), sheet);
        }
    }

    /// Converts a location to offsets; `None` if the text has no such place.
    pub(crate) fn spot(&mut self, place: &Location) -> Option<Spot> {
        self.read(&place.path);
        let sheet = self.get(&place.path)?;
        let offsets = |text: &str, skip: usize| {
            let positions = Positions::new(text, self.encoding);
            Some((positions.offset(place.range.start)? + skip, positions.offset(place.range.end)? + skip))
        };
        let bare = || offsets(&sheet.text, sheet.skip);
        // A server that read the file itself may count the byte order mark as a character.
        let marked = || offsets(&format!("{MARK}{}", sheet.text), 0).filter(|(start, _)| sheet.begins_word(*start));
        let is_first = sheet.skip > 0 && place.range.start.line == 0;
        let (start, end) = match bare() {
            Some((start, _)) if is_first && !sheet.begins_word(start) => marked().or_else(bare)?,
            None if is_first => marked()?,
            known => known?,
        };
        Some(Spot { path: place.path.clone(), start, end: end.max(start) })
    }

    /// Converts locations to offsets. Omits those that do not exist in their texts.
    pub(crate) fn spots(&mut self, places: &[Location]) -> Vec<Spot> {
        places.iter().filter_map(|place| self.spot(place)).collect()
    }

    pub(crate) fn text(&self, spot: &Spot) -> &str {
        let sheet = self.get(&spot.path);
        let text = sheet.and_then(|sheet| sheet.text.get(spot.start - sheet.skip..spot.end - sheet.skip));
        text.map(|text| text.strip_prefix("r#").unwrap_or(text)).unwrap_or_default()
    }

    pub(crate) fn word(&self, spot: &Spot) -> &str {
        let Some(sheet) = self.get(&spot.path) else { return "" };
        let rest = sheet.text.get(spot.start - sheet.skip..).unwrap_or_default();
        let rest = rest.strip_prefix("r#").unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    }

    /// Returns the place of an embedded field's name, which gopls starts at its type: `*geo.Base`.
    pub(crate) fn embedded(&self, spot: &Spot, name: &str) -> Option<Spot> {
        let is_go = spot.path.extension().is_some_and(|extension| extension == "go");
        let sheet = self.get(&spot.path).filter(|_| is_go)?;
        let whole = sheet.text.get(spot.start.checked_sub(sheet.skip)?..)?;
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
