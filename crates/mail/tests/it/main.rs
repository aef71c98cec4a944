//! Mail through its public interface: the same scenarios on every store.

// Clippy's exception for tests covers only functions marked as tests.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod agent_names;
mod claim_race;
mod commit_hook;
mod contract;
mod crash;
mod disk_faults;
mod faults;
mod file;
mod fixture;
mod home;
mod late_disconnect;
mod machines;
mod model;
mod name_takeover;
mod postgres;
mod power;
mod proxy;
mod regressions;
mod round_trips;
mod spaces;
mod spool;
mod unwritable;
mod waiting;
