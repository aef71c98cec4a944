//! The round trip of a small call: through front-end and daemon, directly to the daemon's socket, and through minimal
//! programs that do the same.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::until;

use super::report::{Figure, Target};
use super::{Bench, Samples};
use crate::client::hello;
use crate::pipes::Pipes;

/// Number of calls of one contender before the turn of the next.
const TURN: usize = 100;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let mut hob = Contender::front_end(&mut bench.hob(&["mcp"]))?;
    let mut socket = Contender::socket(bench)?;
    socket.initialize()?;
    let mut bare = Contender::pipes(&mut bench.program("floor-echo"))?;
    let path = bench.dir().join("floor.sock");
    let behind = Pipes::start(bench.program("floor-echo").arg(&path))?;
    until("the floor's socket", || Ok(path.exists().then_some(())))?;
    let mut relay = Contender::pipes(bench.program("floor-relay").arg(&path))?;

    let list = json!({ "name": "repl_list", "arguments": {} });
    let mut samples: [Samples; 6] = Default::default();
    for _ in 0..bench.times(100) {
        bare.turn("ping", None, &mut samples[0])?;
        relay.turn("ping", None, &mut samples[1])?;
        hob.turn("ping", None, &mut samples[2])?;
        socket.turn("ping", None, &mut samples[3])?;
        hob.turn("tools/call", Some(&list), &mut samples[4])?;
        socket.turn("tools/call", Some(&list), &mut samples[5])?;
    }
    for contender in [hob, socket, bare, relay] {
        contender.finish()?;
    }
    behind.finish()?;

    let [bare, relay, hob_ping, socket_ping, hob_call, socket_call] = &samples;
    let mut figures = Vec::new();
    for percent in [50, 99] {
        let mut figure = |what: &str, value: &Samples, floor: (&'static str, &Samples), target| {
            let floor = Some((floor.0, floor.1.percentile(percent)));
            let what = format!("round trip, {what}, p{percent}");
            figures.push(Figure { what, unit: "µs", value: value.percentile(percent), floor, target });
        };
        let most = (percent == 50).then_some(Target::Max(60.0));
        figure("minimal relay and loop", relay, ("minimal loop", bare), None);
        figure("`ping` at the daemon's socket", socket_ping, ("minimal loop", bare), None);
        figure("`ping` through `hob mcp`", hob_ping, ("minimal relay and loop", relay), most);
        figure("`repl_list` at the daemon's socket", socket_call, ("minimal loop", bare), None);
        figure("`repl_list` through `hob mcp`", hob_call, ("minimal relay and loop", relay), most);
        figure("front-end's share of `ping`", hob_ping, ("daemon's socket", socket_ping), None);
    }
    Ok(figures)
}

/// A measured server, called synchronously over pipes or a socket.
pub(super) struct Contender {
    transport: Box<dyn Transport>,
    next_id: u64,
    answer: Vec<u8>,
}

trait Transport {
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
    fn read(&mut self, line: &mut Vec<u8>) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

impl Transport for Pipes {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Pipes::write(self, bytes)
    }

    fn read(&mut self, line: &mut Vec<u8>) -> Result<()> {
        self.read_line(line)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Pipes::finish(*self)
    }
}

impl Transport for BufReader<UnixStream> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.get_mut().write_all(bytes).context("the daemon reads no more")
    }

    fn read(&mut self, line: &mut Vec<u8>) -> Result<()> {
        line.clear();
        if self.read_until(b'\n', line).context("the socket broke")? == 0 {
            bail!("the daemon closed the connection");
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Contender {
    pub(super) fn pipes(command: &mut Command) -> Result<Self> {
        Ok(Self { transport: Box::new(Pipes::start(command)?), next_id: 1, answer: Vec::new() })
    }

    /// A front-end of hob, after the handshake.
    pub(super) fn front_end(command: &mut Command) -> Result<Self> {
        let mut contender = Contender::pipes(command)?;
        contender.initialize()?;
        Ok(contender)
    }

    /// The daemon's socket, without a front-end.
    fn socket(bench: &Bench) -> Result<Self> {
        Ok(Self { transport: Box::new(connect(bench, "mcp")?), next_id: 1, answer: Vec::new() })
    }

    fn initialize(&mut self) -> Result<()> {
        self.request("initialize", Some(&hello(json!({}))))?;
        self.transport.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
    }

    /// Calls a tool; a failed call is an error.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<(Duration, Value)> {
        self.request("tools/call", Some(&json!({ "name": tool, "arguments": arguments })))
    }

    /// Makes the same call `count` times with nothing between an answer and the next call: the requests are built
    /// before, and the answers parsed after.
    pub(super) fn call_back_to_back(
        &mut self,
        tool: &str,
        arguments: &Value,
        count: usize,
    ) -> Result<Vec<(Duration, Value)>> {
        let params = json!({ "name": tool, "arguments": arguments });
        let ids = self.next_id..self.next_id + count as u64;
        self.next_id = ids.end;
        let requests = ids.map(|id| (id, request_line(id, "tools/call", Some(&params)))).collect::<Vec<_>>();
        let mut answers = Vec::with_capacity(count);
        for (id, request) in requests {
            let begin = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
            let started = Instant::now();
            self.transport.write(request.as_bytes())?;
            while {
                self.transport.read(&mut self.answer)?;
                !self.answer.starts_with(begin.as_bytes())
            } {}
            answers.push((id, started.elapsed(), std::mem::take(&mut self.answer)));
        }
        let parsed = answers.into_iter().map(|(id, took, line)| {
            let found = result_of(id, &line)?.context("an answer that has another id within")?;
            Ok((took, found))
        });
        parsed.collect()
    }

    fn turn(&mut self, method: &str, params: Option<&Value>, samples: &mut Samples) -> Result<()> {
        for _ in 0..TURN {
            samples.push(self.request(method, params)?.0);
        }
        Ok(())
    }

    /// The time from the first byte written to the last byte read, and the result.
    pub(super) fn request(&mut self, method: &str, params: Option<&Value>) -> Result<(Duration, Value)> {
        let id = self.next_id;
        self.next_id += 1;
        let request = request_line(id, method, params);
        let started = Instant::now();
        self.transport.write(request.as_bytes())?;
        loop {
            self.transport.read(&mut self.answer)?;
            let took = started.elapsed();
            if let Some(found) = result_of(id, &self.answer)? {
                return Ok((took, found));
            }
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.transport.finish()
    }
}

fn request_line(id: u64, method: &str, params: Option<&Value>) -> String {
    let params = params.map(|params| format!(",\"params\":{params}")).unwrap_or_default();
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"{params}}}\n")
}

/// The result in the answer to this id; `None` for any other message.
fn result_of(id: u64, line: &[u8]) -> Result<Option<Value>> {
    let mut message: Value = serde_json::from_slice(line).context("a line that is no message")?;
    if message["id"] != json!(id) {
        return Ok(None);
    }
    if message.get("error").is_some() || message["result"]["isError"] == true {
        bail!("a call was answered with {message}");
    }
    Ok(Some(message["result"].take()))
}

/// A connection to the project's daemon, after the hello line and its acknowledgement.
pub(super) fn connect(bench: &Bench, role: &str) -> Result<BufReader<UnixStream>> {
    connect_as(bench, role, None)
}

/// [`connect`] under an agent's name.
pub(super) fn connect_as(bench: &Bench, role: &str, name: Option<&str>) -> Result<BufReader<UnixStream>> {
    let status = status(bench)?;
    let path = status.pointer("/daemon/socket").and_then(Value::as_str).map(PathBuf::from);
    let path = path.with_context(|| format!("`hob status --json` names no socket: {status}"))?;
    let stream = UnixStream::connect(&path).with_context(|| format!("could not connect to {path:?}"))?;
    let mut stream = BufReader::new(stream);
    let hello =
        json!({ "hob": 1, "role": role, "cwd": bench.dir(), "worktree": bench.dir(), "as": name, "version": "bench" });
    Transport::write(&mut stream, format!("{hello}\n").as_bytes())?;
    let mut answer = Vec::new();
    Transport::read(&mut stream, &mut answer)?;
    let answer: Value = serde_json::from_slice(&answer).context("the daemon's acknowledgement is no JSON")?;
    if answer["ok"] != true {
        bail!("the daemon refused: {answer}");
    }
    Ok(stream)
}

/// The process id of the project's daemon, from `hob status`.
pub(super) fn daemon_pid(bench: &Bench) -> Result<u32> {
    let status = status(bench)?;
    let pid = status.pointer("/daemon/pid").or(status.get("pid")).and_then(Value::as_u64);
    let pid = pid.with_context(|| format!("`hob status --json` names no pid: {status}"))?;
    u32::try_from(pid).context("no process id")
}

/// The output of `hob status --json`, also if no daemon runs.
pub(super) fn status(bench: &Bench) -> Result<Value> {
    let mut command = bench.hob(&["status", "--json"]);
    let output = command.stderr(Stdio::piped()).output().context("could not run `hob status`")?;
    serde_json::from_slice(&output.stdout).context("`hob status --json` printed no JSON")
}
