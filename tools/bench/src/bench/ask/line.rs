//! A connection with many calls in flight: an agent's front-end, or a person's control connection. A thread reads the
//! messages and records their times.
//!
//! Each agent is a separate script that starts its front-end. A descendant of an agent may not answer, and the bench
//! itself acts as the person.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::workspace::KillOnDrop;

use super::super::Bench;
use super::super::echo::connect;

/// A message, and the time at which it was read.
pub(super) struct Came {
    pub(super) at: Instant,
    pub(super) message: Value,
}

pub(super) struct Line {
    writer: Box<dyn Write + Send>,
    came: Receiver<Came>,
    unread: VecDeque<Came>,
    next_id: u64,
    /// The agent, which ends when this is dropped.
    agent: Option<KillOnDrop>,
}

impl Line {
    /// Starts an agent's front-end with further arguments of `hob mcp`, and completes the handshake. `dialogs` is the client's capability.
    pub(super) fn agent(bench: &Bench, args: &[&str], dialogs: bool) -> Result<Line> {
        let script = bench.dir().join("agent.sh");
        std::fs::write(&script, "\"$@\"\nexit $?\n").context("could not write the agent's script")?;
        let mut command = Command::new("sh");
        command.arg(&script).arg(bench.programs.join("hob")).arg("mcp").args(args);
        command.current_dir(bench.dir()).stderr(Stdio::null());
        let (child, stdin, stdout) = KillOnDrop::piped(&mut command)?;
        let mut line = Line::over(Box::new(stdin), stdout);
        line.agent = Some(child);
        let can = if dialogs { json!({ "elicitation": {} }) } else { json!({}) };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": { "name": "bench", "version": "1" },
        });
        line.request("initialize", params)?;
        line.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(line)
    }

    /// Opens a person's connection, as the command line does.
    pub(super) fn person(bench: &Bench) -> Result<Line> {
        let stream = connect(bench, "control")?;
        // The daemon sends nothing before a request, so the buffer is empty.
        let stream = stream.into_inner();
        let reader = stream.try_clone().context("could not share the socket")?;
        Ok(Line::over(Box::new(stream), reader))
    }

    fn over(writer: Box<dyn Write + Send>, reader: impl Read + Send + 'static) -> Line {
        let (sender, came) = channel();
        thread::spawn(move || {
            let (mut reader, mut bytes) = (BufReader::new(reader), Vec::new());
            while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
                let at = Instant::now();
                let Ok(message) = serde_json::from_slice(&bytes) else { break };
                bytes.clear();
                if sender.send(Came { at, message }).is_err() {
                    break;
                }
            }
        });
        Line { writer, came, unread: VecDeque::new(), next_id: 1, agent: None }
    }

    /// Returns the process ids of the agent and of its front-end.
    pub(super) fn processes(&self) -> Vec<u32> {
        let Some(agent) = &self.agent else { return Vec::new() };
        let pid = agent.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        std::iter::once(pid).chain(children.split_whitespace().filter_map(|pid| pid.parse().ok())).collect()
    }

    pub(super) fn write(&mut self, message: &Value) -> Result<()> {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).and_then(|()| self.writer.flush()).context("nobody reads any more")
    }

    /// Sends a request without waiting.
    pub(super) fn begin(&mut self, method: &str, params: Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Starts a tool call.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<u64> {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Returns the first message that matches. Earlier ones are kept.
    pub(super) fn first(&mut self, within: Duration, fits: impl Fn(&Value) -> bool) -> Result<Came> {
        if let Some(at) = self.unread.iter().position(|came| fits(&came.message)) {
            return self.unread.remove(at).context("a place just found");
        }
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let came = self.came.recv_timeout(left).context("nothing came")?;
            if fits(&came.message) {
                return Ok(came);
            }
            self.unread.push_back(came);
        }
    }

    /// Returns the answer to a request.
    pub(super) fn answer(&mut self, id: u64) -> Result<Came> {
        self.first(Duration::from_secs(120), |message| message["id"] == id && message.get("method").is_none())
    }

    /// Sends a request and returns its result.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.begin(method, params)?;
        let mut message = self.answer(id)?.message;
        match message.get("error") {
            Some(error) => bail!("{method} was refused: {error}"),
            None => Ok(message["result"].take()),
        }
    }

    /// Returns a tool's result; fails for an error.
    pub(super) fn result(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        let id = self.call(tool, arguments)?;
        let mut message = self.answer(id)?.message;
        if message.get("error").is_some() || message["result"]["isError"] == true {
            bail!("{tool}: {message}");
        }
        Ok(message["result"].take())
    }
}
