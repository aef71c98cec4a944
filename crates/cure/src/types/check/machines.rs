//! Checks state machines: names and guards, guards and actions as functions, and the exclusion of guards by the solver.

use std::collections::{HashMap, HashSet};

use super::body::{Binding, Body, Local, Term, Val};
use super::exprs::tree;
use super::functions::Checker;
use super::subtype::instantiate;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::fsm::verify::{Guards, verify};
use crate::fsm::{Finding, Graph};
use crate::ir::form::{Literal, Machine, MachineTransition, MachineTrigger, Operation};
use crate::ir::tree::{CheckedFunction, Shape, Tree, TreeKind, VarId};
use crate::ir::ty::Ty;
use crate::resolve::interface::TypeInfoKind;
use crate::solver::{Formula, Linear, Satisfiability};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, Fsm, Ident, Name, Transition, Trigger};

/// A checked machine.
#[derive(Debug)]
pub(crate) struct CheckedMachine {
    pub graph: Graph,
    pub findings: Vec<Finding>,
    pub machine: Machine,
}

impl Checker<'_> {
    /// Checks a machine and builds its functions.
    pub(super) fn machine(&self, fsm: &Fsm) -> CheckedMachine {
        let graph = Graph::new(fsm, self.source);
        let say = |error: Diagnostic| self.errors.borrow_mut().push(error);
        let undeclared = undeclared(fsm);
        for ident in &undeclared {
            let message = format!("`{}` is not a state of {}", ident.name, fsm.name.name);
            let states = format!("its states are {}", graph.states.join(", "));
            say(Diagnostic::error(code::UNKNOWN_STATE, ident.span, message).hint(states));
        }
        if graph.states.is_empty() {
            say(Diagnostic::error(code::FSM_FORM, fsm.name.span, "a machine needs at least one state"));
        }
        let mut faulty = !undeclared.is_empty();
        for transition in &fsm.transitions {
            faulty |= match &transition.trigger {
                Trigger::Event(name) => name.name.is_empty(),
                Trigger::Timeout(after) => crate::fsm::milliseconds(after).is_none(),
            };
            match &transition.trigger {
                Trigger::Event(name) if name.name.is_empty() => {
                    let message = "an event is named by an atom: `event(:go)`";
                    say(Diagnostic::error(code::FSM_FORM, name.span, message));
                }
                Trigger::Timeout(after) if crate::fsm::milliseconds(after).is_none() => {
                    let message = "a timeout is a literal number of milliseconds: `timeout(1000)`";
                    say(Diagnostic::error(code::TIMEOUT, after.span, message));
                }
                _ => {}
            }
        }
        let fields = self.payload(fsm);
        let initial_data = self.initial_data(fsm, &fields);
        let mut transitions = Vec::new();
        for (at, transition) in fsm.transitions.iter().enumerate() {
            let guard = transition.guard.as_ref().map(|guard| self.guard_function(fsm, at, &fields, guard));
            let action = if transition.actions.is_empty() {
                None
            } else {
                Some(self.action_function(fsm, at, &fields, transition))
            };
            transitions.push(MachineTransition {
                from: transition.from.name.clone(),
                to: transition.to.name.clone(),
                on: match &transition.trigger {
                    Trigger::Event(name) => MachineTrigger::Event(name.name.clone()),
                    Trigger::Timeout(after) => MachineTrigger::Timeout(crate::fsm::milliseconds(after).unwrap_or(0)),
                },
                guard,
                action,
            });
        }
        self.surface(fsm);
        let findings = verify(&graph, &self.compare_guards(fsm, &fields));
        // Findings about a machine with errors would mean little.
        if !faulty {
            self.errors.borrow_mut().extend(findings.iter().map(Finding::diagnostic));
        }
        let name = |state: &String| Name::from(&**state);
        let machine = Machine {
            name: fsm.name.name.clone(),
            states: graph.states.iter().map(name).collect(),
            initial: name(&graph.initial),
            terminal: graph.terminal.iter().map(name).collect(),
            fields: fields.iter().map(|(name, _)| name.clone()).collect(),
            initial_data,
            transitions,
        };
        CheckedMachine { graph, findings, machine }
    }

    /// The fields of the machine's record; empty without a payload.
    fn payload(&self, fsm: &Fsm) -> Vec<(Name, Ty)> {
        let Some(_) = &fsm.payload else { return Vec::new() };
        let info = self.scope.ty(&fsm.name.name);
        match info.map(|info| &info.kind) {
            Some(TypeInfoKind::Record(fields)) => {
                if info.is_some_and(|info| !info.params.is_empty()) {
                    let message = format!("the data of a machine is of one type, `{}` has parameters", fsm.name.name);
                    self.errors.borrow_mut().push(Diagnostic::error(code::TYPE_FORM, fsm.name.span, message));
                }
                let known = |ty: &Ty| instantiate(ty, &HashMap::new(), &HashMap::new());
                fields.iter().map(|(name, ty)| (name.clone(), known(ty))).collect()
            }
            _ => {
                let message = format!("the data of {0} needs a record `{0}`", fsm.name.name);
                let hint = format!("define it: `record {} do … end`", fsm.name.name);
                let error = Diagnostic::error(code::UNKNOWN_RECORD, fsm.name.span, message).hint(hint);
                self.errors.borrow_mut().push(error);
                Vec::new()
            }
        }
    }

    fn name_of(&self, fsm: &Fsm, what: &str) -> Name {
        Name::from(format!("{}${what}", fsm.name.name))
    }

    fn initial_data(&self, fsm: &Fsm, fields: &[(Name, Ty)]) -> Name {
        let name = self.name_of(fsm, "data");
        let mut body = Body::new(self);
        let span = fsm.name.span;
        let value = match &fsm.payload {
            Some(given) if !fields.is_empty() || given.is_empty() => {
                let record = crate::syntax::ast::ExprKind::Record(fsm.name.clone(), given.clone());
                let end = given.last().map_or(span, |(_, value)| span.to(value.span));
                body.infer(&Expr { kind: record, span: end }).tree
            }
            _ => tree(TreeKind::Literal(Literal::atom("unit")), span),
        };
        let function = CheckedFunction { name: name.clone(), params: Vec::new(), variables: 0, body: value, span };
        self.finish(body, function);
        name
    }

    fn guard_function(&self, fsm: &Fsm, at: usize, fields: &[(Name, Ty)], guard: &Expr) -> Name {
        let name = self.name_of(fsm, &format!("guard{at}"));
        let mut body = Body::new(self);
        let (params, lets) = body.payload(fields, guard.span);
        let (value, _) = body.guard(guard);
        let value = tree(TreeKind::Block(lets, Box::new(value)), guard.span);
        self.finish(body, CheckedFunction { name: name.clone(), params, variables: 0, body: value, span: guard.span });
        name
    }

    fn action_function(&self, fsm: &Fsm, at: usize, fields: &[(Name, Ty)], transition: &Transition) -> Name {
        let span = transition.span;
        let name = self.name_of(fsm, &format!("action{at}"));
        let mut body = Body::new(self);
        let (params, mut lets) = body.payload(fields, span);
        // An action runs only after its guard held; errors in the guard are reported where the guard is checked.
        if let Some(guard) = &transition.guard {
            let formula = body.guard(guard).1;
            body.errors.clear();
            body.facts.extend(formula);
        }
        let mut changed: Vec<(u32, VarId)> = Vec::new();
        for (field, value) in &transition.actions {
            let Some(at) = body.field_place(fields, field, &fsm.name.name) else { continue };
            let ty = fields[at].1.clone();
            let val = body.check(value, &ty);
            // Later assignments see the new value.
            let var = body.fresh_var();
            lets.push((Shape::Bind(var), val.tree));
            let term = match val.term {
                Term::Opaque => {
                    let mut facts = Vec::new();
                    let term = body.term_of(&ty, Some(&field.name), &mut facts);
                    body.facts.extend(facts);
                    term
                }
                known => known,
            };
            body.locals.push((field.name.clone(), Local { var, ty, known: Binding::Term(term) }));
            changed.retain(|(known, _)| *known != at as u32 + 1);
            changed.push((at as u32 + 1, var));
        }
        let data = Box::new(tree(TreeKind::Var(params[0]), span));
        let changes = changed.into_iter().map(|(at, var)| (at, tree(TreeKind::Var(var), span))).collect();
        let value = tree(TreeKind::SetElements(data, changes), span);
        let value = tree(TreeKind::Block(lets, Box::new(value)), span);
        self.finish(body, CheckedFunction { name: name.clone(), params, variables: 0, body: value, span });
        name
    }

    /// The functions with which the module's users run the machine.
    fn surface(&self, fsm: &Fsm) {
        let span = fsm.name.span;
        let atom = |name: &Name| tree(TreeKind::Literal(Literal::Atom(name.clone())), span);
        let own = [atom(&self.module), atom(&fsm.name.name)];
        let list = |names: Vec<Literal>| tree(TreeKind::Literal(Literal::List(names)), span);
        for (suffix, target, arity) in [
            ("spawn", "spawn_in", 0),
            ("spawn", "spawn_in", 1),
            ("send", "cast", 2),
            ("state", "state", 1),
            ("stop", "stop", 1),
        ] {
            let mut body = Body::new(self);
            let params: Vec<VarId> = (0..arity).map(|_| body.fresh_var()).collect();
            let args = params.iter().map(|var| tree(TreeKind::Var(*var), span));
            let args = if suffix == "spawn" { own.iter().cloned().chain(args).collect() } else { args.collect() };
            let value = tree(TreeKind::Remote(Name::from("cure_fsm"), Name::from(target), args), span);
            let name = Name::from(format!("{}_{suffix}", fsm.name.name));
            self.finish(body, CheckedFunction { name, params, variables: 0, body: value, span });
        }
        let graph = Graph::new(fsm, self.source);
        let states = graph.states.iter().map(|state| Literal::atom(state)).collect();
        let edges = graph.edges.iter().map(|edge| {
            Literal::Tuple(vec![
                Literal::atom(&edge.from),
                Literal::atom(&edge.trigger.label()),
                Literal::atom(&edge.to),
            ])
        });
        let parts = vec![own[1].clone(), atom(&Name::from(&*graph.initial)), list(states), list(edges.collect())];
        let name = Name::from(format!("{}_definition", fsm.name.name));
        let value = tree(TreeKind::Tuple(parts), span);
        self.finish(Body::new(self), CheckedFunction { name, params: Vec::new(), variables: 0, body: value, span });
    }

    /// Asks the solver which guards exclude each other.
    fn compare_guards(&self, fsm: &Fsm, fields: &[(Name, Ty)]) -> Guards {
        let mut body = Body::new(self);
        body.payload(fields, fsm.name.span);
        let known = body.facts.len();
        let formulas: Vec<Option<Formula>> = fsm
            .transitions
            .iter()
            .map(|transition| match &transition.guard {
                None => Some(Formula::truth(true)),
                Some(guard) => {
                    // What computing one guard tells of the event is not known where another is computed.
                    let formula = body.guard(guard).1;
                    body.facts.truncate(known);
                    formula
                }
            })
            .collect();
        let mut guards = Guards::default();
        // Transitions by state and trigger, in order.
        let mut seen: HashMap<(&Name, Fires<'_>), Vec<usize>> = HashMap::new();
        for (at, transition) in fsm.transitions.iter().enumerate() {
            let fires = match &transition.trigger {
                Trigger::Event(name) => Fires::On(&name.name),
                Trigger::Timeout(after) => Fires::After(crate::fsm::milliseconds(after)),
            };
            let earlier = seen.entry((&transition.from.name, fires)).or_default();
            if let Some(formula) = &formulas[at] {
                let possible = |all: &[Formula]| !matches!(body.possible(all), Satisfiability::Unsat);
                if !possible(std::slice::from_ref(formula)) {
                    guards.never.insert(at);
                }
                let mut left = vec![formula.clone()];
                left.extend(earlier.iter().filter_map(|other| formulas[*other].clone()).map(Formula::not));
                if !guards.never.contains(&at) && !earlier.is_empty() && !possible(&left) {
                    guards.covered.insert(at);
                }
                for other in earlier.iter().copied() {
                    let both = match &formulas[other] {
                        Some(other) => possible(&[formula.clone(), other.clone()]),
                        None => true,
                    };
                    if both {
                        guards.overlap.insert((other, at));
                    }
                }
            } else {
                guards.overlap.extend(earlier.iter().map(|other| (*other, at)));
            }
            earlier.push(at);
        }
        guards
    }
}

/// Trigger of a transition.
#[derive(PartialEq, Eq, Hash)]
enum Fires<'f> {
    On(&'f Name),
    After(Option<u64>),
}

impl Body<'_> {
    /// The data and the event's data as parameters; the fields of the data as variables.
    fn payload(&mut self, fields: &[(Name, Ty)], span: Span) -> (Vec<VarId>, Vec<(Shape, Tree)>) {
        let data = self.fresh_var();
        let event = self.fresh_var();
        self.event = Some(event);
        let local = Local { var: event, ty: Ty::Any, known: Binding::Term(Term::Opaque) };
        self.locals.push((Name::from("event_data"), local));
        let mut lets = Vec::new();
        for (at, (name, ty)) in fields.iter().enumerate() {
            let var = self.bind(name, ty, None);
            let of = Box::new(tree(TreeKind::Var(data), span));
            lets.push((Shape::Bind(var), tree(TreeKind::Element(of, at as u32 + 1), span)));
        }
        (vec![data, event], lets)
    }
}

impl Body<'_> {
    /// Converts the data of an event to a number. Any process may send anything, so it is tested on arrival. Anything
    /// other than a whole number ends the machine, like any other error. Other values are unchanged.
    pub(super) fn event_number(&mut self, val: Val) -> Val {
        match val.tree.kind {
            TreeKind::Var(var) if self.event == Some(var) && matches!(val.ty, Ty::Any) => {}
            _ => return val,
        }
        let span = val.tree.span;
        let number = self.event_value();
        let is_other = self.event_is_other();
        self.facts.push(is_other.not());
        // Only whole numbers are divided so.
        let one = tree(TreeKind::Literal(Literal::Int(1.into())), span);
        let kind = TreeKind::Operation(Operation::Quotient, vec![val.tree, one]);
        Val { tree: tree(kind, span), ty: Ty::int(), term: Term::Int(number) }
    }

    /// A comparison with the data of an event, which says something of the number that it is if it is one.
    pub(super) fn event_compared(&mut self, operator: K, sides: [&Val; 2]) -> Option<Term> {
        let own = self.event?;
        let is_event = |val: &Val| matches!(val.tree.kind, TreeKind::Var(var) if var == own);
        let (a, b) = match sides {
            [event, Val { term: Term::Int(b), .. }] if is_event(event) => (self.event_value(), b.clone()),
            [Val { term: Term::Int(a), .. }, event] if is_event(event) => (a.clone(), self.event_value()),
            _ => return None,
        };
        let Term::Bool(said) = self.binary_term(operator, &Term::Int(a), &Term::Int(b)) else { return None };
        let is_other = self.event_is_other();
        let unknown = Formula::le(&Linear::number(1), &Linear::symbol(self.symbol(None)));
        Some(Term::Bool(is_other.clone().and(unknown).or(is_other.not().and(said))))
    }

    fn event_value(&mut self) -> Linear {
        let sym = self.opaque_symbol("event data");
        self.name_symbol(sym, "event_data");
        Linear::symbol(sym)
    }

    /// States that the data of the event is not a whole number.
    fn event_is_other(&mut self) -> Formula {
        Formula::le(&Linear::number(1), &Linear::symbol(self.opaque_symbol("event data is no number")))
    }
}

/// Reports names of undeclared states.
fn undeclared(fsm: &Fsm) -> Vec<&Ident> {
    let Some(declared) = &fsm.states else {
        let ends = fsm.transitions.iter().flat_map(|one| [&one.from.name, &one.to.name]);
        let written: HashSet<&Name> = ends.chain(fsm.blocks.iter().map(|state| &state.name)).collect();
        let named = fsm.initial.iter().chain(&fsm.terminal);
        return named.filter(|state| !written.contains(&state.name)).collect();
    };
    let declared: HashSet<&Name> = declared.iter().map(|state| &state.name).collect();
    let used = fsm.initial.iter().chain(&fsm.terminal).chain(&fsm.blocks);
    let used = used.chain(fsm.transitions.iter().flat_map(|one| [&one.from, &one.to]));
    let mut seen = HashSet::new();
    used.filter(|state| !declared.contains(&state.name) && seen.insert(state.span)).collect()
}
