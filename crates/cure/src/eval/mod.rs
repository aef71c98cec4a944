//! The interpreter of the core form: runs checked programs without Erlang. Start at [`machine`].

mod erlang;
mod fsm;
pub(crate) mod machine;
pub(crate) mod value;
