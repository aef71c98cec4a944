//! The data that the stages of the compiler hand on: types ([`ty`]), checked programs ([`tree`]) and the core form
//! ([`form`]), which the interpreter runs and from which BEAM files are made. Stages depend on it, and it on none of them.

pub mod form;
pub(crate) mod tree;
pub(crate) mod ty;
