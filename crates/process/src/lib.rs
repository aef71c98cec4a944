//! Child processes and their output, for programs that must outlive a call and leave nothing behind.
//!
//! - [`Spec::spawn`] starts a program in its own session, with pipes, under a [`guardian`] that ends it if we die.
//! - [`Spec::answer`] runs a short-lived program with limits; [`capture()`] does so for callers without a runtime.
//! - [`Group`] is the handle on everything that descends from it: signals, members, and [`Group::end`], the kill
//!   ladder.
//! - [`probe`] asks the kernel what a program is doing: waiting for input, sleeping or computing. [`activity`] detects
//!   activity in a session that should be idle.
//! - [`subreaper`] adopts and reaps what escaped; [`records`] cleans up after an earlier daemon that crashed.
//! - [`programs`] finds programs on a search path, outside of a worktree.
//! - [`sandbox`] keeps a program and its descendants from writing elsewhere.
//! - [`output`] keeps everything a program printed, by absolute offset, within fixed bounds.
//!
//! This crate knows nothing of REPLs, MCP or projects. Start at `spec.rs`.

mod answer;
mod capture;
mod mark;
mod nonce;
mod platform;
mod spec;

mod child;
mod exec;
mod exit;
mod group;
mod termination;

pub mod guardian;
mod procfs;
pub mod records;
pub mod subreaper;

pub mod activity;
pub mod allocator;
pub mod limits;
pub mod output;
pub mod probe;
pub mod programs;
pub mod sandbox;

pub use answer::{Answer, AnswerError, Bounds};
pub use capture::capture;
pub use child::{Child, Extra};
pub use exit::Exit;
pub use group::Group;
pub use mark::unmark;
pub use nonce::{Nonce, SESSION_VARIABLE};
pub use procfs::{Member, finish_ending};
pub use rustix::process::Signal;
pub use spec::{ExtraPipe, GIVEN_MAX, GIVEN_PATH, Guard, NICEST, SpawnError, Spec, Window};
pub use termination::{EndReport, Ladder, Rung};
