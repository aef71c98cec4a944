//! The interpreter of the core form: runs checked programs without Erlang. Start at [`machine`]; [`value`] and [`heap`]
//! are what it computes with, [`limits`] what holds it.

mod erlang;
mod fsm;
mod heap;
pub(crate) mod limits;
pub(crate) mod machine;
mod operations;
#[cfg(test)]
mod tests;
pub(crate) mod value;
pub(crate) mod watch;
