//! The project's own tasks: `cargo xtask setup | demo | test | bench | soak | tidy`.
//!
//! Owns what a developer or CI does around the product: installing what is missing, showing it, checking it,
//! measuring it. Knows none of the product's crates; it talks to the built program as an agent or a shell would.
//! One file per task; start with the task's file.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a person at a terminal")]

mod demo;
mod setup;
mod soak;
mod test;
mod tidy;

mod clients;
mod conformance;
mod example;
mod matrix;

mod bench;

mod agent;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  setup [demo|tests|all]   install what the demonstration or the tests need, by the ordinary package managers
  demo                     build hob and play a real conversation with GHCi through it
  test                     install what is missing, then check formatting, lints and the house rules, and run all tests
  tidy                     check the house rules only
  bench [PART…] [--quick]  measure against floors in one interleaved run; writes docs/generated/bench.md
                           parts: start echo memory eval drain
  bench mail [PART…] [--quick] [--kills N]
                           messages between agents against the disk, SQLite and PostgreSQL, and what killing the daemon
                           loses (nothing, or it fails); writes docs/generated/bench-mail.md
                           parts: send wake wait rush idle large machines kills
  conformance              the official MCP suite against a server of ours; writes docs/generated/conformance.md
  bench cure [--quick]     the Cure compiler beside its targets, or it fails; writes docs/generated/bench-cure.md
  bench mcp [--quick]      the MCP library against the official SDKs and floors; writes docs/generated/bench-mcp.md
  soak [NAME…] [--seconds N]
                           fuzz the MCP library and the Cure compiler, each target for ten minutes unless told otherwise
  clients                  real clients: with `hob mcp`, and the matrix of all they can do; writes
                           docs/generated/clients.md
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let task = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let outcome = match task.as_str() {
        "setup" => setup::run_task(&rest),
        "demo" => demo::run(),
        "test" => test::run_task(),
        "tidy" => tidy::run(),
        "bench" => bench::run(&rest),
        "conformance" => conformance::run(),
        "soak" => soak::run_task(&rest),
        "clients" => clients::run(),
        "" | "help" | "-h" | "--help" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        other => {
            eprint!("xtask: there is no task {other:?}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask {task}: {e:#}");
            ExitCode::FAILURE
        }
    }
}
