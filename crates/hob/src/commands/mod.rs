//! The commands, one file each. Every command ends with an [`Exit`] or a [`Failure`]; nothing else ends the program.

mod completions;
mod doctor;
mod init;
mod trust;

use std::path::Path;

use clap::Subcommand;
use project::Project;

use crate::exit::{Exit, Failure};

/// What hob can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Init),
    Trust(trust::TrustCommand),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

impl Command {
    /// Runs it. `explicit` is what `--project` named.
    pub(crate) fn run(self, explicit: Option<&Path>) -> Result<Exit, Failure> {
        match self {
            Command::Init(init) => init.run(&find_project(explicit)?),
            Command::Trust(trust) => trust.run(&find_project(explicit)?),
            Command::Doctor(doctor) => doctor.run(&find_project(explicit)?),
            Command::Completions(completions) => completions.run(),
        }
    }
}

fn find_project(explicit: Option<&Path>) -> Result<Project, Failure> {
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::new(format_args!("cannot tell the current directory: {error}"))
            .hint("Go to a directory that exists and try again.")
    })?;
    Project::find(explicit, &cwd).map_err(Failure::new)
}
