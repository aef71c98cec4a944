//! The project's own tasks: `cargo xtask setup | demo | test | bench | soak | tidy`.
//!
//! Contains the tasks of developers and CI around the product: install missing programs, demonstrate, test and measure.
//! Depends on none of the product's crates; drives the built program as an agent or a shell does. One file per task;
//! start with the task's file.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a person at a terminal")]

mod demo;
mod dependencies;
mod setup;
mod soak;
mod test;
mod tidy;
mod trackers;

mod agents;
mod clients;
mod conformance;
mod example;
mod made_up_part;
mod matrix;

mod bench;
mod score;

mod agent;
mod cache;
mod steps;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask TASK

  setup [demo|judges|tests|all]
                           install what the demonstration or the tests need, the language servers that judge among it, by
                           the ordinary package managers
  demo                     build hob and play a real conversation with GHCi through it
  test                     install what is missing, then check formatting, lints and the house rules, and run all tests
  tidy                     check the house rules only
  bench [PART…] [--quick]  measure against floors in one interleaved run; writes docs/generated/bench.md
                           parts: start echo memory eval drain sessions
  bench mail [PART…] [--quick] [--kills N]
                           messages between agents against the disk, SQLite and PostgreSQL, and what killing the daemon
                           loses (nothing, or it fails); writes docs/generated/bench-mail.md
                           parts: send wake wait rush idle large machines kills
  bench ask [PART…] [--quick] [--kills N]
                           questions to a person: waiting, answers, races, and what killing daemons and agents loses
                           (nothing, or it fails); writes docs/generated/bench-ask.md
                           parts: answer command listing crowd mail races kills
  conformance              the official MCP suite against a server of ours; writes docs/generated/conformance.md
  bench code [--quick]     questions about half a million lines beside ripgrep, or it fails; writes
                           docs/generated/bench-code.md
  bench cure [--quick]     the Cure compiler beside its targets, or it fails; writes docs/generated/bench-cure.md
  bench hooks [--quick]    what agents wait for at their hooks' events, beside an empty program, Node and Python; writes
                           docs/generated/bench-hooks.md
  bench nodes [--quick]    a node beside the bare request to its model, or it fails; writes docs/generated/bench-nodes.md
  bench work [--quick]     questions about the work beside one `git status`, or it fails; writes docs/generated/bench-work.md
  bench mcp [--quick]      the MCP library against the official SDKs and floors; writes docs/generated/bench-mcp.md
  score code [--quick] [LANGUAGE…]
                           the uses that find_uses confirms in six projects of the registries beside those that compilers and type
                           checkers name, or it fails; writes docs/generated/score-code.md when all languages are scored
  score code lies [--quick|--kept|JUDGE…]
                           questions while language servers load, die or hang and files change: none final and wrong, and each
                           final in time beside a naive client, or it fails; writes docs/generated/score-code-lies.md;
                           of judges that are not named, and with --kept of all, with what was measured last
                           judges: ty tsc gopls clangd rust-analyzer
  score code memory        four worktrees that want a rust-analyzer each in 1.5 GiB: the curve, what was parked, every question
                           answered, or it fails; writes docs/generated/score-code-memory.md
  score nodes [--quick]    run 2,000 generated schemas on the offline engine and have another validator judge what nodes return;
                           writes docs/generated/score-nodes.md
  soak [NAME…] [--seconds N] [--keep] [--times N] [--seed N]
                           fuzz the MCP library and the Cure compiler, each target for ten minutes unless told otherwise;
                           --keep adds to fuzz/corpus what reached something new; and do what the tests do at random so
                           many times: interrupts in each REPL, pieces of Haskell against GHC, checkouts that mean harm
                           targets: framing connection cure_parser cure_checker cure_writer hook shell_words
                           at random: interrupts pieces checkouts
  part                     add a part that is made up to a copy of this checkout, by one crate, one file and one line
  clients                  real clients: with `hob mcp`, and the matrix of all they can do; writes
                           docs/generated/clients.md
  clients agents [NAME…] [--hob FILE] [--hooks|--tools]
                           real coding agents with `hob mcp`, driven by a scripted model: what of it reaches a model, and
                           (with --hooks, alone; not with --tools) what hob's hooks keep from running; writes docs/generated/agents.md
  clients hooks [NAME…] [--trial WORDS] [--hob FILE] [--packages DIR]
                           real coding agents with hob's hooks: what these add to a model's input, and who is asked;
                           writes docs/generated/hooks-context.md
  trackers                 build the issue tracker br, and record what it prints and writes as fixtures of crates/work
";

/// A task: its name, and its function of the arguments after the name.
type Task = (&'static str, fn(&[String]) -> Result<()>);

const TASKS: &[Task] = &[
    ("setup", setup::run_task),
    ("demo", |rest| no_arguments(rest).and_then(|()| demo::run())),
    ("test", |rest| no_arguments(rest).and_then(|()| test::run_task())),
    ("tidy", |rest| no_arguments(rest).and_then(|()| tidy::run())),
    ("bench", bench::run),
    ("score", score::run),
    ("conformance", |rest| no_arguments(rest).and_then(|()| conformance::run())),
    ("soak", soak::run_task),
    ("part", |rest| no_arguments(rest).and_then(|()| made_up_part::run())),
    ("clients", clients::run),
    ("trackers", |rest| no_arguments(rest).and_then(|()| trackers::run_task())),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if wants_help(&args) {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let (task, rest) = args.split_first().map_or(("", &[][..]), |(task, rest)| (task, rest));
    let Some((_, run)) = TASKS.iter().find(|(name, _)| *name == task) else {
        eprint!("xtask: there is no task {task:?}\n\n{USAGE}");
        return ExitCode::from(2);
    };
    match run(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask {task}: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// True if the arguments ask for help, before or after a task's name.
fn wants_help(args: &[String]) -> bool {
    args.is_empty() || args[0] == "help" || args.iter().any(|word| matches!(word.as_str(), "-h" | "--help"))
}

/// Rejects arguments to a task that takes none, instead of ignoring them.
fn no_arguments(rest: &[String]) -> Result<()> {
    match rest.first() {
        None => Ok(()),
        Some(other) => bail!("it takes no arguments, and there is {other:?}; `cargo xtask help` shows what tasks take"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_task_is_in_the_help_and_gives_it() {
        for (task, _) in TASKS {
            assert!(USAGE.contains(&format!("\n  {task} ")), "{task}");
            assert!(wants_help(&split(&format!("{task} --help"))) && wants_help(&split(&format!("{task} x -h"))));
            assert!(!wants_help(&split(task)));
        }
        assert!(wants_help(&[]) && wants_help(&split("help")));
        assert!(no_arguments(&split("--quick")).unwrap_err().to_string().contains("cargo xtask help"));
    }
}
