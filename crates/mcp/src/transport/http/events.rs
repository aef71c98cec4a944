//! Responses that are streams of server-sent events, with comment lines as keep-alive.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Response};
use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep};

/// A source of events.
pub(super) trait Source: Send + Unpin + 'static {
    /// Returns the next events, encoded; `None` at the end.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;

    /// Returns true if the end is reached, so that it is sent together with the last events.
    fn is_over(&self) -> bool;
}

/// A response body of events.
struct Events<S> {
    source: S,
    first: Option<Bytes>,
    every: Duration,
    keep_alive: Option<Pin<Box<Sleep>>>,
}

/// Returns a response with the events of a source, after `first`.
pub(super) fn response(source: impl Source, first: Bytes, keep_alive: Duration) -> Response<Body> {
    let first = Some(first).filter(|first| !first.is_empty());
    let mut response = Response::new(Body::new(Events { source, first, every: keep_alive, keep_alive: None }));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Encodes whole lines of JSON as events.
pub(super) fn encode(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len() + 16);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        push(&mut out, line);
    }
    out
}

/// Appends one event.
pub(super) fn push(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

impl<S: Source> http_body::Body for Events<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Poll::Ready(events) = this.source.poll_events(cx) {
            this.keep_alive = None;
            return Poll::Ready(events.map(|events| Ok(Frame::data(events))));
        }
        let keep_alive = this.keep_alive.get_or_insert_with(|| Box::pin(tokio::time::sleep(this.every)));
        if keep_alive.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        keep_alive.as_mut().reset(Instant::now() + this.every);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.source.is_over()
    }
}
