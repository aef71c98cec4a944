//! Live REPL sessions for agents, and the tools that reach them: evaluate now, wait, read on, interrupt.
//!
//! Start with `tools/eval.rs`, the way in; `session/actor.rs` owns a running REPL; [`adapter`] is what differs between
//! languages in code, [`profile`] what differs in data. [`diagnostics`] reads what compilers say.

pub mod adapter;
pub mod diagnostics;
pub mod profile;
pub mod query;
pub mod session;
pub mod text;
