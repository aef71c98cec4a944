//! The tasks that measure: `cargo xtask bench | score`.
//!
//! `bench` measures cost against floors, `score` the accuracy of answers against independent truth. Both drive the built
//! program or a crate's own bench, and write a page of `docs/generated`. Depends on none of the product's crates. Start with
//! [`bench`].

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a person at a terminal")]

mod bench;
mod client;
mod dependencies;
mod pipes;
mod score;

use std::process::ExitCode;

use taskkit::tasks::{self, Task};

const USAGE: &str = "\
usage: cargo xtask TASK

  bench [PART…] [--quick]  measure against floors in one interleaved run; writes docs/generated/bench.md
                           parts: start echo memory eval drain sessions
  bench --check            fails if a page's figures are of a version that is more than one release old
  bench mail [PART…] [--quick] [--kills N]
                           messages between agents against the disk, SQLite and PostgreSQL, and what killing the daemon
                           loses (nothing, or it fails); writes docs/generated/bench-mail.md
                           parts: send wake wait rush idle large machines kills
  bench ask [PART…] [--quick] [--kills N]
                           questions to a person: waiting, answers, races, and what killing daemons and agents loses
                           (nothing, or it fails); writes docs/generated/bench-ask.md
                           parts: answer command listing crowd mail races kills
  bench code [--quick]     questions about half a million lines beside ripgrep, or it fails; writes
                           docs/generated/bench-code.md
  bench cure [--quick]     the Cure compiler beside its targets, or it fails; writes docs/generated/bench-cure.md
  bench faces [--quick]    2,000 calls a second and 100 MB of output while `hob top` and `hob page` are open; writes nothing
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
  score explore [--quick]  what `scout` says will break in Rust and TypeScript, compared with the compilers' errors after the change;
                           writes docs/generated/score-explore.md
  score nodes [--quick]    run 2,000 generated schemas on the offline engine and have another validator judge what nodes return;
                           writes docs/generated/score-nodes.md
";

const TASKS: &[Task] = &[("bench", bench::run), ("score", score::run)];

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
