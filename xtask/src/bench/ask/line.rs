//! A connection that speaks JSON-RPC line by line: an agent's, through a front-end of its own, or a control connection at
//! the daemon's socket. A thread reads, and notes when each message came.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use super::super::Bench;
use super::super::echo::connect;
use crate::workspace::KillOnDrop;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// A message, and when it came.
pub(super) type Timed = (Instant, Value);

pub(super) struct Line {
    writer: Box<dyn Write + Send>,
    messages: Receiver<Timed>,
    /// Those that came while another was waited for.
    aside: VecDeque<Timed>,
    next_id: u64,
    child: Option<KillOnDrop>,
}

impl Line {
    /// An agent with its own front-end. Who answers must not descend from the agent, so the agent is a script.
    pub(super) fn agent(bench: &Bench, args: &str, capabilities: Value) -> Result<Line> {
        let script = bench.dir().join("agent");
        if !script.exists() {
            std::fs::write(&script, "\"$0.hob\" mcp \"$@\"; exit $?")?;
            std::os::unix::fs::symlink(bench.programs.join("hob"), script.with_extension("hob"))?;
        }
        let mut command = Command::new("sh");
        command.current_dir(bench.dir()).stderr(Stdio::null());
        // A group, so that a kill meets the shell and its front-end.
        command.arg(script).args(args.split_whitespace()).process_group(0);
        let (child, stdin, stdout) = KillOnDrop::piped(&mut command)?;
        let mut line = Line::of(Box::new(stdin), stdout);
        line.child = Some(child);
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "bench", "version": "1" },
        });
        line.request("initialize", params)?;
        line.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(line)
    }

    /// Whoever answers.
    pub(super) fn control(bench: &Bench) -> Result<Line> {
        let stream = connect(bench, "control")?;
        let writer = stream.get_ref().try_clone().context("a socket")?;
        Ok(Line::of(Box::new(writer), stream))
    }

    fn of(writer: Box<dyn Write + Send>, reader: impl Read + Send + 'static) -> Line {
        let (sender, messages) = channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines() {
                let (at, Ok(line)) = (Instant::now(), line) else { break };
                let Ok(message) = serde_json::from_str(&line) else { break };
                if sender.send((at, message)).is_err() {
                    break;
                }
            }
        });
        Line { writer, messages, aside: VecDeque::new(), next_id: 1, child: None }
    }

    /// The process group of the agent.
    pub(super) fn group(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.id())
    }

    pub(super) fn send(&mut self, message: &Value) -> Result<()> {
        self.writer.write_all(format!("{message}\n").as_bytes()).context("nobody reads any more")
    }

    /// Makes a request, and does not wait for its answer.
    pub(super) fn begin(&mut self, method: &str, params: Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    pub(super) fn begin_call(&mut self, tool: &str, arguments: Value) -> Result<u64> {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The next message that is so, past all others, which are kept.
    pub(super) fn next(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Result<Timed> {
        if let Some(at) = self.aside.iter().position(|(_, message)| is(message)) {
            return self.aside.remove(at).context("it was there");
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let came = self.messages.recv_timeout(left).map_err(|error| anyhow!("waited for {what}: {error}"))?;
            if is(&came.1) {
                return Ok(came);
            }
            self.aside.push_back(came);
        }
    }

    /// The answer to a request: a result, or an error, as it came.
    pub(super) fn answer(&mut self, id: u64) -> Result<Timed> {
        self.next("an answer", |message| message["id"] == id && message.get("method").is_none())
    }

    /// Makes a request and waits for its result.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.begin(method, params)?;
        let (_, mut answer) = self.answer(id)?;
        if answer["error"].is_object() || answer["result"]["isError"] == true {
            bail!("{method}: {answer}");
        }
        Ok(answer["result"].take())
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// How long a call takes.
    pub(super) fn timed_call(&mut self, tool: &str, arguments: Value) -> Result<Duration> {
        let begun = Instant::now();
        let id = self.begin_call(tool, arguments)?;
        let (at, answer) = self.answer(id)?;
        if answer["error"].is_object() || answer["result"]["isError"] == true {
            bail!("{tool}: {answer}");
        }
        Ok(at.saturating_duration_since(begun))
    }

    /// Forgets messages that nobody waits for.
    pub(super) fn forget(&mut self) {
        self.aside.clear();
        while self.messages.try_recv().is_ok() {}
    }
}
