//! A connection to the daemon's socket that speaks MCP for one agent with as little work as possible: a front-end, and
//! parsing each answer, would take processor time from the daemon that is measured.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::super::Bench;
use super::super::echo::connect_as;
use crate::client::hello;

/// A connection under an agent's name.
pub(super) struct Connection {
    stream: BufReader<UnixStream>,
    next_id: u64,
    /// The last answer, unparsed.
    pub(super) answer: Vec<u8>,
}

impl Connection {
    /// Connects, initializes, and registers the agent.
    pub(super) fn open(bench: &Bench, name: &str, role: &str) -> Result<Connection> {
        let mut line = Connection { stream: connect_as(bench, "mcp", Some(name))?, next_id: 1, answer: Vec::new() };
        line.write("initialize", &hello(json!({})))?;
        line.read()?;
        line.stream.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        line.call("register_agent", &json!({ "name": name, "role": role, "module": "bench" }))?;
        Ok(line)
    }

    fn write(&mut self, method: &str, params: &Value) -> Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n");
        self.stream.get_mut().write_all(request.as_bytes()).context("the daemon reads no more")
    }

    fn read(&mut self) -> Result<()> {
        loop {
            self.answer.clear();
            if self.stream.read_until(b'\n', &mut self.answer)? == 0 {
                bail!("the daemon closed the connection");
            }
            // Skips progress and other notifications.
            if !self.has("\"method\":") || self.has("\"result\":") {
                return Ok(());
            }
        }
    }

    /// Calls a tool and does not wait for its answer.
    pub(super) fn begin(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.write("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool and leaves its answer in `answer`; a failed call is an error.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.begin(tool, arguments)?;
        self.read()?;
        if self.has("\"isError\":true") || self.has("\"error\":{") {
            bail!("{tool}: {}", String::from_utf8_lossy(&self.answer));
        }
        Ok(())
    }

    /// The last answer's structured content.
    pub(super) fn structured(&self) -> Result<Value> {
        let mut message: Value = serde_json::from_slice(&self.answer).context("a line that is no message")?;
        Ok(message["result"]["structuredContent"].take())
    }

    /// The id in the answer to `send_message`.
    pub(super) fn message_id(&self) -> Result<String> {
        let text = std::str::from_utf8(&self.answer)?;
        let after = text.split_once("\"message_id\":\"").context("no id in the answer")?.1;
        Ok(after.split('"').next().unwrap_or_default().to_owned())
    }

    fn has(&self, part: &str) -> bool {
        // The envelope is at the beginning of an answer, and `isError` at its end.
        let (head, tail) = (&self.answer[..self.answer.len().min(64)], self.answer.len().saturating_sub(64));
        [head, &self.answer[tail..]].iter().any(|end| end.windows(part.len()).any(|at| at == part.as_bytes()))
    }
}
