//! Requests of clients that made a handshake (2025-03-26 to 2025-11-25). They belong to a session, and a client may
//! reconnect for events that it missed. A lost connection cancels nothing.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;

use super::endpoint::{self, Endpoint, HeldBytes, Slot};
use super::events::{self, Source};
use super::headers::{self, SESSION, VERSION};
use super::modern::run_to_end;
use super::refusal::{self, Refusal};
use super::sessions::HttpSession;
use super::stream::{Reader, Stream, Unsent};
use super::{HttpOptions, ServedOn};
use crate::era::Era;
use crate::era::params::{Params, request_id};
use crate::server::exchange::{Exchange, Lifetime};
use crate::wire::build::RpcError;
use crate::wire::{Envelope, Id, Json, Message, code};

/// Serves `initialize`: begins a session.
pub(super) fn initialize(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    principal: &str,
    body: &[u8],
    id: &Id,
) -> Result<Response<Body>, Refusal> {
    endpoint.sessions.check_room(id)?;
    let options = endpoint.options(headers, principal, ServedOn::Session);
    let (ends, ended) = tokio::sync::watch::channel(false);
    let mut exchange = Exchange::new(&endpoint.server, options.for_next_exchange(ended), Lifetime::UntilClosed);
    let line = exchange.answer_now(body);
    let session = endpoint.sessions.begin(exchange, options, ends);
    let mut response = refusal::json(StatusCode::OK, line);
    if let Ok(value) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, value);
    }
    Ok(response)
}

/// Returns the session that a request names.
pub(super) fn session(endpoint: &Endpoint, headers: &HeaderMap, principal: &str) -> Result<Arc<HttpSession>, Refusal> {
    let refused = |error| Refusal::invalid_message(None, error);
    if let Some(version) = headers::single(headers, VERSION).map_err(refused)?
        && Era::from_name(version).is_none()
    {
        let message = format!("MCP-Protocol-Version {version:?} is not supported");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
    }
    let Some(id) = headers::single(headers, SESSION).map_err(refused)? else {
        let message =
            "Mcp-Session-Id is missing: start with initialize, or send the headers and the _meta of 2026-07-28";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
    };
    endpoint.sessions.get(id, principal).ok_or_else(|| {
        Refusal::new(StatusCode::NOT_FOUND, "unknown or expired session: start a new one with initialize")
    })
}

/// Takes a message of a session.
pub(super) async fn message(
    endpoint: &Endpoint,
    session: &Arc<HttpSession>,
    (body, held): (&[u8], HeldBytes),
    message: Message<'_>,
) -> Result<Response<Body>, Refusal> {
    match message {
        Message::Request { id, method, .. } => match &*method {
            // These concern the session, not a call.
            "resources/subscribe" | "resources/unsubscribe" if !endpoint.server.has_method(&method) => {
                Ok(refusal::json(StatusCode::OK, session.main.answer_now(body)))
            }
            _ => request(endpoint, session, vec![id], (body, held)).await,
        },
        Message::Batch(items) => batch(endpoint, session, &items, (body, held)).await,
        other => {
            if take(endpoint, session, body, &other) {
                Ok(refusal::empty(StatusCode::ACCEPTED))
            } else {
                Err(Refusal::full(None))
            }
        }
    }
}

/// Takes a notification or a response; returns false if the limit is reached.
fn take(endpoint: &Endpoint, session: &Arc<HttpSession>, body: &[u8], message: &Message<'_>) -> bool {
    match message {
        Message::Response { id, .. } => match id.as_ref().and_then(|id| session.asker(id)) {
            Some(stream) => stream.inbox.put(body),
            None => {
                tracing::warn!(?id, "the client answered a request that the server never sent");
                true
            }
        },
        Message::Notification { method, params } => match &**method {
            method if endpoint.server.has_notification(method) => {
                let mut exchange =
                    Exchange::continue_session(&endpoint.server, session.options(), &session.handshake, String::new());
                exchange.take(body);
                run_to_end(exchange);
                // The protocol may have the same notification.
                method != "notifications/initialized" || session.main.inbox.put(body)
            }
            "notifications/cancelled" => {
                let id = Params::read(*params).ok().and_then(|params| request_id(&params));
                id.and_then(|id| session.answering(&id)).is_none_or(|stream| stream.inbox.put(body))
            }
            _ => {
                session.main.answer_now(body);
                true
            }
        },
        Message::Request { .. } | Message::Invalid { .. } | Message::Batch(_) => true,
    }
}

/// Serves a batch: messages for other exchanges go there, and the requests get a separate exchange.
async fn batch(
    endpoint: &Endpoint,
    session: &Arc<HttpSession>,
    items: &[Json<'_>],
    (body, held): (&[u8], HeldBytes),
) -> Result<Response<Body>, Refusal> {
    if items.is_empty() || !session.handshake.era.has_batches() {
        return request(endpoint, session, Vec::new(), (body, held)).await;
    }
    let mut ids = Vec::new();
    // The messages to be answered, as a separate batch; the others are taken here.
    let mut answered = Vec::new();
    for item in items {
        match Envelope::classify(item.get().as_bytes()) {
            Ok(message @ (Message::Notification { .. } | Message::Response { .. })) => {
                take(endpoint, session, item.get().as_bytes(), &message);
                continue;
            }
            Ok(Message::Request { id, .. }) => ids.push(id),
            _ => {}
        }
        answered.push(if answered.is_empty() { b'[' } else { b',' });
        answered.extend_from_slice(item.get().as_bytes());
    }
    if answered.is_empty() {
        return Ok(refusal::empty(StatusCode::ACCEPTED));
    }
    answered.push(b']');
    request(endpoint, session, ids, (&answered, held)).await
}

/// Serves a request, or the requests of a batch.
async fn request(
    endpoint: &Endpoint,
    session: &Arc<HttpSession>,
    ids: Vec<Id>,
    (body, held): (&[u8], HeldBytes),
) -> Result<Response<Body>, Refusal> {
    let id = ids.first();
    if ids.iter().any(|id| session.answering(id).is_some()) {
        let error = RpcError::new(code::INVALID_REQUEST, "a request with this id is still in flight");
        return Err(Refusal { status: StatusCode::OK, ..Refusal::invalid_message(id, error) });
    }
    let limits = session.options().limits;
    let slot = endpoint::wait_for(&session.running, &session.waiting, limits.waiting, id).await?.with(held);
    let number = session.next_number();
    let mut exchange =
        Exchange::continue_session(&endpoint.server, session.options(), &session.handshake, session.prefix(number));
    exchange.take(body);
    let HttpOptions { limits, always_stream, .. } = &endpoint.options;
    // Most requests are answered by now, and need no stream.
    if !always_stream && let Some(line) = exchange.take_answer() {
        return Ok(refusal::json(StatusCode::OK, line));
    }
    let stream = Stream::new(number, ids, exchange, Some(slot), endpoint.sessions.keep());
    session.add(&stream, limits);
    let mut reader = stream.read(None);
    let mut first = Vec::new();
    // A client of this revision first learns how to reconnect.
    if session.handshake.era >= Era::V2025_11_25 {
        first.extend_from_slice(&stream.first_event());
    }
    if *always_stream {
        return Ok(events::response(reader, first.into(), limits.keep_alive));
    }
    match tokio::time::timeout(limits.silence, poll_fn(|cx| reader.poll_unsent(cx))).await {
        Ok(Some(Unsent::Answer(line))) => {
            session.forget(number);
            return Ok(refusal::json(StatusCode::OK, line.to_vec()));
        }
        Ok(Some(Unsent::Events(events))) => first.extend_from_slice(&events),
        // Cancelled, or silent so far.
        Ok(None) | Err(_) => {}
    }
    Ok(events::response(reader, first.into(), limits.keep_alive))
}

/// Serves GET: opens the stream of messages that belong to no request, or resumes the one that `Last-Event-ID` names.
pub(super) fn get(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    session: &Arc<HttpSession>,
) -> Result<Response<Body>, Refusal> {
    let last = headers::single(headers, "last-event-id").map_err(|error| Refusal::invalid_message(None, error))?;
    let (stream, after) = match last {
        None => (session.main.clone(), None),
        Some(last) => {
            let found = last.split_once('-').and_then(|(stream, event)| {
                let (stream, event) = (session.stream(stream.parse().ok()?)?, event.parse().ok()?);
                stream.has(event).then_some((stream, Some(event)))
            });
            found.ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, "unknown or expired Last-Event-ID"))?
        }
    };
    let first = match after {
        None if session.handshake.era >= Era::V2025_11_25 => stream.first_event(),
        _ => Bytes::new(),
    };
    let slot = endpoint.stream_slot(None)?;
    let source = OpenStream { reader: stream.read(after), _slot: slot };
    Ok(events::response(source, first, endpoint.options.limits.keep_alive))
}

/// A reader with its slot.
struct OpenStream {
    reader: Reader,
    _slot: Slot,
}

impl Source for OpenStream {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.reader.poll_events(cx)
    }

    fn is_over(&self) -> bool {
        self.reader.is_over()
    }
}
