//! The only HTTP client. It reuses connections, speaks HTTP/1.1 with or without TLS, follows no redirects, uses no proxy, and
//! bounds the size of answers. A key never appears in an error.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, DATE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use super::Failed;
use super::secret::Secret;
use crate::address;
use crate::outcome::Class;
use crate::schema::Dialect;

/// The maximum size of an answer in bytes.
const ANSWER_MAX: usize = 16 * 1024 * 1024;

type Https = Pool<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A base URL and its key.
pub(super) struct Endpoint {
    base: String,
    host: String,
    key: Option<HeaderValue>,
    /// The key, so that it can be removed from answers.
    secret: Option<Secret>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

impl Endpoint {
    pub(super) fn new(url: &str, key: Option<String>) -> Result<Endpoint, String> {
        let (base, host) = address::checked(url)?;
        let secret = key.as_deref().map(Secret::new).transpose()?.flatten();
        let key = key.map(|key| {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| "its key is not a valid HTTP header value".to_owned())?;
            value.set_sensitive(true);
            Ok::<_, String>(value)
        });
        Ok(Endpoint { base, host, key: key.transpose()?, secret })
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn is_loopback(&self) -> bool {
        address::is_loopback(&self.host)
    }

    /// Returns the schema dialect that the server at this address usually accepts.
    pub(super) fn usual_dialect(&self) -> Dialect {
        // Other servers accept more than OpenAI.
        let is_openai = self.host == "api.openai.com" || self.host.ends_with(".openai.azure.com");
        if is_openai { Dialect::Strict } else { Dialect::Full }
    }
}

/// A server's answer.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub status: u16,
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

impl Response {
    /// Creates a recorded answer.
    pub(crate) fn recorded(status: u16, body: String) -> Response {
        Response { status, retry_after: None, body: body.into() }
    }
}

/// The client with its connections. It is created on first use, because reading the system's certificates takes time.
#[derive(Clone, Default)]
pub(super) struct Client(std::sync::Arc<OnceLock<Result<Https, String>>>);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// Sends a request, and returns the answer after its headers have arrived. The connection is reused unless the answer is
    /// streamed: llama.cpp's server closes it after a stream without announcing that.
    pub(super) async fn post(
        &self,
        endpoint: &Endpoint,
        path: &str,
        body: &Value,
        keeps: Connection,
    ) -> Result<Answering, Failed> {
        let transport = |why: String| Failed::new(Class::Transport, why);
        let client = self.0.get_or_init(connect).as_ref().map_err(|why| transport(why.clone()))?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}/{path}", endpoint.base))
            .header(CONTENT_TYPE, "application/json");
        let request = match keeps {
            Connection::Kept => request,
            Connection::Closed => request.header(CONNECTION, "close"),
        };
        let request = endpoint.key.iter().fold(request, |request, key| request.header(AUTHORIZATION, key));
        let request = request.body(Full::from(body.to_string())).map_err(|error| transport(error.to_string()))?;
        let host = &endpoint.host;
        let response = client.request(request).await.map_err(|error| {
            let cause = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source()).last();
            transport(format!("{host} cannot be reached: {}", cause.map_or_else(String::new, ToString::to_string)))
        })?;
        let text = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let retry_after = text(RETRY_AFTER).and_then(|value| pause(value, text(DATE)));
        let is_stream = text(CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        Ok(Answering {
            status: response.status().as_u16(),
            retry_after,
            is_stream,
            host: host.clone(),
            secret: endpoint.secret.clone(),
            body: Limited::new(response.into_body(), ANSWER_MAX),
        })
    }
}

/// The use of a connection after its answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Connection {
    Kept,
    Closed,
}

/// An answer whose body has not arrived yet. Dropping it closes the connection.
pub(super) struct Answering {
    status: u16,
    retry_after: Option<Duration>,
    /// True if the body is an event stream.
    pub is_stream: bool,
    host: String,
    secret: Option<Secret>,
    body: Limited<Incoming>,
}

impl Answering {
    fn incomplete_answer(&self, why: impl fmt::Display) -> Failed {
        Failed::new(Class::Transport, format!("the answer of {} ended early: {why}", self.host))
    }

    /// Returns the next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failed> {
        match self.body.frame().await {
            None => Ok(None),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
            Some(Err(error)) if error.is::<LengthLimitError>() => {
                let most = ANSWER_MAX / 1024 / 1024;
                Err(Failed::new(
                    Class::Transport,
                    format!("the answer of {} is longer than {most} MiB, the limit", self.host),
                ))
            }
            Some(Err(error)) => Err(self.incomplete_answer(error)),
        }
    }

    /// Reads the whole answer.
    pub(super) async fn read_response(mut self) -> Result<Response, Failed> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            body.extend_from_slice(&bytes);
        }
        let status = self.status;
        Ok(self.with(status, body.into()))
    }

    /// Returns the answer with another body.
    pub(super) fn with(self, status: u16, body: Bytes) -> Response {
        // Some servers repeat a wrong key in their error.
        let body = match &self.secret {
            Some(secret) => secret.remove_key(body),
            None => body,
        };
        Response { status, retry_after: self.retry_after, body }
    }
}

/// Parses `retry-after`: seconds, or a date (RFC 9110, 10.2.3) relative to the server's clock if it sends its date.
fn pause(value: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(value.trim()).ok()?;
    let now = date.and_then(|date| httpdate::parse_http_date(date.trim()).ok()).unwrap_or_else(SystemTime::now);
    // A date in the past asks for no pause.
    Some(until.duration_since(now).unwrap_or_default())
}

fn connect() -> Result<Https, String> {
    let provider =
        HttpsConnectorBuilder::new().with_provider_and_native_roots(rustls::crypto::ring::default_provider());
    let builder = provider.map_err(|error| format!("the machine's certificates cannot be read: {error}"))?;
    let connector = builder.https_or_http().enable_http1().build();
    Ok(Pool::builder(TokioExecutor::new()).pool_idle_timeout(Duration::from_secs(60)).build(connector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_seconds_or_a_date() {
        const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        let seconds = |value, date| pause(value, date).map(|pause| pause.as_secs());
        assert_eq!(seconds(" 7 ", None), Some(7));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:07 GMT", Some(DATE)), Some(30));
        // The two obsolete formats that a recipient must accept.
        assert_eq!(seconds("Sunday, 06-Nov-94 08:50:07 GMT", Some(DATE)), Some(30));
        assert_eq!(seconds("Sun Nov  6 08:50:07 1994", Some(DATE)), Some(30));
        assert_eq!(seconds(DATE, Some(DATE)), Some(0));
        assert_eq!(seconds(DATE, None), Some(0), "it is over");
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(90));
        assert!((80..=90).contains(&seconds(&soon, Some("no date")).unwrap_or_default()));
        for wrong in ["", "soon", "-1", "1.5", "99999999999999999999", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(seconds(wrong, None), None, "{wrong}");
        }
    }
}
