//! Many connections to one daemon: the cost of a thousand idle ones, and the effect of one that never reads on another.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::echo::{connect, daemon_pid};
use super::super::procfs::{Memory, processor_ms};
use super::super::report::{Figure, Target};
use super::super::{Bench, Samples};

const CONNECTIONS: usize = 1_000;
/// How long the processor time of an idle daemon is measured.
const IDLE_TIME: Duration = Duration::from_secs(2);
/// Requests of the connection that does not read. Their answers exceed all buffers on the way many times.
const UNREAD: usize = 20_000;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    // This call starts the daemon.
    let started = bench.hob(&["call", "repl_list"]).output().context("could not run `hob call`")?;
    if !started.status.success() {
        bail!("`hob call repl_list` failed: {}", String::from_utf8_lossy(&started.stdout));
    }
    let daemon = daemon_pid(bench)?;
    // Before the slow reader: memory that the allocator keeps after it would be counted too.
    let mut figures = Vec::new();
    let before = Memory::read(daemon)?;
    let mut idle = Vec::new();
    for at in 0..CONNECTIONS {
        let mut stream = connect(bench, "mcp").with_context(|| format!("connection {at}"))?;
        round_trip(&mut stream, "tools/list", 1)?;
        idle.push(stream);
    }
    let (resident, began) = (Memory::read(daemon)?, processor_ms(daemon)?);
    std::thread::sleep(IDLE_TIME);
    let used = processor_ms(daemon)? - began;
    let memory = |what: String, value, floor, target| Figure { what, unit: "MiB", value, floor, target };
    figures.push(memory(
        format!("daemon with {CONNECTIONS} idle connections, resident"),
        resident.resident,
        Some(("before them", before.resident)),
        Some(Target::Max(40.0)),
    ));
    figures.push(Figure {
        what: format!("daemon with {CONNECTIONS} idle connections, processor time in {} s", IDLE_TIME.as_secs()),
        unit: "ms",
        value: used,
        floor: None,
        target: Some(Target::Max(10.0)),
    });
    drop(idle);
    figures.extend(slow_reader(bench)?);
    Ok(figures)
}

/// Measures round trips of one connection, alone and next to one that has sent many requests and reads nothing.
fn slow_reader(bench: &Bench) -> Result<Vec<Figure>> {
    let mut fast = connect(bench, "mcp")?;
    let (mut alone, mut beside) = (Samples::default(), Samples::default());
    let mut last = 0;
    let mut turn = |samples: &mut Samples| -> Result<()> {
        for _ in 0..bench.times(5_000) {
            last += 1;
            samples.push(round_trip(&mut fast, "ping", last)?);
        }
        Ok(())
    };
    turn(&mut alone)?;
    let mut slow = connect(bench, "mcp")?;
    let mut writer = slow.get_ref().try_clone().context("could not share the connection")?;
    let flood = std::thread::spawn(move || -> std::io::Result<()> {
        let line = |id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
        (1..=UNREAD).try_for_each(|id| writer.write_all(line(id).as_bytes()))
    });
    turn(&mut beside)?;
    // Now it reads, and no answer is missing.
    let mut line = Vec::new();
    for id in 1..=UNREAD {
        line.clear();
        slow.read_until(b'\n', &mut line).context("the slow connection broke")?;
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\"");
        if !line.starts_with(head.as_bytes()) {
            bail!("request {id} of the slow connection was answered with {:?}", String::from_utf8_lossy(&line));
        }
    }
    flood.join().map_err(|_| anyhow::anyhow!("the writing thread panicked"))?.context("the daemon reads no more")?;
    let figure = |percent, target| Figure {
        what: format!("`ping` at the daemon beside a connection that reads nothing, p{percent}"),
        unit: "µs",
        value: beside.percentile(percent),
        floor: Some(("alone", alone.percentile(percent))),
        target,
    };
    Ok(vec![figure(50, Some(Target::MaxTimesFloor(1.25))), figure(99, None)])
}

fn round_trip(stream: &mut BufReader<UnixStream>, method: &str, id: usize) -> Result<Duration> {
    let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n");
    let mut line = Vec::new();
    let sent = Instant::now();
    stream.get_mut().write_all(request.as_bytes()).context("the daemon reads no more")?;
    if stream.read_until(b'\n', &mut line).context("the connection broke")? == 0 {
        bail!("the daemon closed the connection");
    }
    let took = sent.elapsed();
    let answer: Value = serde_json::from_slice(&line).context("a line that is no message")?;
    if answer["id"] == id && answer.get("result").is_some() {
        Ok(took)
    } else {
        bail!("{method} was answered with {answer}")
    }
}
