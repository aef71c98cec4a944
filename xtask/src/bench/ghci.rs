//! What hob adds to GHCi: the time of an evaluation and the speed of its output, against a bare pipe to a GHCi of
//! our own, turn by turn.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::echo::Contender;
use super::report::{Figure, Target};
use super::{Bench, Samples, median};
use crate::agent::{Pipes, text};

/// Ends what the bare GHCi prints for one evaluation.
const MARK: &str = "\u{1}bench\u{1}";
/// What one evaluation of `drain` prints.
const FLOOD_MB: usize = 100;

/// 10,000 times `1+1`, all right, in turn with the bare pipe.
pub(super) fn evaluations(bench: &Bench) -> Result<Vec<Figure>> {
    let mut bare = Bare::start(bench)?;
    let mut agent = started(bench)?;
    let (mut floor, mut ours, mut added) = (Samples::default(), Samples::default(), Vec::new());
    let count = bench.times(10_000);
    for turn in 0..count {
        let (took_bare, said) = bare.evaluate("1+1")?;
        if said != "2\n" {
            bail!("the bare GHCi said {said:?} in turn {turn}");
        }
        let (took, result) = agent.call("repl_eval", json!({ "code": "1+1" }))?;
        check(&result, "2\n").with_context(|| format!("evaluation {turn}"))?;
        added.push((took.as_secs_f64() - took_bare.as_secs_f64()) * 1e6);
        floor.push(took_bare);
        ours.push(took);
    }
    agent.finish()?;
    bare.finish()?;
    let figure = |what: String, percent| Figure {
        what,
        unit: "µs",
        value: ours.percentile(percent),
        floor: Some(("bare pipe", floor.percentile(percent))),
        target: None,
    };
    Ok(vec![
        figure(format!("GHCi `1+1`, {count} times, all right, p50"), 50),
        figure(format!("GHCi `1+1`, {count} times, all right, p99"), 99),
        Figure {
            what: "GHCi `1+1`, added, p50 of paired differences".to_owned(),
            unit: "µs",
            value: median(added),
            floor: None,
            target: Some(Target::AtMost(150.0)),
        },
    ])
}

/// How fast 100 MB that an evaluation prints are taken.
pub(super) fn drain(bench: &Bench) -> Result<Vec<Figure>> {
    const IMPORT: &str = "import qualified Data.ByteString.Char8 as B";
    let flood = format!("mapM_ (\\_ -> B.putStrLn (B.replicate 999999 'x')) [1 .. {FLOOD_MB}]");
    let mut bare = Bare::start(bench)?;
    bare.evaluate(IMPORT)?;
    let mut agent = started(bench)?;
    check(&agent.call("repl_eval", json!({ "code": IMPORT }))?.1, "")?;
    let (mut floor, mut ours) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(10) {
        let (took, said) = bare.evaluate(&flood)?;
        if said.len() != FLOOD_MB * 1_000_000 {
            bail!("the bare GHCi printed {} bytes", said.len());
        }
        floor.push(took);
        let (took, result) = agent.call("repl_eval", json!({ "code": flood, "wait_ms": 50_000 }))?;
        ours.push(took);
        if result["structuredContent"]["status"] != "done" {
            bail!("the flood did not end: {}", text(&result));
        }
        check(&agent.call("repl_eval", json!({ "code": "1+1" }))?.1, "2\n").context("after the flood")?;
    }
    agent.finish()?;
    bare.finish()?;
    let speed = |samples: &Samples| FLOOD_MB as f64 / (samples.percentile(50) / 1e6);
    Ok(vec![Figure {
        what: format!("GHCi prints {FLOOD_MB} MB"),
        unit: "MB/s",
        value: speed(&ours),
        floor: Some(("bare reader", speed(&floor))),
        target: Some(Target::Share(0.8)),
    }])
}

fn started(bench: &Bench) -> Result<Contender> {
    let mut agent = Contender::pipes(&mut bench.hob(&["mcp"]))?;
    agent.open()?;
    agent.call("repl_start", json!({ "profile": "ghci", "wait_ms": 50_000 }))?;
    Ok(agent)
}

/// The evaluation is over and printed exactly this.
fn check(result: &Value, stdout: &str) -> Result<()> {
    let found = &result["structuredContent"];
    if found["status"] != "done" || found["stdout"].as_str().unwrap_or_default().trim_end() != stdout.trim_end() {
        bail!("wanted {stdout:?}, came {result}");
    }
    Ok(())
}

/// A GHCi on plain pipes whose prompt is the mark.
struct Bare {
    pipes: Pipes,
    line: Vec<u8>,
}

impl Bare {
    fn start(bench: &Bench) -> Result<Self> {
        let mut command = Command::new("ghci");
        command.args(["-v0", "-ignore-dot-ghci"]).current_dir(bench.dir()).stderr(Stdio::null()).env("TERM", "dumb");
        let mut bare = Self { pipes: Pipes::start(&mut command)?, line: Vec::new() };
        let mark = MARK.escape_default().to_string().replace("\\u{1}", "\\SOH");
        bare.pipes.write(format!(":set prompt \"{mark}\\n\"\n").as_bytes())?;
        bare.read()?;
        bare.evaluate("1+1")?;
        Ok(bare)
    }

    /// How long it took until the next prompt, and what was printed before it.
    fn evaluate(&mut self, code: &str) -> Result<(Duration, String)> {
        let started = Instant::now();
        self.pipes.write(format!("{code}\n").as_bytes())?;
        let said = self.read()?;
        Ok((started.elapsed(), said))
    }

    fn read(&mut self) -> Result<String> {
        let mut said = String::new();
        loop {
            self.pipes.read_line(&mut self.line)?;
            let line = std::str::from_utf8(&self.line).context("GHCi printed something that is no UTF-8")?;
            if line.trim_end() == MARK {
                return Ok(said);
            }
            said.push_str(line);
        }
    }

    fn finish(self) -> Result<()> {
        self.pipes.finish()
    }
}
