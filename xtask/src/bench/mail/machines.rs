//! Agents on two machines, simulated on one: two clones of a repository with a daemon each, and their mail in one
//! PostgreSQL.

use anyhow::Result;

use super::super::Bench;
use super::super::report::{Figure, Target};
use super::database::Database;
use super::{Options, latency, load, rush};

pub(super) fn measure(here: &Bench, options: &Options) -> Result<Vec<Figure>> {
    let database = Database::start()?;
    let there = Bench::new(here.programs.clone(), here.is_quick)?;
    database.configure(here)?;
    database.configure(&there)?;
    let measured = between(here, &there, &database, options);
    there.stop()?;
    let figures = measured?;
    // Before the database ends: a stopping daemon writes to it.
    here.stop()?;
    Ok(figures)
}

fn between(here: &Bench, there: &Bench, database: &Database, options: &Options) -> Result<Vec<Figure>> {
    let (samples, floor) = latency::wakes_between(here, there, here.times(500))?;
    let what = "PostgreSQL, two daemons: send to wake of a blocked waiter";
    let mut figures = vec![
        floor.percentile_figure(what, &samples, 50, Some(Target::Max(15_000.0))),
        floor.percentile_figure(what, &samples, 90, None),
        floor.percentile_figure(what, &samples, 99, None),
    ];
    for figure in latency::sends(here)? {
        figures.push(Figure { what: format!("PostgreSQL: {}", figure.what), target: None, ..figure });
    }
    figures.extend(rush::measure(here, " (PostgreSQL)")?);
    figures.extend(load::kills_and_cuts(&[here, there], database, options.kills / 10)?);
    Ok(figures)
}
