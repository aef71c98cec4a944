//! The other end of the daemon: finds it or starts it, speaks to it, and is the small program that an agent starts.
//!
//! Blocking code on a thread or two, without an async runtime: a front-end lives as long as its agent, many at once,
//! and has to be small. Start with [`connect_or_start`]; [`stdio`] is `hob mcp`; [`control`] is what the command line
//! uses.

mod connect;
pub mod control;
mod start;
pub mod stdio;
mod wait;

pub use connect::{ConnectError, Connection, connect, connect_or_start, connect_or_start_with};
pub use control::Control;
pub use start::Launch;
pub use stdio::new_run;
pub use wait::{Wait, wait};
