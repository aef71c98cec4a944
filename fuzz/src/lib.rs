//! What must hold whatever comes in. A broken promise is a panic, which the fuzzer reports with its input.
//!
//! To the MCP library, input is text with two bytes that no text has: `FF` cuts it, so that what follows comes in a later read, and `FE`
//! lets the server settle first. To the compiler it is a program.

mod account;
pub mod cure;
mod framing;
mod peer;

pub use framing::framing;
pub use peer::{connection, expect_panics};

/// Where input is cut.
const CUT: u8 = 0xFF;
/// Where the server may settle.
const SETTLE: u8 = 0xFE;

/// The pieces that come one after the other, and whether the server settles before each.
fn pieces(data: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut pieces = vec![(false, Vec::new())];
    for &byte in data {
        match byte {
            CUT | SETTLE => pieces.push((byte == SETTLE, Vec::new())),
            _ => pieces.last_mut().expect("never empty").1.push(byte),
        }
    }
    pieces
}
