//! Bytes in, frames out: framing and JSON-RPC 2.0 without any I/O, for servers and for programs that only pass
//! messages on. Knows nothing of MCP's methods; needs serde alone (feature `wire` brings no runtime).
//!
//! Start with [`Framer`] (bytes → lines), then [`Envelope`] (a line → what it is, borrowed), then the builders of
//! [`build`] (answers → bytes).
//!
//! ```
//! use mcp::wire::{Envelope, Frame, Framer, build};
//!
//! let mut framer = Framer::default();
//! framer.push(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n");
//! let Some(Frame::Line(line)) = framer.next_frame() else { panic!("one whole line") };
//! let envelope = Envelope::peek(line).expect("an object");
//! assert_eq!(envelope.method(), Some("ping"));
//!
//! let mut out = Vec::new();
//! build::result(&mut out, &envelope.id().expect("a request"), "{}");
//! assert_eq!(out, b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
//! ```

pub mod build;
mod busy_wait;
mod envelope;
mod frame;
mod id;
mod json;
mod scan;

pub use busy_wait::BusyWait;
pub use envelope::{Envelope, Message, Unreadable};
pub use frame::{DEFAULT_LINE_LIMIT, Frame, Framer, TooLong};
pub use id::{Id, MAX_ID};
pub use json::{Items, Json, Members};

/// How many messages a batch may have by default. One with more is refused as a whole, without the ids of its requests.
pub const DEFAULT_BATCH_LIMIT: usize = 1024;

/// JSON-RPC and MCP error codes.
pub mod code {
    /// What came was not JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON was no valid request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// No such resource (until 2025-11-25; later revisions say [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// Wrong parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A fault of the server, or a limit of its.
    pub const INTERNAL: i64 = -32603;
    /// The header fields of an HTTP request do not say what its body says (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a client capability that was not declared (2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The request names a protocol version that the server does not speak (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}
