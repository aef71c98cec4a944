//! CORS, for web pages of other origins that may send requests (the Fetch standard, "CORS protocol"): a browser sends a
//! preflight first, and shows a page only the responses that allow it.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode};

use super::headers::SESSION;
use super::{HttpOptions, guard, refusal};

/// Returns the origin of the web page that sent a request, if it may send requests.
pub(super) fn origin(options: &HttpOptions, parts: &Parts) -> Option<HeaderValue> {
    let origin = parts.headers.get(ORIGIN)?;
    guard::check_origin(options, &parts.headers).ok().map(|()| origin.clone())
}

/// Returns the response to a preflight, which comes without a token.
pub(super) fn preflight(options: &HttpOptions, parts: &Parts, origin: Option<&HeaderValue>) -> Option<Response<Body>> {
    let asks = parts.method == Method::OPTIONS && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !asks || origin.is_none() || guard::check_host(options, parts).is_err() {
        return None;
    }
    let mut response = refusal::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(wanted) = parts.headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    Some(response)
}

/// Lets the web page see the response.
pub(super) fn expose(origin: Option<HeaderValue>, mut response: Response<Body>) -> Response<Body> {
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SESSION));
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
    response
}
