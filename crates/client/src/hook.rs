//! `hob hook`: asks the daemon for the answer to an agent's hook event. An agent waits for each of these, so everything
//! here has a deadline, and the caller decides how to treat a failure.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use project::{Hello, Project};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Launch;
use crate::connect::{ConnectError, Patience, connect_or_start_within};
use crate::control::{Control, ControlError};

/// The time limit for a running daemon's answer to the hello. A daemon that starts has until the deadline.
const ACK_WITHIN: Duration = Duration::from_millis(500);

/// An event, as received from the agent's program.
#[derive(Debug)]
pub struct HookEvent {
    /// The agent, from the command line or the payload.
    pub agent: String,
    /// The event, from the command line.
    pub event: String,
    pub raw: Vec<u8>,
    /// The hook's directory.
    pub cwd: PathBuf,
    /// The time at which the caller answers without the daemon.
    pub deadline: Instant,
    /// The deadline once a person is asked.
    pub person: Instant,
}

/// The output and the exit status.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct HookReply {
    #[serde(default)]
    pub stdout: String,
    #[serde(default)]
    pub stderr: String,
    /// Required: without it, the reply is incomplete.
    pub exit: u8,
}

/// The reason for a missing reply.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("the daemon did not answer in time; check it with `hob status`")]
    TimedOut,
    #[error("cannot encode the event for the daemon: {0}")]
    NotSent(String),
    #[error("the daemon's answer is malformed: {0}; if the daemon has another version, end it with `hob stop`")]
    NotWhole(String),
}

/// The request to the daemon. The payload is in one of the last four.
#[derive(Serialize)]
struct Params<'a> {
    agent: &'a str,
    event: &'a str,
    within_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    person_ms: Option<u64>,
    /// A line of JSON, unchanged: encoding it as a string would take several times as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<&'a RawValue>,
    /// The same, followed by a line end.
    #[serde(skip_serializing_if = "Option::is_none")]
    json_line: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_hex: Option<String>,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The notification that a person is asked.
const ASKING: &str = "hook/asking";

/// Asks the daemon, which is started if none runs. `on_asking` is called when a person is asked; from then on the later
/// deadline applies.
///
/// # Errors
/// If no complete reply arrives before the deadline.
pub fn ask(
    project: &Project,
    event: HookEvent,
    launch: &Launch,
    mut on_asking: impl FnMut(),
) -> Result<HookReply, HookError> {
    let HookEvent { agent, event, raw, cwd, deadline, person } = event;
    let patience = Patience::until(deadline);
    let patience = Patience { ack: patience.ack.min(ACK_WITHIN), ..patience };
    let hello = Hello::brief(project, &cwd);
    let connection = connect_or_start_within(project, &hello, launch, patience);
    let connection = connection.map_err(|error| match error {
        // The daemon may be busy for a moment.
        ConnectError::Silent { .. } => HookError::TimedOut,
        error => error.into(),
    })?;
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(HookError::TimedOut);
    }
    // An error means that the socket is gone, which writing and reading report.
    let _ = connection.stream.set_write_timeout(Some(left));
    let text = std::str::from_utf8(&raw).ok();
    let json = text.and_then(project::json_line);
    let params = Params {
        agent: &agent,
        event: &event,
        within_ms: millis(left),
        person_ms: (person > deadline).then(|| millis(person.saturating_duration_since(Instant::now()))),
        json: json.filter(|(_, has_end)| !has_end).map(|(json, _)| json),
        json_line: json.filter(|(_, has_end)| *has_end).map(|(json, _)| json),
        raw: text.filter(|_| json.is_none()),
        raw_hex: text.is_none().then(|| hex(&raw)),
    };
    let params = serde_json::to_string(&params).map_err(|error| HookError::NotSent(error.to_string()))?;
    let until = Cell::new(deadline);
    let reply = Control::from_connection(connection).request_before("hook", &params, &until, |method, _| {
        if method == ASKING && person > deadline {
            until.set(person);
            on_asking();
        }
    })?;
    let reply = reply.ok_or(HookError::TimedOut)?;
    HookReply::deserialize(&reply).map_err(|error| HookError::NotWhole(error.to_string()))
}

/// Returns the directory of the project that an agent reports; its hook may run elsewhere.
pub fn agent_directory() -> Option<PathBuf> {
    let variables = ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"];
    let said = variables.into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    said.into_iter().find(|path| path.is_absolute() && Path::is_dir(path))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_socket::listen;
    use std::io::{Read, Write};

    /// Runs a hook against a daemon that sends these bytes after the answer to the hello, and keeps the connection.
    fn answered(reply: &'static str) -> Result<HookReply, HookError> {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().to_owned();
        let project = Project::find(Some(&root), &root).unwrap();
        let path = project.socket_path().unwrap();
        let listener = listen(&path);
        let daemon = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut said = [0; 4096];
            let count = stream.read(&mut said).unwrap();
            assert!(String::from_utf8_lossy(&said[..count]).contains(r#""brief":true"#));
            stream.write_all(b"{\"hob\":1,\"ok\":true}\n").unwrap();
            let count = stream.read(&mut said).unwrap();
            assert!(String::from_utf8_lossy(&said[..count]).contains(r#""raw_hex":"ff""#));
            stream.write_all(reply.as_bytes()).unwrap();
            // Wait until the other end has given up.
            let _ = stream.read(&mut said);
        });
        let event = HookEvent {
            agent: "claude".to_owned(),
            event: "Stop".to_owned(),
            raw: vec![0xff],
            cwd: root,
            deadline: Instant::now() + Duration::from_millis(if reply.ends_with('\n') { 60_000 } else { 300 }),
            person: Instant::now(),
        };
        let reply = ask(&project, event, &Launch { program: "/bin/false".into(), arguments: Vec::new() }, || {});
        daemon.join().unwrap();
        std::fs::remove_file(path).unwrap();
        reply
    }

    #[test]
    fn only_a_whole_reply_is_one() {
        let whole = answered("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stdout\":\"x\",\"exit\":2}}\n").unwrap();
        assert_eq!(whole, HookReply { stdout: "x".to_owned(), stderr: String::new(), exit: 2 });
        let half = answered("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stdout\":\"x\"");
        assert!(matches!(half, Err(HookError::TimedOut)), "{half:?}");
        let other = answered("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stdout\":\"x\"}}\n");
        assert!(matches!(other, Err(HookError::NotWhole(_))), "{other:?}");
        let refused = answered("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}\n");
        assert!(matches!(refused, Err(HookError::Control(_))), "{refused:?}");
    }
}
