//! The hob binary: the command line and the composition root. No logic lives here: commands call `client` (the
//! front-end and the daemon's control role), `daemon` (the daemon itself) and `project` (where things are, and who
//! may).
//!
//! Start with [`commands`]: one file per command. [`exit`] has the one table of exit codes.

mod agents;
mod commands;
mod exit;
mod terminal;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use exit::{Exit, Failure};

/// A daemon that holds live REPLs for coding agents, and the command line to it.
#[derive(Debug, Parser)]
#[command(name = "hob", version, after_help = exit::TABLE, disable_help_subcommand = true)]
struct Cli {
    /// The project's directory [default: HOB_PROJECT, or the project around the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    // The hidden process of each session; nothing may be set up before it.
    if args.first().is_some_and(|command| command == "guardian") {
        return daemon::guardian::run(args.into_iter().skip(1));
    }
    let ended = match commands::quick(&args) {
        Some(ended) => ended,
        None => parse_and_run(args),
    };
    match ended.and_then(shown) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            terminal::report(&failure);
            failure.exit.into()
        }
    }
}

fn parse_and_run(args: Vec<OsString>) -> Result<Exit, Failure> {
    match Cli::try_parse_from(std::iter::once(OsString::from("hob")).chain(args)) {
        Ok(cli) => cli.command.run(cli.project),
        Err(error) => {
            // Help and version are answers, so they go to stdout; errors go to stderr, with usage.
            let kind = error.kind();
            terminal::answer(error);
            Ok(match kind {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Done,
                _ => Exit::Usage,
            })
        }
    }
}

/// Output that could not be written is a failure, unless the reader closed the pipe (`hob tools | head -1`).
fn shown(exit: Exit) -> Result<Exit, Failure> {
    match terminal::lost() {
        Some(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format_args!("cannot write to standard output: {error}"))
                .hint("Make room on its disk, or send the output elsewhere, and run it again."))
        }
        _ => Ok(exit),
    }
}

/// The user's home.
fn home() -> Result<PathBuf, Failure> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()).ok_or_else(|| {
        Failure::new("HOME is not set to an absolute path").hint("Set HOME to your home directory and try again.")
    })
}
