//! What a `hob.toml` asks for beyond the safe set, setting by setting, and the line each stands in. Whether it is granted
//! is the business of `trust.rs`.

use serde::Serialize;
use toml::de::DeTable;

use crate::visible;

/// One thing that counts only when granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The setting, as `repl.profiles.NAME`.
    pub key: String,
    /// The line in `hob.toml` where it stands, from 1.
    pub line: usize,
    /// What granting it allows, for people: `runs the command ["x", "y"]`.
    pub asks: String,
    /// What is not to be had until then, by its name.
    #[serde(skip)]
    pub withholds: Option<String>,
}

/// Where the settings of a file stand.
pub struct Places<'a> {
    /// Where each line ends.
    ends: Vec<usize>,
    tree: Option<DeTable<'a>>,
}

impl<'a> Places<'a> {
    pub(crate) fn of(text: &'a str) -> Places<'a> {
        // A file that does not parse asks for nothing.
        let tree = DeTable::parse(text).ok().map(|tree| tree.into_inner());
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Places { ends, tree }
    }

    /// The line of the key at the end of a path, or of the last one on the way that is found.
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

    /// A request of the setting at the end of a path: what granting it allows, for people.
    pub fn request(&self, path: &[&str], asks: String) -> Request {
        let key = path.iter().map(|key| visible(key)).collect::<Vec<_>>().join(".");
        Request { key, line: self.line(path), asks, withholds: None }
    }
}
