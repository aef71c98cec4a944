//! The interpreter of the core form: runs checked programs without Erlang. Start at [`interpret`]; [`interpreter`] is
//! the main loop, [`value`] and [`heap`] hold the program's data, [`limits`] bounds a run.

mod compare;
mod erlang;
mod fsm;
mod heap;
pub(crate) mod interpreter;
pub(crate) mod limits;
mod operations;
#[cfg(test)]
mod tests;
pub(crate) mod value;
pub(crate) mod watch;

use std::sync::Arc;

use crate::ir::form::Module;
use interpreter::Interpreter;
use limits::{Failure, Limits, Stop};
use value::{Value, show};
use watch::{Spent, Watched};

/// The maximal number of bytes in the printed form of a result.
const MOST_TEXT: usize = 100_000;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The value as Erlang prints it, or the reason for the failure.
    pub result: Result<String, Failure>,
    /// The printed output.
    pub output: String,
    /// The number of steps.
    pub steps: u64,
    /// Calls and returns, if requested.
    pub trace: Vec<String>,
    /// Steps by function, if requested.
    pub profile: Vec<Spent>,
}

/// Runs a function without parameters of one of these modules, exported or not.
pub fn interpret(
    modules: &[Arc<Module>],
    module: &str,
    function: &str,
    limits: Limits,
    stop: Stop,
    watched: Watched,
) -> Run {
    let mut interpreter = Interpreter::new(modules, limits, stop, watched);
    let result = interpreter.call(module, function, Vec::new()).map(|value: Value| show(&value, MOST_TEXT));
    let (steps, trace, profile) = (interpreter.steps(), interpreter.watch.trace(), interpreter.watch.profile());
    Run { result, steps, trace, profile, output: interpreter.output }
}
