//! Calls about descriptors that exist on one system only, or differ: one module for each system, with the same functions.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(super) use linux::{SEND_FLAGS, reopen, unsent};

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub(super) use macos::{SEND_FLAGS, reopen, unsent};
