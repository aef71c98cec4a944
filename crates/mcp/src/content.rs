//! The data that tools, prompts and resources share: content blocks, annotations, icons, and resources as they are
//! listed and read. No type here is specific to a revision; `era/content.rs` writes them, and replaces content that a
//! revision lacks by a text.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

/// One block of a tool's result or of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound (since 2025-03-26; older clients get a text that names the missing content).
    Audio(Media),
    /// A resource with its contents.
    Resource(Contents),
    /// A link to a resource, which need not be listed (since 2025-06-18; older clients get a text that names it).
    Link(Box<Resource>),
    /// Any of these, with annotations.
    Annotated(Box<Content>, Annotations),
}

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The bytes, not encoded.
    pub data: Vec<u8>,
    /// The MIME type, such as `image/png`.
    pub mime_type: String,
}

/// The contents of a resource, or of a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// The URI of these contents.
    pub uri: String,
    /// The MIME type, such as `text/plain`.
    pub mime_type: Option<String>,
    /// The content itself.
    pub body: Body,
}

/// The body of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes, not encoded.
    Blob(Vec<u8>),
}

impl Contents {
    /// Contents that are text.
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Contents {
        Contents { uri: uri.into(), mime_type: Some(mime_type.into()), body: Body::Text(text.into()) }
    }

    /// Contents that are bytes.
    pub fn blob(uri: impl Into<String>, mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Contents {
        Contents { uri: uri.into(), mime_type: Some(mime_type.into()), body: Body::Blob(bytes.into()) }
    }
}

/// The description of a resource, as it is listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The name for programs.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// A description for models.
    pub description: Option<String>,
    /// The MIME type of its contents, such as `text/plain`.
    pub mime_type: Option<String>,
    /// The size in bytes.
    pub size: Option<u64>,
    /// Hints on its audience and importance.
    pub annotations: Option<Annotations>,
    /// Icons for people.
    pub icons: Vec<Icon>,
    /// Hints for particular clients, sent as `_meta`.
    pub meta: Option<Map<String, Value>>,
    /// How long a client may cache the contents (2026-07-28); zero forbids it.
    pub fresh_for: Duration,
}

impl Resource {
    /// Returns a resource with this URI and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Resource {
        Resource { uri: uri.into(), name: name.into(), ..Resource::default() }
    }
}

/// Hints on the audience and the importance of something (MCP "Annotations").
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// The intended audience; empty for both sides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// Importance, from 0 (optional) to 1 (required).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// The time of the last change, such as `2025-01-12T15:00:58Z` (since 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A side of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// An icon of a server, a tool, a prompt or a resource, for people (since 2025-11-25).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// The URI: `https:` or `data:`.
    pub src: String,
    /// The MIME type, if the URI does not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes that it suits, such as `48x48` or `any`; empty for every size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// The theme that it suits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<Theme>,
}

/// The background that an icon is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Theme {
    Light,
    Dark,
}

impl Content {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text(text.into())
    }

    /// Returns a picture of this MIME type, such as `image/png`.
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Content {
        Content::Image(Media { data: data.into(), mime_type: mime_type.into() })
    }

    /// Returns a sound of this MIME type, such as `audio/wav`.
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Content {
        Content::Audio(Media { data: data.into(), mime_type: mime_type.into() })
    }

    /// Returns a link to a resource.
    pub fn link(resource: Resource) -> Content {
        Content::Link(Box::new(resource))
    }

    /// Returns the same content with annotations.
    #[must_use]
    pub fn annotated(self, annotations: Annotations) -> Content {
        Content::Annotated(Box::new(self), annotations)
    }

    /// Returns the text, if this is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(text),
            Content::Annotated(content, _) => content.as_text(),
            _ => None,
        }
    }
}

impl Icon {
    /// Returns an icon with this URI.
    pub fn new(src: impl Into<String>) -> Icon {
        Icon { src: src.into(), ..Icon::default() }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        Content::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        Content::text(text)
    }
}
