//! Name resolution: what modules offer ([`interface`]), what names mean inside one ([`scope`]), and how written types
//! become types ([`written`]). [`collect`] makes a module's interface; [`fingerprint`] tells whether dependents can see
//! a difference between two.

pub(crate) mod classes;
pub(crate) mod collect;
mod conditions;
mod derive;
pub(crate) mod fingerprint;
mod heads;
pub(crate) mod interface;
mod order;
pub(crate) mod scope;
pub(crate) mod written;
