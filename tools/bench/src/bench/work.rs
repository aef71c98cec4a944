//! `cargo xtask bench work`: cost of a question about the work compared with one `git status`, and the load of many questions on GitHub.
//!
//! The crate's bench `figures` measures in one process, with the real `git` and `gh` and a fixture of GitHub. This file
//! compares each figure with its floor and target.

use std::collections::HashMap;

use anyhow::{Context, Result};

use super::of_crate;
use super::report::{Figure, Page, Target};

const PAGE: Page = Page {
    file: "docs/generated/bench-work.md",
    task: "cargo xtask bench work",
    about: "The floor of a question about a repository is one `git status --porcelain=v2 --branch` in it, in turns with it; git \
            and gh are the real ones, GitHub is a fixture on this machine. The deadline of a question to GitHub is 5 s.",
};

/// Limits of git's part: milliseconds above its floor, and multiples of the floor.
const BEYOND_MS: f64 = 5.0;
const TIMES: f64 = 1.5;

/// Measures everything. Fails if a target is missed.
pub(super) fn run(is_quick: bool) -> Result<()> {
    of_crate::run("work", &PAGE, is_quick, &[], |values| figures(values, is_quick))
}

fn figures(values: &HashMap<&str, f64>, is_quick: bool) -> Result<Vec<Figure>> {
    let get = |name: &str| values.get(name).copied().with_context(|| format!("{name} was not measured"));
    let ms = |name: &str| get(name).map(|micros| micros / 1000.0);
    let mut figures = Vec::new();
    let sizes: &[&str] = if is_quick { &["1,000"] } else { &["10,000", "100,000"] };
    for size in sizes {
        let floor = ms(&format!("git status, {size} files"))?;
        let most = Some(Target::Max(floor * TIMES + BEYOND_MS));
        for (what, name) in [("git's part", "git's part"), ("with pull request and issue kept", "all kept")] {
            let value = ms(&format!("{name}, {size} files"))?;
            let what = format!("{what}, {size} files");
            figures.push(Figure { what, unit: "ms", value, floor: Some(("git status", floor)), target: most });
        }
        let value = get(&format!("questions while kept, {size} files"))?;
        let what = format!("questions to GitHub while kept, {size} files");
        figures.push(Figure { what, unit: "", value, floor: None, target: Some(Target::Max(0.0)) });
    }
    let mut add = |what: &str, unit: &'static str, value: f64, floor: Option<(&'static str, f64)>, target| {
        figures.push(Figure { what: what.to_owned(), unit, value, floor, target });
    };
    add("everything absent", "ms", ms("everything absent")?, None, Some(Target::Max(10.0)));
    let deadline = Some(("its deadline", 5000.0));
    add("a gh that hangs", "ms", ms("a gh that hangs")?, deadline, Some(Target::MaxAboveFloor(50.0)));
    let alone = Some(("alone", ms("git's part alone")?));
    let beside = ms("git's part beside a gh that hangs")?;
    add("another call beside a gh that hangs", "ms", beside, alone, Some(Target::MaxAboveFloor(5.0)));
    add("50 agents in 10 worktrees at once, all answered", "ms", ms("50 agents in 10 worktrees")?, None, None);
    let questions = get("questions to GitHub by 50 agents in 10 worktrees")?;
    add("their questions to GitHub", "", questions, Some(("branches", 10.0)), Some(Target::MaxTimesFloor(1.0)));
    add(
        "a fact for a rule, from a status before",
        "µs",
        get("a fact from a status before")?,
        None,
        Some(Target::Max(50.0)),
    );
    add("a fact for a rule, by a new look", "ms", ms("a fact by a new look")?, None, Some(Target::Max(50.0)));
    Ok(figures)
}
