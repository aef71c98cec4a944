//! The tasks that play real agents and clients: `cargo xtask demo | clients | conformance | page |
//! screenshots | trackers`.
//!
//! Each drives the built program, or an example of the MCP library, with software that others wrote, and writes a page of
//! `docs/generated` or fixtures. Depends on none of the product's crates. One file or folder per task; start with the task's.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a person at a terminal")]

mod agents;
mod clients;
mod conformance;
mod demo;
mod example;
mod matrix;
mod page;
mod trackers;

use std::process::ExitCode;

use taskkit::tasks::{self, Task, no_arguments};

const USAGE: &str = "\
usage: cargo xtask TASK

  demo                     build hob and play a real conversation with GHCi through it
  conformance              the official MCP suite against a server of ours; writes docs/generated/conformance.md
  clients                  real clients: with `hob mcp`, and the matrix of all they can do; writes
                           docs/generated/clients.md
  clients agents [NAME…] [--hob FILE] [--hooks|--tools]
                           real coding agents with `hob mcp`, driven by a scripted model: what of it reaches a model, and
                           (with --hooks, alone; not with --tools) what hob's hooks keep from running; writes docs/generated/agents.md
  clients hooks [NAME…] [--trial WORDS] [--hob FILE] [--packages DIR]
                           real coding agents with hob's hooks: what these add to a model's input, and who is asked;
                           writes docs/generated/hooks-context.md
  clients plugins [--hob FILE]
                           hob's plugin in real coding agents: installed by their commands, called, removed; writes
                           docs/generated/plugins.md
  page                     `hob page` in a real browser: accessibility, keyboard, narrow and dark, hostile text, changes; writes
                           screenshots to target/page
  screenshots              take the pictures of README and of the guide; writes docs/pictures
  trackers                 build the issue tracker br, and record what it prints and writes as fixtures of crates/work
";

const TASKS: &[Task] = &[
    ("demo", |rest| no_arguments(rest).and_then(|()| demo::run())),
    ("conformance", |rest| no_arguments(rest).and_then(|()| conformance::run())),
    ("clients", clients::run),
    ("page", |rest| no_arguments(rest).and_then(|()| page::run())),
    ("screenshots", |rest| no_arguments(rest).and_then(|()| page::take_screenshots())),
    ("trackers", |rest| no_arguments(rest).and_then(|()| trackers::run_task())),
];

fn main() -> ExitCode {
    tasks::run(USAGE, TASKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_in_the_help() {
        for (task, _) in TASKS {
            assert!(USAGE.contains(&format!("\n  {task} ")), "{task}");
        }
    }
}
