//! What an embedder may decide about HTTP: who may come in, what they are served with, and the limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

use crate::server::ConnectionOptions;
use crate::wire::DEFAULT_LINE_LIMIT;

/// Who is let in: the name of the principal, or nothing.
pub type Authorize = Arc<dyn Fn(&HeaderMap) -> Option<String> + Send + Sync>;

/// What a client that was let in is served with.
pub type Connect = Arc<dyn Fn(Visitor<'_>) -> ConnectionOptions + Send + Sync>;

/// A client that was let in.
#[derive(Debug, Clone, Copy)]
pub struct Visitor<'a> {
    /// The name that authorization gave it; empty where there is none.
    pub principal: &'a str,
    /// What its request says of itself.
    pub headers: &'a HeaderMap,
    /// What it is served on.
    pub on: ServedOn,
}

/// What a client is served on: how long what it is served with lasts, and whether notifications reach it at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedOn {
    /// One request that stands alone (2026-07-28).
    Request,
    /// A session of many requests (2025-03-26 to 2025-11-25).
    Session,
    /// A connection that stands: a conversation of 2024-11-05, or a WebSocket.
    Connection,
}

/// How a server is served over HTTP.
#[derive(Clone)]
pub struct HttpOptions {
    /// The path of the endpoint.
    pub path: String,
    /// Whether the transport of 2024-11-05 is served too, for old clients: `GET /sse` and `POST /messages`.
    pub sse: bool,
    /// Whether a WebSocket is served too, on `/ws`: one message per text frame, subprotocol `mcp`.
    #[cfg(feature = "websocket")]
    pub websocket: bool,
    /// Whether every answer comes as a stream, even one that is there at once. Costs a little; but what a client of a
    /// session (2025-03-26 to 2025-11-25) lost with its connection it can come back for only where it was a stream.
    pub always_stream: bool,
    /// The hosts that requests may be addressed to, besides `localhost` and the loopback addresses; without a port.
    /// Others are refused, since a foreign page can give its own host our address (DNS rebinding).
    pub hosts: Vec<String>,
    /// The origins of pages that may send requests, besides those on this machine: scheme, host and port.
    pub origins: Vec<String>,
    /// Who is let in; everybody who reaches the port if this is `None`.
    pub authorize: Option<Authorize>,
    /// What a client is served with; the defaults if this is `None`. Called for each request that stands alone
    /// (2026-07-28), else for each session. The principal it gives is replaced by the authorized one.
    pub connect: Option<Connect>,
    /// Is told how many connections are open, whenever that changes, by [`serve`](super::serve).
    pub open: Option<watch::Sender<usize>>,
    /// What clients may use.
    pub limits: HttpLimits,
}

/// What all clients of an endpoint together may use, and one request.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// The largest body of a request, in bytes. A larger one is refused (413).
    pub body: usize,
    /// How many bytes all bodies have together, of requests that arrive, wait or run. With more a request is refused (503).
    pub bodies: usize,
    /// How long a body may take to arrive (else 408).
    pub body_time: Duration,
    /// How long a connection may be open before a request of it is let in.
    pub unauthenticated_time: Duration,
    /// How long the head of a request may take to arrive, and how long a connection may be idle.
    pub head_time: Duration,
    /// The largest head of a request, in bytes (else 431).
    pub head: usize,
    /// How many header fields a request may have (else 431).
    pub fields: usize,
    /// How many connections are open at once. With more the oldest leaves of which no request was let in yet; where there
    /// is none such they wait.
    pub connections: usize,
    /// How many sessions there are (revisions before 2026-07-28). With more an initialize is refused (503).
    pub sessions: usize,
    /// After how long without a request and without an open stream a session is forgotten.
    pub session_idle: Duration,
    /// How many requests run at once, over all; more wait.
    pub running: usize,
    /// How many requests wait; more are refused (503).
    pub waiting: usize,
    /// How many streams without an end (listening) are open at once; more are refused (503).
    pub streams: usize,
    /// How many events of a stream are kept for a client that comes back.
    pub kept_events: usize,
    /// How many bytes of events of a stream are kept so, and four times as many of a session's streams that are over.
    pub kept_bytes: usize,
    /// How many streams that are over are kept so, for each session.
    pub kept_streams: usize,
    /// How long a call may be silent before its answer becomes a stream, in which it can show that it still runs.
    pub silence: Duration,
    /// How often a stream shows that it still stands.
    pub keep_alive: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            body: DEFAULT_LINE_LIMIT,
            bodies: 256 << 20,
            body_time: Duration::from_secs(30),
            unauthenticated_time: Duration::from_secs(10),
            head_time: Duration::from_secs(120),
            head: 64 << 10,
            fields: 100,
            connections: 4096,
            sessions: 1024,
            session_idle: Duration::from_secs(3600),
            running: 1024,
            waiting: 4096,
            streams: 4096,
            kept_events: 256,
            kept_bytes: 1 << 20,
            kept_streams: 16,
            silence: Duration::from_secs(1),
            keep_alive: Duration::from_secs(25),
        }
    }
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            path: "/mcp".to_owned(),
            sse: false,
            #[cfg(feature = "websocket")]
            websocket: false,
            always_stream: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            authorize: None,
            connect: None,
            open: None,
            limits: HttpLimits::default(),
        }
    }
}

impl HttpOptions {
    /// Lets in who knows this token (RFC 6750), as the one principal `bearer`. Compared in constant time.
    #[must_use]
    pub fn bearer(mut self, token: &str) -> HttpOptions {
        let expected = Sha256::digest(token.as_bytes());
        self.authorize = Some(Arc::new(move |headers| {
            let said = Sha256::digest(bearer(headers)?.as_bytes());
            bool::from(said.as_slice().ct_eq(expected.as_slice())).then(|| "bearer".to_owned())
        }));
        self
    }
}

/// The token that a request brings in its field `Authorization`, for hooks of an embedder's own.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    // Of two nobody knows which one was meant, or looked at on the way here.
    let mut fields = headers.get_all("authorization").iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return None };
    let (scheme, token) = field.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HttpOptions { path, sse, hosts, origins, limits, .. } = self;
        let mut shown = f.debug_struct("HttpOptions");
        shown.field("path", path).field("sse", sse).field("hosts", hosts).field("origins", origins);
        shown.field("limits", limits).finish_non_exhaustive()
    }
}
