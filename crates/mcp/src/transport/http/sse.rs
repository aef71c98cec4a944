//! The transport of 2024-11-05, for old clients: one stream of events with all messages of the server, and a route to
//! post messages to. A conversation lasts as long as its stream.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{OriginalUri, Request, State};
use axum::http::{Method, Response, StatusCode};
use bytes::Bytes;

use super::endpoint::{Endpoint, Slot};
use super::events::{self, Source};
use super::progress_gap::SentAt;
use super::refusal::{self, Refusal};
use super::sessions::random_id;
use super::{ServedOn, cors, guard, post};
use crate::server::exchange::{Exchange, Inbox, Lifetime};
use crate::wire::build::RpcError;
use crate::wire::{Envelope, Unreadable, code};

pub(super) const STREAM: &str = "/sse";
pub(super) const MESSAGES: &str = "/messages";

/// The open conversations by id: the principal and the inbox of each.
#[derive(Default)]
pub(super) struct Conversations {
    all: Mutex<HashMap<String, (String, Arc<Inbox>)>>,
}

impl Conversations {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (String, Arc<Inbox>)>> {
        self.all.lock()
    }
}

/// Opens a conversation.
pub(super) async fn open(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    let opened = || {
        let principal = guard::admit(&endpoint.options, &parts)?;
        if parts.method != Method::GET {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "a conversation is opened by GET"));
        }
        if !post::accepts(&parts.headers, &["text/event-stream"]) {
            return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, "Accept must list text/event-stream"));
        }
        let slot = endpoint.stream_slot(None)?;
        let sent_at = SentAt::default();
        let mut options = endpoint.options(&parts.headers, &principal, ServedOn::Connection);
        options.drained = Some(sent_at.drained());
        let exchange = Exchange::new(&endpoint.server, options, Lifetime::UntilClosed);
        let id = random_id();
        endpoint.conversations.lock().insert(id.clone(), (principal, exchange.inbox()));
        // The route of messages next to this one, wherever the routes are nested.
        let path = parts.extensions.get::<OriginalUri>().map_or(parts.uri.path(), |uri| uri.path());
        let base = path.strip_suffix(STREAM).unwrap_or_default();
        let first = format!("event: endpoint\ndata: {base}{MESSAGES}?sessionId={id}\n\n");
        let source = Conversation { exchange, sent_at, id, endpoint: endpoint.clone(), _slot: slot };
        Ok(events::response(source, first.into(), endpoint.options.limits.keep_alive))
    };
    let origin = cors::origin(&endpoint.options, &parts);
    cors::expose(origin, opened().unwrap_or_else(Refusal::into_response))
}

/// Takes a posted message of a conversation.
pub(super) async fn message(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let origin = cors::origin(&endpoint.options, &parts);
    if let Some(response) = cors::preflight(&endpoint.options, &parts, origin.as_ref()) {
        return cors::expose(origin, response);
    }
    let taken = async {
        let principal = guard::admit(&endpoint.options, &parts).map_err(|refusal| refusal.unread(&parts.headers))?;
        if parts.method != Method::POST {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST"));
        }
        let query = parts.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|part| part.strip_prefix("sessionId=")).unwrap_or_default();
        let known = endpoint.conversations.lock().get(id).filter(|(owner, _)| *owner == principal).cloned();
        let Some((_, inbox)) = known else {
            let message = "unknown or expired conversation: open one by GET";
            return Err(Refusal::new(StatusCode::NOT_FOUND, message).unread(&parts.headers));
        };
        let (body, _held) = post::read(&parts.headers, body, &endpoint).await?;
        if let Err(Unreadable(reason)) = Envelope::classify(&body) {
            return Err(Refusal::invalid_message(None, RpcError::new(code::PARSE, format!("the body is {reason}"))));
        }
        if inbox.put(&body) { Ok(refusal::empty(StatusCode::ACCEPTED)) } else { Err(Refusal::full(None)) }
    };
    cors::expose(origin, taken.await.unwrap_or_else(Refusal::into_response))
}

struct Conversation {
    exchange: Exchange,
    sent_at: SentAt,
    id: String,
    endpoint: Arc<Endpoint>,
    _slot: Slot,
}

impl Source for Conversation {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let lines = std::task::ready!(self.exchange.poll_lines(cx));
        Poll::Ready(lines.map(|lines| {
            self.sent_at.sent(&lines);
            events::encode(&lines).into()
        }))
    }

    fn is_over(&self) -> bool {
        self.exchange.is_over()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.endpoint.conversations.lock().remove(&self.id);
    }
}
