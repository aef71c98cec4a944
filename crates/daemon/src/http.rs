//! The same tools over HTTP, for clients that cannot start a program: on this machine only, with a token.
//!
//! Everybody who knows the token is one caller, who stands in the project's root.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp::server::ConnectionOptions;
use mcp::transport::http::{self, HttpLimits, HttpOptions};
use project::{Caller, Hello, Role};

use crate::lifecycle::{Daemon, ServeError};
use crate::{listener, secrets};

/// How long the body of a request may take to arrive: it comes from this machine.
const BODY_TIME: Duration = Duration::from_secs(10);

/// A bound address.
pub(crate) struct Http {
    listener: TcpListener,
    /// Where it is.
    pub address: SocketAddr,
    token: String,
    /// Which file holds the token.
    pub token_file: PathBuf,
}

impl Http {
    /// Binds an address of this machine.
    pub(crate) fn bind(project: &project::Project, address: SocketAddr) -> Result<Http, ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback { address });
        }
        let failed = |source: io::Error| ServeError::Http { address, source };
        let (token, token_file) = secrets::http_token(project)?;
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Http { listener, address, token, token_file })
    }

    /// Where clients send their messages.
    pub(crate) fn url(address: SocketAddr) -> String {
        format!("http://{address}/mcp")
    }

    /// Serves until the daemon's connections have to leave.
    pub(crate) async fn serve(self, daemon: Arc<Daemon>, leaving: impl Future<Output = ()>) -> io::Result<()> {
        let hello = Hello {
            // One run for all of them: a request that stands alone is no run of its own.
            run: Some(format!("http-{}", daemon.life)),
            ..Hello::new(Role::Mcp, &daemon.project, daemon.project.root())
        };
        let server = daemon.parts.server(&daemon, &hello).map_err(io::Error::other)?;
        let limits = HttpLimits {
            body: usize::try_from(daemon.config.limits.line_bytes).unwrap_or(usize::MAX),
            body_time: BODY_TIME,
            connections: usize::try_from(daemon.config.limits.connections).unwrap_or(usize::MAX),
            ..HttpLimits::default()
        };
        let caller = Caller::new(&daemon.project, &hello, 0, 0);
        let connect = move |_: http::Visitor<'_>| ConnectionOptions {
            caller: Arc::new(Caller { connection: daemon.connections.next_number(), ..caller.clone() }),
            limits: listener::limits(&daemon),
            ..ConnectionOptions::default()
        };
        let options = HttpOptions {
            sse: true,
            websocket: true,
            limits,
            connect: Some(Arc::new(connect)),
            ..HttpOptions::default()
        };
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        http::serve(listener, server, options.bearer(&self.token), leaving).await
    }
}
