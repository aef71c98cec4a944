//! Releases memory that only the start needed.
//!
//! A front-end runs a small part of the program. Most of the code used before it is connected (the dynamic linker,
//! parsing the command line, finding and starting the daemon) never runs again, and the kernel maps 64 KiB of code for
//! each address that is touched. Unmapping all of it costs some tens of microseconds; code that is still needed returns
//! from the page cache when it next runs.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(super) use linux::forget_code;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub(super) use macos::forget_code;
