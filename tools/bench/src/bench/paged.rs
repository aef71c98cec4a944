//! Common command line of benches with parts, counts of kills and a separate page.

use anyhow::{Context, Result, bail};

use super::report::{self, Figure, Page};
use super::{Bench, programs};

/// A part: its name, and the function that measures it in a new project.
pub(super) type Part = (&'static str, fn(&Bench, &Options) -> Result<Vec<Figure>>);

pub(super) struct Options {
    /// Number of kills of daemons.
    pub(super) kills: usize,
}

/// Runs all parts of this bench, or the named ones. A run of all parts writes its page. `kills` is the default number
/// of kills.
pub(super) fn run(bench: (&str, &Page), parts: &[Part], args: &[&str], is_quick: bool, kills: usize) -> Result<()> {
    let (mut wanted, mut options) = (Vec::new(), Options { kills });
    let mut args = args.iter().copied().filter(|arg| *arg != "--");
    while let Some(arg) = args.next() {
        match arg {
            "--kills" => {
                options.kills = args.next().and_then(|text| text.parse().ok()).context("--kills takes a number")?
            }
            part if parts.iter().any(|(name, _)| *name == part) => wanted.push(part),
            other => {
                let parts: Vec<&str> = parts.iter().map(|(part, _)| *part).collect();
                bail!("there is no part {other:?}; the parts are: {}; and --kills N", parts.join(" "));
            }
        }
    }
    let (of, page) = bench;
    let programs = programs()?;
    let mut figures = Vec::new();
    for (name, measure) in parts.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        println!("bench: {of}, {name} …");
        let bench = Bench::new(programs.clone(), is_quick)?;
        let measured = measure(&bench, &options).with_context(|| format!("part {name}"));
        bench.stop()?;
        figures.extend(measured?);
    }
    let is_complete = wanted.is_empty() && !is_quick;
    if is_quick {
        report::publish(page, &figures, false).map(drop)
    } else {
        report::conclude(page, &figures, is_complete)
    }
}
