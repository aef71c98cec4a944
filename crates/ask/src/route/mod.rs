//! The ways to a person and back: a call that waits, with the dialog of its client, and answers that come late.

mod dialog;
pub(crate) mod hooked;
pub(crate) mod late;
pub(crate) mod waiting;
