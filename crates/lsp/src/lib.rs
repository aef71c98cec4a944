//! Language servers: their protocol, processes, open documents and readiness.
//!
//! - [`Client`] speaks the Language Server Protocol (3.17) over two streams, independent of particular servers: framing,
//!   requests, positions, and answers to the server.
//! - [`server`] owns the process of one server, its state and its documents.
//! - [`journal`] has the records of what happened to servers.
//!
//! The few messages in use are written by hand. Generated protocol crates describe several hundred, and take longer to
//! compile than all of this part's code.

mod client;
mod framing;
pub mod journal;
mod locations;
mod position;
pub mod server;
mod server_requests;
mod uri;

pub use client::{Client, Event, Failure};
pub use locations::{Location, locations};
pub use position::{Encoding, Positions};
pub use server_requests::Answering;
pub use uri::{of_path, to_path};
