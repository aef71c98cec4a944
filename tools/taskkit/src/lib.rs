//! The base of the project's tasks: `xtask` and the programs below `tools`.
//!
//! Contains what several of them need: paths of the checkout and execution of programs ([`workspace`]), installation
//! ([`setup`]), the cache shared by checkouts ([`cache`]), the command line ([`tasks`]), polling ([`until()`]).
//! Depends on none of the product's crates. Start with [`workspace`].

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a person at a terminal")]

pub mod cache;
pub mod setup;
pub mod tasks;
mod until;
pub mod workspace;

pub use until::until;
