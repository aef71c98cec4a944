//! Name resolution: the interfaces of modules ([`interface`]), the meaning of names inside one ([`scope`]), and the
//! conversion of written types ([`written_types`]). [`collect`] builds a module's interface; [`fingerprint`] tells whether
//! dependents can see a difference between two.

pub(crate) mod classes;
pub(crate) mod collect;
mod conditions;
mod derive;
pub(crate) mod fingerprint;
mod heads;
pub(crate) mod interface;
mod order;
mod redefinitions;
pub(crate) mod scope;
pub(crate) mod suggest;
pub(crate) mod written_types;
