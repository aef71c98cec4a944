//! Exhaustiveness and reachability of matches.
//!
//! Each clause takes its share of a set of values. A set describes each position: the constructors or literals it has
//! or excludes, and the solver's knowledge about numbers. Guards split a set as patterns do. The values left after the
//! last clause are missing, if they exist.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::floats;
use super::scrutinee_positions::{PlaceTerm, PlaceValue, Places};
use crate::diagnostic::Span;
use crate::fuel;
use crate::ir::form::Literal;
use crate::ir::tree::Shape;
use crate::ir::ty::{Seq, Ty};
use crate::resolve::interface::TypeInfoKind;
use crate::resolve::scope::Scope;
use crate::solver::{Formula, Linear, Model, Satisfiability};
use crate::syntax::ast::Name;

/// A step from a value into one of its parts: the tag of the constructor and the position.
pub(crate) type Step = (Option<Name>, u16);
/// The path from the scrutinee to one of its parts.
pub(crate) type Path = Vec<Step>;

/// The maximal number of sets of values that are kept before giving up.
const MOST: usize = 20_000;
/// The maximal number of questions to the solver, besides a few for each clause.
const MOST_ASKED: usize = 2_000;
/// The maximal number of clauses that are never reached of which the reason is looked for.
const MOST_ALONE: usize = 2;

#[derive(Debug)]
pub(crate) struct Arm {
    pub shape: Shape,
    pub guard: Guard,
    pub span: Span,
}

/// The guard of a clause.
#[derive(Debug)]
pub(crate) enum Guard {
    /// No guard.
    None,
    /// A formula.
    Formula(Formula),
    /// The solver cannot follow it.
    Unknown,
}

/// The result.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Patterns for values that no clause matches.
    pub missing: Vec<String>,
    /// Clauses that are never reached.
    pub unreachable: Vec<usize>,
    /// Those among them that would not be reached if they stood first.
    pub never: Vec<usize>,
    /// True if the search exceeded its limits.
    pub gave_up: bool,
}

/// The possible outcomes of a test at a position.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Head {
    Tag(Name, usize),
    Literal(String),
    Nil,
    Cons,
    Tuple(usize),
}

#[derive(Debug, Clone)]
enum Knowledge {
    Is(Head),
    Not(HashSet<Head>),
}

/// A set of values.
#[derive(Debug, Clone, Default)]
struct Set {
    known: HashMap<Path, Knowledge>,
    formulas: Vec<Formula>,
    /// True if a guard or a fact is involved, so that the solver must be asked.
    ask: bool,
}

/// Runs the clauses. `possible` asks the solver, given the facts at the match.
pub(crate) fn run(
    arms: &[Arm],
    places: &Places,
    scope: &Scope,
    asks: bool,
    possible: &dyn Fn(&[Formula]) -> Satisfiability,
) -> Verdict {
    let run = Run { places, scope, possible, asked: Cell::new(0) };
    let mut verdict = Verdict::default();
    let all = || Set { ask: asks || !places.conditions.is_empty(), ..Set::default() };
    let mut sets = vec![all()];
    let most_asked = MOST_ASKED + 8 * arms.len();
    for (at, arm) in arms.iter().enumerate() {
        let mut tests = Vec::new();
        flatten(&arm.shape, &Vec::new(), &mut tests);
        let mut rest = Vec::new();
        let mut reached = false;
        for set in sets {
            reached |= run.step(&tests, &arm.guard, set, &mut rest);
            if rest.len() > MOST || run.asked.get() > most_asked || fuel::is_spent() {
                verdict.gave_up = true;
                return verdict;
            }
        }
        if !reached {
            verdict.unreachable.push(at);
            if verdict.unreachable.len() <= MOST_ALONE && !run.step(&tests, &arm.guard, all(), &mut Vec::new()) {
                verdict.never.push(at);
            }
        }
        sets = rest;
    }
    for set in &sets {
        if let Some(missing) = run.witness(set)
            && !verdict.missing.contains(&missing)
        {
            verdict.missing.push(missing);
            if verdict.missing.len() == 3 {
                break;
            }
        }
    }
    verdict
}

/// One test of a pattern.
enum Tested {
    /// This position has this head.
    Head(Head),
    /// This number is positive.
    Above,
    /// A condition that is known only at run time.
    Opaque,
}

fn flatten(shape: &Shape, path: &Path, tests: &mut Vec<(Path, Tested)>) {
    let below = |tag: Option<&Name>, at: usize| {
        let mut path = path.clone();
        path.push((tag.cloned(), at as u16));
        path
    };
    match shape {
        Shape::Any | Shape::Bind(_) => {}
        Shape::Same(_) => tests.push((path.clone(), Tested::Opaque)),
        Shape::Literal(literal) => tests.push((path.clone(), Tested::Head(Head::Literal(text(literal))))),
        Shape::Succ(inner) => {
            tests.push((path.clone(), Tested::Above));
            flatten(inner, &below(Some(&Name::from("Succ")), 0), tests);
        }
        Shape::Nil => tests.push((path.clone(), Tested::Head(Head::Nil))),
        Shape::Cons(head, tail) => {
            tests.push((path.clone(), Tested::Head(Head::Cons)));
            flatten(head, &below(None, 0), tests);
            flatten(tail, &below(None, 1), tests);
        }
        Shape::Tuple(parts) => {
            tests.push((path.clone(), Tested::Head(Head::Tuple(parts.len()))));
            parts.iter().enumerate().for_each(|(at, part)| flatten(part, &below(None, at), tests));
        }
        Shape::Tagged(tag, parts) => {
            tests.push((path.clone(), Tested::Head(Head::Tag(tag.clone(), parts.len()))));
            parts.iter().enumerate().for_each(|(at, part)| flatten(part, &below(Some(tag), at), tests));
        }
    }
}

/// A literal as in the source.
pub(crate) fn text(literal: &Literal) -> String {
    match literal {
        Literal::Int(value) => value.to_string(),
        // Both zeros are one value.
        Literal::Float(value) if *value == 0.0 => "0.0".to_owned(),
        Literal::Float(value) => format!("{value:?}"),
        Literal::Atom(name) if matches!(&**name, "true" | "false") => name.to_string(),
        Literal::Atom(name) if &**name == "unit" => "()".to_owned(),
        Literal::Atom(name) => format!(":{name}"),
        Literal::Binary(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        other => format!("{other:?}"),
    }
}

struct Run<'a> {
    places: &'a Places,
    scope: &'a Scope,
    possible: &'a dyn Fn(&[Formula]) -> Satisfiability,
    /// How often the solver has been asked.
    asked: Cell<usize>,
}

impl Run<'_> {
    /// Runs one clause over one set; unmatched values go to `rest`. Returns whether the clause matches anything.
    fn step(&self, tests: &[(Path, Tested)], guard: &Guard, set: Set, rest: &mut Vec<Set>) -> bool {
        let mut set = set;
        if !fuel::spend(4 + set.known.len() + tests.len()) {
            return true;
        }
        for (at, (path, test)) in tests.iter().enumerate() {
            let head = match test {
                Tested::Head(head) => head,
                Tested::Above => {
                    if !self.split_at_zero(path, &mut set, rest) {
                        return false;
                    }
                    continue;
                }
                Tested::Opaque => {
                    rest.push(set.clone());
                    continue;
                }
            };
            if let Some(PlaceTerm::Tag(tag, count)) = self.places.seen.get(path).map(|place| &place.term)
                && !set.known.contains_key(path)
            {
                set.known.insert(path.clone(), Knowledge::Is(Head::Tag(tag.clone(), *count)));
            }
            match set.known.get(path) {
                Some(Knowledge::Is(known)) if known == head => continue,
                Some(Knowledge::Is(_)) => {
                    rest.push(set);
                    return false;
                }
                Some(Knowledge::Not(known)) if known.contains(head) => {
                    rest.push(set);
                    return false;
                }
                _ => {}
            }
            // The common end of a clause: the set itself becomes the rest, without a copy.
            if at + 1 == tests.len() && matches!(guard, Guard::None) {
                let taken = !set.ask || {
                    let mut formulas = set.formulas.clone();
                    formulas.extend(self.test_formula(path, head, true));
                    self.exists(&set, &formulas)
                };
                if let Some(other) = self.without(set, path, head) {
                    rest.push(other);
                }
                return taken;
            }
            if let Some(other) = self.without(set.clone(), path, head) {
                rest.push(other);
            }
            set.formulas.extend(self.test_formula(path, head, true));
            set.known.insert(path.clone(), Knowledge::Is(head.clone()));
        }
        match guard {
            Guard::None => !set.ask || self.exists(&set, &set.formulas),
            Guard::Unknown => {
                let taken = !set.ask || self.exists(&set, &set.formulas);
                rest.push(set);
                taken
            }
            Guard::Formula(formula) => {
                set.ask = true;
                let mut inside = set.formulas.clone();
                inside.push(formula.clone());
                let taken = self.exists(&set, &inside);
                set.formulas.push(formula.clone().not());
                if self.exists(&set, &set.formulas) {
                    rest.push(set);
                }
                taken
            }
        }
    }

    /// Splits a set at zero: positive values stay, the others go to `rest`. Returns whether any are positive.
    fn split_at_zero(&self, path: &Path, set: &mut Set, rest: &mut Vec<Set>) -> bool {
        let Some(PlaceTerm::Int(term)) = self.places.seen.get(path).map(|place| &place.term) else {
            rest.push(set.clone());
            return true;
        };
        let above = Formula::le(&Linear::number(1), term);
        set.ask = true;
        let mut others = set.clone();
        others.formulas.push(above.clone().not());
        if self.exists(&others, &others.formulas) {
            rest.push(others);
        }
        set.formulas.push(above);
        self.exists(set, &set.formulas)
    }

    fn exists(&self, set: &Set, formulas: &[Formula]) -> bool {
        self.asked.set(self.asked.get() + 1);
        let mut all = formulas.to_vec();
        all.extend(self.excluded(set));
        all.extend(self.type_facts(set));
        !matches!((self.possible)(&all), Satisfiability::Unsat)
    }

    /// The formulas that follow from a test.
    fn test_formula(&self, path: &Path, head: &Head, holds: bool) -> Option<Formula> {
        let place = self.places.seen.get(path)?;
        let formula = match (&place.term, head) {
            (PlaceTerm::Int(term), Head::Literal(text)) => {
                Formula::eq(term, &Linear::number(text.parse::<num_bigint::BigInt>().ok()?))
            }
            (PlaceTerm::Bool(formula), Head::Literal(text)) => {
                if text == "true" {
                    formula.clone()
                } else {
                    formula.clone().not()
                }
            }
            (PlaceTerm::Length(length), Head::Nil) => Formula::eq(length, &Linear::number(0)),
            (PlaceTerm::Length(length), Head::Cons) => Formula::le(&Linear::number(1), length),
            (PlaceTerm::Float(term), Head::Literal(text)) => {
                Formula::eq(term, &Linear::number(floats::place_of(text.parse().ok()?)))
            }
            (PlaceTerm::Word(term), Head::Literal(text)) => Formula::eq(term, self.places.words.get(text)?),
            _ => return None,
        };
        Some(if holds { formula } else { formula.not() })
    }

    /// Facts from the types of the numbers that all values of a set contain.
    fn type_facts(&self, set: &Set) -> Vec<Formula> {
        let there = |path: &Path| {
            let Some(((tag, _), parent)) = path.split_last() else { return false };
            match (set.known.get(parent), tag) {
                (Some(Knowledge::Is(Head::Tag(found, _))), Some(tag)) => found == tag,
                (Some(Knowledge::Is(Head::Cons | Head::Tuple(_))), None) => true,
                _ => false,
            }
        };
        let conditions = self.places.conditions.iter().filter(|(path, _)| there(path));
        conditions.map(|(_, condition)| condition.clone()).collect()
    }

    /// The formulas that follow from excluded literals.
    fn excluded(&self, set: &Set) -> Vec<Formula> {
        let known = set.known.iter().filter_map(|(path, known)| match known {
            Knowledge::Not(heads) => Some((path, heads)),
            Knowledge::Is(_) => None,
        });
        known.flat_map(|(path, heads)| heads.iter().filter_map(|head| self.test_formula(path, head, false))).collect()
    }

    /// The set without the values that have this head here; `None` if nothing is left.
    fn without(&self, mut set: Set, path: &Path, head: &Head) -> Option<Set> {
        let heads = self.heads(path, head);
        let known = set.known.entry(path.clone()).or_insert_with(|| Knowledge::Not(HashSet::new()));
        if let Knowledge::Not(not) = known {
            not.insert(head.clone());
            if heads.is_some_and(|all| not.len() >= all) {
                return None;
            }
        }
        if set.ask && !self.exists(&set, &set.formulas) {
            return None;
        }
        Some(set)
    }

    /// The number of possible heads at this position, if the type determines it.
    fn heads(&self, path: &Path, head: &Head) -> Option<usize> {
        let place: &PlaceValue = self.places.seen.get(path)?;
        match (place.ty.unrefined(), head) {
            (Ty::Any, _) => None,
            (_, Head::Tuple(_)) => Some(1),
            (_, Head::Nil | Head::Cons) => Some(2),
            (Ty::Con(name, _), Head::Tag(..)) => match &self.scope.type_by_full(name)?.kind {
                TypeInfoKind::Sum(all) => Some(all.len()),
                TypeInfoKind::Record(_) => Some(1),
                TypeInfoKind::Alias(_) => None,
            },
            // Atoms are represented like this too, and their number is unbounded.
            (ty, Head::Literal(_)) if ty.is_con("Bool") => Some(2),
            (ty, Head::Literal(_)) if ty.is_con("Unit") => Some(1),
            _ => None,
        }
    }

    /// A pattern for the values of a set, if there are any.
    fn witness(&self, set: &Set) -> Option<String> {
        let mut formulas = set.formulas.clone();
        formulas.extend(self.excluded(set));
        formulas.extend(self.type_facts(set));
        let model = match (self.possible)(&formulas) {
            Satisfiability::Unsat => return None,
            Satisfiability::Sat(model) => model,
            Satisfiability::Unknown => Model::new(),
        };
        Some(self.show(set, &Vec::new(), &model, 0))
    }

    fn show(&self, set: &Set, path: &Path, model: &Model, depth: u32) -> String {
        let place = self.places.seen.get(path);
        let below = |tag: Option<&Name>, at: usize| {
            let mut path = path.clone();
            path.push((tag.cloned(), at as u16));
            self.show(set, &path, model, depth + 1)
        };
        let list =
            |tag: Option<&Name>, count: usize| (0..count).map(|at| below(tag, at)).collect::<Vec<_>>().join(", ");
        if depth > 20 {
            return "_".to_owned();
        }
        match (set.known.get(path), place.map(|place| (&place.ty, &place.term))) {
            (Some(Knowledge::Is(head)), place) => match head {
                Head::Literal(text) => text.clone(),
                Head::Nil => "[]".to_owned(),
                Head::Cons => format!("[{} | {}]", below(None, 0), below(None, 1)),
                Head::Tuple(count) => format!("{{{}}}", list(None, *count)),
                Head::Tag(tag, count)
                    if self.fields(place.map(|(ty, _)| ty)).is_some_and(|all| all.len() == *count) =>
                {
                    let names = self.fields(place.map(|(ty, _)| ty)).unwrap_or_default();
                    let said = names.iter().enumerate().map(|(at, name)| (name, below(Some(tag), at)));
                    let said = said.filter(|(_, value)| value != "_").map(|(name, value)| format!("{name}: {value}"));
                    format!("{tag}{{{}}}", said.collect::<Vec<_>>().join(", "))
                }
                Head::Tag(tag, count) => {
                    let name = place.and_then(|(ty, _)| self.constructor(ty, tag)).unwrap_or_else(|| tag.to_string());
                    if *count == 0 { name } else { format!("{name}({})", list(Some(tag), *count)) }
                }
            },
            (Some(Knowledge::Not(not)), Some((Ty::Con(name, _), _))) if self.scope.type_by_full(name).is_some() => {
                match self.scope.type_by_full(name).map(|info| &info.kind) {
                    Some(TypeInfoKind::Sum(all)) => {
                        let free = all.iter().find(|one| !not.contains(&Head::Tag(one.tag.clone(), one.fields.len())));
                        free.map_or_else(
                            || "_".to_owned(),
                            |one| {
                                let fields = vec!["_"; one.fields.len()].join(", ");
                                if fields.is_empty() { one.name.to_string() } else { format!("{}({fields})", one.name) }
                            },
                        )
                    }
                    _ => "_".to_owned(),
                }
            }
            (Some(Knowledge::Not(not)), Some((ty, _))) if ty.is_con("Bool") => {
                if not.contains(&Head::Literal("true".to_owned())) { "false" } else { "true" }.to_owned()
            }
            (Some(Knowledge::Not(not)), Some((Ty::Seq(seq, ..), _))) => match (not.contains(&Head::Nil), seq) {
                (true, _) => "[_ | _]".to_owned(),
                (false, Seq::List) => "[]".to_owned(),
                (false, Seq::Vector) => "‹›".to_owned(),
            },
            (_, Some((_, PlaceTerm::Word(term)))) if set.ask => {
                let number = Linear::number(term.value(model));
                let word = self.places.words.iter().find(|(_, known)| **known == number);
                word.map_or_else(|| "_".to_owned(), |(word, _)| word.clone())
            }
            (_, Some((_, PlaceTerm::Int(term)))) if !term.factors.is_empty() => {
                // A number for the message; if nothing is known, any number will do.
                if set.known.contains_key(path) || set.ask { term.value(model).to_string() } else { "_".to_owned() }
            }
            _ => "_".to_owned(),
        }
    }

    /// The names of a record's fields.
    fn fields(&self, ty: Option<&Ty>) -> Option<Vec<Name>> {
        let Some(Ty::Con(name, _)) = ty else { return None };
        match &self.scope.type_by_full(name)?.kind {
            TypeInfoKind::Record(fields) => Some(fields.iter().map(|(name, _)| name.clone()).collect()),
            _ => None,
        }
    }

    fn constructor(&self, ty: &Ty, tag: &Name) -> Option<String> {
        let Ty::Con(name, _) = ty else { return None };
        match &self.scope.type_by_full(name)?.kind {
            TypeInfoKind::Sum(all) => all.iter().find(|one| one.tag == *tag).map(|one| one.name.to_string()),
            _ => Some(tag.to_string()),
        }
    }
}
