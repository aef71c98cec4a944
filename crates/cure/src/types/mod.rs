//! Types: what they are, inference and checking, refinements, exhaustiveness.

pub(crate) mod check;
pub(crate) mod exhaustive;
