//! Mail through its public face, the same scenarios on every store.

// The lints' own exception for tests covers only functions that are marked as tests.
#![allow(clippy::unwrap_used)]

mod contract;
mod place;
