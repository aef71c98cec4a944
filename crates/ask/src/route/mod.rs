//! The ways to a person and back: waiting calls with the dialog of their client, and late answers.

mod dialog;
pub(crate) mod hook_question;
pub(crate) mod late_answers;
pub(crate) mod waiting_call;
