//! A random generator of Cure programs: well-typed ones with their expected value, and ill-typed ones with the reason.
//! The expectation is independent of the compiler: the generator has its own tree, printer and evaluator.
//!
//! Start at [`make`] for well-typed programs and [`faults`] for ill-typed ones; `generated.rs` runs both.

mod calls;
mod classes;
mod containers;
mod conversations;
pub(crate) mod coverage;
mod definitions;
mod divisions;
pub(crate) mod evaluate;
mod expressions;
mod faults;
mod inference;
mod kinds;
mod library;
mod lists;
mod machines;
pub(crate) mod make;
mod matches;
mod operators;
mod patterns;
mod refinements;
mod templates;
mod tree;
mod types;
mod unproved;
pub(crate) mod value;
mod write;
mod wrong;
