//! `cargo xtask score`: accuracy of answers, measured against truth that is independent of the tested engine. One file per truth.

mod code;
mod explore;
mod lies;
mod memory;
mod nodes;

use anyhow::{Result, bail};

use lies::Scope;

/// Runs the named score.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["code", "lies"] => lies::run(&Scope::All),
        ["code", "lies", "--quick"] => lies::run(&Scope::Quick),
        ["code", "lies", "--kept"] => lies::run(&Scope::Kept),
        ["code", "lies", ref judges @ ..] => lies::run(&Scope::Some(judges)),
        ["code", "memory"] => memory::run(),
        ["code", "--quick", ref languages @ ..] => code::run(languages, true),
        ["code", ref languages @ ..] => code::run(languages, false),
        ["explore"] => explore::run(false),
        ["explore", "--quick"] => explore::run(true),
        ["nodes"] => nodes::run(false),
        ["nodes", "--quick"] => nodes::run(true),
        _ => bail!(
            "say what to score: code [--quick] [LANGUAGE…], code lies [--quick|--kept|JUDGE…], code memory, \
             explore [--quick], nodes [--quick]"
        ),
    }
}
