//! `hob completions`: a script that completes commands and options; tools and their flags are asked for when needed.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::{Cli, terminal};

/// Print a completion script for your shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "hob", &mut script);
        terminal::print(&String::from_utf8_lossy(&script));
        Ok(Exit::Done)
    }
}
