//! Proofs by programs that are made here: well-typed ones together with what they are worth, and ill-typed ones with
//! the reason. Nothing of the compiler decides what is expected: the tree, its text and its value are their own.
//!
//! Start at [`make`] for well-typed programs; [`tests`] runs them.

mod calls;
mod classes;
mod containers;
mod conversations;
mod coverage;
mod definitions;
mod evaluate;
mod expressions;
mod faults;
mod kinds;
mod library;
mod machines;
pub(crate) mod make;
mod matches;
mod operators;
mod patterns;
pub(crate) mod random;
mod refinements;
mod templates;
mod tests;
mod tree;
mod types;
mod unproved;
mod value;
mod write;
mod wrong;
