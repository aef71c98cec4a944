//! Measures a server on standard streams: time to the first answer, round trips, pipelined calls, memory. Without
//! arguments it measures the examples `floor` and `echo` beside it, in turns, and prints their ratio.
//!
//! `cargo run --release -p mcp --example measure [PROGRAM ARGS…]` (build the examples first).

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const ROUND_TRIPS: usize = 20_000;
const PIPELINED: usize = 100_000;
const ROUNDS: usize = 5;

#[derive(Default, Clone)]
struct Figures {
    cold: Duration,
    p50: Duration,
    p99: Duration,
    per_second: f64,
    resident_kib: u64,
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    fn start(command: &[String]) -> std::io::Result<Server> {
        let mut child =
            Command::new(&command[0]).args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let output = BufReader::with_capacity(256 << 10, child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?);
        Ok(Server { child, input, output, line: String::new() })
    }

    fn read(&mut self) -> std::io::Result<()> {
        self.line.clear();
        match self.output.read_line(&mut self.line)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
    }
}

fn call(id: usize) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\
         \"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"hello, world\"}}}}}}\n"
    )
}

fn measure(command: &[String]) -> std::io::Result<Figures> {
    let started = Instant::now();
    let mut server = Server::start(command)?;
    server.input.write_all(
        b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\
          \"capabilities\":{},\"clientInfo\":{\"name\":\"measure\",\"version\":\"1\"}}}\n",
    )?;
    server.read()?;
    let cold = started.elapsed();
    server.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
    let resident_kib = server.resident_kib();

    let mut times = Vec::with_capacity(ROUND_TRIPS);
    for id in 1..=ROUND_TRIPS {
        let line = call(id);
        let sent = Instant::now();
        server.input.write_all(line.as_bytes())?;
        server.read()?;
        times.push(sent.elapsed());
    }
    times.sort_unstable();

    let lines: String = (1..=PIPELINED).map(call).collect();
    let begun = Instant::now();
    let Server { mut child, mut input, mut output, mut line } = server;
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    for _ in 0..PIPELINED {
        line.clear();
        output.read_line(&mut line)?;
    }
    let per_second = PIPELINED as f64 / begun.elapsed().as_secs_f64();
    // Writing has ended, or the answers would not have come; its end closes the input.
    drop(writing.join());
    child.wait()?;
    Ok(Figures { cold, p50: times[ROUND_TRIPS / 2], p99: times[ROUND_TRIPS * 99 / 100], per_second, resident_kib })
}

/// The best of each figure.
fn best(all: &[Figures]) -> Figures {
    all.iter().skip(1).fold(all[0].clone(), |a, b| Figures {
        cold: a.cold.min(b.cold),
        p50: a.p50.min(b.p50),
        p99: a.p99.min(b.p99),
        per_second: a.per_second.max(b.per_second),
        resident_kib: a.resident_kib.min(b.resident_kib),
    })
}

#[allow(clippy::print_stdout)]
fn main() -> std::io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let beside = |name: &str| -> std::io::Result<Vec<String>> {
        Ok(vec![std::env::current_exe()?.with_file_name(name).to_string_lossy().into_owned()])
    };
    let servers = match given.is_empty() {
        true => vec![("floor".to_owned(), beside("floor")?), ("echo".to_owned(), beside("echo")?)],
        false => vec![(given[0].clone(), given)],
    };
    let mut figures = vec![Vec::new(); servers.len()];
    for _ in 0..ROUNDS {
        for ((_, command), figures) in servers.iter().zip(&mut figures) {
            figures.push(measure(command)?);
        }
    }
    let best: Vec<Figures> = figures.iter().map(|all| best(all)).collect();
    for ((name, _), figures) in servers.iter().zip(&best) {
        println!(
            "{name}: cold {:.2} ms, round trip p50 {:.1} µs p99 {:.1} µs, pipelined {:.0}/s, resident {} KiB",
            figures.cold.as_secs_f64() * 1e3,
            figures.p50.as_secs_f64() * 1e6,
            figures.p99.as_secs_f64() * 1e6,
            figures.per_second,
            figures.resident_kib,
        );
    }
    if let [floor, echo] = best.as_slice() {
        println!(
            "echo over floor: round trip {:.2}, pipelined {:.2}",
            echo.p50.as_secs_f64() / floor.p50.as_secs_f64(),
            echo.per_second / floor.per_second,
        );
    }
    Ok(())
}
