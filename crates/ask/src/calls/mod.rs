//! What the calls of all tools share: asking and waiting, arguments, and what is said of a question.

pub(crate) mod asking;
pub(crate) mod options;
pub(crate) mod result;
