//! GHC's messages: `text` parses the form for people (all versions), `json` the form for programs (9.10 and newer).
//! [`parse`] accepts both, mixed with a program's own output.

mod hints;
mod json;
mod text;

pub use text::{Parsed, Span, parse, split_span};
