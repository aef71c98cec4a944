//! `cargo xtask score`: how often answers are right, by truth that the engine under test has no part in. One file per truth.

mod lies;
mod marks;
mod memory;
mod nodes;
mod truth;

use anyhow::{Result, bail};

use lies::What;

/// Runs the named score.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["code", "truth"] => truth::run(truth::Extent::All),
        ["code", "truth", "--quick"] => truth::run(truth::Extent::Quick),
        ["code", "truth", "--calls"] => truth::run(truth::Extent::Calls),
        ["code", "lies"] => lies::run(&What::All),
        ["code", "lies", "--quick"] => lies::run(&What::Quick),
        ["code", "lies", "--kept"] => lies::run(&What::Kept),
        ["code", "lies", ref judges @ ..] => lies::run(&What::Some(judges)),
        ["code", "memory"] => memory::run(),
        ["nodes"] => nodes::run(false),
        ["nodes", "--quick"] => nodes::run(true),
        _ => bail!(
            "say what to score: code lies [--quick|--kept|JUDGE…], code memory, code truth [--quick|--calls], \
             nodes [--quick]"
        ),
    }
}
