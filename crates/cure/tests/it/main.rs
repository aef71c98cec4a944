//! Tests through the compiler's public interface: tables of programs, hostile texts, random programs, and the generated
//! code on Erlang. `generator/` makes the random programs.

// The lints' own exception for tests covers only functions that are marked as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod beam;
mod classes;
mod conversations;
mod generated;
mod generator;
mod hostile;
mod library;
mod messages;
mod natural_library;
mod programs;
mod random_modules;
mod unused;
