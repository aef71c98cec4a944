//! Mail through its public face, the same scenarios on every store.

// The lints' own exception for tests covers only functions that are marked as tests.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod along;
mod contract;
mod crash;
mod defects;
mod faults;
mod file;
mod holders;
mod home;
mod lives;
mod machines;
mod model;
mod older;
mod place;
mod postgres;
mod power;
mod proxy;
mod spaces;
mod spool;
mod trouble;
mod unwritable;
