//! A server on a WebSocket: one message per text frame, in both directions. MCP does not define this transport; clients
//! that have it offer the subprotocol `mcp`.
//!
//! A web page cannot send a token in a header. It offers a subprotocol `bearer.TOKEN` in addition to `mcp` instead.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::response::IntoResponse;
use futures_util::{Sink, Stream};
use tokio::time::{Instant, Sleep};

use super::endpoint::{Endpoint, Slot};
use super::progress_gap::{Pings, tells_progress};
use super::{ServedOn, guard};
use crate::server::exchange::{Exchange, Lifetime};

/// The path of the WebSocket.
pub(super) const PATH: &str = "/ws";

const SUBPROTOCOL: &str = "mcp";

/// Messages that are taken before other tasks have their turn.
const MESSAGE_BUDGET: u32 = 256;

/// Pings that a peer may leave unanswered.
const MAX_UNANSWERED_PINGS: u32 = 2;

/// The peer's pings that are answered while it does not read; beyond that it is not read from either.
const MAX_PINGS: u32 = 64;

pub(super) async fn open(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response<Body> {
    let (mut parts, _) = request.into_parts();
    take_token(&mut parts.headers);
    let principal = match guard::admit(&endpoint.options, &parts) {
        Ok(principal) => principal,
        Err(refusal) => return refusal.into_response(),
    };
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let slot = match endpoint.stream_slot(None) {
        Ok(slot) => slot,
        Err(refusal) => return refusal.into_response(),
    };
    let pings = Pings::default();
    let mut options = endpoint.options(&parts.headers, &principal, ServedOn::Connection);
    options.drained = Some(pings.drained());
    let exchange = Exchange::new(&endpoint.server, options, Lifetime::UntilClosed);
    let limit = endpoint.options.limits.body;
    upgrade.protocols([SUBPROTOCOL]).max_message_size(limit).max_frame_size(limit).on_upgrade(
        move |socket| async move {
            serve(socket, exchange, pings, &endpoint, slot).await;
        },
    )
}

/// Moves a token from the offered subprotocols to the header `Authorization`.
fn take_token(headers: &mut HeaderMap) {
    if headers.contains_key(AUTHORIZATION) {
        return;
    }
    let offers = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let token = offers.flat_map(|field| field.split(',')).find_map(|offer| offer.trim().strip_prefix("bearer."));
    if let Some(value) = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok()) {
        headers.insert(AUTHORIZATION, value);
    }
}

/// Why a WebSocket ends.
enum CloseReason {
    /// The server shuts down.
    Shutdown,
    /// The peer closed it. The WebSocket library has queued the close frame in return, but not sent it.
    PeerClosed,
    /// The peer has disconnected.
    PeerGone,
    /// The peer broke the rules: the close code and the reason.
    Violation(u16, &'static str),
}

async fn serve(mut socket: WebSocket, exchange: Exchange, pings: Pings, endpoint: &Endpoint, slot: Slot) {
    let every = endpoint.options.limits.keep_alive;
    let mut driver = Driver {
        socket: &mut socket,
        exchange,
        pings,
        unflushed: false,
        pinged: 0,
        sign: Box::pin(tokio::time::sleep(every)),
        unanswered: 0,
    };
    let end = poll_fn(|cx| driver.poll(cx, every)).await;
    // Running calls are cancelled before anything is waited for.
    drop(driver);
    // Best effort: a peer that has disconnected cannot be notified.
    let grace = crate::server::Limits::default().grace;
    let (code, reason) = match end {
        CloseReason::Shutdown => (close_code::AWAY, "the server ends"),
        CloseReason::Violation(code, reason) => {
            tracing::warn!(code, reason, "a WebSocket was closed");
            (code, reason)
        }
        CloseReason::PeerClosed => {
            let _ = tokio::time::timeout(grace, poll_fn(|cx| pin!(&mut socket).poll_flush(cx))).await;
            return;
        }
        CloseReason::PeerGone => return,
    };
    let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = tokio::time::timeout(grace, socket.send(close)).await;
    drop(slot);
}

struct Driver<'a> {
    socket: &'a mut WebSocket,
    exchange: Exchange,
    pings: Pings,
    unflushed: bool,
    /// Pings since the last complete flush. The WebSocket library queues their pongs without a bound.
    pinged: u32,
    sign: Pin<Box<Sleep>>,
    unanswered: u32,
}

impl Driver<'_> {
    fn poll(&mut self, cx: &mut Context<'_>, every: std::time::Duration) -> Poll<CloseReason> {
        for _ in 0..MESSAGE_BUDGET {
            let mut is_idle = true;
            if let Some(end) = self.poll_write(cx, &mut is_idle) {
                return Poll::Ready(end);
            }
            if let Some(end) = self.poll_read(cx, &mut is_idle) {
                return Poll::Ready(end);
            }
            if self.sign.as_mut().poll(cx).is_ready() {
                self.sign.as_mut().reset(Instant::now() + every);
                is_idle = false;
                // A peer that has not read up to the ping is slow, not silent, and is not read from while much output
                // waits. TCP finds out whether it is still there.
                if !self.unflushed {
                    if self.unanswered >= MAX_UNANSWERED_PINGS {
                        tracing::debug!("a WebSocket's peer does not respond; closing it");
                        return Poll::Ready(CloseReason::PeerGone);
                    }
                    self.unanswered += 1;
                    if pin!(&mut *self.socket).poll_ready(cx).is_ready() {
                        let sent = pin!(&mut *self.socket).start_send(Message::Ping(Default::default()));
                        self.unflushed = sent.is_ok();
                    }
                }
            }
            if is_idle {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes output while the peer reads.
    fn poll_write(&mut self, cx: &mut Context<'_>, is_idle: &mut bool) -> Option<CloseReason> {
        match pin!(&mut *self.socket).poll_ready(cx) {
            Poll::Ready(Ok(())) => match self.exchange.poll_lines(cx) {
                Poll::Ready(Some(lines)) => {
                    *is_idle = false;
                    self.unflushed = true;
                    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                        // Output is JSON, which is UTF-8.
                        let Ok(line) = std::str::from_utf8(line) else { continue };
                        if pin!(&mut *self.socket).start_send(Message::text(line)).is_err() {
                            return Some(CloseReason::PeerGone);
                        }
                    }
                    if tells_progress(&lines) {
                        let ping = Message::Ping(self.pings.next().into());
                        if pin!(&mut *self.socket).start_send(ping).is_err() {
                            return Some(CloseReason::PeerGone);
                        }
                    }
                }
                Poll::Ready(None) => return Some(CloseReason::Shutdown),
                Poll::Pending => {}
            },
            Poll::Ready(Err(_)) => return Some(CloseReason::PeerGone),
            Poll::Pending => {}
        }
        if self.unflushed || self.pinged > 0 {
            match pin!(&mut *self.socket).poll_flush(cx) {
                Poll::Ready(Ok(())) => {
                    self.unflushed = false;
                    self.pinged = 0;
                }
                Poll::Ready(Err(_)) => return Some(CloseReason::PeerGone),
                Poll::Pending => {}
            }
        }
        None
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, is_idle: &mut bool) -> Option<CloseReason> {
        if !self.exchange.has_room() || self.pinged > MAX_PINGS {
            return None;
        }
        let Poll::Ready(message) = pin!(&mut *self.socket).poll_next(cx) else { return None };
        *is_idle = false;
        self.unanswered = 0;
        match message {
            Some(Ok(Message::Text(text))) => self.exchange.take(text.as_bytes()),
            Some(Ok(Message::Pong(said))) => self.pings.answered(&said),
            Some(Ok(Message::Ping(_))) => self.pinged += 1,
            Some(Ok(Message::Binary(_))) => {
                return Some(CloseReason::Violation(close_code::UNSUPPORTED, "messages are text frames"));
            }
            Some(Ok(Message::Close(_))) => return Some(CloseReason::PeerClosed),
            None => return Some(CloseReason::PeerGone),
            Some(Err(error)) => {
                tracing::debug!(%error, "a WebSocket cannot be read");
                return Some(CloseReason::Violation(close_code::SIZE, "a message is too large, or not well formed"));
            }
        }
        None
    }
}
