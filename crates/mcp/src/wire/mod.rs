//! Framing and JSON-RPC 2.0 without any I/O, for servers and for programs that only pass messages on. It is independent
//! of MCP's methods, and the feature `wire` alone brings no async runtime.
//!
//! Start with [`Framer`] (bytes → lines), then [`Envelope`] (a line → its message, borrowed), then the builders of
//! [`build`] (messages → bytes).
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

/// The default limit of messages in a batch. A larger batch is refused as a whole, without the ids of its requests.
pub const DEFAULT_BATCH_LIMIT: usize = 1024;

/// JSON-RPC and MCP error codes.
pub mod code {
    /// The message is not JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON is not a valid request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The resource does not exist (until 2025-11-25; later revisions use [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// The parameters are wrong.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed, or has reached a limit.
    pub const INTERNAL: i64 = -32603;
    /// The header fields of an HTTP request contradict its body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a client capability that was not declared (2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The request names a protocol version that the server does not speak (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}
