//! The Language Server Protocol (3.17) as a client speaks it: framing, requests and their answers, positions, and what a
//! server may ask. Knows no particular server and no process: [`Client`] takes two streams.
//!
//! The few messages that are used are written here by hand: the generated crates of types describe several hundred, and take
//! longer to compile than all of this part's own code.

mod answering;
mod client;
mod framing;
mod places;
mod position;
mod uri;

pub(crate) use answering::Answering;
pub(crate) use client::{Client, Event, Failure};
pub(crate) use places::{Location, locations};
pub(crate) use position::{Encoding, Positions};
pub(crate) use uri::{of_path, to_path};
