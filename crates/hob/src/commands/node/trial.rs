//! `hob node test` and `hob node record`: run the tests in node files, in this process.

use clap::{Args, ValueEnum};
use nodes::Models;
use nodes::suite::baseline::{self, Baseline, Verdict};
use nodes::suite::{Answering, Report, Suite};
use nodes::usage::Usage;
use project::visible::path as shown;
use project::{Config, Project};

use super::{folder, state};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Run the tests in node files
#[derive(Debug, Args)]
pub(super) struct Test {
    /// The nodes (default: all of the worktree)
    nodes: Vec<String>,
    /// The engine that answers
    #[arg(long, value_enum, default_value_t = Engine::Cassette)]
    engine: Engine,
    /// Save the results as the baseline (baseline.json next to the node files): tests that fail now are expected to fail
    #[arg(long)]
    accept: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// A local server with a fixed model: checks that each node works, in milliseconds, without comparing expectations
    Fixed,
    /// Only recordings of `hob node record`
    Cassette,
    /// The configured models
    Live,
}

/// Run the tests in node files on their models, and record the answers next to the files
#[derive(Debug, Args)]
pub(super) struct Record {
    /// The nodes (default: all of the worktree)
    nodes: Vec<String>,
}

impl Test {
    pub(super) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let answering = match self.engine {
            Engine::Fixed => Answering::Fixed,
            Engine::Cassette => Answering::Cassette,
            Engine::Live => Answering::Live,
        };
        run(project, &self.nodes, answering, self.accept)
    }
}

impl Record {
    pub(super) fn run(self, project: &Project) -> Result<Exit, Failure> {
        run(project, &self.nodes, Answering::Record, false)
    }
}

fn run(project: &Project, nodes: &[String], answering: Answering, accepts: bool) -> Result<Exit, Failure> {
    let config = Config::load(project, &daemon::sections()).map_err(Failure::new)?;
    let folder = folder(project)?;
    let settings = config.settings::<nodes::NodesSettings>();
    let usage = Usage::new(state(project).join("usage.jsonl"), settings.tokens_per_day);
    let models = Models::from_config(&config);
    // Not in the checkout, which could bring a program of that name.
    let venv = state(project).join("llm");
    let suite = Suite { folder: &folder, models: &models, usage: &usage, venv: &venv };
    let mut known = match Baseline::read(&folder) {
        Ok(known) => known,
        // An unreadable baseline is replaced.
        Err(_) if accepts => Baseline::default(),
        Err(why) => return Err(Failure::new(why)),
    };
    let (mut reports, mut failed, mut unanswered) = (Vec::new(), 0, 0);
    let each = |report: Report| {
        let verdict = known.verdict(answering, &report);
        failed += usize::from(verdict.is_failure());
        unanswered += usize::from(verdict == Verdict::Unanswered);
        print_report(&report, &verdict);
        reports.push(report);
    };
    suite.run(nodes, answering, each).map_err(Failure::new)?;
    if unanswered > 0 {
        let (count, tests) = (reports.len(), if unanswered == 1 { "test has" } else { "tests have" });
        let others = match failed - unanswered {
            0 => String::new(),
            others => format!(", and {others} failed unexpectedly"),
        };
        // A baseline of this run would accept untested nodes.
        let written = if accepts { "; no baseline was written" } else { "" };
        let why = format!("{unanswered} of {count} {tests} no result, because nobody answered{others}{written}");
        return Err(Failure::new(why).hint("Each line above names its fix."));
    }
    if accepts && !reports.is_empty() {
        known.accept(answering, &reports, nodes.is_empty());
        known.write(&folder).map_err(Failure::new)?;
        let passing = reports.iter().filter(|report| report.passes()).count();
        let file = folder.path().join(baseline::FILE);
        terminal::line(format!("{} is written: {passing} of {} tests pass", shown(&file), reports.len()));
        return Ok(Exit::Done);
    }
    match (reports.len(), failed) {
        (0, _) => Err(Failure::new("these node files have no tests and no examples")
            .hint("Add some, as a key of the file: tests: [ { input: { text: a }, expect: { /answer: { matches: rain } } } ]  (a place in the node's output)")),
        (_, 0) => Ok(Exit::Done),
        (count, failed) => Err(Failure::new(format_args!("{failed} of {count} tests failed unexpectedly"))
            .hint("Fix them, or run `hob node test --accept` to save the results as the baseline.")),
    }
}

fn print_report(report: &Report, verdict: &Verdict) {
    let word = match verdict {
        Verdict::Passes => "ok".to_owned(),
        Verdict::Mended => "passed, although expected to fail: accept it".to_owned(),
        Verdict::KnownToFail => "failed, as expected".to_owned(),
        Verdict::Fails => "failed".to_owned(),
        Verdict::Unanswered => "failed without an answer".to_owned(),
        Verdict::Regression(_, 1) => "failed, and passed in the baseline".to_owned(),
        Verdict::Regression(passed, of) => format!("failed, and passed {passed} of {of} times in the baseline"),
    };
    let times = if report.of.0 == 1 { String::new() } else { format!(" ({} of {})", report.tried.passed, report.of.0) };
    let of_each = report.tried.ledgers.iter().map(nodes::run::Ledger::tokens);
    let tokens = of_each.fold(0, u64::saturating_add);
    let number = report.number.map_or(String::new(), |number| format!(" #{number}"));
    terminal::line(format!("{}:{}{number}: {word}{times}, {tokens} tokens", report.node, report.line));
    for failure in &report.tried.failures {
        terminal::line(format!("  {failure}"));
    }
}
