//! State machines: what they are ([`Graph`]), what is wrong with them ([`verify`]), and how they are drawn
//! ([`mermaid`]). How their guards and actions become functions is the checker's business.

mod graph;
mod mermaid;
#[cfg(test)]
mod tests;
pub(crate) mod verify;

pub(crate) use graph::milliseconds;
pub use graph::{Edge, Graph, Trigger};
pub use mermaid::mermaid;
pub use verify::{Finding, FindingKind};
