//! Checking: every body against its head. Gives the checked functions of a module, and everything that is wrong.
//!
//! [`check`] goes over the definitions; [`body`] is the state of one function, [`exprs`], [`operators`], [`calls`] and
//! [`patterns`] its walk, [`subtype`] and [`prove`] decide what fits, [`dictionaries`] finds instances.

mod body;
mod calls;
mod dictionaries;
mod exprs;
mod functions;
mod instances;
mod machines;
mod naturals;
mod operators;
#[cfg(test)]
mod pair_tests;
mod patterns;
pub(crate) mod places;
mod prove;
mod records;
mod subtype;
mod values;

use std::cell::RefCell;

pub(crate) use body::Dictionaries;
pub(crate) use functions::Program;
use functions::Slot;
pub(crate) use instances::default_name;
pub(crate) use machines::CheckedMachine;

use super::tree::CheckedFunction;
use crate::diagnostic::Diagnostic;
use crate::resolve::collect::Collected;
use crate::resolve::interface::{Interface, Signature};
use crate::resolve::scope::Scope;
use crate::syntax::ast::{Module, Name};

/// A checked function with its dictionaries.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The function.
    pub function: CheckedFunction,
    /// What stands for its holes.
    pub dictionaries: Dictionaries,
}

/// A checked module.
#[derive(Debug)]
pub(crate) struct CheckedModule {
    /// What it offers, with the inferred results in place.
    pub interface: Interface,
    /// Its functions.
    pub functions: Vec<Checked>,
    /// Its state machines.
    pub machines: Vec<CheckedMachine>,
}

/// Checks a module whose definitions have been collected.
pub(crate) fn check(
    module: &Module,
    source: &str,
    scope: Scope,
    collected: &Collected<'_>,
    errors: &mut Vec<Diagnostic>,
) -> CheckedModule {
    let inferred = collected.groups.iter().enumerate().filter(|(_, group)| group.inferred);
    let open = inferred.map(|(at, group)| {
        let signature = &group.signature;
        ((signature.name.clone(), signature.params.len() as u32), Slot::Open(at))
    });
    let program = Program {
        module: module.name.name.clone(),
        source,
        scope,
        collected,
        results: RefCell::new(open.collect()),
        done: RefCell::new(Vec::new()),
        errors: RefCell::new(Vec::new()),
    };
    for group in &collected.groups {
        program.group(group);
    }
    for (signature, foreign) in &collected.foreign {
        program.foreign(signature, foreign);
    }
    for (class, written) in &collected.classes {
        program.defaults(class, written);
    }
    for (info, instance, ty) in &collected.instances {
        program.instance(info, instance, ty);
    }
    let machines = collected.machines.iter().map(|fsm| program.machine(fsm)).collect();
    let results = program.results.take();
    let functions = program.done.take();
    errors.extend(program.errors.take());
    let mut interface = collected.interface.clone();
    for (key, signature) in &mut interface.functions {
        if let Some(Slot::Done(ty)) = results.get(key) {
            *signature = std::sync::Arc::new(Signature { result: ty.clone(), ..(**signature).clone() });
        }
    }
    CheckedModule { interface, functions, machines }
}

/// A function's name and number of parameters.
pub(crate) type Key = (Name, u32);
