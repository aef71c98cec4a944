//! Benches whose figures come from a crate's own bench program in one process. Each task adds floors and targets.

use std::collections::HashMap;

use anyhow::Result;
use taskkit::workspace::{cargo, read, root};

use super::report::{self, Figure, Page};

/// Runs a crate's bench `figures` with these arguments, converts its values (by name, in microseconds by default) to
/// figures, and writes the page. Fails if a target is missed.
pub(super) fn run(
    package: &str,
    page: &Page,
    is_quick: bool,
    arguments: &[&str],
    figures: impl FnOnce(&HashMap<&str, f64>) -> Result<Vec<Figure>>,
) -> Result<()> {
    let mut command = cargo();
    command.args(["bench", "--quiet", "-p", package, "--bench", "figures", "--"]).args(arguments).current_dir(root());
    if is_quick {
        command.arg("--quick");
    }
    let said = read(&mut command)?;
    let lines = said.lines().filter_map(|line| line.split_once('\t'));
    let values = lines.filter_map(|(name, value)| Some((name, value.trim().parse().ok()?))).collect();
    let figures = figures(&values)?;
    report::conclude(page, &figures, !is_quick)
}
