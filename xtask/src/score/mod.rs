//! `cargo xtask score`: how often answers are right, by truth that the engine under test has no part in. One file per truth.

mod marks;
mod nodes;
mod truth;

use anyhow::{Result, bail};

/// Runs the named score.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["code", "truth"] => truth::run(false),
        ["code", "truth", "--quick"] => truth::run(true),
        ["nodes"] => nodes::run(false),
        ["nodes", "--quick"] => nodes::run(true),
        _ => bail!("say what to score: code truth [--quick], nodes [--quick]"),
    }
}
