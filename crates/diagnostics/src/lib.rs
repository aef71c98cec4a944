//! What a compiler says about code, as data.
//!
//! [`Diagnostic`] is one message, whichever compiler and form it came in; [`ghc`] reads GHC's forms; [`Delta`] is the
//! difference between two lists. Everything takes text and gives values: no session, process or protocol is known here.

mod delta;
mod diagnostic;
pub mod ghc;

pub use delta::Delta;
pub use diagnostic::{Diagnostic, Severity, Source};
