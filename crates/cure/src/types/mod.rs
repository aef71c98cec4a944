//! Type checking ([`check`]), with refinements, and exhaustiveness of matches ([`exhaustive`]). Types themselves are in
//! [`crate::ir::ty`].

pub(crate) mod check;
pub(crate) mod exhaustive;
pub(crate) mod notes;
