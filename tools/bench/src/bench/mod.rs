//! `cargo xtask bench`: cost of the product compared with the minimum for the same work, in one interleaved run.
//!
//! Every figure is shown with its floor, a committed program or a bare pipe, measured in the same minutes on the same
//! machine. On a shared machine only ratios and differences are meaningful. One file per part; this one runs them, and
//! [`report`] prints and writes the results.

mod ask;
mod check;
mod code;
mod cure;
mod echo;
mod evaluate;
mod faces;
mod hooks;
mod mail;
mod mcp;
mod memory;
mod nodes;
mod of_crate;
mod paged;
mod procfs;
mod report;
mod sessions;
mod start;
mod work;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use taskkit::workspace::{Profile, build, temporary_project};

use report::Figure;
pub(crate) use report::machine;

/// A part of the bench: its name, and the function that measures it.
type Part = (&'static str, fn(&Bench) -> Result<Vec<Figure>>);

const PARTS: &[Part] = &[
    ("start", start::measure),
    ("echo", echo::measure),
    ("memory", memory::measure),
    ("eval", evaluate::evaluations),
    ("drain", evaluate::drain),
    ("sessions", sessions::measure),
];

/// Runs all parts, or the named ones.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if args == ["--check"] {
        return check::run();
    }
    // A debug build would distort the figures: it takes 100 µs to allocate room for an answer.
    if cfg!(debug_assertions) {
        let error = Command::new(programs()?.join("bench")).arg("bench").args(args).exec();
        return Err(error).context("could not start the release build");
    }
    let is_quick = args.iter().any(|arg| arg == "--quick");
    let wanted: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--quick").collect();
    // These have separate pages.
    match wanted[..] {
        ["mcp"] => return mcp::run(is_quick),
        ["code"] => return code::run(is_quick),
        ["cure"] => return cure::run(is_quick),
        ["faces"] => return faces::run(is_quick),
        ["hooks"] => return hooks::run(is_quick),
        ["nodes"] => return nodes::run(is_quick),
        ["work"] => return work::run(is_quick),
        ["mail", ref rest @ ..] => return mail::run(rest, is_quick),
        ["ask", ref rest @ ..] => return ask::run(rest, is_quick),
        _ => {}
    }
    if let Some(unknown) = wanted.iter().find(|name| !PARTS.iter().any(|(part, _)| part == *name)) {
        let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
        bail!(
            "there is no part {unknown:?}; the parts are: {}; and, alone, ask, code, cure, faces, hooks, mcp, nodes, work or mail",
            parts.join(" ")
        );
    }
    let bench = Bench::new(programs()?, is_quick)?;
    let mut figures = Vec::new();
    for (name, measure) in PARTS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        println!("bench: {name} …");
        figures.extend(measure(&bench).with_context(|| format!("part {name}"))?);
        bench.stop()?;
    }
    report::publish(&report::ALL, &figures, wanted.is_empty() && !is_quick).map(drop)
}

/// Builds hob and the floors, and returns their directory. One after the other: hob is measured as it is installed, without
/// features that only the bench needs.
fn programs() -> Result<PathBuf> {
    build(Profile::Release, &["-p", "hob"])?;
    build(Profile::Release, &["-p", "bench", "--bins"])
}

/// The programs, and a project in which to measure.
struct Bench {
    programs: PathBuf,
    project: tempfile::TempDir,
    is_quick: bool,
}

impl Bench {
    fn new(programs: PathBuf, is_quick: bool) -> Result<Self> {
        let project = temporary_project()?;
        Ok(Self { programs, project, is_quick })
    }

    fn dir(&self) -> &Path {
        self.project.path()
    }

    /// One of our programs, with the project as its working directory.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.dir()).stderr(Stdio::null());
        command
    }

    fn hob(&self, args: &[&str]) -> Command {
        let mut command = self.program("hob");
        command.args(args);
        command
    }

    /// Ends the project's daemon.
    fn stop(&self) -> Result<()> {
        let output = self.hob(&["stop"]).stdin(Stdio::null()).output().context("could not run `hob stop`")?;
        if !output.status.success() {
            bail!("`hob stop` failed: {}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(())
    }

    /// Returns `full`, or a tenth of it in a quick run.
    fn times(&self, full: usize) -> usize {
        if self.is_quick { (full / 10).max(3) } else { full }
    }
}

/// The measured durations of one contender.
#[derive(Default)]
struct Samples(Vec<Duration>);

impl Samples {
    fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// The value below which `percent` of the samples lie, in microseconds.
    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(at).map_or(f64::NAN, |sample| sample.as_secs_f64() * 1e6)
    }
}

/// The median of differences that may be negative, in microseconds.
fn median(mut differences: Vec<f64>) -> f64 {
    differences.sort_unstable_by(f64::total_cmp);
    differences.get(differences.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_samples() {
        let samples = Samples((1..=100).rev().map(Duration::from_micros).collect());
        assert_eq!((samples.percentile(50), samples.percentile(99)), (51.0, 100.0));
        assert_eq!(median(vec![3.0, -1.0, 2.0]), 2.0);
    }

    #[test]
    fn the_help_names_every_part() {
        let names = |parts: &mut dyn Iterator<Item = &str>| format!("parts: {}\n", parts.collect::<Vec<_>>().join(" "));
        assert!(crate::USAGE.contains(&names(&mut PARTS.iter().map(|(name, _)| *name))));
        assert!(crate::USAGE.contains(&names(&mut mail::PARTS.iter().map(|(name, _)| *name))));
        assert!(crate::USAGE.contains(&names(&mut ask::PARTS.iter().map(|(name, _)| *name))));
    }
}
