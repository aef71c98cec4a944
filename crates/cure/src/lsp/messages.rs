//! The messages of the Language Server Protocol (3.17) that the server uses. They are defined here because the
//! generated types of the whole protocol take longer to build than the Cure compiler.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Id {
    Number(i64),
    Text(String),
}

/// A message from the client.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    pub id: Option<Id>,
    /// Not in an answer to a request of the server.
    pub method: Option<String>,
    #[serde(default)]
    pub params: Value,
}

/// An error of a request: its code and its message.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    pub code: i32,
    pub message: String,
}

impl Failure {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }
}

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const INTERNAL_ERROR: i32 = -32603;
pub(super) const SERVER_NOT_INITIALIZED: i32 = -32002;
pub(super) const REQUEST_CANCELLED: i32 = -32800;

/// A place in a text: line and character from 0, in the units of the negotiated encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(super) struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Range {
    pub start: Position,
    pub end: Position,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Location {
    pub uri: String,
    pub range: Range,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct InitializeParams {
    pub root_path: Option<String>,
    pub root_uri: Option<String>,
    pub workspace_folders: Option<Vec<WorkspaceFolder>>,
    /// Parsed leniently: an unexpected capability must not prevent the editor from connecting.
    pub capabilities: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct WorkspaceFolder {
    pub uri: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidOpenParams {
    pub text_document: TextDocumentItem,
}

#[derive(Debug, Deserialize)]
pub(super) struct TextDocumentItem {
    pub uri: String,
    pub version: i64,
    pub text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidChangeParams {
    pub text_document: VersionedTextDocument,
    pub content_changes: Vec<Change>,
}

#[derive(Debug, Deserialize)]
pub(super) struct VersionedTextDocument {
    pub uri: String,
    pub version: Option<i64>,
}

/// A change of a part of a text, or of all of it.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub range: Option<Range>,
    pub text: String,
}

/// The parameters of what concerns a whole text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentParams {
    pub text_document: TextDocument,
}

/// The parameters of what concerns a place.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PositionParams {
    pub text_document: TextDocument,
    pub position: Position,
}

#[derive(Debug, Deserialize)]
pub(super) struct TextDocument {
    pub uri: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct CancelParams {
    pub id: Id,
}
