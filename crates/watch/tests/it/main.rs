//! Tests on real file systems. Start at `fixture.rs`: what they share, the full scan by other means, and this binary's
//! other life as a process that watches.

// The lints' own exception for tests covers only functions that are marked as tests.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod bursts;
mod fixture;
mod hostile;
mod limits;
mod measures;
mod places;
mod watching;
