//! Tracing and profiling of a run: calls and returns, and which functions used how many steps.

use std::collections::HashMap;

use super::value::{Value, show};
use crate::ir::form::Function;
use crate::syntax::ast::Name;

/// The module of a call from outside the program; traces omit it.
pub(crate) const CALLER: &str = "Call_from_outside";

/// The maximal number of lines in a trace; the first lines are kept.
const MOST_LINES: usize = 500;
/// The maximal length of a value in a line of the trace.
const MOST_SHOWN: usize = 200;
/// The maximal indentation of a line.
const MOST_INDENT: usize = 30;

/// Kinds of recorded data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watched {
    /// Calls and returns of the program's own functions.
    pub trace: bool,
    /// Calls and steps of all functions.
    pub profile: bool,
}

/// The steps of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The function: `Module.name/arity`.
    pub function: String,
    /// The number of calls.
    pub calls: u64,
    /// Number of its own steps.
    pub steps: u64,
}

/// The recorded trace and profile.
#[derive(Debug, Default)]
pub(crate) struct Watch<'p> {
    trace: Option<Vec<String>>,
    /// True if the outside call has begun and its first callee has not.
    outside: bool,
    /// The number of lines that were dropped after the last kept one.
    more: u64,
    profile: Option<HashMap<*const Function, Account<'p>>>,
}

#[derive(Debug)]
struct Account<'p> {
    module: Name,
    function: &'p Function,
    calls: u64,
    steps: u64,
}

impl<'p> Watch<'p> {
    pub(crate) fn new(watched: Watched) -> Watch<'p> {
        let (trace, profile) = (watched.trace.then(Vec::new), watched.profile.then(HashMap::new));
        Watch { trace, outside: false, more: 0, profile }
    }

    /// True if anything is recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.trace.is_some() || self.profile.is_some()
    }

    /// Records a call; a tail call replaces its caller.
    pub(super) fn called(&mut self, module: &Name, function: &'p Function, args: &[Value], depth: usize, tail: bool) {
        if &**module == CALLER {
            self.outside = true;
            return;
        }
        let tail = tail && !std::mem::take(&mut self.outside);
        if let Some(profile) = &mut self.profile {
            let known = profile.entry(std::ptr::from_ref(function));
            known.or_insert_with(|| Account { module: module.clone(), function, calls: 0, steps: 0 }).calls += 1;
        }
        if is_own(module) {
            let own = function.arity.saturating_sub(function.captured) as usize;
            let args: Vec<_> = args.iter().take(own).map(|arg| show(arg, MOST_SHOWN)).collect();
            let after = if tail { "  (in its place)" } else { "" };
            self.line(depth, || format!("{module}.{}({}){after}", display_name(function), args.join(", ")));
        }
    }

    /// Records a return to the caller.
    pub(super) fn returned(&mut self, module: &Name, value: &Value, depth: usize) {
        if is_own(module) {
            self.line(depth, || format!("= {}", show(value, MOST_SHOWN)));
        }
    }

    /// Records a step of a function.
    pub(super) fn step(&mut self, function: &'p Function) {
        if let Some(spent) = self.profile.as_mut().and_then(|profile| profile.get_mut(&std::ptr::from_ref(function))) {
            spent.steps += 1;
        }
    }

    fn line(&mut self, depth: usize, text: impl FnOnce() -> String) {
        match &mut self.trace {
            Some(lines) if lines.len() < MOST_LINES => {
                lines.push(format!("{}{}", "  ".repeat(depth.min(MOST_INDENT)), text()));
            }
            Some(_) => self.more += 1,
            None => {}
        }
    }

    /// The trace: calls, indented below their callers, and their results.
    pub(crate) fn trace(&self) -> Vec<String> {
        let mut lines = self.trace.clone().unwrap_or_default();
        if self.more > 0 {
            lines.push(format!("… and {} lines more", self.more));
        }
        lines
    }

    /// The profile, sorted by steps in descending order.
    pub(crate) fn profile(&self) -> Vec<Spent> {
        let all = self.profile.iter().flat_map(HashMap::values);
        let mut spent: Vec<Spent> = all
            .map(|Account { module, function, calls, steps }| Spent {
                function: format!("{module}.{}/{}", display_name(function), function.arity - function.captured),
                calls: *calls,
                steps: *steps,
            })
            .collect();
        spent.sort_by(|a, b| b.steps.cmp(&a.steps).then_with(|| a.function.cmp(&b.function)));
        spent
    }
}

/// True if a module belongs to the program and not to the standard library.
fn is_own(module: &str) -> bool {
    crate::standard::source(module).is_none()
}

/// A function's name; a closure is shown under the function that contains it.
fn display_name(function: &Function) -> String {
    match function.name.split_once('$') {
        Some((name, _)) => format!("{name}:fn"),
        None => function.name.to_string(),
    }
}
