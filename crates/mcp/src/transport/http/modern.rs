//! Standalone requests (2026-07-28). Each has a separate exchange, which its response drives and ends. A client that
//! closes the response cancels its request.

use std::future::poll_fn;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode};
use bytes::Bytes;
use serde_json::json;

use super::endpoint::{Endpoint, HeldBytes, Slot};
use super::events::{self, Source};
use super::headers::{self, mismatch};
use super::refusal::{self, Refusal};
use super::{HttpOptions, ServedOn};
use crate::era::Era;
use crate::era::params::{Meta, Params, invalid};
use crate::server::exchange::{Exchange, Lifetime};
use crate::wire::build::{self, RpcError};
use crate::wire::{Id, Json, code};

/// Serves one request.
pub(super) async fn request(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    principal: &str,
    (body, held): (&[u8], HeldBytes),
    (id, method, params): (&Id, &str, Option<Json<'_>>),
) -> Result<Response<Body>, Refusal> {
    let refused = |error| Refusal::invalid_message(Some(id), error);
    let params = Params::read(params).map_err(refused)?;
    let meta = params.meta().map_err(refused)?;
    let era = check(headers, &meta).map_err(refused)?;
    if era.is_modern() {
        headers::check(headers, method, &params).map_err(refused)?;
        if method == "tools/call"
            && let Some(name) = params.name
            && let Ok(name) = serde_json::from_str::<String>(name.get())
            && let Some(tool) = endpoint.server.registry().get(&name)
        {
            headers::check_arguments(headers, &*tool, params.arguments).map_err(refused)?;
        }
        if method == "initialize" {
            let error = RpcError::new(code::METHOD_NOT_FOUND, format!("protocol {era} has no handshake"));
            let mut line = Vec::new();
            build::error(&mut line, Some(id), &error);
            return Ok(refusal::json(status(id, &line), line));
        }
    }
    let slot = match method {
        "subscriptions/listen" => endpoint.stream_slot(Some(id))?,
        _ => endpoint.slot(Some(id)).await?,
    };
    let slot = slot.with(held);
    let mut exchange = Exchange::new(
        &endpoint.server,
        endpoint.options(headers, principal, ServedOn::Request),
        Lifetime::UntilAnswered,
    );
    exchange.take(body);
    Ok(respond(StandaloneRequest { exchange: Some((exchange, slot)), id: id.clone() }, endpoint).await)
}

/// Takes a notification. Only the embedder can define one: the protocol defines no notification in this revision.
pub(super) fn notification(endpoint: &Endpoint, headers: &HeaderMap, principal: &str, body: &[u8]) -> Response<Body> {
    let mut exchange = Exchange::new(
        &endpoint.server,
        endpoint.options(headers, principal, ServedOn::Request),
        Lifetime::UntilAnswered,
    );
    exchange.take(body);
    run_to_end(exchange);
    refusal::empty(StatusCode::ACCEPTED)
}

/// Runs an exchange without a response to its end.
pub(super) fn run_to_end(mut exchange: Exchange) {
    if !exchange.is_over() {
        tokio::spawn(async move { while exchange.lines().await.is_some() {} });
    }
}

/// Returns the revision of a request, on which its header and its body must agree.
fn check(headers: &HeaderMap, meta: &Meta<'_>) -> Result<Era, RpcError> {
    let said = headers::single(headers, headers::VERSION)?;
    let Some(said) = said else { return Err(mismatch("MCP-Protocol-Version is missing")) };
    let Some(version) = meta.version_name()? else {
        return match Era::from_name(said) {
            Some(_) => Err(invalid("_meta \"io.modelcontextprotocol/protocolVersion\" is required")),
            None => Err(unsupported(said)),
        };
    };
    if version != said {
        return Err(mismatch(format!("MCP-Protocol-Version says {said:?}, the body {version:?}")));
    }
    meta.era(Era::LATEST_LEGACY)
}

fn unsupported(version: &str) -> RpcError {
    RpcError::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(&json!({"supported": Era::ALL.map(Era::name), "requested": version}))
}

/// Returns the response to a request: one JSON text if no output precedes its answer, otherwise a stream.
async fn respond(mut request: StandaloneRequest, endpoint: &Endpoint) -> Response<Body> {
    let HttpOptions { limits, always_stream, .. } = &endpoint.options;
    let first = match tokio::time::timeout(limits.silence, poll_fn(|cx| request.poll_lines(cx))).await {
        Ok(Some(line)) if request.is_over() && is_one(&line) => {
            let status = status(&request.id, &line);
            // A stream could not have this status.
            if !always_stream || status != StatusCode::OK {
                return refusal::json(status, line);
            }
            events::encode(&line)
        }
        Ok(Some(lines)) => events::encode(&lines),
        Ok(None) | Err(_) => Vec::new(),
    };
    events::response(request, first.into(), limits.keep_alive)
}

fn is_one(lines: &[u8]) -> bool {
    memchr::memchr(b'\n', lines).is_none_or(|at| at + 1 == lines.len())
}

/// Returns the HTTP status of an answer, which the specification gives for some errors.
fn status(id: &Id, line: &[u8]) -> StatusCode {
    match error_code(id, line) {
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION | code::INVALID_REQUEST) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

/// Returns the error code of a line that `build::error` wrote as the answer to this request.
fn error_code(id: &Id, line: &[u8]) -> Option<i64> {
    let rest = line.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":")?.strip_prefix(id.as_json().as_bytes())?;
    let rest = rest.strip_prefix(b",\"error\":{\"code\":")?;
    let end = memchr::memchr2(b',', b'}', rest)?;
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// An exchange that lives as long as its response. A client that closes the response cancels its request: the call is
/// notified, and may continue for as long as any cancelled call.
struct StandaloneRequest {
    exchange: Option<(Exchange, Slot)>,
    id: Id,
}

impl StandaloneRequest {
    fn poll_lines(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        match &mut self.exchange {
            Some((exchange, _)) => exchange.poll_lines(cx),
            None => Poll::Ready(None),
        }
    }
}

impl Source for StandaloneRequest {
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.poll_lines(cx).map(|lines| lines.map(|lines| events::encode(&lines).into()))
    }

    fn is_over(&self) -> bool {
        self.exchange.as_ref().is_none_or(|(exchange, _)| exchange.is_over())
    }
}

impl Drop for StandaloneRequest {
    fn drop(&mut self) {
        let Some((mut exchange, slot)) = self.exchange.take().filter(|(exchange, _)| !exchange.is_over()) else {
            return;
        };
        // Without a runtime nothing can run on.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        exchange.cancel(&self.id);
        runtime.spawn(async move {
            while exchange.lines().await.is_some() {}
            drop(slot);
        });
    }
}
