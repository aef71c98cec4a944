//! `hob cure run`: runs a program in the interpreter.

use std::path::PathBuf;

use clap::Args;
use cure::run::{Outcome, Request, run};
use cure::{CureSettings, Limits, Watched};

use super::{Workspace, inputs, refuse};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Run a function of a program in the interpreter, and print its result
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The exported function: main, or Module.main
    #[arg(long, value_name = "NAME", default_value = "main")]
    function: String,
    /// Trace calls of the program's own functions on standard error
    #[arg(long)]
    trace: bool,
    /// Print a profile of the program's steps on standard error
    #[arg(long)]
    profile: bool,
    /// The arguments, each a Cure expression: 3, '"text"', 'Circle(2)'
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    args: Vec<String>,
}

/// The output limit in bytes, larger than for agents.
const OUTPUT: usize = 64 << 20;

/// Returns the limits, which also apply to `run_cure`.
fn limits(settings: &CureSettings) -> Limits {
    let memory = usize::try_from(settings.run_memory).unwrap_or(usize::MAX);
    Limits { steps: settings.run_steps, memory, time: Some(settings.run_time), output: OUTPUT, ..Limits::default() }
}

/// Returns the setting of the limit that was exceeded.
fn setting(failure: &cure::Failure) -> Option<&'static str> {
    match failure {
        cure::Failure::Limit { what: "steps", .. } => Some("run_steps"),
        cure::Failure::Limit { what: "seconds", .. } => Some("run_seconds"),
        cure::Failure::Limit { what: "bytes of memory", .. } => Some("run_memory"),
        _ => None,
    }
}

impl Run {
    pub(super) fn run(self, place: &Workspace) -> Result<Exit, Failure> {
        let Some(input) = inputs(&[self.file])?.pop() else {
            return Err(Failure::new("name one file").exit(Exit::Usage));
        };
        let watched = Watched { trace: self.trace, profile: self.profile };
        let request = Request {
            function: self.function,
            args: self.args,
            limits: limits(&place.settings),
            watched,
            ..Request::default()
        };
        let ran = match run(&input.text, &place.modules(&input), &request) {
            Outcome::Ran(ran) => ran,
            Outcome::Refused(diagnostics) => {
                refuse(&input, &diagnostics, &[])?;
                return Err(Failure::new("nothing was run"));
            }
            Outcome::Faulty(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                refuse(&input, &[], &names)?;
                return Err(Failure::new("nothing was run"));
            }
            Outcome::NoFunction(there) => {
                let (function, arity) = (&request.function, request.args.len());
                let failure = Failure::new(format_args!("{} exports no {function}/{arity}", input.name));
                return Err(match &there[..] {
                    [] => failure.hint("It defines no functions."),
                    there => failure.hint(format_args!("It defines:\n{}", there.join("\n"))),
                });
            }
            Outcome::Arguments(reasons) => {
                let failure = Failure::new(format_args!("invalid arguments for {}", request.function));
                return Err(reasons.into_iter().fold(failure, Failure::hint));
            }
        };
        ran.trace.iter().for_each(terminal::note);
        if !ran.profile.is_empty() {
            terminal::note("       steps     calls function");
        }
        for one in &ran.profile {
            terminal::note(format!("{:>12} {:>9} {}", one.steps, one.calls, one.function));
        }
        terminal::print(&ran.output);
        match ran.result {
            Ok(value) => {
                // A program that only prints returns `unit`.
                if value != "unit" {
                    terminal::line(value);
                }
                Ok(Exit::Done)
            }
            Err(failure) => {
                let hint = setting(&failure).map(|name| {
                    format!("`{name}` under `[cure]` in hob.toml, or in your own config.toml, sets that limit.")
                });
                Err(hint.into_iter().fold(Failure::new(failure), Failure::hint))
            }
        }
    }
}
