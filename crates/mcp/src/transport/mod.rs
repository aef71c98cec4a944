//! The transports that reach a server: standard streams, Unix sockets, memory, HTTP. All but HTTP are thin layers over
//! [`Server::serve`](crate::server::Server::serve), which takes any pair of streams.

mod descriptor;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
mod platform;
pub mod stdio;
pub mod unix;
