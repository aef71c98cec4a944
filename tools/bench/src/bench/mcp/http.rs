//! How long a call takes over one HTTP connection that is kept alive.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use taskkit::workspace::KillOnDrop;

use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};
use super::peers::Peers;
use super::pipes::{Era, call};

/// Calls of one contender before the turn of the next.
const TURN: usize = 100;

pub(super) fn measure(bench: &Bench, examples: &Path, peers: &Peers) -> Result<Vec<Figure>> {
    let ours = Server::start(Command::new(examples.join("http")).stdout(Stdio::null()).stderr(Stdio::piped()))?;
    let rmcp = Server::start(Command::new(&peers.rmcp).arg("--http").stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let mut figures = Vec::new();
    for (era, name) in [(Era::Legacy, "legacy"), (Era::Modern, "modern")] {
        let (mut one, mut other) = (Client::connect(&ours, era)?, Client::connect(&rmcp, era)?);
        let (mut mine, mut theirs) = (Samples::default(), Samples::default());
        for _ in 0..bench.times(40) {
            one.turn(&mut mine).context("this library")?;
            other.turn(&mut theirs).context("rmcp")?;
        }
        for percent in [50, 99] {
            figures.push(Figure {
                what: format!("HTTP round trip, this library, {name}, p{percent}"),
                unit: "µs",
                value: mine.percentile(percent),
                floor: Some(("rmcp, same era", theirs.percentile(percent))),
                target: (percent == 50).then_some(Target::MaxTimesFloor(1.0)),
            });
        }
    }
    Ok(figures)
}

/// A server that prints its port or address.
struct Server {
    _child: KillOnDrop,
    port: u16,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::null()).spawn().context("could not start the server")?;
        let mut child = KillOnDrop(child);
        let mut said = String::new();
        match (child.stdout.take(), child.stderr.take()) {
            (Some(stdout), _) => BufReader::new(stdout).read_line(&mut said),
            (_, Some(stderr)) => BufReader::new(stderr).read_line(&mut said),
            _ => bail!("the server cannot say where it listens"),
        }
        .context("the server did not say where it listens")?;
        // A port, or an address that ends in one.
        let port = said.trim().trim_end_matches("/mcp").rsplit(':').next().unwrap_or_default();
        let port = port.parse().with_context(|| format!("no port in {said:?}"))?;
        Ok(Self { _child: child, port })
    }
}

struct Client {
    stream: BufReader<TcpStream>,
    /// The headers of every request but its length.
    head: String,
    era: Era,
    last: usize,
    body: Vec<u8>,
}

impl Client {
    fn connect(server: &Server, era: Era) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).context("could not connect")?;
        stream.set_nodelay(true).context("could not set the socket up")?;
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n",
            server.port
        );
        let mut client = Self { stream: BufReader::new(stream), head: head.clone(), era, last: 0, body: Vec::new() };
        match era {
            Era::Modern => {
                head.push_str("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n");
            }
            Era::Legacy => {
                let hello = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
                             \"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}";
                let session = client.post(hello)?.context("no session")?;
                head.push_str(&format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"));
                client.head = head.clone();
                client.post("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")?;
            }
        }
        client.head = head;
        Ok(client)
    }

    fn turn(&mut self, samples: &mut Samples) -> Result<()> {
        for _ in 0..TURN {
            self.last += 1;
            let line = call(self.last, self.era);
            let sent = Instant::now();
            self.post(line.trim_end())?;
            samples.push(sent.elapsed());
            let said = String::from_utf8_lossy(&self.body);
            if !said.contains(&format!("\"id\":{}", self.last)) || !said.contains("hello, world") {
                bail!("call {} was answered with {said}", self.last);
            }
        }
        Ok(())
    }

    /// Sends one message and keeps the answer's body. Returns the session id if the server sends one.
    fn post(&mut self, message: &str) -> Result<Option<String>> {
        let request = format!("{}Content-Length: {}\r\n\r\n{message}", self.head, message.len());
        self.stream.get_mut().write_all(request.as_bytes()).context("the server reads no more")?;
        let status = self.line()?;
        if !status.contains(" 200 ") && !status.contains(" 202 ") {
            bail!("the server answered {status:?}");
        }
        let (mut length, mut chunked, mut session) = (0, false, None);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            match (name.to_ascii_lowercase().as_str(), value.trim()) {
                ("content-length", value) => length = value.parse().context("a length that is none")?,
                ("transfer-encoding", "chunked") => chunked = true,
                ("mcp-session-id", value) => session = Some(value.to_owned()),
                _ => {}
            }
        }
        self.body.clear();
        if !chunked {
            self.take(length)?;
            return Ok(session);
        }
        loop {
            let size = self.line()?;
            let size = usize::from_str_radix(size.trim(), 16).with_context(|| format!("no size: {size:?}"))?;
            self.take(size)?;
            self.line()?;
            if size == 0 {
                return Ok(session);
            }
        }
    }

    fn take(&mut self, count: usize) -> Result<()> {
        let from = self.body.len();
        self.body.resize(from + count, 0);
        self.stream.read_exact(&mut self.body[from..]).context("the server closed the connection")
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).context("the connection broke")? == 0 {
            bail!("the server closed the connection");
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}
