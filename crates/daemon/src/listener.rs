//! The socket listener: accepts a connection, reads its first line, identifies the caller, and passes it to the MCP server.
//!
//! Both roles speak MCP on the same server code; `control` also has hob's own methods (`control.rs`).

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp::server::{ConnectionOptions, End};
use project::hello::{self, Hello, HelloAck};
use project::socket::{self, Bound};
use project::{Caller, Lock, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::clients;
use crate::compat::{Message, Socket};
use crate::control;
use crate::daemon::Daemon;
use crate::http::Http;

/// The time limit for a connection's first line.
const HELLO_TIME: Duration = Duration::from_secs(10);

/// The interval for checking that the socket file still exists: cleaners of temporary directories remove it.
const CHECK_TIME: Duration = Duration::from_secs(5);

/// The number of successive checks without the project's directory after which the daemon stops: one minute, since a directory
/// may be moved away and back.
const GONE_CHECKS: u32 = 12;

/// The time limit for connections to close gracefully when the daemon stops.
const LEAVE_TIME: Duration = Duration::from_secs(3);

/// The listening socket and its state.
pub(crate) struct Listener {
    daemon: Arc<Daemon>,
    listener: UnixListener,
    bound: Bound,
    lock: Lock,
}

impl Listener {
    /// Takes over a bound socket. Needs a runtime.
    pub(crate) fn new(
        daemon: Arc<Daemon>,
        listener: std::os::unix::net::UnixListener,
        bound: Bound,
        lock: Lock,
    ) -> io::Result<Listener> {
        Ok(Listener { daemon, listener: adopt(listener)?, bound, lock })
    }

    /// Serves until the daemon stops, and returns when all connections have closed.
    pub(crate) async fn run(mut self, http: Option<Http>) {
        let mut stop = self.daemon.stop.subscribe();
        let (leave, leaving) = watch::channel(false);
        let mut connections = JoinSet::new();
        if let Some(http) = http {
            let (daemon, mut leaving) = (self.daemon.clone(), leaving.clone());
            connections.spawn(async move {
                let left = async move {
                    // An error means that the listener is gone, which is equivalent.
                    let _ = leaving.wait_for(|leaving| *leaving).await;
                };
                if let Err(error) = http.serve(daemon, left).await {
                    tracing::error!(%error, "HTTP is no longer served");
                }
            });
        }
        if self.daemon.config.tidepool {
            self.serve_predecessor(&mut connections, leaving.clone());
        }
        let mut check = tokio::time::interval(CHECK_TIME);
        let mut absence = Absence::default();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if !self.lock.is_in_place(&self.daemon.project) => {
                        connections.spawn(make_room(self.daemon.clone(), stream));
                    }
                    Ok((stream, _)) => {
                        connections.spawn(connection(self.daemon.clone(), stream, leaving.clone()));
                    }
                    Err(error) => {
                        // Probably the process is out of descriptors: others must close before this can continue.
                        tracing::error!(%error, "accept");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                _ = check.tick() => {
                    self.bind_anew_if_gone();
                    if absence.is_final(self.daemon.project.root()) {
                        // No command finds a daemon without its project.
                        self.daemon.begin_stop("its project directory no longer exists");
                    }
                }
                _ = stop.wait_for(Option::is_some) => break,
            }
        }
        // From here on a front-end starts its own daemon, which waits for the lock.
        self.bound.remove();
        self.daemon.wind_down().await;
        leave.send_replace(true);
        let all_left = async { while connections.join_next().await.is_some() {} };
        if timeout(LEAVE_TIME, all_left).await.is_err() {
            tracing::warn!(count = connections.len(), "connections did not end in time");
        }
        drop(self.lock);
    }

    /// Serves Tidepool's socket too, until the daemon stops.
    fn serve_predecessor(&self, connections: &mut JoinSet<()>, leaving: watch::Receiver<bool>) {
        let socket = match Socket::bind(self.daemon.project.root()) {
            Ok(socket) => socket,
            Err(error) => return tracing::error!(%error, "compat.tidepool: its socket could not be bound"),
        };
        let (daemon, mut stop) = (self.daemon.clone(), self.daemon.stop.subscribe());
        connections.spawn(async move {
            let mut served = JoinSet::new();
            let mut stopped = std::pin::pin!(async {
                // An error means that the daemon is gone, which is equivalent.
                let _ = stop.wait_for(Option::is_some).await;
            });
            loop {
                tokio::select! {
                    accepted = socket.accept() => match accepted {
                        Ok(stream) => _ = served.spawn(connection(daemon.clone(), stream, leaving.clone())),
                        Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                    },
                    Some(_) = served.join_next() => {}
                    () = &mut stopped => break,
                }
            }
            drop(socket);
            while served.join_next().await.is_some() {}
        });
    }

    fn bind_anew_if_gone(&mut self) {
        if self.bound.is_in_place() {
            return self.bound.renew_note(&self.daemon.project);
        }
        let anew = socket::bind(&self.daemon.project, &self.lock).map_err(|error| error.to_string());
        match anew.and_then(|(listener, bound)| Ok((adopt(listener).map_err(|error| error.to_string())?, bound))) {
            Ok((listener, bound)) => {
                tracing::warn!(path = %bound.path().display(), "the socket file was missing; bound it again");
                (self.listener, self.bound) = (listener, bound);
            }
            Err(error) => tracing::error!(error, "the socket file is missing and cannot be bound again"),
        }
    }
}

/// The number of successive checks at which a directory was missing.
#[derive(Default)]
struct Absence(u32);

impl Absence {
    /// Returns true if the directory is missing and was at the last [`GONE_CHECKS`] checks.
    fn is_final(&mut self, dir: &Path) -> bool {
        let is_missing = dir.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        self.0 = if is_missing { self.0 + 1 } else { 0 };
        self.0 >= GONE_CHECKS
    }
}

fn adopt(listener: std::os::unix::net::UnixListener) -> io::Result<UnixListener> {
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Serves one connection, from its first line to its end.
async fn connection(daemon: Arc<Daemon>, mut stream: UnixStream, leaving: watch::Receiver<bool>) {
    let peer = match socket::peer(&stream) {
        Ok(peer) if peer.is_me() => peer,
        Ok(peer) => return tracing::warn!(uid = peer.uid, pid = peer.pid, "a foreign user was refused"),
        Err(error) => return tracing::warn!(%error, "a connection without credentials was refused"),
    };
    let (hello, rest) = match timeout(HELLO_TIME, first_line(&mut stream)).await {
        Ok(Ok(Some(first))) => first,
        Ok(Ok(None)) => return,
        Ok(Err(HelloError::Predecessor(message))) => {
            let answer = tokio::select! {
                answer = message.answer(&daemon, peer.pid) => answer,
                // The caller is gone.
                () = closed(&stream) => return,
            };
            let _ = stream.write_all(&answer).await;
            return;
        }
        Ok(Err(error)) => return refuse(&daemon, &mut stream, &error.to_string()).await,
        Err(_) => return refuse(&daemon, &mut stream, "no hello line came within 10 seconds").await,
    };
    let Some(number) = hello::agree(hello::PROTOCOL, hello.hob) else {
        let ack = HelloAck::incompatible(&hello, daemon.busy(), &daemon.life);
        answer(&mut stream, &ack).await;
        if ack.making_room {
            daemon.begin_stop(format!("hob {} replaced it", hello.version));
        }
        return;
    };
    let caller = Caller::new(&daemon.project, &hello, daemon.connections.next_number(), peer.pid);
    if let Some(why) = daemon.parts.refusal(&caller) {
        return refuse(&daemon, &mut stream, &why).await;
    }
    let add_control = |server| control::add_methods(server, &daemon);
    let served = match daemon.parts.server(&hello, &caller.worktree, add_control).await {
        Ok(served) => served,
        Err(error) => return refuse(&daemon, &mut stream, &error.to_string()).await,
    };
    let slot = match daemon.connections.enter(&caller) {
        Ok(slot) => slot,
        Err(count) => {
            let why = format!(
                "the daemon has {count} connections, its limit; close some, or raise limits.connections in hob.toml"
            );
            return refuse(&daemon, &mut stream, &why).await;
        }
    };
    let accepted = HelloAck::accepted(number, &daemon.life);
    let accepted = match hello.role {
        Role::Mcp => daemon.parts.tool_summaries.add_to(accepted, served.server.registry()),
        Role::Control => accepted,
    };
    if !answer(&mut stream, &accepted).await {
        return slot.leave("its peer was gone before the first answer");
    }
    let options = ConnectionOptions {
        principal: principal(&caller),
        caller: Arc::new(caller),
        limits: match hello.role {
            Role::Mcp => daemon.connection_limits(),
            Role::Control => daemon.control_limits(),
        },
        result_form: clients::result_form(&hello, daemon.config.results),
        initial: rest,
        shutdown: Some(leaving),
        ..ConnectionOptions::default()
    };
    slot.leave(match mcp::transport::unix::serve(&served.server, stream, options).await {
        End::Input => "its input ended",
        End::Shutdown => "the daemon stopped",
        End::PeerGone(_) => "its peer was gone",
    });
}

/// Returns the principal that may answer a question and access the jobs it started: an agent of the same name,
/// otherwise any caller in the same worktree. It is not a connection or process, since questions and jobs outlive both.
fn principal(caller: &Caller) -> String {
    match &caller.name {
        Some(name) => format!("agent {name}"),
        None => format!("worktree {}", caller.worktree.display()),
    }
}

/// Refuses a connection and stops this daemon: the caller means the project that is here now, and this daemon serves
/// the one that was here before.
async fn make_room(daemon: Arc<Daemon>, mut stream: UnixStream) {
    let why =
        format!("this daemon served another project that was at {}", project::visible::path(daemon.project.root()));
    let making_room = HelloAck { making_room: true, ..HelloAck::refused(&why, &daemon.life) };
    // The clean-up only checks for a listening daemon, and sends nothing.
    if let Ok(Ok(Some(_))) = timeout(HELLO_TIME, first_line(&mut stream)).await {
        answer(&mut stream, &making_room).await;
        daemon.begin_stop(why);
    }
}

/// Reasons why a first line was invalid.
#[derive(Debug, thiserror::Error)]
enum HelloError {
    /// One of Tidepool's messages.
    #[error("the first line is a message of Tidepool's clients")]
    Predecessor(Message),
    #[error("the first line of a connection must be a hello of hob ({0}); agents connect through `hob mcp`")]
    NotHello(serde_json::Error),
    #[error("the hello line is longer than {} bytes", hello::LINE_MAX)]
    TooLong,
    #[error("read the hello line: {0}")]
    Read(io::Error),
}

/// Reads the first line and any bytes after it; `None` if the peer left without sending a line.
async fn first_line(stream: &mut UnixStream) -> Result<Option<(Hello, Vec<u8>)>, HelloError> {
    let mut buffer = Vec::with_capacity(4096);
    loop {
        let searched = buffer.len();
        if stream.read_buf(&mut buffer).await.map_err(HelloError::Read)? == 0 {
            return Ok(None);
        }
        if let Some(end) = buffer[searched..].iter().position(|byte| *byte == b'\n') {
            let rest = buffer.split_off(searched + end + 1);
            return match serde_json::from_slice(&buffer) {
                Ok(hello) => Ok(Some((hello, rest))),
                Err(error) => Err(Message::parse(&buffer).map_or(HelloError::NotHello(error), HelloError::Predecessor)),
            };
        }
        if buffer.len() > hello::LINE_MAX {
            return Err(HelloError::TooLong);
        }
    }
}

/// Returns when the other end, which sends nothing more, has closed the connection.
async fn closed(stream: &UnixStream) {
    let mut byte = [0];
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut byte) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn refuse(daemon: &Daemon, stream: &mut UnixStream, why: &str) {
    tracing::warn!(why, "a connection was refused");
    answer(stream, &HelloAck::refused(why, &daemon.life)).await;
}

/// Sends the answer. Returns true if it was delivered to the kernel.
async fn answer(stream: &mut UnixStream, ack: &HelloAck) -> bool {
    stream.write_all(&ack.to_line()).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_gone_when_it_stays_missing() {
        let dir = tempfile::tempdir().unwrap();
        let (place, mut absence) = (dir.path().join("project"), Absence::default());
        let mut finals = |checks: u32| (0..checks).filter(|_| absence.is_final(&place)).count();
        assert_eq!(finals(GONE_CHECKS - 1), 0);
        std::fs::create_dir(&place).unwrap();
        assert_eq!(finals(2), 0);
        std::fs::remove_dir(&place).unwrap();
        assert_eq!(finals(GONE_CHECKS), 1);
    }
}
