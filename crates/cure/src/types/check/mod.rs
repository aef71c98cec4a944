//! The type checker: checks every body against its head and returns a module's checked functions and errors.
//!
//! [`check`] goes over the definitions. [`body`] is the state of one function; [`exprs`], [`operators`], [`calls`] and
//! [`patterns`] walk it; [`subtype`] and [`prove`] decide what fits; [`dictionaries`] finds instances.

mod applied_functions;
mod body;
mod calls;
mod construct;
mod dictionaries;
mod exhaustive;
mod exprs;
mod floats;
mod functions;
mod guards;
mod instances;
mod lists;
mod literals;
mod machines;
mod names;
mod naturals;
mod operators;
mod order;
mod patterns;
mod products;
mod prove;
mod records;
mod scrutinee_positions;
mod subtype;
#[cfg(test)]
mod tests;
mod text_numbers;
mod unused;
mod value_conditions;
mod values;

use std::cell::{Cell, RefCell};

pub(crate) use body::Dictionaries;
pub(crate) use functions::Checker;
use functions::Slot;
pub(crate) use instances::default_name;
pub(crate) use machines::CheckedMachine;
use order::order;

use crate::diagnostic::Diagnostic;
use crate::ir::tree::CheckedFunction;
use crate::resolve::collect::Collected;
use crate::resolve::interface::{Interface, Signature};
use crate::resolve::scope::Scope;
use crate::syntax::ast::{Module, Name};

/// A checked function with its dictionaries.
#[derive(Debug)]
pub(crate) struct Checked {
    pub function: CheckedFunction,
    /// The dictionaries for its holes.
    pub dictionaries: Dictionaries,
}

/// A checked module.
#[derive(Debug)]
pub(crate) struct CheckedModule {
    /// The module's interface, with the inferred results filled in.
    pub interface: Interface,
    /// Its state machines.
    pub machines: Vec<CheckedMachine>,
}

/// Checks a module whose definitions have been collected. Each function is handed on as soon as it is checked, until
/// the first error.
pub(crate) fn check(
    module: &Module,
    source: &str,
    scope: Scope,
    collected: Collected<'_>,
    errors: &mut Vec<Diagnostic>,
    keep: &dyn Fn(&Checked),
) -> CheckedModule {
    let inferred = collected.groups.iter().enumerate().filter(|(_, group)| group.inferred);
    let open = inferred.map(|(at, group)| {
        let signature = &group.signature;
        ((signature.name.clone(), signature.params.len() as u32), Slot::Open(at))
    });
    let checker = Checker {
        module: module.name.name.clone(),
        source,
        scope,
        collected: &collected,
        results: RefCell::new(open.collect()),
        keep,
        errors: RefCell::new(Vec::new()),
        looked_at: Cell::new(0),
        sound: Cell::new(!errors.iter().any(Diagnostic::is_error)),
        spent: Cell::new(false),
        nested: Cell::new(0),
    };
    for at in order(&collected.groups) {
        checker.group(&collected.groups[at]);
    }
    for (signature, foreign) in &collected.foreign {
        checker.foreign(signature, foreign);
    }
    for (class, written) in &collected.classes {
        checker.defaults(class, written);
    }
    for (info, instance, ty) in &collected.instances {
        checker.instance(info, instance, ty);
    }
    let machines = collected.machines.iter().map(|fsm| checker.machine(fsm)).collect();
    let results = checker.results.take();
    errors.extend(checker.errors.take());
    let mut interface = collected.interface;
    for (key, result) in results {
        if let (Slot::Done(result), Some(signature)) = (result, interface.functions.get_mut(&key)) {
            *signature = std::sync::Arc::new(Signature { result, ..(**signature).clone() });
        }
    }
    CheckedModule { interface, machines }
}

/// A function's name and number of parameters.
pub(crate) type Key = (Name, u32);
