//! `hob hooks`: what agents' hooks asked, and what was answered.

mod log;

use clap::{Args, Subcommand};
use project::Project;

use crate::exit::{Exit, Failure};

/// Show what agents' hooks asked, and what was answered
#[derive(Debug, Args)]
pub(crate) struct HooksCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Log(log::Log),
}

impl HooksCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            What::Log(log) => log.run(project),
        }
    }
}
