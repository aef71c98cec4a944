//! The answer to a request that is refused: a status and a JSON-RPC error with the reason. Also plain JSON and empty
//! responses.

use axum::body::Body;
use axum::http::header::{
    ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::json;

use crate::wire::Id;
use crate::wire::build::{self, RpcError};
use crate::wire::code;

/// The longest body of a refused request that is read to its end, to keep the connection for the next request.
const MAX_DRAINED: u64 = 16 << 10;

/// The refusal of a request.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub id: Option<Id>,
    pub error: RpcError,
    /// True if the connection is closed after it.
    pub closes: bool,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal { status, id: None, error: RpcError::new(code::INVALID_REQUEST, message), closes: false }
    }

    /// The message itself is wrong.
    pub(super) fn invalid_message(id: Option<&Id>, error: RpcError) -> Refusal {
        Refusal { status: StatusCode::BAD_REQUEST, id: id.cloned(), error, closes: false }
    }

    /// A limit of the endpoint is reached.
    pub(super) fn busy(id: Option<&Id>, what: &str, limit: usize) -> Refusal {
        let error = RpcError::new(code::INTERNAL, format!("the limit of {limit} {what} is reached: try again later"))
            .with_data(&json!({"reason": "overloaded", "limit": limit}));
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, id: id.cloned(), error, closes: false }
    }

    /// A conversation has too many waiting messages.
    pub(super) fn full(id: Option<&Id>) -> Refusal {
        let error = RpcError::new(code::INTERNAL, "too many messages are waiting: read the answers first")
            .with_data(&json!({"reason": "overloaded"}));
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, id: id.cloned(), error, closes: false }
    }

    /// Notes that the body of the request with this head was not read to its end.
    pub(super) fn unread(self, head: &HeaderMap) -> Refusal {
        let length = head.get(CONTENT_LENGTH).map(|said| said.to_str().ok()?.parse::<u64>().ok());
        let is_brief = match length {
            None => !head.contains_key(TRANSFER_ENCODING),
            Some(length) => length.is_some_and(|length| length <= MAX_DRAINED),
        };
        Refusal { closes: !is_brief || self.status == StatusCode::REQUEST_TIMEOUT, ..self }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let Refusal { status, id, error, closes } = self;
        tracing::warn!(status = status.as_u16(), code = error.code, reason = error.message, "a request was refused");
        let mut body = Vec::new();
        build::error(&mut body, id.as_ref(), &error);
        let mut response = json(status, body);
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                headers.insert(ALLOW, HeaderValue::from_static("POST"));
            }
            _ => {}
        }
        if closes {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Returns a response with one JSON text.
pub(super) fn json(status: StatusCode, mut body: Vec<u8>) -> Response<Body> {
    if body.last() == Some(&b'\n') {
        body.pop();
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
