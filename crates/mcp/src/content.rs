//! What results, prompts and embedded resources are made of, before any revision's JSON. A revision that lacks a kind
//! of content gets a text that says the same.

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
    /// A sound (since 2025-03-26; before that a text says what is missing).
    Audio(Media),
    /// A resource with what is in it.
    Resource(Contents),
    /// A resource to be read if it matters (since 2025-06-18; before that a text names it). It need not be listed.
    Link(Box<Resource>),
    /// Any of these, with hints on whom it is for.
    Annotated(Box<Content>, Annotations),
}

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The bytes, not encoded.
    pub data: Vec<u8>,
    /// What they are, such as `image/png`.
    pub mime_type: String,
}

/// What is in a resource, or in a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// The address of this.
    pub uri: String,
    /// What it is, such as `text/plain`.
    pub mime_type: Option<String>,
    /// The content itself.
    pub body: Body,
}

/// A content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes, not encoded.
    Blob(Vec<u8>),
}

impl Contents {
    /// A text.
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: impl Into<String>) -> Contents {
        Contents { uri: uri.into(), mime_type: Some(mime_type.into()), body: Body::Text(text.into()) }
    }

    /// Bytes.
    pub fn blob(uri: impl Into<String>, mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Contents {
        Contents { uri: uri.into(), mime_type: Some(mime_type.into()), body: Body::Blob(bytes.into()) }
    }
}

/// Something that can be read, as it is listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What it is, for a model.
    pub description: Option<String>,
    /// What its content is, such as `text/plain`.
    pub mime_type: Option<String>,
    /// How many bytes it has.
    pub size: Option<u64>,
    /// Whom it is for.
    pub annotations: Option<Annotations>,
    /// Pictures that stand for it.
    pub icons: Vec<Icon>,
    /// Hints for particular clients.
    pub meta: Option<Map<String, Value>>,
    /// How long a client may keep what it read (2026-07-28); zero for not at all.
    pub fresh_for: Duration,
}

impl Resource {
    /// A resource of that address and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Resource {
        Resource { uri: uri.into(), name: name.into(), ..Resource::default() }
    }
}

/// Hints on whom something is for and how much it matters (MCP "Annotations").
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// Whom it is for; empty for anybody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// From 0, optional, to 1, required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, such as `2025-01-12T15:00:58Z` (since 2025-06-18).
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

/// A picture for people that stands for a server, a tool, a prompt or a resource (since 2025-11-25).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// Where it is: an `https:` or a `data:` address.
    pub src: String,
    /// What it is, where the address does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes it is for, such as `48x48`, or `any`; empty for every size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// The theme it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<Theme>,
}

/// A background that an icon is drawn for.
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

    /// A picture of that type, such as `image/png`.
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Content {
        Content::Image(Media { data: data.into(), mime_type: mime_type.into() })
    }

    /// A sound of that type, such as `audio/wav`.
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Content {
        Content::Audio(Media { data: data.into(), mime_type: mime_type.into() })
    }

    /// A resource to be read if it matters.
    pub fn link(resource: Resource) -> Content {
        Content::Link(Box::new(resource))
    }

    /// The same with hints on whom it is for.
    #[must_use]
    pub fn annotated(self, annotations: Annotations) -> Content {
        Content::Annotated(Box::new(self), annotations)
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(text),
            Content::Annotated(content, _) => content.as_text(),
            _ => None,
        }
    }
}

impl Icon {
    /// An icon at that address.
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
