//! State machines: their graph ([`Graph`]), their verification ([`verify`]) and their diagrams ([`mermaid`]). The
//! checker turns guards and actions into functions.

mod graph;
mod mermaid;
#[cfg(test)]
mod tests;
pub(crate) mod verify;

pub(crate) use graph::milliseconds;
pub use graph::{Edge, Graph, Trigger};
pub use mermaid::mermaid;
pub use verify::{Finding, FindingKind};
