//! A client for the Language Server Protocol (3.17): framing, requests, positions, and answers to servers. Independent
//! of particular servers and processes: [`Client`] takes two streams.
//!
//! The few messages in use are written by hand. Generated protocol crates describe several hundred, and take longer to
//! compile than all of this part's code.

mod client;
mod framing;
mod locations;
mod position;
mod server_requests;
mod uri;

pub(crate) use client::{Client, Event, Failure};
pub(crate) use locations::{Location, locations};
pub(crate) use position::{Encoding, Positions};
pub(crate) use server_requests::Answering;
pub(crate) use uri::{of_path, to_path};
