//! Mail through its public face, the same scenarios on every store.

mod contract;
mod place;
