//! Serves the same tools over HTTP, for clients that cannot start a program: on this machine only, with a token.
//!
//! All holders of the project's token are one caller, in the project's root and without an agent's name. The holder of
//! an agent's token is that agent, in the worktree of its name.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp::server::ConnectionOptions;
use mcp::transport::http::{self, Authorize, Connect, HttpLimits, HttpOptions, ServedOn, Visitor};
use project::{Caller, Hello, Identification, Role};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

use crate::clients;
use crate::daemon::Daemon;
use crate::parts::{HttpAgent, Run};
use crate::secrets::{self, SecretError};
use crate::trim_memory;

/// The time limit for the body of a request, which comes from this machine.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The principal of the holders of the project's token.
const EVERYBODY: &str = "bearer";
/// The header in which a stateless request names its agent's run: nothing else identifies it.
const RUN: &str = "hob-run";
/// The prefix of an agent's principal, as on the daemon's socket.
const AGENT: &str = "agent ";

/// Reasons why HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("HTTP is served on this machine only, and {address} is not a local address: use 127.0.0.1:{} or [::1]:{}", address.port(), address.port())]
    NotLoopback { address: SocketAddr },
    #[error(
        "cannot serve HTTP at {address}: {}; name another port, or 0 for a free one",
        project::visible::cause(source)
    )]
    Bind { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// A bound address.
pub(crate) struct Http {
    listener: TcpListener,
    /// The bound address.
    pub address: SocketAddr,
    token: String,
    /// The file that holds the token.
    pub token_file: PathBuf,
}

impl Http {
    /// Binds an address of this machine.
    pub(crate) fn bind(project: &project::Project, address: SocketAddr) -> Result<Http, HttpError> {
        if !address.ip().is_loopback() {
            return Err(HttpError::NotLoopback { address });
        }
        let failed = |source: io::Error| HttpError::Bind { address, source };
        let (token, token_file) = secrets::http_token(project)?;
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Http { listener, address, token, token_file })
    }

    /// Returns the URL that clients send messages to.
    pub(crate) fn url(address: SocketAddr) -> String {
        format!("http://{address}/mcp")
    }

    /// Serves until the daemon's connections must close.
    pub(crate) async fn serve(self, daemon: Arc<Daemon>, leaving: impl Future<Output = ()>) -> io::Result<()> {
        let hello = Hello::new(Role::Mcp, &daemon.project, daemon.project.root());
        let served = daemon.parts.http_server(&hello, daemon.project.root()).await.map_err(io::Error::other)?;
        let limits = HttpLimits {
            body: usize::try_from(daemon.config.limits.line_bytes).unwrap_or(usize::MAX),
            body_time: BODY_TIME,
            connections: usize::try_from(daemon.config.limits.connections).unwrap_or(usize::MAX),
            ..HttpLimits::default()
        };
        let (open, count) = watch::channel(0);
        tokio::spawn(trim_memory::after_each_crowd(count));
        let options = HttpOptions {
            open: Some(open),
            sse: true,
            websocket: true,
            limits,
            authorize: Some(authorize(daemon.clone(), self.token)),
            connect: Some(connect(daemon, hello)),
            ..HttpOptions::default()
        };
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        http::serve(listener, served.server.clone(), options, leaving).await
    }
}

/// Creates the check for the project's token and those of agents. An agent's token is read for every request, so that a
/// new or revoked token takes effect immediately.
fn authorize(daemon: Arc<Daemon>, token: String) -> Authorize {
    Arc::new(move |headers| {
        let said = http::bearer(headers)?;
        if said.as_bytes().ct_eq(token.as_bytes()).into() {
            return Some(EVERYBODY.to_owned());
        }
        daemon.parts.agent_by_token(said).map(|agent| format!("{AGENT}{agent}"))
    })
}

/// Returns the caller of a connection: an agent in its worktree, or the holder of the project's token in the project's root.
fn connect(daemon: Arc<Daemon>, hello: Hello) -> Connect {
    let anybody = Caller::new(&daemon.project, &hello, 0, 0);
    let result_form = clients::result_form(&hello, daemon.config.results);
    // All of them are one run: a stateless request is not a separate run.
    let anybody =
        Caller { run: Some(format!("http-{}", daemon.life)), known: Identification::BySharedToken, ..anybody };
    Arc::new(move |visitor| {
        let caller = Caller {
            connection: daemon.connections.next_number(),
            by_requests: visitor.on != ServedOn::Connection,
            ..anybody.clone()
        };
        let agent = visitor.principal.strip_prefix(AGENT);
        let caller = match agent.and_then(|agent| daemon.parts.http_agent(agent, run_of(&visitor))) {
            Some(agent) => as_agent(caller, agent),
            // The token is the project's, or an agent's that was revoked meanwhile.
            None => caller,
        };
        ConnectionOptions {
            caller: Arc::new(caller),
            limits: daemon.connection_limits(),
            result_form,
            ..ConnectionOptions::default()
        }
    })
}

fn run_of<'a>(visitor: &Visitor<'a>) -> Run<'a> {
    match visitor.on {
        // Requests without a run are all one run: nothing distinguishes them.
        ServedOn::Request => Run::Said(visitor.headers.get(RUN).map_or(b"", |said| said.as_bytes())),
        ServedOn::Session | ServedOn::Connection => Run::Standing,
    }
}

fn as_agent(caller: Caller, agent: HttpAgent) -> Caller {
    Caller {
        known: Identification::ByAgentToken,
        name: Some(agent.name),
        cwd: agent.worktree.clone(),
        worktree: agent.worktree.clone(),
        stands_in: Some(agent.worktree),
        run: Some(agent.run),
        ..caller
    }
}
