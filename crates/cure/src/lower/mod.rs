//! Lowering: from checked functions to the core form ([`crate::ir::form`]). Patterns become tests ([`matching`]),
//! closures become functions, and dictionaries become values ([`expressions`]).

mod expressions;
mod matching;
pub(crate) mod names;

use std::collections::{HashMap, HashSet};

use crate::ir::form::{Function, Module, Operand, Var};

use crate::ir::tree::VarId;
use crate::resolve::interface::Interface;
use crate::syntax::ast::Name;
use crate::types::check::{Checked, CheckedMachine, Dictionaries, default_name};

/// Assembles a module in the core form from lowered functions.
pub(crate) fn module(interface: &Interface, functions: Vec<Function>, machines: &[CheckedMachine]) -> Module {
    let name = interface.module.clone().unwrap_or_else(|| Name::from(""));
    Module {
        exports: exports(interface, &functions),
        name,
        functions,
        machines: machines.iter().map(|one| one.machine.clone()).collect(),
    }
}

/// The functions that other modules may call: exported ones, and those that instances and defaults need.
fn exports(interface: &Interface, functions: &[Function]) -> Vec<(Name, u32)> {
    let exported = interface.functions.iter().filter(|(_, signature)| signature.exported);
    let exported: HashSet<(&str, u32)> =
        exported.map(|((name, arity), one)| (&**name, arity + one.constraints.len() as u32)).collect();
    let defaults = interface
        .classes
        .values()
        .flat_map(|class| class.methods.iter().map(|method| default_name(&class.full, &method.name)));
    let made: HashSet<Name> =
        interface.instances.iter().map(|instance| instance.function.clone()).chain(defaults).collect();
    let open = |function: &&Function| {
        exported.contains(&(&*function.name, function.arity)) || function.captured == 0 && made.contains(&function.name)
    };
    let mut exports: Vec<_> =
        functions.iter().filter(open).map(|function| (function.name.clone(), function.arity)).collect();
    exports.sort();
    exports.dedup();
    exports
}

/// A function in the core form, preceded by its closures.
pub(crate) fn function(checked: &Checked, out: &mut Vec<Function>) {
    let source = &checked.function;
    let mut lowering = Lowering {
        dictionaries: &checked.dictionaries,
        function: source.name.clone(),
        variables: 0,
        env: HashMap::new(),
        lifted: out,
        next_var: source.variables,
        closures: 0,
    };
    for param in &source.params {
        let var = lowering.fresh();
        lowering.env.insert(*param, Operand::Var(var));
    }
    let body = lowering.tail(&source.body, Vec::new(), matching::Position::Tail);
    let variables = lowering.variables;
    out.push(Function {
        name: source.name.clone(),
        arity: source.params.len() as u32,
        captured: 0,
        variables,
        body,
        span: source.span,
    });
}

/// The lowering of one function.
struct Lowering<'a> {
    dictionaries: &'a Dictionaries,
    /// The function after which lifted closures are named.
    function: Name,
    variables: u32,
    /// The operands for the checked function's variables.
    env: HashMap<VarId, Operand>,
    lifted: &'a mut Vec<Function>,
    next_var: VarId,
    closures: u32,
}

impl Lowering<'_> {
    fn fresh(&mut self) -> Var {
        self.variables += 1;
        Var(self.variables - 1)
    }
}
