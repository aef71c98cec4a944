//! Tests with real programs. Start at `fixture.rs`, which has the shared fixtures and this binary's other roles as a
//! guardian and as a parent that is killed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the lints' exception for tests leaves out their helpers"
)]

mod answers;
mod ending;
mod fixture;
mod output_log;
mod probing;
mod respawning;
mod spawning;
