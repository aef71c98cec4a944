//! A server over HTTP: the Streamable HTTP of all revisions that have it, on one endpoint; optionally the two routes of
//! 2024-11-05 (`GET /sse`, `POST /messages`) and a WebSocket (`/ws`, feature `websocket`).
//!
//! Start with [`serve`], or with [`router`] for a program that has an HTTP server already. A request passes `guard.rs`
//! (its sender) and `post.rs` (its body and revision), then `modern.rs` if it is standalone or `legacy.rs` if it
//! belongs to a session.
//!
//! ```
//! # use std::sync::Arc;
//! # use mcp::server::{Server, ServerInfo};
//! # use mcp::tool::Registry;
//! use mcp::transport::http::{self, HttpOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = Server::new(ServerInfo::new("example", "1.0.0"), Arc::new(Registry::default()));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let until = async { /* a signal, say */ };
//! http::serve(listener, server, HttpOptions::default().bearer("a secret"), until).await?;
//! # Ok(())
//! # }
//! ```

mod cors;
mod endpoint;
mod events;
mod guard;
mod headers;
mod legacy;
mod lingering_close;
mod listener;
mod modern;
mod options;
mod post;
mod progress_gap;
mod refusal;
mod sessions;
mod sse;
mod stream;
#[cfg(test)]
mod tests;
mod unauthenticated;
#[cfg(feature = "websocket")]
mod websocket;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, Response, StatusCode};
use axum::routing::any;

pub use listener::serve;
pub use options::{Authorize, Connect, HttpLimits, HttpOptions, ServedOn, Visitor, bearer};

use self::endpoint::Endpoint;
use self::refusal::Refusal;
use crate::era::Era;
use crate::server::Server;

/// Returns the routes of a server, for a program's own HTTP server or to be nested into its routes. The limits on
/// connections and heads in [`HttpLimits`] are then up to that server.
pub fn router(server: Server, options: HttpOptions) -> Router {
    routes(Arc::new(Endpoint::new(server, options)))
}

fn routes(endpoint: Arc<Endpoint>) -> Router {
    let options = &endpoint.options;
    let mut routes = Router::new().route(&options.path, any(handle));
    if options.sse {
        routes = routes.route(sse::STREAM, any(sse::open)).route(sse::MESSAGES, any(sse::message));
    }
    #[cfg(feature = "websocket")]
    if options.websocket {
        routes = routes.route(websocket::PATH, any(websocket::open));
    }
    routes.with_state(endpoint)
}

async fn handle(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let origin = cors::origin(&endpoint.options, &parts);
    if let Some(response) = cors::preflight(&endpoint.options, &parts, origin.as_ref()) {
        return cors::expose(origin, response);
    }
    let served = match guard::admit(&endpoint.options, &parts) {
        Err(refusal) => Err(refusal.unread(&parts.headers)),
        Ok(principal) => {
            let headers = &parts.headers;
            let is_modern = headers.get(headers::VERSION).is_some_and(|said| said == Era::V2026_07_28.name());
            match parts.method {
                Method::POST => post::post(&endpoint, headers, &principal, body).await,
                Method::GET if !is_modern => get(&endpoint, &parts.headers, &principal),
                Method::DELETE if !is_modern => legacy::session(&endpoint, headers, &principal).map(|session| {
                    endpoint.sessions.remove(&session.id, &principal);
                    refusal::empty(StatusCode::NO_CONTENT)
                }),
                _ => Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST")),
            }
        }
    };
    cors::expose(origin, served.unwrap_or_else(Refusal::into_response))
}

fn get(endpoint: &Endpoint, headers: &axum::http::HeaderMap, principal: &str) -> Result<Response<Body>, Refusal> {
    if !post::accepts(headers, &["text/event-stream"]) {
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, "Accept must list text/event-stream"));
    }
    let session = legacy::session(endpoint, headers, principal)?;
    legacy::get(endpoint, headers, &session)
}
