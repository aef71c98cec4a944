//! An MCP client with many calls in flight: of an agent's front-end, or of a person's control connection. A thread reads
//! the messages and records their times.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::workspace::KillOnDrop;

/// Timeout of a call.
const PATIENCE: Duration = Duration::from_secs(120);

/// A message, and the time at which it was read.
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) message: Value,
}

pub(crate) struct Client {
    writer: Box<dyn Write + Send>,
    arrivals: Receiver<Arrival>,
    /// Messages other than an awaited one, in order.
    unread: VecDeque<Arrival>,
    next_id: u64,
    /// The front-end, which ends when this is dropped.
    process: Option<KillOnDrop>,
}

impl Client {
    /// Starts a front-end on pipes and completes the handshake. Its stderr is the caller's choice.
    pub(crate) fn start(command: &mut Command) -> Result<Client> {
        Client::start_with(command, json!({}))
    }

    /// [`Client::start`] with these capabilities.
    pub(crate) fn start_with(command: &mut Command, capabilities: Value) -> Result<Client> {
        let (process, stdin, stdout) = KillOnDrop::piped(command)?;
        let mut client = Client { process: Some(process), ..Client::from_streams(stdin, stdout) };
        client.request("initialize", hello(capabilities))?;
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Speaks over a connection without a handshake.
    pub(crate) fn from_streams(writer: impl Write + Send + 'static, reader: impl Read + Send + 'static) -> Client {
        let (sender, arrivals) = channel();
        thread::spawn(move || {
            let (mut reader, mut bytes) = (BufReader::new(reader), Vec::new());
            while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
                let at = Instant::now();
                let Ok(message) = serde_json::from_slice(&bytes) else { break };
                bytes.clear();
                if sender.send(Arrival { at, message }).is_err() {
                    break;
                }
            }
        });
        Client { writer: Box::new(writer), arrivals, unread: VecDeque::new(), next_id: 1, process: None }
    }

    /// Returns the process ids of the started program and of its children.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let Some(process) = &self.process else { return Vec::new() };
        let pid = process.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        std::iter::once(pid).chain(children.split_whitespace().filter_map(|pid| pid.parse().ok())).collect()
    }

    pub(crate) fn write(&mut self, message: &Value) -> Result<()> {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).and_then(|()| self.writer.flush()).context("nobody reads any more")
    }

    /// Sends a request without waiting, and returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Starts a tool call, and returns its id.
    pub(crate) fn begin_call(&mut self, tool: &str, arguments: Value) -> Result<u64> {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Returns the first message that matches. Earlier ones are kept.
    pub(crate) fn first(&mut self, within: Duration, fits: impl Fn(&Value) -> bool) -> Result<Arrival> {
        if let Some(at) = self.unread.iter().position(|arrival| fits(&arrival.message)) {
            return self.unread.remove(at).context("a position just found");
        }
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let arrival = self.arrivals.recv_timeout(left).context("no message arrived")?;
            if fits(&arrival.message) {
                return Ok(arrival);
            }
            self.unread.push_back(arrival);
        }
    }

    /// Returns the answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Result<Arrival> {
        self.answer_within(id, PATIENCE)
    }

    pub(crate) fn answer_within(&mut self, id: u64, within: Duration) -> Result<Arrival> {
        self.first(within, |message| message["id"] == id && message.get("method").is_none())
    }

    /// Sends a request and returns its result.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.begin(method, params)?;
        let mut message = self.answer(id).with_context(|| format!("no answer to {method}"))?.message;
        match message.get("error") {
            Some(error) => bail!("{method} was refused: {error}"),
            None => Ok(message["result"].take()),
        }
    }

    /// Calls a tool and returns its result, also one with `isError`.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool and returns its result; one with `isError` is an error.
    pub(crate) fn succeed(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        let result = self.call(tool, arguments)?;
        if result["isError"] == true {
            bail!("{tool}: {result}");
        }
        Ok(result)
    }

    /// Closes the front-end's input, as an agent does when it exits, and waits for its end.
    pub(crate) fn finish(self) -> Result<()> {
        drop(self.writer);
        while self.arrivals.recv_timeout(Duration::from_secs(10)).is_ok() {}
        let mut process = self.process.context("no front-end was started")?;
        let status = process.wait().context("could not wait for the front-end")?;
        if !status.success() {
            bail!("the front-end ended with {status}");
        }
        Ok(())
    }
}

/// The parameters of `initialize`.
pub(crate) fn hello(capabilities: Value) -> Value {
    json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "bench", "version": "1" },
    })
}

/// Returns the text of a tool's result, as a model reads it.
pub(crate) fn text(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}
