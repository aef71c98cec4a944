//! The ways to a person and back: waiting calls with the dialog of their client, and late answers.

mod dialog;
pub(crate) mod hooked;
pub(crate) mod late;
pub(crate) mod waiting;
