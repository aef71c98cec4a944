//! Answers of the page, with the headers that all of them have.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use super::admission::Refusal;
use super::frame;

pub(super) type Answer = Response<Content>;

/// The content of an answer.
#[derive(Debug)]
pub(super) enum Content {
    Whole(Option<Bytes>),
    /// Parts as they come.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Content::Whole(content) => Poll::Ready(content.take().map(|content| Ok(Frame::data(content)))),
            Content::Stream(parts) => parts.poll_recv(cx).map(|part| part.map(|part| Ok(Frame::data(part)))),
        }
    }
}

/// The policy: nothing of another origin is loaded, framed or posted to.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

pub(super) fn content(status: StatusCode, kind: &'static str, content: Content) -> Answer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

pub(super) fn html(status: StatusCode, document: String) -> Answer {
    content(status, "text/html; charset=utf-8", Content::Whole(Some(document.into())))
}

pub(super) fn refused(refusal: &Refusal) -> Answer {
    let mut answer = html(refusal.status, frame::refused(refusal));
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST"));
    }
    answer
}

/// Sends the browser to an address, with a cookie.
pub(super) fn see(address: &str, cookie: Option<&str>) -> Answer {
    let mut answer = content(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Content::Whole(None));
    // Addresses and cookies are of ASCII: ids are percent-encoded, secrets hexadecimal.
    for (name, value) in [(LOCATION, Some(address)), (SET_COOKIE, cookie)] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}
