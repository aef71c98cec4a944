//! What hob adds to a REPL: the time of an evaluation and the speed of its output, against a bare pipe to a REPL of our
//! own, a row of evaluations here, then a row there. GHCi is the main job; bash, which answers at once, shows what is left when the REPL is not slow.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::echo::Contender;
use super::report::{Figure, Target};
use super::{Bench, Samples, median};
use crate::agent::{Pipes, text};

/// Ends what the bare REPL prints for one evaluation.
const MARK: &str = "=-bench-=";
/// Evaluations in a full run.
const COUNT: usize = 10_000;
/// How many come in a row, here and there: an agent evaluates one thing after the other, and its REPL, the daemon and the
/// front-end are then not cooled down by a second GHC before every single one. Neither side has anything to do between
/// two of a row.
const ROW: usize = 20;
/// What one evaluation of `drain` prints.
const FLOOD_MB: usize = 100;

/// 10,000 times `1+1`, all right, in turn with the bare pipe.
pub(super) fn evaluations(bench: &Bench) -> Result<Vec<Figure>> {
    let mut bare = Bare::ghci(bench)?;
    let added = paired(bench, &mut bare, "ghci", ("1+1", "2\n"), ROW)?;
    let alternating = paired(bench, &mut bare, "ghci", ("1+1", "2\n"), 1)?;
    bare.finish()?;
    let mut bare = Bare::bash(bench)?;
    let instant = paired(bench, &mut bare, "bash", (":", ""), ROW)?;
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
        median("GHCi `1+1`", &added, Some(Target::AtMost(150.0))),
        median("GHCi `1+1`, a bare one before each", &alternating, None),
        instant.figure(&bash, 50, None),
        instant.figure(&bash, 99, Some(Target::AtMost(1000.0))),
        median("bash `:`", &instant, None),
    ])
}

/// Evaluations of one kind, ours and the bare pipe's.
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

/// Evaluates in turn here and there, `row` times each; every result must be right.
fn paired(bench: &Bench, bare: &mut Bare, profile: &str, (code, wanted): (&str, &str), row: usize) -> Result<Pairs> {
    let mut agent = started(bench, profile)?;
    let mut pairs = Pairs { bare: Samples::default(), ours: Samples::default(), added: Vec::new() };
    for _ in 0..bench.times(COUNT) / row {
        let mut took_bare = Vec::with_capacity(row);
        for _ in 0..row {
            let (took, said) = bare.evaluate(code)?;
            if said != wanted {
                bail!("the bare {profile} said {said:?}");
            }
            took_bare.push(took);
        }
        let ours = agent.row("repl_eval", &json!({ "session": profile, "code": code }), row)?;
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

/// How fast 100 MB that an evaluation prints are taken.
pub(super) fn drain(bench: &Bench) -> Result<Vec<Figure>> {
    const IMPORT: &str = "import qualified Data.ByteString.Char8 as B";
    let flood = format!("mapM_ (\\_ -> B.putStrLn (B.replicate 999999 'x')) [1 .. {FLOOD_MB}]");
    let mut bare = Bare::ghci(bench)?;
    bare.evaluate(IMPORT)?;
    let mut agent = started(bench, "ghci")?;
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
        target: Some(Target::Share(0.8)),
    }])
}

/// An agent whose session is named as its profile.
fn started(bench: &Bench, profile: &str) -> Result<Contender> {
    let mut agent = Contender::pipes(&mut bench.hob(&["mcp"]))?;
    agent.open()?;
    agent.call("repl_start", json!({ "session": profile, "profile": profile, "wait_ms": 50_000 }))?;
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

/// A REPL on plain pipes that prints a mark on a line of its own when an evaluation is over.
struct Bare {
    pipes: Pipes,
    line: Vec<u8>,
    /// What is sent after the code.
    end: String,
}

impl Bare {
    /// The prompt is the mark.
    fn ghci(bench: &Bench) -> Result<Self> {
        let mut command = Command::new("ghci");
        command.arg("-ignore-dot-ghci").current_dir(bench.dir()).stderr(Stdio::null()).env("TERM", "dumb");
        let mut bare = Self { pipes: Pipes::start(&mut command)?, line: Vec::new(), end: "\n".to_owned() };
        bare.pipes.write(format!(":set prompt \"{MARK}\\n\"\n").as_bytes())?;
        // The banner and the prompt that it had before.
        bare.read()?;
        bare.evaluate("1+1")?;
        Ok(bare)
    }

    /// The mark is echoed after the code.
    fn bash(bench: &Bench) -> Result<Self> {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc"]).current_dir(bench.dir()).stderr(Stdio::null());
        Ok(Self { pipes: Pipes::start(&mut command)?, line: Vec::new(), end: format!("\necho {MARK}\n") })
    }

    /// How long it took until the mark, and what was printed before it.
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
        let mut bash = Bare::bash(&bench).unwrap();
        assert_eq!(bash.evaluate("echo a; echo b").unwrap().1, "a\nb\n");
        bash.finish().unwrap();
        if crate::workspace::on_path("ghci").is_none() {
            println!("skipped: ghci is not here");
            return;
        }
        let mut ghci = Bare::ghci(&bench).unwrap();
        assert_eq!(ghci.evaluate("6*7").unwrap().1, "42\n");
        assert_eq!(ghci.evaluate("let x = 1").unwrap().1, "");
        ghci.finish().unwrap();
    }
}
