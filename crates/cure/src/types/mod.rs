//! Type checking ([`check`]), with refinements, and exhaustiveness of matches (its `exhaustive`). Types themselves are in
//! [`crate::ir::ty`].

pub(crate) mod check;
pub(crate) mod notes;
