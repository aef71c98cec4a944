//! `cargo xtask score`: how often answers are right, by truth that the engine under test has no part in. One file per truth.

mod lies;
mod marks;
mod memory;
mod nodes;
mod truth;

use anyhow::{Result, bail};

/// Runs the named score.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["code", "truth"] => truth::run(false),
        ["code", "truth", "--quick"] => truth::run(true),
        ["code", "lies"] => lies::run(false),
        ["code", "lies", "--quick"] => lies::run(true),
        ["code", "memory"] => memory::run(),
        ["nodes"] => nodes::run(false),
        ["nodes", "--quick"] => nodes::run(true),
        _ => bail!("say what to score: code lies [--quick], code memory, code truth [--quick], nodes [--quick]"),
    }
}
