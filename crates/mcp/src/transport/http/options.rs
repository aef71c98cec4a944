//! The options of HTTP: admission, the connection options of each client, and the limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

use crate::server::ConnectionOptions;
use crate::wire::DEFAULT_LINE_LIMIT;

/// Authorizes a request: the name of the principal, or `None` to refuse it.
pub type Authorize = Arc<dyn Fn(&HeaderMap) -> Option<String> + Send + Sync>;

/// Gives the connection options of an authorized client.
pub type Connect = Arc<dyn Fn(Visitor<'_>) -> ConnectionOptions + Send + Sync>;

/// An authorized client.
#[derive(Debug, Clone, Copy)]
pub struct Visitor<'a> {
    /// The principal that [`Authorize`] gave it; empty without authorization.
    pub principal: &'a str,
    /// The header fields of its request.
    pub headers: &'a HeaderMap,
    /// How long the connection options apply.
    pub on: ServedOn,
}

/// The scope of a client's connection options. It decides how long they apply, and whether notifications reach the
/// client at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedOn {
    /// One standalone request (2026-07-28).
    Request,
    /// A session of many requests (2025-03-26 to 2025-11-25).
    Session,
    /// A lasting connection: a conversation of 2024-11-05, or a WebSocket.
    Connection,
}

/// The options of a server over HTTP.
#[derive(Clone)]
pub struct HttpOptions {
    /// The path of the endpoint.
    pub path: String,
    /// True to serve the transport of 2024-11-05 too, for old clients: `GET /sse` and `POST /messages`.
    pub sse: bool,
    /// True to serve a WebSocket too, on `/ws`: one message per text frame, subprotocol `mcp`.
    #[cfg(feature = "websocket")]
    pub websocket: bool,
    /// True if every answer is a stream, even one that is ready at once. This costs a little, but only a stream lets a
    /// client of a session (2025-03-26 to 2025-11-25) reconnect for an answer that it lost with its connection.
    pub always_stream: bool,
    /// The hosts that requests may name, besides `localhost` and the loopback addresses; without a port. Others are
    /// refused, since a foreign web page can point its own host name at this address (DNS rebinding).
    pub hosts: Vec<String>,
    /// The origins of web pages that may send requests, besides those on this machine: scheme, host and port.
    pub origins: Vec<String>,
    /// Authorizes requests; `None` admits every client that reaches the port.
    pub authorize: Option<Authorize>,
    /// Gives a client's connection options; `None` for the defaults. Called for each standalone request (2026-07-28),
    /// otherwise for each session. The authorized principal replaces the one in its result.
    pub connect: Option<Connect>,
    /// Receives the number of open connections from [`serve`](super::serve).
    pub open: Option<watch::Sender<usize>>,
    /// The limits.
    pub limits: HttpLimits,
}

/// The limits of an endpoint: of all its clients together, and of a request.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// The largest body of a request, in bytes. A larger one is refused (413).
    pub body: usize,
    /// Bytes of all bodies together, of requests that arrive, wait or run. Beyond it a request is refused (503).
    pub bodies: usize,
    /// The timeout for a body (then 408).
    pub body_time: Duration,
    /// How long a connection may be open before one of its requests is authorized.
    pub unauthenticated_time: Duration,
    /// The timeout for the head of a request, and for an idle connection.
    pub head_time: Duration,
    /// The largest head of a request, in bytes (else 431).
    pub head: usize,
    /// Header fields of a request (else 431).
    pub fields: usize,
    /// The limit of open connections. At the limit the oldest connection without an authorized request is closed; if
    /// all are authorized, new ones wait.
    pub connections: usize,
    /// Sessions (revisions before 2026-07-28). Beyond it an `initialize` is refused (503).
    pub sessions: usize,
    /// How long a session is kept without a request and without an open stream.
    pub session_idle: Duration,
    /// Requests that run at once, over all clients; more wait.
    pub running: usize,
    /// Requests that wait; more are refused (503).
    pub waiting: usize,
    /// Streams without an end (listening) that are open at once; more are refused (503).
    pub streams: usize,
    /// Events of a stream that are kept for a client that reconnects.
    pub kept_events: usize,
    /// Bytes of events that are kept of a stream, and four times as many of all ended streams of a session.
    pub kept_bytes: usize,
    /// Ended streams that are kept per session.
    pub kept_streams: usize,
    /// How long a call may be silent before its answer becomes a stream, which can carry keep-alives.
    pub silence: Duration,
    /// The interval of keep-alives on a stream.
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
    /// Authorizes clients with this bearer token (RFC 6750), as the one principal `bearer`. Compared in constant time.
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

/// Returns the bearer token in a request's field `Authorization`, for an embedder's own [`Authorize`].
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    // With two fields it is unclear which one applies, or was checked by an intermediary.
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
