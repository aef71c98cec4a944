//! Clients of the daemon: finding or starting it, communicating with it, and the small program that an agent starts.
//!
//! Blocking code on one or two threads, without an async runtime: many front-ends run at once, each as long as its
//! agent, so a front-end must be small. Start with [`connect_or_start`]; [`stdio`] is `hob mcp`; [`control`] is for the
//! command line, and [`hook`] for agents' hooks.

mod connect;
pub mod control;
pub mod hook;
mod start;
pub mod stdio;
#[cfg(test)]
mod test_socket;
mod wait;

pub use connect::{ConnectError, Connection, connect, connect_or_start, connect_or_start_with};
pub use control::Control;
pub use start::Launch;
pub use stdio::new_run;
pub use wait::{Wait, wait};
