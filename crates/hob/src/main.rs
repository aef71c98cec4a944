//! The hob binary: the command line and the composition root. It contains no logic: commands call `client` (the front-end and
//! the daemon's control role), `daemon` (the daemon itself) and `project` (locations and permissions).
//!
//! Start with [`commands`]: one file per command. [`exit`] has the one table of exit codes.

mod agents;
mod commands;
mod exit;
mod terminal;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use exit::{Exit, Failure};

/// Live REPLs, answers about code, mail, questions and a Cure compiler for coding agents, kept warm by one daemon per project.
#[derive(Debug, Parser)]
#[command(name = "hob", version, disable_help_subcommand = true)]
struct Cli {
    /// The project's directory [default: HOB_PROJECT, or the project around the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    // The hidden process of each session; it must start before anything else is set up.
    if args.first().is_some_and(|command| command == "guardian") {
        return daemon::guardian::run(args.into_iter().skip(1));
    }
    // An agent waits for each of these, and reads its exit status.
    if args.first().is_some_and(|command| command == "hook") {
        return commands::hook::run(args.into_iter().skip(1));
    }
    let ended = match commands::quick(&args) {
        Some(ended) => ended,
        None => parse_and_run(args),
    };
    match ended.and_then(check_output) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            terminal::report(&failure);
            failure.exit.into()
        }
    }
}

fn parse_and_run(args: Vec<OsString>) -> Result<Exit, Failure> {
    let line = || std::iter::once(OsString::from("hob")).chain(args.iter().cloned());
    let error = match Cli::try_parse_from(line()) {
        Ok(cli) => return cli.command.run(cli.project),
        Err(error) => error,
    };
    let kind = error.kind();
    // Help and the version go to stdout; errors go to stderr, with usage. `hob` without arguments is an error: a script whose
    // arguments were lost must not succeed.
    terminal::answer(match kind {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            commands::help::laid_out(Cli::command()).try_get_matches_from(line()).err().unwrap_or(error)
        }
        _ => commands::help::with_tip(error),
    });
    Ok(match kind {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Done,
        _ => Exit::Usage,
    })
}

/// Turns output that could not be written into a failure, unless the reader closed the pipe (`hob tools | head -1`).
fn check_output(exit: Exit) -> Result<Exit, Failure> {
    match terminal::lost_output() {
        Some(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format_args!("cannot write to standard output: {error}"))
                .hint("Free disk space, or redirect the output, and try again."))
        }
        _ => Ok(exit),
    }
}

/// Returns the user's home directory.
fn home() -> Result<PathBuf, Failure> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()).ok_or_else(|| {
        Failure::new("HOME is not set to an absolute path").hint("Set HOME to your home directory and try again.")
    })
}
