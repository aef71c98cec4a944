//! What hob adds to a REPL: the time of an evaluation and the speed of its output, compared with the same REPL on bare
//! pipes. The two alternate, a batch of evaluations each. GHCi is the main case; bash, which answers immediately, shows
//! hob's own share.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::echo::Contender;
use super::report::{Figure, Target};
use super::{Bench, Samples, median};
use crate::client::text;
use crate::pipes::Pipes;

/// Ends the output of the bare REPL for one evaluation.
const MARK: &str = "=-bench-=";
/// Evaluations in a full run.
const COUNT: usize = 10_000;
/// Evaluations of one side before the other's turn. An agent evaluates one thing after the other, so that no second GHC
/// evicts its REPL, the daemon and the front-end from the caches in between; within a batch, neither side pauses.
const BATCH: usize = 20;
/// The output of one evaluation of `drain`, in MB.
const FLOOD_MB: usize = 100;

/// 10,000 times `1+1`, each result checked, alternating with the bare REPL.
pub(super) fn evaluations(bench: &Bench) -> Result<Vec<Figure>> {
    let mut bare = BareRepl::ghci(bench)?;
    let added = paired(bench, &mut bare, "ghci", ("1+1", "2\n"), BATCH)?;
    let alternating = paired(bench, &mut bare, "ghci", ("1+1", "2\n"), 1)?;
    bare.finish()?;
    let mut bare = BareRepl::bash(bench)?;
    let instant = paired(bench, &mut bare, "bash", (":", ""), BATCH)?;
    bare.finish()?;
    let median = |what: &str, pairs: &Pairs, target| Figure {
        what: format!("{what}, added, p50 of paired differences"),
        unit: "µs",
        value: median(pairs.added.clone()),
        floor: None,
        target,
    };
    let count = bench.times(COUNT);
    let ghci = format!("GHCi `1+1`, {count} times, all right");
    let bash = format!("bash `:`, {count} times, all right");
    Ok(vec![
        added.figure(&ghci, 50, None),
        added.figure(&ghci, 99, None),
        median("GHCi `1+1`", &added, Some(Target::Max(150.0))),
        median("GHCi `1+1`, a bare one before each", &alternating, None),
        instant.figure(&bash, 50, None),
        instant.figure(&bash, 99, Some(Target::Max(1000.0))),
        median("bash `:`", &instant, None),
    ])
}

/// Evaluations of one kind: the bare REPL's, ours, and their differences.
struct Pairs {
    bare: Samples,
    ours: Samples,
    added: Vec<f64>,
}

impl Pairs {
    fn figure(&self, what: &str, percent: usize, target: Option<Target>) -> Figure {
        let floor = Some(("bare pipe", self.bare.percentile(percent)));
        Figure { what: format!("{what}, p{percent}"), unit: "µs", value: self.ours.percentile(percent), floor, target }
    }
}

/// Evaluates alternately in the bare REPL and through hob, `batch` times each; checks every result.
fn paired(
    bench: &Bench,
    bare: &mut BareRepl,
    profile: &str,
    (code, wanted): (&str, &str),
    batch: usize,
) -> Result<Pairs> {
    let mut agent = start_session(bench, profile)?;
    let mut pairs = Pairs { bare: Samples::default(), ours: Samples::default(), added: Vec::new() };
    for _ in 0..bench.times(COUNT) / batch {
        let mut took_bare = Vec::with_capacity(batch);
        for _ in 0..batch {
            let (took, said) = bare.evaluate(code)?;
            if said != wanted {
                bail!("the bare {profile} said {said:?}");
            }
            took_bare.push(took);
        }
        let ours = agent.call_back_to_back("repl_eval", &json!({ "session": profile, "code": code }), batch)?;
        for (took_bare, (took, result)) in took_bare.into_iter().zip(ours) {
            check(&result, wanted)?;
            pairs.added.push((took.as_secs_f64() - took_bare.as_secs_f64()) * 1e6);
            pairs.bare.push(took_bare);
            pairs.ours.push(took);
        }
    }
    agent.finish()?;
    Ok(pairs)
}

/// How fast 100 MB of output are read.
pub(super) fn drain(bench: &Bench) -> Result<Vec<Figure>> {
    const IMPORT: &str = "import qualified Data.ByteString.Char8 as B";
    let flood = format!("mapM_ (\\_ -> B.putStrLn (B.replicate 999999 'x')) [1 .. {FLOOD_MB}]");
    let mut bare = BareRepl::ghci(bench)?;
    bare.evaluate(IMPORT)?;
    let mut agent = start_session(bench, "ghci")?;
    check(&agent.call("repl_eval", json!({ "session": "ghci", "code": IMPORT }))?.1, "")?;
    let (mut floor, mut ours) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(10) {
        let (took, said) = bare.evaluate(&flood)?;
        if said.len() != FLOOD_MB * 1_000_000 {
            bail!("the bare GHCi printed {} bytes", said.len());
        }
        floor.push(took);
        let (took, result) = agent.call("repl_eval", json!({ "session": "ghci", "code": flood, "wait_ms": 50_000 }))?;
        ours.push(took);
        if result["structuredContent"]["status"] != "done" {
            bail!("the flood did not end: {}", text(&result));
        }
        check(&agent.call("repl_eval", json!({ "session": "ghci", "code": "1+1" }))?.1, "2\n")
            .context("after the flood")?;
    }
    agent.finish()?;
    bare.finish()?;
    let speed = |samples: &Samples| FLOOD_MB as f64 / (samples.percentile(50) / 1e6);
    Ok(vec![Figure {
        what: format!("GHCi prints {FLOOD_MB} MB"),
        unit: "MB/s",
        value: speed(&ours),
        floor: Some(("bare reader", speed(&floor))),
        target: Some(Target::MinTimesFloor(0.8)),
    }])
}

/// An agent with a session named after its profile.
fn start_session(bench: &Bench, profile: &str) -> Result<Contender> {
    let mut agent = Contender::front_end(&mut bench.hob(&["mcp"]))?;
    agent.call("repl_start", json!({ "session": profile, "profile": profile, "wait_ms": 50_000 }))?;
    Ok(agent)
}

/// Checks that the evaluation is done and printed exactly this.
fn check(result: &Value, stdout: &str) -> Result<()> {
    let found = &result["structuredContent"];
    if found["status"] != "done" || found["stdout"].as_str().unwrap_or_default().trim_end() != stdout.trim_end() {
        bail!("wanted {stdout:?}, came {result}");
    }
    Ok(())
}

/// A REPL on bare pipes that prints [`MARK`] after each evaluation.
struct BareRepl {
    pipes: Pipes,
    line: Vec<u8>,
    /// The text sent after the code.
    end: String,
}

impl BareRepl {
    /// GHCi with the mark as its prompt.
    fn ghci(bench: &Bench) -> Result<Self> {
        let mut command = Command::new("ghci");
        command.arg("-ignore-dot-ghci").current_dir(bench.dir()).stderr(Stdio::null()).env("TERM", "dumb");
        let mut bare = Self { pipes: Pipes::start(&mut command)?, line: Vec::new(), end: "\n".to_owned() };
        bare.pipes.write(format!(":set prompt \"{MARK}\\n\"\n").as_bytes())?;
        // The banner, and the prompt from before.
        bare.read()?;
        bare.evaluate("1+1")?;
        Ok(bare)
    }

    /// bash, which echoes the mark after the code.
    fn bash(bench: &Bench) -> Result<Self> {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc"]).current_dir(bench.dir()).stderr(Stdio::null());
        Ok(Self { pipes: Pipes::start(&mut command)?, line: Vec::new(), end: format!("\necho {MARK}\n") })
    }

    /// The time until the mark, and the output before it.
    fn evaluate(&mut self, code: &str) -> Result<(Duration, String)> {
        let started = Instant::now();
        self.pipes.write(format!("{code}{}", self.end).as_bytes())?;
        let said = self.read()?;
        Ok((started.elapsed(), said))
    }

    fn read(&mut self) -> Result<String> {
        let mut said = String::new();
        loop {
            self.pipes.read_line(&mut self.line)?;
            let line = std::str::from_utf8(&self.line).context("it printed something that is not UTF-8")?;
            if line.trim_end().ends_with(MARK) {
                return Ok(said);
            }
            said.push_str(line);
        }
    }

    fn finish(self) -> Result<()> {
        self.pipes.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_bare_repls_answer() {
        let bench = Bench::new(PathBuf::new(), true).unwrap();
        let mut bash = BareRepl::bash(&bench).unwrap();
        assert_eq!(bash.evaluate("echo a; echo b").unwrap().1, "a\nb\n");
        bash.finish().unwrap();
        if taskkit::workspace::on_path("ghci").is_none() {
            println!("skipped: ghci is not here");
            return;
        }
        let mut ghci = BareRepl::ghci(&bench).unwrap();
        assert_eq!(ghci.evaluate("6*7").unwrap().1, "42\n");
        assert_eq!(ghci.evaluate("let x = 1").unwrap().1, "");
        ghci.finish().unwrap();
    }
}
