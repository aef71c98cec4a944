//! A posted message: its body, and which revision's rules apply to it.

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, Response, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use std::future::poll_fn;
use std::pin::Pin;

use super::endpoint::{Endpoint, HeldBytes};
use super::headers::{SESSION, VERSION};
use super::refusal::Refusal;
use super::{HttpLimits, legacy, modern};
use crate::era::Era;
use crate::era::params::Params;
use crate::wire::build::RpcError;
use crate::wire::{Envelope, Json, Message, Unreadable, code};

pub(super) async fn post(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    principal: &str,
    body: Body,
) -> Result<Response<Body>, Refusal> {
    check_fields(headers).map_err(|refusal| refusal.unread(headers))?;
    let (body, held) = read(headers, body, endpoint).await?;
    let message = Envelope::classify(&body).map_err(|Unreadable(reason)| {
        Refusal::invalid_message(None, RpcError::new(code::PARSE, format!("the body is {reason}")))
    })?;
    let has_session = headers.contains_key(SESSION);
    match message {
        Message::Invalid { id, reason } => {
            Err(Refusal::invalid_message(id.as_ref(), RpcError::new(code::INVALID_REQUEST, reason)))
        }
        Message::Request { id, method, params } if is_sessionless(headers, params) => {
            modern::request(endpoint, headers, principal, (&body, held), (&id, &method, params)).await
        }
        Message::Notification { params, .. } if is_sessionless(headers, params) => {
            Ok(modern::notification(endpoint, headers, principal, &body))
        }
        Message::Request { id, method, .. } if method == "initialize" && !has_session => {
            legacy::initialize(endpoint, headers, principal, &body, &id)
        }
        message => {
            let id = match &message {
                Message::Request { id, .. } => Some(id.clone()),
                _ => None,
            };
            let session = legacy::session(endpoint, headers, principal).map_err(|refusal| Refusal { id, ..refusal })?;
            legacy::message(endpoint, &session, (&body, held), message).await
        }
    }
}

fn check_fields(headers: &HeaderMap) -> Result<(), Refusal> {
    if !accepts(headers, &["application/json", "text/event-stream"]) {
        let message = "Accept must list application/json and text/event-stream";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message));
    }
    if !is_json(headers) {
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"));
    }
    Ok(())
}

/// Returns true if the rules of 2026-07-28 apply: the message names a revision itself, or its header names one without
/// sessions or an unknown one.
fn is_sessionless(headers: &HeaderMap, params: Option<Json<'_>>) -> bool {
    let said = headers.get(VERSION).map(|said| said.to_str().ok().and_then(Era::from_name));
    match said {
        Some(Some(era)) if era.is_modern() => true,
        Some(None) if !headers.contains_key(SESSION) => true,
        _ => {
            let meta = Params::read(params).ok();
            meta.is_some_and(|params| params.meta().is_ok_and(|meta| meta.names_era()))
        }
    }
}

/// Returns true if the client accepts all these media types.
pub(super) fn accepts(headers: &HeaderMap, kinds: &[&str]) -> bool {
    if !headers.contains_key(ACCEPT) {
        return true;
    }
    let accepted = || {
        let fields = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        fields.flat_map(|field| field.split(',')).map(|range| range.split(';').next().unwrap_or_default().trim())
    };
    let covers = |range: &str, kind: &str| match range.strip_suffix("/*") {
        Some("*") => true,
        Some(group) => kind.split_once('/').is_some_and(|(of, _)| of.eq_ignore_ascii_case(group)),
        None => range.eq_ignore_ascii_case(kind),
    };
    kinds.iter().all(|kind| accepted().any(|range| covers(range, kind)))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Reads the whole body, within its limits.
pub(super) async fn read(headers: &HeaderMap, body: Body, endpoint: &Endpoint) -> Result<(Bytes, HeldBytes), Refusal> {
    let limits = &endpoint.options.limits;
    let said = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|length| length > limits.body as u64) {
        return Err(too_large(limits.body).unread(headers));
    }
    let late = |_| {
        let message = format!("the body took longer than {:?}", limits.body_time);
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, message))
    };
    let collected = tokio::time::timeout(limits.body_time, collect(body, limits, endpoint.hold_body())).await;
    collected.unwrap_or_else(late).map_err(|refusal| refusal.unread(headers))
}

async fn collect(mut body: Body, limits: &HttpLimits, mut held: HeldBytes) -> Result<(Bytes, HeldBytes), Refusal> {
    let mut whole = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame =
            frame.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, format!("the body is incomplete: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > limits.body {
            return Err(too_large(limits.body));
        }
        if !held.grow(data.len(), limits.bodies) {
            return Err(Refusal::busy(None, "bytes of all bodies", limits.bodies));
        }
        // Mostly the body is one piece, which needs no copy.
        if whole.is_empty() && body.is_end_stream() {
            return Ok((data, held));
        }
        whole.extend_from_slice(&data);
    }
    Ok((whole.freeze(), held))
}

fn too_large(limit: usize) -> Refusal {
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than the limit of {limit} bytes"))
}
