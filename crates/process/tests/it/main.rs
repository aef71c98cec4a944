//! Tests with real programs. Start at `fixture.rs`: what they share, and this binary's other lives as a guardian and as a
//! parent that is killed.

// The lints' own exception for tests covers only functions that are marked as tests.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod ending;
mod fixture;
mod keeping;
mod probing;
mod respawning;
mod spawning;
