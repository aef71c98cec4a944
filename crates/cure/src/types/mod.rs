//! Types: what they are, inference and checking, refinements, exhaustiveness.

pub(crate) mod check;
pub(crate) mod derive;
pub(crate) mod exhaustive;
pub(crate) mod solver;
pub(crate) mod tree;
pub(crate) mod ty;
