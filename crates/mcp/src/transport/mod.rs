//! The streams a server is reached by. Each is a thin layer over [`Server::serve`](crate::server::Server::serve),
//! which takes any pair of streams.

mod descriptor;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
pub mod stdio;
pub mod unix;
