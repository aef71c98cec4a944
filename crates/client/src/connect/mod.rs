//! Connects to the daemon of a project: connect, say hello, parse the answer; start a daemon if none runs.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use mcp::wire::{Frame, Framer};
use project::hello::{self, agree};
use project::socket::{self, SocketError};
use project::{Hello, HelloAck, Project};

use crate::start::{Launch, StartOutcome, start, turn};

/// The time limits of an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// The limit for the whole attempt: starting a daemon, waiting for others to start one, waiting for an old daemon
    /// to stop.
    pub(crate) whole: Duration,
    /// The time a daemon may take to answer a hello.
    pub(crate) ack: Duration,
    /// The time a daemon may take to serve.
    pub(crate) ready: Duration,
}

impl Patience {
    /// For callers that wait as long as necessary.
    const LONG: Patience =
        Patience { whole: Duration::from_secs(20), ack: Duration::from_secs(10), ready: Duration::from_secs(15) };

    /// For callers that continue without a daemon after this time.
    pub(crate) fn until(deadline: Instant) -> Patience {
        let left = deadline.saturating_duration_since(Instant::now());
        // A time-out of zero would mean no time-out.
        let left = left.max(Duration::from_millis(1));
        Patience { whole: left, ack: left, ready: left }
    }
}

/// After a failed start: the time to wait for another daemon, which may hold the lock, to appear.
const APPEAR_WITHIN: Duration = Duration::from_millis(300);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(3);

/// An accepted connection. Its protocol depends on the role in the hello.
#[derive(Debug)]
pub struct Connection {
    /// The socket, blocking.
    pub stream: UnixStream,
    /// Holds bytes that were read after the answer to the hello; continue reading with it.
    pub framer: Framer,
    /// The answer to the hello.
    pub ack: HelloAck,
}

/// The reason for a failed connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("{0}")]
    Refused(String),
    #[error("the daemon{} does not answer; end it with `kill -KILL{}`, and the next call starts a new one", pid_text(*pid, " (pid ", ")"), pid_text(*pid, " ", ""))]
    Silent { pid: Option<u32> },
    #[error("the process at the project's socket is not a hob daemon (it sent {said}); end that process")]
    Stranger { said: String },
    #[error("{0}")]
    NotStarted(String),
    #[error("no daemon was reachable within {}; check it with `hob status`, or start one with `hob serve`", time(*within))]
    TimedOut { within: Duration },
}

impl ConnectError {
    /// Returns true if this process may not connect at all, though the daemon may be running: as in an agent's sandbox.
    pub fn is_sandbox(&self) -> bool {
        matches!(self, ConnectError::Socket(SocketError::Sandboxed { .. }))
    }
}

fn pid_text(pid: Option<u32>, before: &str, after: &str) -> String {
    pid.map(|pid| format!("{before}{pid}{after}")).unwrap_or_default()
}

fn time(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        millis => format!("{} s", millis / 1000),
    }
}

/// The outcome of one attempt.
enum Attempt {
    Connected(Box<Connection>),
    /// No daemon listens, or it exited meanwhile.
    Absent,
    /// An older daemon is stopping to let a newer one start.
    MakingRoom,
}

/// Connects to a running daemon. `Ok(None)` when none runs.
pub fn connect(project: &Project, hello: &Hello) -> Result<Option<Connection>, ConnectError> {
    match attempt(project, hello, Patience::LONG.ack)? {
        Attempt::Connected(connection) => Ok(Some(*connection)),
        Attempt::Absent | Attempt::MakingRoom => Ok(None),
    }
}

/// Connects to the project's daemon; starts one if none runs.
pub fn connect_or_start(project: &Project, hello: &Hello) -> Result<Connection, ConnectError> {
    connect_or_start_with(project, hello, &Launch::default())
}

/// Like [`connect_or_start`], with another program as the daemon.
pub fn connect_or_start_with(project: &Project, hello: &Hello, launch: &Launch) -> Result<Connection, ConnectError> {
    connect_or_start_within(project, hello, launch, Patience::LONG)
}

/// Like [`connect_or_start_with`], with separate time limits.
pub(crate) fn connect_or_start_within(
    project: &Project,
    hello: &Hello,
    launch: &Launch,
    patience: Patience,
) -> Result<Connection, ConnectError> {
    let deadline = Instant::now() + patience.whole;
    // The first line asks for it; only an idle daemon of an older protocol complies.
    let hello = Hello { make_room: true, ..hello.clone() };
    let mut failed: Option<(String, Instant)> = None;
    loop {
        match attempt(project, &hello, patience.ack)? {
            Attempt::Connected(connection) => return Ok(*connection),
            Attempt::MakingRoom => {}
            Attempt::Absent => match &failed {
                // The start failed because another daemon is about to appear, or it failed permanently.
                Some((reason, until)) if Instant::now() > *until => {
                    return Err(ConnectError::NotStarted(reason.clone()));
                }
                Some(_) => {}
                // Without the turn, wait for the process that is starting a daemon.
                None => {
                    if let Some(turn) = turn(project) {
                        // Meanwhile another daemon may have begun to serve.
                        match attempt(project, &hello, patience.ack)? {
                            Attempt::Connected(connection) => return Ok(*connection),
                            Attempt::MakingRoom => {}
                            Attempt::Absent => match start(project, launch, patience.ready) {
                                // Stop retrying if it exits right after it was ready each time.
                                StartOutcome::Ready if Instant::now() < deadline => continue,
                                StartOutcome::Ready => {}
                                StartOutcome::Failed(reason) => failed = Some((reason, Instant::now() + APPEAR_WITHIN)),
                            },
                        }
                        drop(turn);
                    }
                }
            },
        }
        if Instant::now() > deadline {
            return Err(ConnectError::TimedOut { within: patience.whole });
        }
        thread::sleep(PAUSE);
    }
}

fn attempt(project: &Project, hello: &Hello, ack_within: Duration) -> Result<Attempt, ConnectError> {
    let Some(mut stream) = socket::connect(project)? else { return Ok(Attempt::Absent) };
    let pid = socket::peer(&stream).ok().map(|peer| peer.pid);
    let mut framer = Framer::new(LINE_MAX);
    let ack = match exchange(&mut stream, &mut framer, hello, ack_within) {
        Ok(Some(line)) => serde_json::from_slice::<HelloAck>(&line)
            .map_err(|_| ConnectError::Stranger { said: String::from_utf8_lossy(&line).chars().take(80).collect() })?,
        Ok(None) => return Ok(Attempt::Absent),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            return Err(ConnectError::Silent { pid });
        }
        // The daemon exited meanwhile.
        Err(_) => return Ok(Attempt::Absent),
    };
    match ack {
        HelloAck { ok: true, hob, .. } if agree(hello.hob, hob) == Some(hob) => {
            Ok(Attempt::Connected(Box::new(Connection { stream, framer, ack })))
        }
        HelloAck { making_room: true, .. } => Ok(Attempt::MakingRoom),
        HelloAck { error: Some(error), .. } => Err(ConnectError::Refused(error)),
        HelloAck { hob, version, .. } => Err(ConnectError::Refused(format!(
            "the daemon (hob {version}) speaks protocol {hob}, this program {}; end it with `hob stop`",
            hello.hob
        ))),
    }
}

/// Maximum length of a line from a daemon, in bytes: enough for the largest kept output of a session.
const LINE_MAX: usize = 256 * 1024 * 1024;

/// Sends a hello and reads the answer; `None` if the other end disconnected first.
fn exchange(
    stream: &mut UnixStream,
    framer: &mut Framer,
    hello: &Hello,
    within: Duration,
) -> io::Result<Option<Vec<u8>>> {
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    stream.write_all(&hello.to_line())?;
    let line = loop {
        let mut chunk = [0; 4096];
        let count = match stream.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if count == 0 {
            return Ok(None);
        }
        framer.push(&chunk[..count]);
        if let Some(Frame::Line(line)) = framer.next_frame() {
            break line.to_vec();
        }
        if framer.pending() > hello::LINE_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    };
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    Ok(Some(line))
}

#[cfg(test)]
mod tests;
