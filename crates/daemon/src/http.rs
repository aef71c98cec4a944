//! The same tools over HTTP, for clients that cannot start a program: on this machine only, with a token.
//!
//! Everybody who knows the project's token is one caller, who stands in the project's root and is no agent. Whoever knows
//! an agent's token is that agent, where its name's holder stands.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::mail::desk::Desk;
use ::mail::tokens::{Token, is_same};
use ::mail::{AgentName, SessionId};
use mcp::server::ConnectionOptions;
use mcp::transport::http::{self, Authorize, Connect, HttpLimits, HttpOptions, ServedOn, Visitor};
use project::{Caller, Hello, Known, Role};
use tokio::sync::watch;

use crate::lifecycle::{Daemon, ServeError};
use crate::{crowds, listener, secrets};

/// How long the body of a request may take to arrive: it comes from this machine.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The principal of those who know the project's token.
const EVERYBODY: &str = "bearer";
/// The field in which requests that stand alone say which run of the agent they are of: nothing else tells.
const RUN: &str = "hob-run";
/// What the principal of an agent begins with, as on the daemon's socket.
const AGENT: &str = "agent ";

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
        let hello = Hello::new(Role::Mcp, &daemon.project, daemon.project.root());
        let server = daemon.parts.http_server(&hello).map_err(io::Error::other)?;
        let limits = HttpLimits {
            body: usize::try_from(daemon.config.limits.line_bytes).unwrap_or(usize::MAX),
            body_time: BODY_TIME,
            connections: usize::try_from(daemon.config.limits.connections).unwrap_or(usize::MAX),
            ..HttpLimits::default()
        };
        let (open, count) = watch::channel(0);
        tokio::spawn(crowds::give_back_after_each(count));
        let options = HttpOptions {
            open: Some(open),
            sse: true,
            websocket: true,
            limits,
            authorize: Some(authorize(daemon.parts.desk().clone(), self.token)),
            connect: Some(connect(daemon, hello)),
            ..HttpOptions::default()
        };
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        http::serve(listener, server, options, leaving).await
    }
}

/// Lets in who knows the project's token, and who knows an agent's. An agent's token is read anew each time, so that one
/// that was made or taken back counts from the next request on.
fn authorize(desk: Arc<Desk>, token: String) -> Authorize {
    Arc::new(move |headers| {
        let said = http::bearer(headers)?;
        if is_same(said, &token) {
            return Some(EVERYBODY.to_owned());
        }
        desk.tokens().find(said).map(|token| format!("{AGENT}{}", token.agent))
    })
}

/// Who is served: an agent where its holder stands, or nobody in particular in the project's root.
fn connect(daemon: Arc<Daemon>, hello: Hello) -> Connect {
    let anybody = Caller::new(&daemon.project, &hello, 0, 0);
    // One run for all of them: a request that stands alone is no run of its own.
    let anybody = Caller { run: Some(format!("http-{}", daemon.life)), known: Known::BySharedToken, ..anybody };
    Arc::new(move |visitor| {
        let caller = Caller {
            connection: daemon.connections.next_number(),
            by_requests: visitor.on != ServedOn::Connection,
            ..anybody.clone()
        };
        let agent = visitor.principal.strip_prefix(AGENT).and_then(|name| AgentName::new(name).ok());
        let caller = match agent.map(|agent| daemon.parts.desk().tokens().of(&agent)) {
            Some(Ok(Some(token))) => as_agent(caller, token, visitor),
            // Taken back since it was let in.
            _ => caller,
        };
        ConnectionOptions {
            caller: Arc::new(caller),
            limits: listener::limits(&daemon),
            ..ConnectionOptions::default()
        }
    })
}

fn as_agent(caller: Caller, token: Token, visitor: Visitor<'_>) -> Caller {
    let run = match (visitor.on, visitor.headers.get(RUN)) {
        (ServedOn::Request, Some(said)) => SessionId::said(&token.agent, said.as_bytes()),
        // All its requests are one run, as far as anybody can tell.
        (ServedOn::Request, None) => SessionId::said(&token.agent, b""),
        (ServedOn::Session | ServedOn::Connection, _) => SessionId::mint(),
    };
    Caller {
        known: Known::ByAgentToken,
        name: Some(token.agent.to_string()),
        cwd: token.worktree.clone(),
        worktree: token.worktree.clone(),
        stands_in: Some(token.worktree),
        run: Some(run.to_string()),
        ..caller
    }
}
