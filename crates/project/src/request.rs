//! The requests of a `hob.toml` beyond the safe set: each setting, and its line. `trust.rs` decides whether it is
//! granted.

use serde::Serialize;
use toml::de::DeTable;

use crate::visible;

/// A setting that takes effect only when granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The setting, such as `repl.profiles.NAME`.
    pub key: String,
    /// Its line in `hob.toml`, from 1.
    pub line: usize,
    /// The effect of a grant, for people: `runs the command ["x", "y"]`.
    pub asks: String,
    /// The name of the feature that is unavailable until then.
    #[serde(skip)]
    pub withholds: Option<String>,
}

/// The positions of the settings in a file.
pub struct Places<'a> {
    /// The end of each line.
    ends: Vec<usize>,
    tree: Option<DeTable<'a>>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(text: &'a str) -> Places<'a> {
        // A file that does not parse has no requests.
        let tree = DeTable::parse(text).ok().map(|tree| tree.into_inner());
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Places { ends, tree }
    }

    /// Returns the line of the key at the end of a path, or of the last key on the way that exists.
    pub(crate) fn line(&self, path: &[&str]) -> usize {
        let mut line = 1;
        let mut table = self.tree.as_ref();
        for key in path {
            let Some((at, value)) = table.and_then(|table| table.get_key_value(*key)) else {
                break;
            };
            line = 1 + self.ends.partition_point(|end| *end < at.span().start);
            table = value.get_ref().as_table();
        }
        line
    }

    /// Returns a request for the setting at the end of a path; `asks` describes the effect of a grant, for people.
    pub fn request(&self, path: &[&str], asks: String) -> Request {
        let key = path.iter().map(|key| visible(key)).collect::<Vec<_>>().join(".");
        Request { key, line: self.line(path), asks, withholds: None }
    }
}
