//! `cargo xtask test`: everything that must hold before a change lands, in the order in which it is cheapest to fail.

use std::process::Command;

use anyhow::Result;

use crate::workspace::{cargo, run, succeeds};
use crate::{clients, conformance, matrix, setup, soak, tidy};

/// Installs what is missing, then checks and tests everything.
pub(crate) fn run_task() -> Result<()> {
    let tools = setup::tests()?;
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    tidy::run()?;
    // The clients first: a runner's closing line is what a person, or CI, looks for at the end.
    clients::with(&tools)?;
    matrix::with(&tools)?;
    conformance::with(&tools)?;
    soak::shared(60)?;
    let path = tools.path()?;
    let has_nextest = succeeds(Command::new("cargo").args(["nextest", "--version"]));
    if has_nextest {
        run(cargo().args(["test", "--quiet", "--workspace", "--doc"]))?;
        run(cargo().env("PATH", path).args(["nextest", "run", "--workspace", "--no-fail-fast"]))
    } else {
        run(cargo().env("PATH", path).args(["test", "--workspace", "--no-fail-fast"]))
    }
}
