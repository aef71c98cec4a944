//! The tools and the sessions through the public interface, with real programs. Start at `fixture.rs`.

// The lints' own exception for tests covers only functions that are marked as tests.
#![allow(clippy::unwrap_used)]

mod answers;
mod components;
mod contention;
mod first_guesses;
mod fixture;
mod ghc_mcp;
mod kept_output;
mod lifecycle;
mod package;
mod python_packages;
mod refusals;
mod reload_python;
mod set_up;
mod stale_code;
mod terminal;
mod unused;
mod virtual_environments;
mod wrong_use;
