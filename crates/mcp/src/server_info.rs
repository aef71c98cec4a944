//! [`ServerInfo`]: how a server describes itself to its clients, in every revision.

use serde_json::{Map, Value};

use crate::content::Icon;

/// What a server says of itself.
#[derive(Debug, Clone, Default)]
pub struct ServerInfo {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A title for people.
    pub title: Option<String>,
    /// What it is, in a sentence.
    pub description: Option<String>,
    /// Where to read more.
    pub website_url: Option<String>,
    /// What a model should know to use it well. Clients cut it at about 2,000 characters.
    pub instructions: Option<String>,
    /// Pictures that stand for it.
    pub icons: Vec<Icon>,
    /// Capabilities outside the specification, by name.
    pub experimental: Option<Map<String, Value>>,
}

impl ServerInfo {
    /// A name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ServerInfo {
        ServerInfo { name: name.into(), version: version.into(), ..ServerInfo::default() }
    }
}
