//! Checks functions: brings heads into scope, checks clauses against the head, and guards across all clauses.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use num_traits::ToPrimitive;

use super::body::{Binding, Body, Local, Term};
use super::exhaustive::{self, Arm, Verdict};
use super::exprs::tree;
use super::prove::Proof;
use super::scrutinee_positions::Places;
use super::subtype::instantiate;
use super::{Checked, Key};
use crate::diagnostic::{Diagnostic, Span, code};
use crate::fuel;
use crate::ir::form::{Literal, Operation};
use crate::ir::tree::{Branch, CheckedFunction, Shape, TreeKind, VarId};
use crate::ir::ty::{Len, NamedLen, Pred, Ty, names_in};
use crate::resolve::collect::{Collected, Group};
use crate::resolve::interface::Signature;
use crate::resolve::scope::Scope;
use crate::solver::{Formula, Linear, Satisfiability, Sym};
use crate::syntax::ast::{Curify, Name, Param};

/// The result type of a function that does not declare one.
#[derive(Debug)]
pub(super) enum Slot {
    /// Not requested yet: the index of the function in the module.
    Open(usize),
    /// The type is being inferred.
    Running,
    Done(Ty),
}

/// A module during the check.
pub(crate) struct Checker<'p> {
    pub module: Name,
    pub source: &'p str,
    pub scope: Scope,
    pub collected: &'p Collected<'p>,
    pub(super) results: RefCell<HashMap<Key, Slot>>,
    /// Receives each checked function.
    pub(super) keep: &'p dyn Fn(&Checked),
    pub(super) errors: RefCell<Vec<Diagnostic>>,
    /// The number of diagnostics inspected, and whether all of them are warnings at most.
    pub(super) looked_at: Cell<usize>,
    pub(super) sound: Cell<bool>,
    /// True if spent fuel has been reported.
    pub(super) spent: Cell<bool>,
    /// The number of functions that wait for the result of another one.
    pub(super) nested: Cell<u32>,
}

/// How many clauses that are never reached are pointed at besides the first.
const MOST_TOLD: usize = 10;

/// How many functions may wait for each other's results; each takes some of the stack.
const MOST_NESTED: u32 = 2;

/// A function's head in the scope of its body.
pub(super) struct Head {
    pub params: Vec<VarId>,
    pub types: Vec<Ty>,
    pub terms: Vec<Term>,
    pub dictionaries: Vec<VarId>,
    pub result: Ty,
    /// Length parameters: variable, the parameter that tells it, and by how much that is longer.
    pub lengths: Vec<(VarId, VarId, i64)>,
}

impl<'p> Checker<'p> {
    /// The type that a function returns. A function without a declared result is checked first.
    pub(super) fn result_of(&self, signature: &Signature) -> Ty {
        if signature.module != self.module {
            return signature.result.clone();
        }
        let key = (signature.name.clone(), signature.params.len() as u32);
        let group = match self.results.borrow().get(&key) {
            None => return signature.result.clone(),
            Some(Slot::Done(ty)) => return ty.clone(),
            // A function that is already waiting means a cycle; any other is checked before this one.
            Some(Slot::Open(at)) if self.nested.get() < MOST_NESTED => Some(&self.collected.groups[*at]),
            Some(Slot::Open(_) | Slot::Running) => None,
        };
        let Some(group) = group else {
            let message = format!("`{}` calls itself, so its result type has to be written", key.0);
            let hint = format!("write `def {}(…): Type = …`", key.0);
            let error = Diagnostic::error(code::NEEDS_TYPE, signature.span, message).hint(hint);
            self.errors.borrow_mut().push(error);
            return Ty::Wrong;
        };
        self.nested.set(self.nested.get() + 1);
        self.group(group);
        self.nested.set(self.nested.get() - 1);
        match self.results.borrow().get(&key) {
            Some(Slot::Done(ty)) => ty.clone(),
            _ => Ty::Wrong,
        }
    }

    pub(super) fn finish(&self, body: Body<'_>, function: CheckedFunction) {
        let mut body = body;
        let dictionaries = body.find_dictionaries();
        body.hand_on_notes();
        let function = CheckedFunction { variables: body.vars, ..function };
        self.errors.borrow_mut().append(&mut body.errors);
        if self.is_sound() {
            (self.keep)(&Checked { function, dictionaries });
        }
    }

    /// True if there are no errors so far.
    fn is_sound(&self) -> bool {
        let errors = self.errors.borrow();
        let new = &errors[self.looked_at.replace(errors.len())..];
        self.sound.set(self.sound.get() && !fuel::is_spent() && !new.iter().any(Diagnostic::is_error));
        self.sound.get()
    }

    pub(super) fn group(&self, group: &Group<'_>) {
        let signature = &group.signature;
        let key = (signature.name.clone(), signature.params.len() as u32);
        if group.inferred {
            if !matches!(self.results.borrow().get(&key), Some(Slot::Open(_))) {
                return;
            }
            self.results.borrow_mut().insert(key.clone(), Slot::Running);
        }
        let mut body = Body::new(self);
        let mut head = body.head(signature, None);
        if group.inferred {
            head.result = body.meta();
        }
        let span = group.clauses[0].span;
        let mut branches = Vec::new();
        let mut arms: Vec<Option<(Option<Formula>, Span)>> = Vec::new();
        let outside = body.facts.len();
        for clause in &group.clauses {
            let (locals, facts) = (body.locals.len(), body.facts.len());
            for (at, param) in clause.params.iter().enumerate() {
                let local = Local {
                    var: head.params[at],
                    ty: head.types[at].clone(),
                    known: Binding::Term(head.terms[at].clone()),
                };
                body.locals.push((param.name.name.clone(), local));
            }
            let guard = clause.guard.as_ref().map(|guard| body.guard(guard));
            let formula = match &guard {
                None => Some(Formula::truth(true)),
                Some((_, formula)) => formula.clone(),
            };
            body.facts.extend(formula.clone());
            let value = match &clause.body {
                // With a single clause, the result keeps everything that is known about it.
                Some(value) if group.inferred && group.clauses.len() == 1 => {
                    let value = body.infer(value);
                    head.result = value.ty.clone();
                    value
                }
                Some(value) => body.check(value, &head.result),
                None => body.wrong(clause.span),
            };
            body.locals.truncate(locals);
            body.facts.truncate(facts);
            arms.push(Some((formula.clone(), clause.span)));
            branches.push(Branch { shape: Shape::Any, guard: guard.map(|(tree, _)| tree), body: value.tree });
            body.facts.extend(formula.map(Formula::not));
        }
        body.facts.truncate(outside);
        if group.clauses.len() > 1 || group.clauses[0].guard.is_some() {
            self.covered(&mut body, group, &arms);
        }
        let scrutinee = head.params.iter().map(|var| tree(TreeKind::Var(*var), span)).collect();
        let single = branches.len() == 1 && branches[0].guard.is_none();
        let value = if single {
            branches.remove(0).body
        } else {
            tree(TreeKind::Match(Box::new(tree(TreeKind::Tuple(scrutinee), span)), branches), span)
        };
        let value = body.with_lengths(&head, value, span);
        if group.inferred {
            let result = body.closed(&head.result, signature);
            self.results.borrow_mut().insert(key, Slot::Done(result));
        }
        let params = head.dictionaries.iter().chain(&head.params).copied().collect();
        let function = CheckedFunction { name: signature.name.clone(), params, variables: 0, body: value, span };
        self.finish(body, function);
    }

    /// Checks that the guards of all clauses are exhaustive, and that every clause is reachable.
    fn covered(&self, body: &mut Body<'_>, group: &Group<'_>, arms: &[Option<(Option<Formula>, Span)>]) {
        let mut left: Vec<Formula> = Vec::new();
        let mut open = true;
        for (arm, clause) in arms.iter().flatten().zip(&group.clauses) {
            let (formula, span) = arm;
            let mut here = left.clone();
            here.extend(formula.clone());
            let agrees = clause
                .params
                .iter()
                .zip(&group.clauses[0].params)
                .all(|(one, first)| same_text(self.source, one, first));
            if agrees && (!open || matches!(body.possible(&here), Satisfiability::Unsat)) {
                let name = &group.signature.name;
                let message = format!("this clause of `{name}` is never reached");
                let hint = "the clauses above take everything it would; remove it, or move it up".to_owned();
                body.errors
                    .push(Diagnostic::warning(code::UNREACHABLE, clause.name.span.to(*span), message).hint(hint));
            }
            if clause.guard.is_none() {
                open = false;
            }
            left.extend(formula.clone().map(Formula::not));
        }
        // The guard of a single clause must be proved by the callers.
        if !open || group.clauses.len() == 1 {
            return;
        }
        let nothing = Formula::And(left).not();
        let example = match body.prove(&nothing) {
            Proof::Holds => return,
            Proof::Refuted(model) => {
                let mut named = Vec::new();
                nothing.symbols(&mut |sym| {
                    if let (Some(name), Some(value)) = (body.symbol_name(sym), model.get(&sym)) {
                        named.push(format!("{name} = {value}"));
                    }
                });
                named.dedup();
                named.join(", ")
            }
            Proof::Unknown => String::new(),
        };
        let name = &group.signature.name;
        let message = format!("the clauses of `{name}` leave something out");
        let error = body.error(code::NOT_EXHAUSTIVE, group.signature.span, message);
        if !example.is_empty() {
            error.hints.push(format!("for example {example}"));
        }
        error.hints.push("add a clause without a guard at the end".to_owned());
    }

    pub(super) fn foreign(&self, signature: &Signature, foreign: &Curify) {
        let mut body = Body::new(self);
        let head = body.head(signature, None);
        let span = foreign.head.span;
        let args = head.params.iter().map(|var| tree(TreeKind::Var(*var), span)).collect();
        let call = tree(TreeKind::Remote(foreign.module.clone(), foreign.function.clone(), args), span);
        let params = head.dictionaries.iter().chain(&head.params).copied().collect();
        let function = CheckedFunction { name: signature.name.clone(), params, variables: 0, body: call, span };
        self.finish(body, function);
    }
}

impl Body<'_> {
    /// Brings a head into scope. `class` is the type for the parameter of a class.
    pub(super) fn head(&mut self, signature: &Signature, class: Option<(&Name, &Ty)>) -> Head {
        let mut dictionaries = Vec::new();
        for (class, ty) in &signature.constraints {
            let var = self.fresh_var();
            dictionaries.push(var);
            self.given.push((class.clone(), ty.clone(), var));
        }
        self.type_params = signature.type_params.clone();
        let types: HashMap<Name, Ty> = class.into_iter().map(|(name, ty)| (name.clone(), ty.clone())).collect();
        let mut names: HashMap<Name, Linear> = HashMap::new();
        for name in &signature.len_params {
            let length = self.length_symbol(Some(name));
            names.insert(name.clone(), length);
        }
        let mut symbols = Vec::new();
        for (name, _) in &signature.params {
            let sym = self.symbol(Some(name));
            symbols.push(sym);
            // Several parameters may be called `_`; none of them can be referred to.
            if &**name != "_" {
                names.insert(name.clone(), Linear::symbol(sym));
            }
        }
        self.head_names = names.clone();
        let mut head = Head {
            params: Vec::new(),
            types: Vec::new(),
            terms: Vec::new(),
            dictionaries,
            result: instantiate(&signature.result, &types, &names),
            lengths: Vec::new(),
        };
        for ((_, ty), sym) in signature.params.iter().zip(symbols) {
            let ty = instantiate(ty, &types, &names);
            let ty = self.opened(&ty);
            let mut facts = Vec::new();
            let term = self.term_at(&ty, sym, &mut facts);
            self.record_value(sym, &term);
            self.facts.extend(facts);
            if let Ty::Seq(_, _, Len::Term(length)) = self.base(&ty) {
                self.facts.push(Formula::le(&Linear::number(0), &length));
            }
            let var = self.fresh_var();
            head.params.push(var);
            head.types.push(ty);
            head.terms.push(term);
        }
        for name in &signature.len_params {
            let of = signature.params.iter().enumerate().filter_map(|(at, (_, ty))| match ty {
                Ty::Seq(_, _, Len::Named(named)) if named.factors == [(name.clone(), 1)] => Some((at, named.constant)),
                _ => None,
            });
            let Some((of, more)) = of.min_by_key(|(_, more)| more.unsigned_abs()) else { continue };
            let var = self.fresh_var();
            head.lengths.push((var, head.params[of], more));
            self.lengths_used.insert(var, false);
            let local = Local { var, ty: Ty::int(), known: Binding::Term(Term::Int(names[name].clone())) };
            self.locals.push((name.clone(), local));
        }
        head
    }

    /// A body, preceded by the computation of the lengths that it uses.
    pub(super) fn with_lengths(&self, head: &Head, value: crate::ir::tree::Tree, span: Span) -> crate::ir::tree::Tree {
        let used = head.lengths.iter().filter(|(var, ..)| self.lengths_used.get(var) == Some(&true));
        let lets: Vec<_> = used
            .map(|(var, of, more)| {
                let list = tree(TreeKind::Var(*of), span);
                let length = tree(TreeKind::Operation(Operation::Length, vec![list]), span);
                let more_than = |length| {
                    let more = tree(TreeKind::Literal(Literal::Int((*more).into())), span);
                    tree(TreeKind::Operation(Operation::Subtract, vec![length, more]), span)
                };
                (Shape::Bind(*var), if *more == 0 { length } else { more_than(length) })
            })
            .collect();
        if lets.is_empty() { value } else { tree(TreeKind::Block(lets, Box::new(value)), span) }
    }

    /// An inferred result as callers may see it: it mentions only the parameters of the head.
    fn closed(&mut self, result: &Ty, signature: &Signature) -> Ty {
        let result = self.resolved(result);
        if result.any(&mut |part| matches!(part, Ty::Meta(_))) {
            let message = format!("nothing says what `{}` returns exactly: {}", signature.name, self.show(&result));
            let hint = format!("write the type of the result: `def {}(…): Type = …`", signature.name);
            self.error(code::NEEDS_TYPE, signature.span, message).hints.push(hint);
            return Ty::Wrong;
        }
        let mut lost = false;
        let outside = self.restrict_to_parameters(&result, false, &mut lost);
        if lost {
            let name = &signature.name;
            let message =
                format!("what `{name}` returns takes arguments whose type speaks of values inside of `{name}`");
            let hint = format!("write the type of the result: `def {name}(…): Type = …`");
            self.error(code::NEEDS_TYPE, signature.span, message).hints.push(hint);
            return Ty::Wrong;
        }
        outside
    }

    /// A type over the parameters of the head. Conditions on other values are dropped, except in an `exact` position (a
    /// parameter of a function), where they set `lost`.
    fn restrict_to_parameters(&self, ty: &Ty, exact: bool, lost: &mut bool) -> Ty {
        let name_of = |sym: Sym| {
            let own = Linear::symbol(sym);
            self.head_names.iter().find(|(_, term)| **term == own).map(|(name, _)| name.clone())
        };
        ty.map(&mut |part| match part {
            Ty::Seq(seq, element, Len::Term(term)) => {
                let factors: Option<Vec<_>> =
                    term.factors.iter().map(|(sym, times)| Some((name_of(*sym)?, times.to_i64()?))).collect();
                let length = match (factors, term.constant.to_i64()) {
                    (Some(factors), Some(constant)) => Len::Named(Arc::new(NamedLen { constant, factors })),
                    _ => Len::Unknown,
                };
                *lost |= exact && length == Len::Unknown;
                Some(Ty::Seq(*seq, Arc::new(self.restrict_to_parameters(element, exact, lost)), length))
            }
            Ty::Fn(params, result) => {
                let params = params.iter().map(|param| self.restrict_to_parameters(param, true, lost)).collect();
                Some(Ty::Fn(params, Arc::new(self.restrict_to_parameters(result, exact, lost))))
            }
            Ty::Con(name, args) if !exact => {
                let covariant = self.is_covariant(name);
                Some(Ty::Con(
                    name.clone(),
                    args.iter().map(|arg| self.restrict_to_parameters(arg, !covariant, lost)).collect(),
                ))
            }
            Ty::App(head, args) if !exact => {
                let args = args.iter().map(|arg| self.restrict_to_parameters(arg, true, lost)).collect();
                Some(Ty::applied((**head).clone(), args))
            }
            Ty::Refined(base, pred) if !pred.names.is_empty() => {
                let base = self.restrict_to_parameters(base, exact, lost);
                let mut same = true;
                names_in(&pred.condition, &mut |name| {
                    same &= *name == *pred.var || pred.names.get(name) == self.head_names.get(name);
                });
                if !same {
                    *lost |= exact;
                    return Some(base);
                }
                let (var, text) = (pred.var.clone(), pred.text.clone());
                let pred = Pred { var, condition: pred.condition.clone(), names: HashMap::new(), text };
                Some(Ty::Refined(Arc::new(base), Arc::new(pred)))
            }
            _ => None,
        })
    }

    /// Returns the positions with the types inferred since they were visited.
    fn settled(&self, places: &Places, asks: bool) -> Places {
        let mut seen = places.seen.clone();
        seen.values_mut().for_each(|place| place.ty = self.resolved(&place.ty));
        let mut words = places.words.clone();
        if asks {
            words.extend(self.all_words());
        }
        let conditions = places.conditions.clone();
        Places { seen, words, conditions, ..Places::default() }
    }

    /// Reports clauses that are never reached: one or two by themselves, more of them at once.
    fn unreachable(&mut self, arms: &[Arm], verdict: &Verdict, span: Span) {
        let unreachable = &verdict.unreachable[..];
        if unreachable.len() > 1 && unreachable.len() + 1 == arms.len() {
            let only = (0..arms.len()).find(|at| !unreachable.contains(at)).unwrap_or_default();
            let keyword = Span { start: span.start, end: span.start + 5 };
            let message = format!("of the {} clauses of this match, only one is ever reached", arms.len());
            let hint = "the value is always the same here, or that clause takes everything: write its body alone";
            let warning = Diagnostic::warning(code::UNREACHABLE, keyword, message).hint(hint);
            self.errors.push(warning.related(arms[only].span, "this one"));
            return;
        }
        if let [first, others @ ..] = unreachable
            && others.len() > 1
        {
            let message = format!("this clause and {} more of this match are never reached", others.len());
            let hint = "the clauses above and what is known of the value leave nothing for them; remove them";
            let warning = Diagnostic::warning(code::UNREACHABLE, arms[*first].span, message).hint(hint);
            let others = others.iter().take(MOST_TOLD);
            self.errors.push(others.fold(warning, |warning, at| warning.related(arms[*at].span, "nor this one")));
            return;
        }
        for at in unreachable {
            let hint = if verdict.never.contains(at) {
                "no value that comes here is like this: remove it"
            } else {
                "the clauses above take everything it would; remove it, or move it up"
            };
            let warning = Diagnostic::warning(code::UNREACHABLE, arms[*at].span, "this clause is never reached");
            self.errors.push(warning.hint(hint));
        }
    }

    /// Reports values that a match leaves out and clauses that are never reached.
    pub(super) fn exhaustive(&mut self, arms: &[Arm], ty: &Ty, places: &Places, span: Span, what: &str) {
        if matches!(self.base(ty), Ty::Wrong)
            || self.errors.iter().any(|error| error.is_error() && is_in_arm(error.span, arms))
        {
            return;
        }
        // Facts matter only if they mention a value that the patterns test.
        let asks = places.mentions_position(self);
        let places = &self.settled(places, asks);
        let verdict = exhaustive::run(arms, places, self.scope, asks, &|formulas| self.possible(formulas));
        self.unreachable(arms, &verdict, span);
        if fuel::is_spent() {
            return;
        }
        if verdict.gave_up {
            let hint = "split it into functions, or end it with `_ -> …`".to_owned();
            self.error(code::TOO_COMPLEX, span, "this match has too many cases to be sure about").hints.push(hint);
        } else if !verdict.missing.is_empty() {
            let missing = verdict.missing.join("`, `");
            if what == "let" {
                let hint = "use `match` with a clause for each case".to_owned();
                let message = format!("this pattern does not match `{missing}`");
                self.error(code::NOT_EXHAUSTIVE, span, message).hints.push(hint);
            } else {
                let keyword = Span { start: span.start, end: span.start + 5 };
                let message = format!("this match leaves out `{missing}`");
                let error = self.error(code::NOT_EXHAUSTIVE, keyword, message);
                error.hints.push("add clauses for these, or `_ -> …`".to_owned());
            }
        }
    }
}

/// True if two parameters have the same written type.
fn same_text(source: &str, one: &Param, other: &Param) -> bool {
    let text = |param: &Param| param.ty.as_ref().map(|ty| ty.span.text(source));
    text(one) == text(other)
}

fn is_in_arm(span: Span, arms: &[Arm]) -> bool {
    arms.iter().any(|arm| arm.span.start <= span.start && span.end <= arm.span.end)
}
