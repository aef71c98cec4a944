//! GHC's messages: `text` reads the form for people (all versions), `json` the form for programs (9.10 and newer).
//! [`parse`] takes both, mixed with a program's own output.

mod json;
mod text;

pub use text::{Parsed, Span, parse, split_span};
