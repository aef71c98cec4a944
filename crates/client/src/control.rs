//! Typed calls to the daemon for the command line and hooks: JSON-RPC on a connection of role `control`, one call at a
//! time.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::time::Instant;

use mcp::wire::{Envelope, Frame, Id, build};
use project::{Hello, HelloAck, Project, Role, journal};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::connect::{ConnectError, Connection, connect, connect_or_start};

/// A control connection.
#[derive(Debug)]
pub struct Control {
    connection: Connection,
    last_id: u64,
}

/// Reasons why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("{}", lost_answer(method))]
    Lost { method: String },
    #[error("{message}")]
    Refused { method: String, code: i64, message: String, data: Option<Box<Value>> },
    #[error(
        "malformed answer of the daemon to {method}: {reason}; if the daemon has another version, end it with `hob \
         stop`"
    )]
    Odd { method: String, reason: String },
}

/// Returns the error about a lost answer, with the fix.
fn lost_answer(method: &str) -> String {
    match method {
        "tools/call" => {
            "the daemon ended during this call. The call may have run, in full or in part. Repeat it only if \
                         that is safe; a new daemon starts"
                .to_owned()
        }
        _ => format!("the daemon ended before it answered {method}; call again to start a new daemon"),
    }
}

/// A progress report of a running tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Progress {
    /// The progress so far.
    pub progress: f64,
    /// The total, if known.
    #[serde(default)]
    pub total: Option<f64>,
    /// A message for people.
    #[serde(default)]
    pub message: Option<String>,
}

impl Control {
    /// Returns the hello of a control connection from this process's working directory.
    pub fn hello(project: &Project, cwd: &std::path::Path) -> Hello {
        Hello::new(Role::Control, project, cwd)
    }

    /// Connects to a running daemon; `Ok(None)` when none runs.
    pub fn connect(project: &Project, hello: &Hello) -> Result<Option<Control>, ConnectError> {
        Ok(connect(project, hello)?.map(Control::from_connection))
    }

    /// Connects, and starts the daemon where none runs.
    pub fn connect_or_start(project: &Project, hello: &Hello) -> Result<Control, ConnectError> {
        Ok(Control::from_connection(connect_or_start(project, hello)?))
    }

    /// Wraps a connection whose hello had the role `control`.
    pub fn from_connection(connection: Connection) -> Control {
        Control { connection, last_id: 0 }
    }

    /// Returns the daemon's answer to the hello: its version, process id and life.
    pub fn daemon(&self) -> &HelloAck {
        &self.connection.ack
    }

    /// Asks whether the daemon answers.
    pub fn ping(&mut self) -> Result<(), ControlError> {
        self.request("ping", json!({}), |_, _| {}).map(drop)
    }

    /// Returns the status of the daemon: its sessions, connections, queues, memory and versions.
    pub fn status(&mut self) -> Result<Value, ControlError> {
        self.request("status", json!({}), |_, _| {})
    }

    /// Returns the tools, as MCP lists them; those of one toolset or imitated system if named.
    pub fn tools(&mut self, toolset: Option<&str>, profile: Option<&str>) -> Result<Vec<Value>, ControlError> {
        let params = without_nulls(json!({"toolset": toolset, "profile": profile}));
        let mut result = self.request("tools/list", params, |_, _| {})?;
        match result.get_mut("tools").map(Value::take) {
            Some(Value::Array(tools)) => Ok(tools),
            _ => Err(ControlError::Odd { method: "tools/list".to_owned(), reason: "`tools` is missing".to_owned() }),
        }
    }

    /// Calls a tool. The result is MCP's: `content`, `structuredContent`, `isError`. Notifications that arrive during
    /// the call go to `on_notification` (method and parameters), progress to `on_progress`.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
        mut on_progress: impl FnMut(Progress),
        mut on_notification: impl FnMut(&str, &Value),
    ) -> Result<Value, ControlError> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": self.last_id + 1}});
        self.request("tools/call", params, |method, params| match method {
            "notifications/progress" => {
                if let Ok(progress) = Progress::deserialize(params) {
                    on_progress(progress);
                }
            }
            _ => on_notification(method, params),
        })
    }

    /// Asks the daemon to stop; with `force`, even if sessions are live. Returns the daemon's answer.
    pub fn shutdown(&mut self, force: bool) -> Result<Value, ControlError> {
        self.request("shutdown", json!({"force": force}), |_, _| {})
    }

    /// Follows the journal until the daemon stops or `on_entry` returns false.
    pub fn events(mut self, mut on_entry: impl FnMut(journal::Entry) -> bool) -> Result<(), ControlError> {
        let going = Cell::new(true);
        let mut take = |method: &str, params: &Value| {
            if let (true, Ok(entry)) = (method == "events/entry" && going.get(), journal::Entry::deserialize(params)) {
                going.set(on_entry(entry));
            }
        };
        self.request("events/subscribe", json!({}), &mut take)?;
        while going.get() {
            match self.next_line("events/subscribe") {
                Ok(line) => notification(&line, &mut take),
                Err(ControlError::Lost { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for a notification with one of these methods; returns its method and parameters, or `None` if none arrived
    /// by `deadline`.
    pub fn notification(
        &mut self,
        methods: &[&str],
        deadline: Option<Instant>,
    ) -> Result<Option<(String, Value)>, ControlError> {
        let mut found = None;
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            // An error means that the socket is gone, which the read reports.
            let _ = self.connection.stream.set_read_timeout(left);
            match self.next_line_or_timeout(methods.first().copied().unwrap_or_default()) {
                Ok(Some(line)) => notification(&line, &mut |name: &str, params: &Value| {
                    if methods.contains(&name) {
                        found = Some((name.to_owned(), params.clone()));
                    }
                }),
                Ok(None) => {}
                Err(error) => return Err(error),
            }
            if found.is_some() {
                let _ = self.connection.stream.set_read_timeout(None);
                return Ok(found);
            }
        }
    }

    /// Makes any request of the control protocol. Notifications that arrive before the answer go to `on_notification`.
    pub fn request(
        &mut self,
        method: &str,
        params: Value,
        on_notification: impl FnMut(&str, &Value),
    ) -> Result<Value, ControlError> {
        // Without a deadline there is an answer or an error.
        self.exchange(method, &params.to_string(), None, on_notification).map(Option::unwrap_or_default)
    }

    /// Makes a request with these parameters, JSON in one line. `None` if no answer came before the deadline; then the connection is unusable.
    pub fn request_before(
        &mut self,
        method: &str,
        params: &str,
        deadline: &Cell<Instant>,
        on_notification: impl FnMut(&str, &Value),
    ) -> Result<Option<Value>, ControlError> {
        self.exchange(method, params, Some(deadline), on_notification)
    }

    fn exchange(
        &mut self,
        method: &str,
        params: &str,
        deadline: Option<&Cell<Instant>>,
        mut on_notification: impl FnMut(&str, &Value),
    ) -> Result<Option<Value>, ControlError> {
        self.last_id += 1;
        let id = Id::number(self.last_id);
        let mut line = Vec::new();
        build::request(&mut line, &id, method, Some(params));
        let lost = |_: io::Error| ControlError::Lost { method: method.to_owned() };
        self.connection.stream.write_all(&line).map_err(lost)?;
        loop {
            let line = match deadline {
                None => self.next_line(method)?,
                Some(deadline) => {
                    let left = deadline.get().saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    // An error means that the socket is gone, which the read reports.
                    let _ = self.connection.stream.set_read_timeout(Some(left));
                    match self.next_line_or_timeout(method)? {
                        Some(line) => line,
                        None => return Ok(None),
                    }
                }
            };
            let Some(envelope) = Envelope::peek(&line) else { continue };
            if !envelope.is_response() {
                notification(&line, &mut on_notification);
                continue;
            }
            if envelope.id().as_ref() != Some(&id) {
                continue;
            }
            let odd =
                |error: serde_json::Error| ControlError::Odd { method: method.to_owned(), reason: error.to_string() };
            return match (envelope.result(), envelope.error()) {
                (Some(result), None) => serde_json::from_str(result.get()).map(Some).map_err(odd),
                (_, Some(error)) => Err(refused(method, serde_json::from_str(error.get()).map_err(odd)?)),
                _ => Err(ControlError::Odd { method: method.to_owned(), reason: "`result` is missing".to_owned() }),
            };
        }
    }

    fn next_line(&mut self, method: &str) -> Result<Vec<u8>, ControlError> {
        loop {
            // Without a time-out on the socket, the result is a line or an error.
            if let Some(line) = self.next_line_or_timeout(method)? {
                return Ok(line);
            }
        }
    }

    /// Returns the next line; `None` if the socket's time-out passed first.
    fn next_line_or_timeout(&mut self, method: &str) -> Result<Option<Vec<u8>>, ControlError> {
        loop {
            match self.connection.framer.next_frame() {
                Some(Frame::Line(line)) => return Ok(Some(line.to_vec())),
                Some(Frame::TooLong(long)) => {
                    let reason = format!("{} bytes in one line", long.bytes);
                    return Err(ControlError::Odd { method: method.to_owned(), reason });
                }
                None => {}
            }
            let mut chunk = [0; 16 * 1024];
            match self.connection.stream.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Ok(count) if count > 0 => self.connection.framer.push(&chunk[..count]),
                _ => return Err(ControlError::Lost { method: method.to_owned() }),
            }
        }
    }
}

fn notification(line: &[u8], on_notification: &mut impl FnMut(&str, &Value)) {
    let Some(envelope) = Envelope::peek(line) else { return };
    let params = envelope.params().and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
    if let Some(method) = envelope.method() {
        on_notification(method, &params);
    }
}

#[derive(Deserialize)]
struct RawError {
    code: i64,
    message: String,
    #[serde(default)]
    data: Option<Box<Value>>,
}

fn refused(method: &str, error: RawError) -> ControlError {
    let RawError { code, message, data } = error;
    ControlError::Refused { method: method.to_owned(), code, message, data }
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(object) = &mut value {
        object.retain(|_, value| !value.is_null());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use mcp::wire::Framer;
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// Returns a control connection whose other end has already sent everything, and the requests it receives.
    fn scripted(lines: &'static str) -> (Control, thread::JoinHandle<String>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(lines.as_bytes()).unwrap();
        let asked = thread::spawn(move || {
            let mut asked = String::new();
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            theirs.read_to_string(&mut asked).unwrap();
            asked
        });
        let ack = HelloAck::accepted(1, "life");
        (Control::from_connection(Connection { stream: ours, framer: Framer::default(), ack }), asked)
    }

    #[test]
    fn calls_and_what_comes_meanwhile() {
        let (mut control, asked) = scripted(concat!(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"message":"half"}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"repl/output","params":{"text":"x"}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no tool of that name"}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a"}]}}"#,
            "\n",
        ));
        let mut heard = Vec::new();
        let mut progress = Vec::new();
        let result = control.call(
            "repl_eval",
            Map::new(),
            |report| progress.push(report.message.unwrap_or_default()),
            |method, params| heard.push(format!("{method} {params}")),
        );
        assert_eq!(result.unwrap(), json!({"content": []}));
        assert_eq!((progress, heard), (vec!["half".to_owned()], vec![r#"repl/output {"text":"x"}"#.to_owned()]));
        let refused = control.call("nope", Map::new(), |_| {}, |_, _| {}).unwrap_err();
        assert_eq!(refused.to_string(), "no tool of that name");
        assert_eq!(control.tools(Some("repl"), None).unwrap(), [json!({"name": "a"})]);
        let lost = control.ping().unwrap_err();
        assert_eq!(lost.to_string(), "the daemon ended before it answered ping; call again to start a new daemon");
        let lost = control.call("repl_eval", Map::new(), |_| {}, |_, _| {}).unwrap_err().to_string();
        assert!(lost.contains("may have run, in full or in part"), "{lost}");
        drop(control);
        expect![[r#"
            {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repl_eval","arguments":{},"_meta":{"progressToken":1}}}
            {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nope","arguments":{},"_meta":{"progressToken":2}}}
            {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"toolset":"repl"}}
            {"jsonrpc":"2.0","id":4,"method":"ping","params":{}}
            {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"repl_eval","arguments":{},"_meta":{"progressToken":5}}}
        "#]]
        .assert_eq(&asked.join().unwrap());
    }

    #[test]
    fn the_journal_is_followed_to_its_end() {
        let (control, _) = scripted(concat!(
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"events/entry","params":{"seq":1,"at_ms":5,"record":"daemon_stopping","reason":"idle"}}"#,
            "\n",
        ));
        let mut entries = Vec::new();
        control
            .events(|entry| {
                entries.push(entry);
                true
            })
            .unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!((&*entries[0].record, &entries[0].fields["reason"]), ("daemon_stopping", &json!("idle")));
    }
}
