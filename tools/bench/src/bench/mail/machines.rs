//! Agents on two machines, simulated on one: two clones of a repository with a daemon each, and their mail in one
//! PostgreSQL.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use taskkit::workspace::run_quietly;
use testkit::Postgres;

use super::super::Bench;
use super::super::echo::status;
use super::super::paged::Options;
use super::super::report::{Figure, Target};
use super::pgbench::Pgbench;
use super::{latency, load, rush};

pub(super) fn measure(here: &Bench, options: &Options) -> Result<Vec<Figure>> {
    // With the default of syncing each commit.
    let database = Postgres::start_with(&[]).context("PostgreSQL is not installed: cargo xtask setup tests")?;
    let there = Bench::new(here.programs.clone(), here.is_quick)?;
    configure(here, &database)?;
    configure(&there, &database)?;
    let measured = measure_between(here, &there, &database, options);
    there.stop()?;
    let figures = measured?;
    // Before the database ends: a stopping daemon writes to it.
    here.stop()?;
    Ok(figures)
}

fn measure_between(here: &Bench, there: &Bench, database: &Postgres, options: &Options) -> Result<Vec<Figure>> {
    let (samples, floor) = latency::wakes_between(here, there, here.times(500))?;
    let what = "PostgreSQL, two daemons: send to wake of a blocked waiter";
    let mut figures = vec![
        floor.percentile_figure(what, &samples, 50, Some(Target::Max(15_000.0))),
        floor.percentile_figure(what, &samples, 90, None),
        floor.percentile_figure(what, &samples, 99, None),
    ];
    let seconds = if here.is_quick { 1 } else { 5 };
    let pgbench = Pgbench::new(database);
    let before = pgbench.run_single_sender(seconds)?;
    // One after the other, as pgbench does.
    let sent = latency::timed_sends(here, || Ok(()))?;
    let floor = before.and(pgbench.run_single_sender(seconds)?);
    figures.extend([(50, Some(Target::MaxTimesFloor(2.0))), (90, None), (99, None)].map(|(percent, target)| Figure {
        what: format!("PostgreSQL: send of 500 bytes to its answer, p{percent}"),
        unit: "µs",
        value: sent.percentile(percent),
        floor: Some(("pgbench, the same rows", floor.samples.percentile(percent))),
        target,
    }));
    let before = pgbench.crowd(seconds)?;
    let mut crowd = rush::measure(here, " (PostgreSQL)")?.into_iter();
    let floor = before.and(pgbench.crowd(seconds)?);
    figures.extend(crowd.next().map(|rate| Figure {
        floor: Some(("pgbench, the same rows", floor.rate)),
        target: Some(Target::MinTimesFloor(0.5)),
        ..rate
    }));
    figures.extend([50, 99].into_iter().zip(&mut crowd).map(|(percent, each)| Figure {
        floor: Some(("pgbench, the same rows", floor.samples.percentile(percent))),
        ..each
    }));
    figures.extend(crowd);
    figures.extend(load::kills_and_cuts(&[here, there], database, options.kills / 10)?);
    Ok(figures)
}

/// Configures a project to keep its mail in the database. All such projects become clones of one repository.
fn configure(bench: &Bench, database: &Postgres) -> Result<()> {
    for args in [&["init", "-q"][..], &["remote", "add", "origin", "https://example.org/team/bench.git"]] {
        run_quietly(Command::new("git").args(args).current_dir(bench.dir()))?;
    }
    let status = status(bench)?;
    let state = status["state"].as_str().with_context(|| format!("`hob status` names no state: {status}"))?;
    let file = Path::new(state).join("mail-database");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    std::fs::write(&file, database.url() + "\n")?;
    Ok(std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?)
}
