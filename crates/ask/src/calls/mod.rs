//! The shared parts of all tools: asking and waiting, arguments, and results.

pub(crate) mod options;
pub(crate) mod question_call;
pub(crate) mod result;
