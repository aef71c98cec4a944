//! A minimal MCP client: starts a server, speaks to it over pipes, and bounds the wait for each answer.
//! The demonstration, the made-up part and the bench drive the product through it; it shares no code with the product.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use crate::workspace::KillOnDrop;

/// A running server with its pipes.
pub struct Agent {
    child: KillOnDrop,
    stdin: Option<ChildStdin>,
    lines: Receiver<Result<String, std::io::Error>>,
    next_id: u64,
    /// Messages other than the awaited answer, in order of arrival.
    pub notifications: Vec<Value>,
}

impl Agent {
    /// Starts the command with piped stdin and stdout; stderr is the caller's choice.
    pub fn start(command: &mut Command) -> Result<Self> {
        let (child, stdin, stdout) = KillOnDrop::piped(command)?;
        let (sender, lines) = sync_channel(1024);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, stdin: Some(stdin), lines, next_id: 1, notifications: Vec::new() })
    }

    /// Starts `hob mcp` in the project at `dir`.
    pub fn hob(hob: &Path, dir: &Path, args: &[&str]) -> Result<Self> {
        Self::start(Command::new(hob).arg("mcp").args(args).current_dir(dir))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the `initialize` handshake.
    pub fn initialize(&mut self) -> Result<Value> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "xtask", "version": "1" },
        });
        let result = self.request("initialize", params, Duration::from_secs(30))?;
        self.notify("notifications/initialized")?;
        Ok(result)
    }

    pub fn notify(&mut self, method: &str) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
    }

    /// Calls a tool and returns its result, also one with `isError`.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }), Duration::from_secs(120))
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value, limit: Duration) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let deadline = Instant::now() + limit;
        loop {
            let mut message = self.read(deadline).with_context(|| format!("no answer to {method}"))?;
            if message["id"] != json!(id) || message.get("method").is_some() {
                self.notifications.push(message);
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("{method} was refused: {error}");
            }
            return Ok(message["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("its input is closed")?;
        let mut line = message.to_string();
        line.push('\n');
        stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).context("the server reads no more")
    }

    /// Reads the next message; anything on stdout that is not JSON is a failure.
    fn read(&mut self, deadline: Instant) -> Result<Value> {
        let wait = deadline.saturating_duration_since(Instant::now());
        let line = match self.lines.recv_timeout(wait) {
            Ok(line) => line.context("the server's output broke")?,
            Err(RecvTimeoutError::Timeout) => bail!("nothing came in time"),
            Err(RecvTimeoutError::Disconnected) => bail!("the server closed its output"),
        };
        serde_json::from_str(&line).map_err(|_| anyhow!("the server printed something that is no message: {line}"))
    }

    /// Closes the input, as an agent does when it exits, and waits for the server to end.
    pub fn finish(mut self) -> Result<()> {
        self.stdin = None;
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.read(deadline).is_ok() {}
        let status = self.child.wait().context("could not wait for the server")?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }
}

/// The text of a tool's result, as a model reads it.
pub fn text(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Synchronous pipes, for measuring: no thread stands between the server's write and our read.
pub struct Pipes {
    child: KillOnDrop,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Pipes {
    pub fn start(command: &mut Command) -> Result<Self> {
        let (child, stdin, stdout) = KillOnDrop::piped(command)?;
        Ok(Self { child, stdin: Some(stdin), stdout: BufReader::with_capacity(1 << 16, stdout) })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes one line, which must end in a newline.
    pub fn write(&mut self, line: &[u8]) -> Result<()> {
        self.stdin.as_mut().context("its input is closed")?.write_all(line).context("the program reads no more")
    }

    /// Reads one line into `line`, which is cleared first.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> Result<()> {
        line.clear();
        let count = self.stdout.read_until(b'\n', line).context("the program's output broke")?;
        if count == 0 {
            bail!("the program closed its output");
        }
        Ok(())
    }

    /// Writes a request and reads until its answer, past all other messages.
    pub fn round_trip(&mut self, request: &[u8], id: u64, line: &mut Vec<u8>) -> Result<()> {
        self.write(request)?;
        loop {
            self.read_line(line)?;
            let message: Value = serde_json::from_slice(line).context("a line that is no message")?;
            if message["id"] == json!(id) && message.get("method").is_none() {
                return Ok(());
            }
        }
    }

    /// Closes the input and waits for the process to end.
    pub fn finish(mut self) -> Result<()> {
        self.stdin = None;
        std::io::copy(&mut self.stdout, &mut std::io::sink()).context("the program's output broke")?;
        self.child.wait().context("could not wait for the program")?;
        Ok(())
    }
}
