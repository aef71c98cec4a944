//! The project's own tasks: `cargo xtask setup | demo | test | bench | soak | tidy`.
//!
//! Contains the tasks of developers and CI around the product: install missing programs, test, check the rules of the house.
//! The tasks that play real agents and the benches are programs below `tools`; this one builds and runs them. Depends on none
//! of the product's crates. One file per task; start with the task's file.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a person at a terminal")]

mod made_up_part;
mod soak;
mod steps;
mod test;
mod tidy;

use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use taskkit::tasks::{self, Task, no_arguments};
use taskkit::{setup, workspace};

const USAGE: &str = "\
usage: cargo xtask TASK

  setup [demo|judges|tests|all]
                           install what the demonstration or the tests need, the language servers that judge among it, by
                           the ordinary package managers
  demo                     build hob and play a real conversation with GHCi through it
  test [--all]             install what is missing, then check formatting, lints and the house rules, and run the tests and
                           the suite of `conformance`; --all adds fuzzing, `part`, `clients`, an agent, and the tests of
                           the slowest language servers
  tidy                     check the house rules only
  soak [NAME…] [--seconds N] [--keep] [--times N] [--seed N]
                           fuzz the MCP library and the Cure compiler, each target for ten minutes unless told otherwise;
                           --keep adds to fuzz/corpus what reached something new; and do what the tests do at random so
                           many times: interrupts in each REPL, pieces of Haskell against GHC, checkouts that mean harm
                           targets: framing connection cure_parser cure_checker cure_writer hook shell_words
                           at random: interrupts pieces checkouts
  part                     add a part that is made up to a copy of this checkout, by one crate, one file and one line

These have a help of their own (`cargo xtask TASK --help`):

  bench                    measure against floors
  score                    measure the accuracy of answers
  clients                  real clients and real coding agents with `hob mcp`
  conformance              the official MCP suite against a server of ours
  package                  pack hob for pip, uv and npm
  page                     `hob page` in a real browser
  screenshots              the pictures of README and of the guide
  trackers                 record an issue tracker's output as fixtures
";

const TASKS: &[Task] = &[
    ("setup", setup::run_task),
    ("test", test::run_task),
    ("tidy", |rest| no_arguments(rest).and_then(|()| tidy::run())),
    ("soak", soak::run_task),
    ("part", |rest| no_arguments(rest).and_then(|()| made_up_part::run())),
];

/// The programs of the other tasks: package and tasks.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("agents", &["demo", "clients", "conformance", "page", "screenshots", "trackers"]),
    ("bench", &["bench", "score"]),
    ("package", &["package"]),
];

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let Some((package, _)) = PROGRAMS.iter().find(|(_, tasks)| tasks.contains(&task.as_str())) else {
        return tasks::run(USAGE, TASKS);
    };
    let mut program = workspace::cargo();
    // Paths among the arguments are relative to the directory of the caller.
    program.current_dir(".").args(["run", "--quiet", "--package", package, "--"]).args(std::env::args().skip(1));
    eprintln!("xtask {task}: could not start cargo: {}", program.exec());
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_in_the_help() {
        let tasks = TASKS.iter().map(|(task, _)| task).chain(PROGRAMS.iter().flat_map(|(_, tasks)| *tasks));
        for task in tasks {
            assert!(USAGE.contains(&format!("\n  {task} ")), "{task}");
        }
    }
}
