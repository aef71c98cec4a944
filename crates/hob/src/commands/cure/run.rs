//! `hob cure run`: a program in the interpreter.

use std::path::PathBuf;

use clap::Args;
use cure::run::{Outcome, Request, run};
use cure::{Limits, Watched};

use super::{Place, inputs, refuse};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Run a function of a program in the interpreter, and print its value
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The exported function: main, or Module.main
    #[arg(long, value_name = "NAME", default_value = "main")]
    function: String,
    /// Show the calls of the program's own functions, on standard error
    #[arg(long)]
    trace: bool,
    /// Show where its steps went, on standard error
    #[arg(long)]
    profile: bool,
    /// Its arguments, each an expression of Cure: 3, '"text"', 'Circle(2)'
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    args: Vec<String>,
}

/// A person can end it with Ctrl-C, so only memory and output are limited.
const LIMITS: Limits = Limits { steps: u64::MAX, depth: usize::MAX, output: 64 << 20, memory: 4 << 30, time: None };

impl Run {
    pub(super) fn run(self, place: &Place) -> Result<Exit, Failure> {
        let Some(input) = inputs(&[self.file])?.pop() else {
            return Err(Failure::new("name one file").exit(Exit::Usage));
        };
        let watched = Watched { trace: self.trace, profile: self.profile };
        let request =
            Request { function: self.function, args: self.args, limits: LIMITS, watched, ..Request::default() };
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
                return Err(failure.hint(format_args!("It defines:\n{}", there.join("\n"))));
            }
            Outcome::Arguments(reasons) => {
                let failure = Failure::new(format_args!("the arguments do not fit {}", request.function));
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
                // A program that only prints has nothing more to say.
                if value != "unit" {
                    terminal::line(value);
                }
                Ok(Exit::Done)
            }
            Err(failure) => Err(Failure::new(failure)),
        }
    }
}
