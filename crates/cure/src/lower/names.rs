//! Composed names and their length. A single word in a text always fits an Erlang atom; a module path, or the name of a
//! machine's module, a closure or a method, may not.

use crate::diagnostic::{Diagnostic, Span, code};
use crate::ir::form::Function;
use crate::syntax::ast::{Item, Module, Name};
use crate::syntax::lexer::LONGEST_NAME;

/// The Erlang name of the machines' runtime.
pub(crate) const RUNTIME: &str = "cure_fsm";

/// The BEAM module of a machine.
pub(crate) fn of_machine(module: &str, machine: &str) -> Name {
    Name::from(format!("{module}.{machine}"))
}

/// The BEAM module by which `Std.Fsm` finds a machine.
pub(crate) fn of_line(machine: &str) -> Name {
    of_machine(RUNTIME, machine)
}

/// The names of a module that are too long for Erlang, each at the place that needs a shorter name.
pub(crate) fn too_long(module: &Module, functions: &[Function]) -> Vec<Diagnostic> {
    let said = |name: &str, span: Span, what: String| {
        (name.len() > LONGEST_NAME).then(|| {
            let message = format!("{what} has {} bytes; names have at most {LONGEST_NAME}", name.len());
            Diagnostic::error(code::LONG_NAME, span, message)
        })
    };
    let name = &*module.name.name;
    if let Some(error) = said(name, module.name.span, "the name of this module".to_owned()) {
        return vec![error.hint("give it fewer parts, or shorter ones")];
    }
    let machines = module.items.iter().filter_map(|item| match item {
        Item::Fsm(fsm) => Some(&fsm.name),
        _ => None,
    });
    let machines = machines.flat_map(|machine| {
        let names = [of_machine(name, &machine.name), of_line(&machine.name)];
        let long = names.into_iter().find_map(|name| said(&name, machine.span, format!("`{name:.40}…`, its module,")));
        long.map(|error| error.hint("give the machine or its module a shorter name"))
    });
    let functions = functions.iter().flat_map(|function| {
        let error = said(&function.name, function.span, format!("`{:.40}…`, made of this,", function.name));
        error.map(|error| error.hint("shorten the names of which it is made: of the function, the class, the type"))
    });
    machines.chain(functions).collect()
}
