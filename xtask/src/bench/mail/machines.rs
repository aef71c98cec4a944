//! Agents on two machines, as far as one machine can show it: two clones of a repository, a daemon for each, one
//! PostgreSQL that carries the mail.

use anyhow::Result;

use super::super::Bench;
use super::super::report::{Figure, Target};
use super::database::Database;
use super::{Asked, latency, load, rush};

pub(super) fn measure(here: &Bench, asked: &Asked) -> Result<Vec<Figure>> {
    let database = Database::start()?;
    let there = Bench::new(here.programs.clone(), here.is_quick)?;
    database.carries(here)?;
    database.carries(&there)?;
    let measured = between(here, &there, &database, asked);
    there.stop()?;
    let figures = measured?;
    // Before the database goes: a daemon takes its leave there.
    here.stop()?;
    Ok(figures)
}

fn between(here: &Bench, there: &Bench, database: &Database, asked: &Asked) -> Result<Vec<Figure>> {
    let (samples, floor) = latency::wakes_between(here, there, here.times(500))?;
    let what = "PostgreSQL, two daemons: send to wake of a blocked waiter";
    let mut figures = vec![
        floor.beside(what, &samples, 50, Some(Target::AtMost(15_000.0))),
        floor.beside(what, &samples, 90, None),
        floor.beside(what, &samples, 99, None),
    ];
    for figure in latency::sends(here)? {
        figures.push(Figure { what: format!("PostgreSQL: {}", figure.what), target: None, ..figure });
    }
    figures.extend(rush::measure(here, " (PostgreSQL)")?);
    figures.extend(load::kills_and_cuts(&[here, there], database, asked.kills / 10)?);
    Ok(figures)
}
