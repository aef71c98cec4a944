//! A client that speaks MCP to a spawned `hob mcp`, line by line, and checks every line it gets.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::patience;

/// A client of one `hob mcp` process.
pub struct McpPeer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    /// Messages read while waiting for another one, in order.
    unread: VecDeque<Value>,
    next_id: i64,
}

/// The result of a tool call as a client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The text blocks, joined by newlines.
    pub text: String,
    /// The structured content; null without one.
    pub structured: Value,
    /// True if the tool reports an error.
    pub is_error: bool,
}

impl McpPeer {
    /// Starts the command with pipes.
    pub fn spawn(mut command: Command) -> McpPeer {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (stdin, stdout, mut stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout.expect("stdout is a pipe"));
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let text = String::from_utf8_lossy(&line).into_owned();
                line.clear();
                if sender.send(text).is_err() {
                    return;
                }
            }
        });
        let collected = Arc::new(Mutex::new(String::new()));
        let stderr_text = Arc::clone(&collected);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Some(Ok(count @ 1..)) = stderr.as_mut().map(|stderr| stderr.read(&mut buffer)) {
                let text = String::from_utf8_lossy(&buffer[..count]);
                collected.lock().push_str(&text);
            }
        });
        McpPeer { child, stdin, lines, stderr: stderr_text, unread: VecDeque::new(), next_id: 1 }
    }

    /// Returns the process id of the front-end.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Returns the front-end's stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().clone()
    }

    /// Returns true if the front-end is running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Writes bytes unchanged. If the front-end has ended, the next read fails.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its id without waiting.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and returns its result.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let response = self.response(id);
        assert!(response["result"].is_object(), "not a result: {response}");
        response["result"].clone()
    }

    /// Performs the `initialize` handshake and returns its result.
    pub fn initialize(&mut self) -> Value {
        let id = self.request(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "testkit", "version": "0"}}),
        );
        let response = self.response(id);
        self.notify("notifications/initialized", json!({}));
        response["result"].clone()
    }

    /// Starts a tool call and returns its id without waiting.
    pub fn start_call(&mut self, tool: &str, arguments: Value) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and waits for its answer.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let id = self.start_call(tool, arguments);
        self.answer(id)
    }

    /// Waits for the answer to a tool call.
    pub fn answer(&mut self, id: i64) -> Answer {
        let response = self.response(id);
        let result = &response["result"];
        assert!(result.is_object(), "not a result: {response}");
        let blocks = result["content"].as_array().unwrap_or_else(|| panic!("a result without content: {response}"));
        let text: Vec<&str> = blocks
            .iter()
            .map(|block| match (&block["type"], &block["text"]) {
                (Value::String(kind), Value::String(text)) if kind == "text" => text.as_str(),
                _ => panic!("not a text block: {block}"),
            })
            .collect();
        Answer {
            text: text.join("\n"),
            structured: result["structuredContent"].clone(),
            is_error: result["isError"] == true,
        }
    }

    /// Waits for the response to a request.
    pub fn response(&mut self, id: i64) -> Value {
        self.wait_for(&format!("the response to request {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// Waits for the response to a request; `None` if the front-end ends before.
    pub fn response_or_end(&mut self, id: i64) -> Option<Value> {
        let end = Instant::now() + patience();
        loop {
            match self.next_until(end) {
                Ok(message) if message["id"] == id && message.get("method").is_none() => return Some(message),
                Ok(message) => self.unread.push_back(message),
                Err(why) if why == ENDED => return None,
                Err(why) => panic!("waiting for the response to request {id}: {why}"),
            }
        }
    }

    /// Waits for a notification.
    pub fn notification(&mut self, method: &str) -> Value {
        self.wait_for(&format!("a notification {method}"), |message| message["method"] == method)
    }

    /// Waits for the first message that fits. Messages before it are kept, in order.
    ///
    /// # Panics
    /// If no message fits within [`patience()`], a line is not one JSON-RPC message, or the front-end exits.
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.unread.iter().position(&fits) {
            return self.unread.remove(found).expect("a position just found");
        }
        let end = Instant::now() + patience();
        loop {
            match self.next_until(end) {
                Ok(message) if fits(&message) => return message,
                Ok(message) => self.unread.push_back(message),
                Err(why) => {
                    panic!("waiting for {what}: {why}\nunread: {:#?}\nstderr: {}", self.unread, self.stderr())
                }
            }
        }
    }

    /// Returns the next message of any kind, in the order of arrival.
    pub fn next_message(&mut self) -> Value {
        if let Some(message) = self.unread.pop_front() {
            return message;
        }
        self.next_until(Instant::now() + patience())
            .unwrap_or_else(|why| panic!("waiting for a message: {why}\nstderr: {}", self.stderr()))
    }

    /// Returns every message that has arrived and was not returned yet.
    pub fn take_unread(&mut self) -> Vec<Value> {
        while let Ok(line) = self.lines.try_recv() {
            self.unread.push_back(message(&line));
        }
        self.unread.drain(..).collect()
    }

    /// Closes stdin, waits for the exit, and returns the exit status and the unread messages.
    pub fn close(mut self) -> (ExitStatus, Vec<Value>) {
        drop(self.stdin.take());
        let end = Instant::now() + patience();
        loop {
            match self.next_until(end) {
                Ok(message) => self.unread.push_back(message),
                Err(why) if why == ENDED => break,
                Err(why) => panic!("after stdin was closed: {why}"),
            }
        }
        let status = self.child.wait().expect("our own child");
        (status, self.unread.drain(..).collect())
    }

    /// Kills the front-end with SIGKILL.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn next_until(&mut self, end: Instant) -> Result<Value, String> {
        match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(message(&line)),
            Err(RecvTimeoutError::Timeout) => Err("nothing came".to_owned()),
            Err(RecvTimeoutError::Disconnected) => Err(ENDED.to_owned()),
        }
    }
}

const ENDED: &str = "stdout has ended";

/// Parses a line, which must be one complete JSON-RPC message.
fn message(line: &str) -> Value {
    assert!(line.ends_with('\n'), "a torn line: {line:?}");
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC: {line}");
    message
}

impl Drop for McpPeer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
