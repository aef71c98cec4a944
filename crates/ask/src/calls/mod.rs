//! The shared parts of all tools: asking and waiting, arguments, and results.

pub(crate) mod asking;
pub(crate) mod options;
pub(crate) mod result;
