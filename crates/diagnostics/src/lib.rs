//! Compiler messages as data.
//!
//! [`Diagnostic`] is one message of any compiler and form; [`ghc`] parses GHC's forms; [`Delta`] is the difference
//! between two lists. All functions are pure: this crate knows no session, process or protocol.

mod delta;
mod diagnostic;
pub mod ghc;

pub use delta::Delta;
pub use diagnostic::{Diagnostic, Severity, Source};
