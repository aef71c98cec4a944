//! `hob hooks`: installs hob's entries in agents' files, and shows events and decisions.

mod install;
mod log;

use clap::{Args, Subcommand};
use project::Project;

use crate::exit::{Exit, Failure};

pub(crate) use install::Install;

/// Let hob check agents' actions, and show events and decisions
#[derive(Debug, Args)]
pub(crate) struct HooksCommand {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Install(install::Install),
    Uninstall(install::Uninstall),
    Log(log::Log),
}

impl HooksCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            Action::Install(install) => install.run(project),
            Action::Uninstall(uninstall) => uninstall.run(project),
            Action::Log(log) => log.run(project),
        }
    }
}
