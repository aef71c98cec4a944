//! One connection on pipes: the time of a call, the throughput, and the server's memory.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;
use taskkit::workspace::KillOnDrop;

use super::super::procfs::Memory;
use super::super::{Bench, Samples};
use super::peers::Peers;

pub(super) const FLOOR: &str = "synchronous loop";
pub(super) const BATCHING: &str = "batching loop";
pub(super) const BATCHING_MODERN: &str = "batching loop, modern calls";

/// Number of calls sent at once, which must all succeed in bounded memory. The other count applies to every server.
pub(super) const AT_ONCE: usize = 20_000;

/// Number of sequential calls measured.
const ROUND_TRIPS: usize = 4_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// A server to measure.
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) is_ours: bool,
    pub(super) era: Era,
    command: Vec<std::ffi::OsString>,
}

/// The measurements of one contender over all rounds.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) cold: Samples,
    /// With the two ends on the cores that the kernel chooses.
    pub(super) round_trips: Samples,
    /// With both ends on one core: no sleeping core has to be woken, so chance plays no part.
    pub(super) one_core: Samples,
    /// Of the best round.
    pub(super) per_second: f64,
    /// In MiB.
    pub(super) idle: f64,
    pub(super) peak: f64,
}

pub(super) fn contenders(examples: &Path, peers: &Peers) -> Vec<Contender> {
    let native = |name, program: &Path, is_ours, era| Contender { name, is_ours, era, command: vec![program.into()] };
    let script = |name, era, interpreter: &Path, script: &Path| Contender {
        name,
        is_ours: false,
        era,
        command: vec![interpreter.into(), script.into()],
    };
    let (floor, batching, echo) = (examples.join("floor"), examples.join("floor_tokio"), examples.join("echo"));
    let (sdk1, sdk2) = (peers.scripts.join("sdk1.mjs"), peers.scripts.join("sdk2.mjs"));
    vec![
        native(FLOOR, &floor, false, Era::Legacy),
        native(BATCHING, &batching, false, Era::Legacy),
        native("this library, legacy", &echo, true, Era::Legacy),
        native(BATCHING_MODERN, &batching, false, Era::Modern),
        native("this library, modern", &echo, true, Era::Modern),
        native("rmcp 3.11, legacy", &peers.rmcp, false, Era::Legacy),
        native("rmcp 3.11, modern", &peers.rmcp, false, Era::Modern),
        script("TypeScript SDK 1.32", Era::Legacy, &peers.node, &sdk1),
        script("TypeScript SDK 2.4, legacy", Era::Legacy, &peers.node, &sdk2),
        script("TypeScript SDK 2.4, modern", Era::Modern, &peers.node, &sdk2),
        script("Python mcp 2.3, legacy", Era::Legacy, &peers.python, &peers.script),
    ]
}

impl Contender {
    /// Runs one round in a separate process.
    pub(super) fn measure(&self, bench: &Bench, measured: &mut Measured) -> Result<()> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).current_dir(bench.dir()).stderr(Stdio::null());
        let started = Instant::now();
        let mut server = Server::start(&mut command)?;
        if self.era == Era::Legacy {
            server.write(HELLO)?;
            server.read_lines(1)?;
            server.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        } else {
            server.write(call(0, self.era).as_bytes())?;
            server.read_lines(1)?;
        }
        measured.cold.push(started.elapsed());
        let memory = Memory::read(server.child.id())?;
        measured.idle = if measured.idle == 0.0 { memory.resident } else { measured.idle.min(memory.resident) };

        let count = bench.times(ROUND_TRIPS);
        server.round_trips(count, self.era, &mut measured.round_trips)?;
        let all_cores = server.share_one_core()?;
        server.round_trips(count, self.era, &mut measured.one_core)?;
        server.run_on(&all_cores)?;
        server.pipeline(AT_ONCE, self.era)?;
        measured.peak = measured.peak.max(Memory::peak(server.child.id())?);
        let took = server.pipeline(AT_ONCE, self.era)?;
        measured.per_second = measured.per_second.max(AT_ONCE as f64 / took.as_secs_f64());
        server.finish()
    }
}

const HELLO: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\
    \"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";

const META: &str = ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
    \"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1\"},\
    \"io.modelcontextprotocol/clientCapabilities\":{}}";

/// A call as a line; in the modern era it names its revision.
pub(super) fn call(id: usize, era: Era) -> String {
    let meta = if era == Era::Modern { META } else { "" };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":\
         {{\"name\":\"echo\",\"arguments\":{{\"text\":\"hello, world\"}}{meta}}}}}\n"
    )
}

/// A running server. While it is timed, its output is only counted.
struct Server {
    child: KillOnDrop,
    input: Option<ChildStdin>,
    output: ChildStdout,
    read: Vec<u8>,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self> {
        let (child, input, output) = KillOnDrop::piped(command)?;
        Ok(Self { child, input: Some(input), output, read: Vec::new() })
    }

    fn write(&mut self, line: &[u8]) -> Result<()> {
        self.input.as_mut().context("its input is closed")?.write_all(line).context("the server reads no more")
    }

    /// Reads `count` lines into `read`, which is cleared first.
    fn read_lines(&mut self, count: usize) -> Result<()> {
        self.read.clear();
        let mut lines = 0;
        while lines < count {
            let from = self.read.len();
            self.read.resize(from + (64 << 10), 0);
            let got = self.output.read(&mut self.read[from..]).context("the server's output broke")?;
            if got == 0 {
                bail!("the server ended after {lines} of {count} answers");
            }
            self.read.truncate(from + got);
            lines += self.read[from..].iter().filter(|byte| **byte == b'\n').count();
        }
        Ok(())
    }

    /// Calls one after the other.
    fn round_trips(&mut self, count: usize, era: Era, samples: &mut Samples) -> Result<()> {
        for id in 1..=count {
            let line = call(id, era);
            let sent = Instant::now();
            self.write(line.as_bytes())?;
            self.read_lines(1)?;
            samples.push(sent.elapsed());
        }
        Ok(())
    }

    /// Puts the server and this thread on one core; returns the cores they ran on.
    fn share_one_core(&self) -> Result<CpuSet> {
        let all_cores = sched_getaffinity(None).context("could not see which cores there are")?;
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|core| all_cores.is_set(*core)).context("there is no core")?);
        self.run_on(&one)?;
        Ok(all_cores)
    }

    fn run_on(&self, cores: &CpuSet) -> Result<()> {
        sched_setaffinity(None, cores).context("could not choose a core")?;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let thread = thread?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            match sched_setaffinity(thread, cores) {
                // The thread has just ended.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => return Err(error).context("could not choose the server's core"),
            }
        }
        Ok(())
    }

    /// Sends `count` calls without waiting, checks that each is answered once and correctly, and returns the time.
    fn pipeline(&mut self, count: usize, era: Era) -> Result<Duration> {
        let lines: String = (1..=count).map(|id| call(id, era)).collect();
        let mut input = self.input.take().context("its input is closed")?;
        let begun = Instant::now();
        let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()).map(|()| input));
        self.read_lines(count)?;
        let took = begun.elapsed();
        let written = writing.join().map_err(|_| anyhow::anyhow!("the writing thread panicked"))?;
        self.input = Some(written.context("the server reads no more")?);
        self.check(count)?;
        Ok(took)
    }

    fn check(&self, count: usize) -> Result<()> {
        let mut seen = vec![false; count + 1];
        for line in self.read.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let answer: Value = serde_json::from_slice(line).context("a line that is no message")?;
            let id =
                answer["id"].as_u64().and_then(|id| usize::try_from(id).ok()).filter(|id| (1..=count).contains(id));
            let id = id.with_context(|| format!("an answer to nothing: {answer}"))?;
            if std::mem::replace(&mut seen[id], true) {
                bail!("call {id} was answered twice");
            }
            if answer["result"]["content"][0]["text"] != "hello, world" {
                bail!("call {id} was answered with {answer}");
            }
        }
        if seen[1..].iter().all(|seen| *seen) { Ok(()) } else { bail!("a call was not answered") }
    }

    fn finish(mut self) -> Result<()> {
        self.input = None;
        std::io::copy(&mut self.output, &mut std::io::sink()).context("the server's output broke")?;
        self.child.wait().context("could not wait for the server")?;
        Ok(())
    }
}
