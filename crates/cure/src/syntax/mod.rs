//! From text to the lossless tree and to the syntax that the rest of the compiler reads.
//!
//! Start at [`parser::parse`]; [`ast`] is what later stages see, made from the tree by [`build`].

pub mod ast;
mod build;
mod format;
mod kind;
pub(crate) mod lexer;
mod parser;

pub(crate) use build::exprs::balanced;
pub(crate) use build::literals::int as integer;
pub use build::modules;
pub use format::format;
pub(crate) use kind::keywords;
pub use kind::{CureLanguage, SyntaxKind, SyntaxNode, SyntaxToken};
pub use parser::{MAX_SOURCE, Parse, parse};

/// The number of operands in a part of a long chain of operators; the parts are computed one after the other.
const IN_PART: u32 = 16;
