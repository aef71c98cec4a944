//! Locations in answers: a server may return one, several, or links.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// A position. Zero-based; `character` counts code units of the negotiated encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub path: PathBuf,
    pub range: Range,
}

/// Union of `Location` and `LocationLink`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LocationOrLink {
    uri: Option<String>,
    range: Option<Range>,
    target_uri: Option<String>,
    target_selection_range: Option<Range>,
}

/// Parses the locations of an answer; `None` if it is malformed. Locations outside files are dropped.
pub fn locations(answer: Value) -> Option<Vec<Location>> {
    let all = match answer {
        Value::Null => Vec::new(),
        Value::Array(all) => all,
        one => vec![one],
    };
    let mut places = Vec::with_capacity(all.len());
    for one in all {
        let said: LocationOrLink = serde_json::from_value(one).ok()?;
        let uri = said.uri.or(said.target_uri)?;
        let range = said.range.or(said.target_selection_range)?;
        if let Some(path) = super::to_path(&uri) {
            places.push(Location { path, range });
        }
    }
    Some(places)
}
