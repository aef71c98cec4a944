//! The tools and the sessions through the public interface, with real programs. Start at `fixture.rs`.

// The lints' own exception for tests covers only functions that are marked as tests.
#![allow(clippy::unwrap_used)]

mod contention;
mod fixture;
mod ghc_mcp;
mod kept_output;
mod lifecycle;
mod package;
mod refusals;
mod wrong_use;
