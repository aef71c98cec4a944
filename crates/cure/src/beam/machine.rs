//! State machines as modules in the core form: a `gen_statem` named `'Module.Name'` for each, and a module
//! `'cure_fsm.Name'` by which `Std.Fsm` finds it. The code that all machines share is written in Cure:
//! `std/erlang/cure_fsm.cure`.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use crate::compile::{NoSources, compile};
use crate::diagnostic::Span;
use crate::ir::form::{
    Block, Call, End, Function, Literal, Machine, MachineTransition, MachineTrigger, Module, Operand, Step, Test,
    Value, Var,
};
use crate::lower::names::{RUNTIME, of_line, of_machine};
use crate::syntax::ast::Name;

/// The source of the runtime.
pub(super) const TEXT: &str = include_str!("../../std/erlang/cure_fsm.cure");

pub(super) fn runtime() -> Arc<Module> {
    static MODULE: LazyLock<Arc<Module>> = LazyLock::new(|| {
        let compiled = compile(TEXT, &NoSources);
        let forms = compiled.forms();
        let form = forms.iter().find(|form| &*form.name == "Std.Fsm.Runtime").expect("the runtime is without fault");
        Arc::new(Module { name: Name::from(RUNTIME), ..Module::clone(form) })
    });
    MODULE.clone()
}

/// The functions of a module that its machines call.
pub(super) fn called(module: &Module) -> impl Iterator<Item = (&str, u32)> {
    module.machines.iter().flat_map(|machine| {
        let functions = machine.transitions.iter().flat_map(|one| one.guard.iter().chain(&one.action));
        functions.map(|name| (&**name, 2)).chain([(&*machine.initial_data, 0)])
    })
}

/// The modules of a module's machines.
pub(super) fn modules(module: &Module) -> Vec<Module> {
    module.machines.iter().flat_map(|machine| [statem(module, machine), line(module, machine)]).collect()
}

/// True if a module of this name belongs to the table.
pub(super) fn is_line(name: &str) -> bool {
    name.strip_prefix(RUNTIME).is_some_and(|rest| rest.starts_with('.'))
}

fn line(module: &Module, machine: &Machine) -> Module {
    let body = returned(Literal::Atom(of_machine(&module.name, &machine.name)));
    build_module(of_line(&machine.name), vec![function("machine", 0, 0, body)])
}

fn build_module(name: Name, functions: Vec<Function>) -> Module {
    let exports = functions.iter().map(|function| (function.name.clone(), function.arity)).collect();
    Module { name, exports, functions, machines: Vec::new() }
}

fn function(name: &str, arity: u32, variables: u32, body: Block) -> Function {
    Function { name: Name::from(name), arity, captured: 0, variables, body, span: Span::default() }
}

fn returned(literal: Literal) -> Block {
    Block { steps: Vec::new(), end: End::Return(Operand::Literal(literal)) }
}

fn remote(module: &Name, function: &str, args: Vec<Operand>) -> Call {
    Call::Remote { module: module.clone(), function: Name::from(function), args }
}

fn atom(name: &str) -> Operand {
    Operand::Literal(Literal::atom(name))
}

fn statem(module: &Module, machine: &Machine) -> Module {
    let data = Call::Remote { module: module.name.clone(), function: machine.initial_data.clone(), args: Vec::new() };
    let data = Block { steps: Vec::new(), end: End::Tail(data, Span::default()) };
    let nil = Operand::Literal(Literal::List(Vec::new()));
    let mut init = Steps::with_variables(1);
    let zero = Operand::Literal(Literal::Int(0.into()));
    let all = init.step(Value::Tuple(vec![Operand::Var(Var(0)), zero, nil]));
    let timers = Operand::Literal(timers(machine, None, &machine.initial));
    let begun = init.step(Value::Tuple(vec![
        atom("ok"),
        Operand::Literal(Literal::Atom(machine.initial.clone())),
        all,
        timers,
    ]));
    let init = function("init", 1, init.variables, Block { steps: init.steps, end: End::Return(begun) });
    let functions = vec![
        function("callback_mode", 0, 0, returned(Literal::atom("handle_event_function"))),
        function("data", 0, 0, data),
        init,
        handle_event(module, machine),
    ];
    build_module(of_machine(&module.name, &machine.name), functions)
}

/// The clocks of a state: one for each distinct time.
fn clocks(machine: &Machine, state: &Name) -> BTreeSet<u64> {
    let here = machine.transitions.iter().filter(|one| one.from == *state);
    here.filter_map(|one| match one.on {
        MachineTrigger::Timeout(after) => Some(after),
        MachineTrigger::Event(_) => None,
    })
    .collect()
}

/// Stops the clocks of the state that is left and starts those of the state that is entered. Starting a running clock
/// restarts it.
fn timers(machine: &Machine, from: Option<&Name>, to: &Name) -> Literal {
    let clock = |after: &u64| Literal::Tuple(vec![Literal::atom("timeout"), Literal::Int((*after).into())]);
    let started = clocks(machine, to);
    let left = from.map(|from| clocks(machine, from)).unwrap_or_default();
    let stops = left.difference(&started).map(|after| Literal::Tuple(vec![clock(after), Literal::atom("cancel")]));
    let starts = started
        .iter()
        .map(|after| Literal::Tuple(vec![clock(after), Literal::Int((*after).into()), Literal::atom("fire")]));
    Literal::List(stops.chain(starts).collect())
}

/// Steps with fresh variables.
struct Steps {
    steps: Vec<Step>,
    variables: u32,
}

impl Steps {
    fn with_variables(variables: u32) -> Steps {
        Steps { steps: Vec::new(), variables }
    }

    fn step(&mut self, value: Value) -> Operand {
        self.variables += 1;
        let var = Var(self.variables - 1);
        self.steps.push(Step { var, value, span: Span::default() });
        Operand::Var(var)
    }
}

const TYPE: Operand = Operand::Var(Var(0));
const CONTENT: Operand = Operand::Var(Var(1));
const STATE: Operand = Operand::Var(Var(2));
const DATA: Operand = Operand::Var(Var(3));

/// `handle_event(Type, Content, State, Data)`. Events come as casts of `{event, Name, Data}`, timeouts as
/// `{timeout, Milliseconds}`; everything else goes to the runtime.
fn handle_event(module: &Module, machine: &Machine) -> Function {
    let name = Operand::Literal(Literal::Atom(machine.name.clone()));
    let asked = remote(&Name::from(RUNTIME), "asked", vec![name, TYPE, CONTENT, STATE, DATA]);
    let asked = Block { steps: Vec::new(), end: End::Tail(asked, Span::default()) };
    let mut writer = Writer { module, machine, variables: 4 };

    let (mut steps, mut event) = (Steps::with_variables(writer.variables), Vec::new());
    let payload = steps.step(Value::Element(DATA, 0));
    let called = steps.step(Value::Element(CONTENT, 1));
    let given = steps.step(Value::Element(CONTENT, 2));
    writer.variables = steps.variables;
    event.append(&mut steps.steps);
    let events = writer.states(&called, &payload, &given, &|on| match on {
        MachineTrigger::Event(name) => Some(Literal::Atom(name.clone())),
        MachineTrigger::Timeout(_) => None,
    });
    let events = Block { steps: event, end: events };

    let mut steps = Steps::with_variables(writer.variables);
    let payload = steps.step(Value::Element(DATA, 0));
    let after = steps.step(Value::Element(TYPE, 1));
    writer.variables = steps.variables;
    let given = Operand::Literal(Literal::List(Vec::new()));
    let timeouts = writer.states(&after, &payload, &given, &|on| match on {
        MachineTrigger::Event(_) => None,
        MachineTrigger::Timeout(after) => Some(Literal::Int((*after).into())),
    });
    let timeouts = Block { steps: steps.steps, end: timeouts };

    let is_event = Test::IsTagged(CONTENT, 3, Name::from("event"));
    let is_timeout = Test::IsTagged(TYPE, 2, Name::from("timeout"));
    let cast = End::If { test: is_event, then: Box::new(events), otherwise: Box::new(keep()) };
    let other = End::If { test: is_timeout, then: Box::new(timeouts), otherwise: Box::new(asked) };
    let body = End::If {
        test: Test::Identical(TYPE, atom("cast")),
        then: Box::new(Block { steps: Vec::new(), end: cast }),
        otherwise: Box::new(Block { steps: Vec::new(), end: other }),
    };
    function("handle_event", 4, writer.variables, Block { steps: Vec::new(), end: body })
}

fn keep() -> Block {
    returned(Literal::atom("keep_state_and_data"))
}

struct Writer<'a> {
    module: &'a Module,
    machine: &'a Machine,
    variables: u32,
}

impl Writer<'_> {
    /// Transitions in order, by state and then by trigger.
    fn states(
        &mut self,
        on: &Operand,
        payload: &Operand,
        given: &Operand,
        trigger: &dyn Fn(&MachineTrigger) -> Option<Literal>,
    ) -> End {
        let machine = self.machine;
        let mut states = Vec::new();
        for state in &machine.states {
            let mut cases: Vec<(Literal, Block)> = Vec::new();
            let here = || machine.transitions.iter().filter(|one| one.from == *state);
            for literal in here().filter_map(|one| trigger(&one.on)) {
                if cases.iter().any(|(known, _)| *known == literal) {
                    continue;
                }
                let all: Vec<_> = here().filter(|one| trigger(&one.on).as_ref() == Some(&literal)).collect();
                cases.push((literal, self.transitions(&all, payload, given)));
            }
            if !cases.is_empty() {
                let end = End::Switch { on: on.clone(), cases, otherwise: Box::new(keep()) };
                states.push((Literal::Atom(state.clone()), Block { steps: Vec::new(), end }));
            }
        }
        End::Switch { on: STATE, cases: states, otherwise: Box::new(keep()) }
    }

    /// The first transition whose guard holds.
    fn transitions(&mut self, all: &[&MachineTransition], payload: &Operand, given: &Operand) -> Block {
        let Some((first, rest)) = all.split_first() else { return keep() };
        let args = vec![payload.clone(), given.clone()];
        let fires = self.fires(first, payload, &args);
        let Some(guard) = &first.guard else { return fires };
        let mut steps = Steps::with_variables(self.variables);
        let holds = steps.step(Value::Call(remote(&self.module.name, guard, args)));
        self.variables = steps.variables;
        let otherwise = Box::new(self.transitions(rest, payload, given));
        Block { steps: steps.steps, end: End::If { test: Test::IsTrue(holds), then: Box::new(fires), otherwise } }
    }

    fn fires(&mut self, one: &MachineTransition, payload: &Operand, args: &[Operand]) -> Block {
        let mut steps = Steps::with_variables(self.variables);
        let changed = match &one.action {
            Some(action) => steps.step(Value::Call(remote(&self.module.name, action, args.to_vec()))),
            None => payload.clone(),
        };
        self.variables = steps.variables;
        let name = |name: &Name| Operand::Literal(Literal::Atom(name.clone()));
        let event = match &one.on {
            MachineTrigger::Event(event) => name(event),
            MachineTrigger::Timeout(_) => atom("timeout"),
        };
        let timers = Operand::Literal(timers(self.machine, Some(&one.from), &one.to));
        let args = vec![name(&one.from), event, name(&one.to), DATA, changed, timers];
        Block { steps: steps.steps, end: End::Tail(remote(&Name::from(RUNTIME), "moved", args), Span::default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Lines;

    #[test]
    fn the_runtime_is_without_fault() {
        let compiled = compile(TEXT, &NoSources);
        let lines = Lines::new(TEXT);
        let said: Vec<_> = compiled.diagnostics.iter().map(|one| one.line(&lines)).collect();
        assert!(said.is_empty(), "{}", said.join("\n"));
        assert!(runtime().exports.iter().any(|(name, _)| &**name == "moved"));
    }
}
