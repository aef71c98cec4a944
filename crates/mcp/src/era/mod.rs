//! The protocol revisions: their features, and the translation of neutral types to their JSON. A module per revision
//! lists its changes; only `write.rs` and `content.rs` act on them.
//!
//! Each request carries its own revision ([`Meta::era`](params::Meta::era)).

pub(crate) mod ask;
pub(crate) mod base64;
mod content;
pub(crate) mod params;
mod v2024_11_05;
mod v2025_03_26;
mod v2025_06_18;
mod v2025_11_25;
mod v2026_07_28;
mod value;
pub(crate) mod write;

use std::fmt;

/// A protocol revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Era {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

/// The form of tool results (MCP "Tool Result").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ResultForm {
    /// Text, and the structured content of tools that have it.
    #[default]
    Both,
    /// Text alone; the listing has no output schemas. For clients that hand only one of the two to their model.
    Text,
}

/// The features of a revision that concern what a server writes or accepts.
pub(crate) struct Revision {
    /// The name on the wire.
    pub name: &'static str,
    /// Every request carries version, client and capabilities, and results carry their type (2026-07-28), instead of a
    /// handshake and a session.
    pub modern: bool,
    /// Has JSON-RPC batches.
    pub batches: bool,
    /// Has tool annotations, and a message in progress notifications.
    pub annotations: bool,
    /// Has audio content.
    pub audio: bool,
    /// Has the capability `completions`.
    pub completions: bool,
    /// Has `title` in addition to `name`, `_meta` on tools, output schemas, structured content, links to resources.
    pub structured: bool,
    /// Has `description` and `websiteUrl` of an implementation, and icons.
    pub described: bool,
}

impl Era {
    /// Every revision, newest first.
    pub const ALL: [Era; 5] =
        [Era::V2026_07_28, Era::V2025_11_25, Era::V2025_06_18, Era::V2025_03_26, Era::V2024_11_05];

    /// The revision for a handshake that asks for an unknown version, and for requests that name none.
    pub const LATEST_LEGACY: Era = Era::V2025_11_25;

    /// Returns the revision of this name.
    pub fn from_name(name: &str) -> Option<Era> {
        Era::ALL.into_iter().find(|era| era.name() == name)
    }

    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        self.revision().name
    }

    /// Returns true if requests carry their version, without a handshake.
    pub fn is_modern(self) -> bool {
        self.revision().modern
    }

    /// Returns true if the revision has JSON-RPC batches.
    #[cfg(feature = "http")]
    pub(crate) fn has_batches(self) -> bool {
        self.revision().batches
    }

    pub(crate) fn revision(self) -> &'static Revision {
        match self {
            Era::V2024_11_05 => &v2024_11_05::REVISION,
            Era::V2025_03_26 => &v2025_03_26::REVISION,
            Era::V2025_06_18 => &v2025_06_18::REVISION,
            Era::V2025_11_25 => &v2025_11_25::REVISION,
            Era::V2026_07_28 => &v2026_07_28::REVISION,
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
