//! Tests on real file systems. Start at `fixture.rs`: shared helpers, the comparison scan, and the child process that
//! watches.

// Clippy's exception for tests covers only functions marked as tests.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod bursts;
mod fixture;
mod hostile;
mod limits;
mod measures;
mod replaced_directories;
mod watching;
