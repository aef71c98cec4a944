//! [`ServerInfo`]: how a server describes itself to its clients, in every revision.

use serde_json::{Map, Value};

use crate::content::Icon;

/// The description that a server gives of itself (MCP "Implementation").
#[derive(Debug, Clone, Default)]
pub struct ServerInfo {
    /// The program's name.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// A title for people.
    pub title: Option<String>,
    /// A description of one sentence.
    pub description: Option<String>,
    /// The URL of a page to read more.
    pub website_url: Option<String>,
    /// Instructions for models. Clients cut them at about 2,000 characters.
    pub instructions: Option<String>,
    /// Icons for people.
    pub icons: Vec<Icon>,
    /// Capabilities outside of the specification, by name.
    pub experimental: Option<Map<String, Value>>,
}

impl ServerInfo {
    /// Returns a server of this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ServerInfo {
        ServerInfo { name: name.into(), version: version.into(), ..ServerInfo::default() }
    }
}
