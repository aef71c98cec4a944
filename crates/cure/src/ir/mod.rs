//! The intermediate language: the data that one stage of the compiler hands to the next. Types ([`ty`]), checked
//! programs ([`tree`]) and the core form ([`form`]), which is interpreted or compiled to BEAM files. Stages depend on
//! this module, which depends on none of them.

pub mod form;
pub(crate) mod tree;
pub(crate) mod ty;
