//! Fuzz targets: what must hold for any input. A violation is a panic, which the fuzzer reports with its input.
//!
//! For the MCP library, input is text with two bytes that are not valid in UTF-8: `FF` cuts it, so that the rest comes
//! in a later read, and `FE` also lets the server settle first. For the Cure compiler, input is a program; for hooks, an
//! event, or a text for a shell.

pub mod cure;
mod framing;
mod hooks;
mod owed_answers;
mod peer;

pub use self::hooks::{hook, shell_words};
pub use framing::framing;
pub use peer::{connection, expect_panics};

/// Cuts the input.
const CUT: u8 = 0xFF;
/// Cuts the input and lets the server settle.
const SETTLE: u8 = 0xFE;

/// The pieces of the input in order, and whether the server settles before each.
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
