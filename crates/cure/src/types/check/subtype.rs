//! Subtyping: whether a value of one type may be used where another is expected. The solver decides refinements and
//! lengths.

use std::collections::HashMap;
use std::sync::Arc;

use num_traits::{One, Signed};

use super::body::{Body, Term, Val};
use super::floats;
use crate::diagnostic::{Span, code};
use crate::fuel;
use crate::ir::ty::{Len, Pred, Ty, names_in, show_linear};
use crate::solver::{Formula, Linear, Sym};
use crate::syntax::ast::Name;

/// Why a value may not be used.
#[derive(Debug)]
pub(super) enum Misfit {
    /// The types differ.
    Types,
    /// The lengths differ or are unknown.
    Lengths(String),
}

impl Body<'_> {
    /// Coerces the value to the expected type; reports errors.
    pub(super) fn coerce(&mut self, val: Val, expected: &Ty, span: Span) -> Val {
        let outcome = self.subtype(&val.ty, expected, &val.term, span);
        self.explain(outcome, &val.ty, expected, span);
        val
    }

    pub(super) fn explain(&mut self, outcome: Result<(), Misfit>, actual: &Ty, expected: &Ty, span: Span) {
        let Err(misfit) = outcome else { return };
        let one_by_one = self.one_by_one(expected, actual);
        let (expected, actual) = self.show_both(expected, actual);
        match misfit {
            Misfit::Types => {
                let two = two_of_a_name(&expected, &actual);
                let error = self.error(code::MISMATCH, span, format!("expected {expected}, found {actual}"));
                error.hints.extend(two);
                let hint = match (&*expected, &*actual) {
                    _ if one_by_one => Some(
                        "the arguments are given one by one here: `fn(x) -> fn(y) -> … end end`, called as `f(x)(y)`",
                    ),
                    ("Bool", "Ordering") => Some("compare it: `compare(a, b) == Lt`; `<` gives a Bool"),
                    ("Ordering", "Bool") => Some("an Ordering is `Lt`, `Eq` or `Gt`: write `compare(a, b)`"),
                    ("Float", "Int") => Some("write the number with a fraction: `2.0`"),
                    ("String", _) => Some("put it into a string: \"#{…}\""),
                    (_, "Any") => Some("nothing is known of a value of type Any; look into it with `match`"),
                    _ => None,
                };
                error.hints.extend(hint.map(str::to_owned));
            }
            Misfit::Lengths(why) => {
                let message = format!("expected {expected}, found {actual}: {why}");
                let hint = "lengths are equal when the types of the head say so, or when each is a number".to_owned();
                self.error(code::LENGTH, span, message).hints.push(hint);
            }
        }
    }

    /// True if a function of several arguments stands where one is expected that takes them one by one.
    fn one_by_one(&self, expected: &Ty, actual: &Ty) -> bool {
        match (self.base(expected), self.base(actual)) {
            (Ty::Fn(params, result), Ty::Fn(all, _)) => {
                params.len() == 1 && all.len() > 1 && matches!(self.base(&result), Ty::Fn(..))
            }
            _ => false,
        }
    }

    /// Checks that a value (with this term) of type `actual` has type `expected`.
    pub(super) fn subtype(&mut self, actual: &Ty, expected: &Ty, term: &Term, span: Span) -> Result<(), Misfit> {
        // Invariant types are compared twice, once in each direction.
        if !fuel::spend(24) {
            return Ok(());
        }
        let (a, e) = (self.shallow(actual), self.shallow(expected));
        match (&a, &e) {
            (Ty::Wrong, _) | (_, Ty::Wrong | Ty::Any) => Ok(()),
            (Ty::Meta(one), Ty::Meta(other)) if one == other => Ok(()),
            (_, Ty::Meta(meta)) => self.solve_meta(*meta, &self.widened(&a)),
            (Ty::Meta(meta), _) => {
                self.solve_meta(*meta, &e)?;
                // A class's type is less precise than an expected type with conditions or lengths.
                if self.is_of_class(*meta) { self.subtype(&a, &e, term, span) } else { Ok(()) }
            }
            (Ty::Refined(base, one), Ty::Refined(wanted, other)) if Arc::ptr_eq(one, other) => {
                self.subtype(base, wanted, term, span)
            }
            (_, Ty::Refined(base, pred)) => {
                self.subtype(&a, base, term, span)?;
                self.require_predicate(&a, &e, pred, term, span);
                Ok(())
            }
            (Ty::Refined(base, _), _) => self.subtype(base, &e, term, span),
            (Ty::App(_, args), _) => {
                self.same_applied(&a, &e, args.len(), span)?;
                match &e {
                    Ty::Seq(_, _, length) => self.same_length(&Len::Unknown, length),
                    _ => Ok(()),
                }
            }
            (_, Ty::App(_, args)) => self.same_applied(&a, &e, args.len(), span),
            (Ty::Con(one, args), Ty::Con(other, wanted)) if one == other && args.len() == wanted.len() => {
                let covariant = self.is_covariant(one);
                for (arg, want) in args.iter().zip(wanted) {
                    self.subtype(arg, want, &Term::Opaque, span)?;
                    if !covariant {
                        self.subtype(want, arg, &Term::Opaque, span)?;
                    }
                }
                Ok(())
            }
            (Ty::Seq(one, element, length), Ty::Seq(other, wanted, expected)) if one == other => {
                self.subtype(element, wanted, &Term::Opaque, span)?;
                self.same_length(length, expected)
            }
            (Ty::Tuple(parts), Ty::Tuple(wanted)) if parts.len() == wanted.len() => {
                let known = if let Term::Tuple(terms) = term { &terms[..] } else { &[] };
                for (at, (part, want)) in parts.iter().zip(wanted).enumerate() {
                    self.subtype(part, want, known.get(at).unwrap_or(&Term::Opaque), span)?;
                }
                Ok(())
            }
            (Ty::Fn(params, result), Ty::Fn(wanted, value)) if params.len() == wanted.len() => {
                for (param, want) in params.iter().zip(wanted) {
                    self.subtype(want, param, &Term::Opaque, span)?;
                }
                self.subtype(result, value, &Term::Opaque, span)
            }
            (Ty::Param(one), Ty::Param(other)) | (Ty::Ctor(one), Ty::Ctor(other)) if one == other => Ok(()),
            _ => Err(Misfit::Types),
        }
    }

    /// `F(A)` where `F` is a parameter or unknown: both sides have the same constructor and the same arguments.
    fn same_applied(&mut self, actual: &Ty, expected: &Ty, count: usize, span: Span) -> Result<(), Misfit> {
        let (Some((one, args)), Some((other, wanted))) =
            (actual.split_constructor(count), expected.split_constructor(count))
        else {
            return Err(Misfit::Types);
        };
        self.subtype(&one, &other, &Term::Opaque, span)?;
        let covariant = match self.shallow(&one) {
            Ty::Ctor(name) => self.is_covariant(&name),
            _ => false,
        };
        for (arg, want) in args.iter().zip(&wanted) {
            self.subtype(arg, want, &Term::Opaque, span)?;
            if !covariant {
                self.subtype(want, arg, &Term::Opaque, span)?;
            }
        }
        Ok(())
    }

    /// The type that a variable takes when a value of this type flows into it. Refinements are dropped, since other
    /// values may follow; inside functions and invariant types, nothing may be dropped.
    pub(super) fn widened(&self, ty: &Ty) -> Ty {
        match self.shallow(ty) {
            Ty::Con(name, args) if self.is_covariant(&name) => {
                Ty::Con(name, args.iter().map(|arg| self.widened(arg)).collect())
            }
            Ty::Refined(base, _) => self.widened(&base),
            Ty::Seq(seq, element, _) => Ty::Seq(seq, Arc::new(self.widened(&element)), Len::Unknown),
            Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|part| self.widened(part)).collect()),
            other => other,
        }
    }

    fn solve_meta(&mut self, meta: u32, ty: &Ty) -> Result<(), Misfit> {
        let resolved = self.resolved(ty);
        if resolved.any(&mut |part| matches!(part, Ty::Meta(other) if *other == meta)) {
            return if matches!(resolved, Ty::Meta(_)) { Ok(()) } else { Err(Misfit::Types) };
        }
        self.bind_meta(meta, resolved);
        Ok(())
    }

    fn require_predicate(&mut self, actual: &Ty, expected: &Ty, pred: &Pred, term: &Term, span: Span) {
        let mark = self.facts.len();
        let errors = self.errors.len();
        // Only values of these types have a term; without one, the value is inside of another.
        let simple = ["Int", "Float", "Bool", "String", "Atom"];
        let simple = simple.iter().any(|name| self.base(actual).is_con(name));
        let inside = matches!(term, Term::Opaque) && simple;
        let term = match term {
            // A value inside another one: only its type is known.
            Term::Opaque => {
                let mut facts = Vec::new();
                let term = self.term_of(actual, None, &mut facts);
                self.facts.extend(facts);
                term
            }
            known => known.clone(),
        };
        let goal = self.predicate(pred, &term);
        let what = |body: &Body<'_>| {
            let found = describe(&term, body).unwrap_or_else(|| "the value".to_owned());
            format!("{found} does not fit {}", body.show(expected))
        };
        self.require(&goal, span, code::Pair(code::REFUTED, code::UNPROVED), what, None);
        self.facts.truncate(mark);
        if inside && let Some(error) = self.errors[errors..].first_mut() {
            let hint = "the type of what holds this value says too little of it: refine that type, or build the whole anew from parts that are tested";
            error.hints = vec![hint.to_owned()];
        }
    }

    fn same_length(&mut self, actual: &Len, expected: &Len) -> Result<(), Misfit> {
        let Len::Term(expected) = expected else { return Ok(()) };
        let expected = self.length(expected);
        let actual = match actual {
            Len::Term(term) => self.length(term),
            _ if expected.factors.keys().any(|sym| self.open_lens.contains(sym)) => self.length_symbol(None),
            _ => return Err(Misfit::Lengths("nothing is known of the length".to_owned())),
        };
        for (side, other) in [(&expected, &actual), (&actual, &expected)] {
            let open = side.factors.iter().find(|(sym, factor)| self.open_lens.contains(sym) && factor.abs().is_one());
            let Some((sym, factor)) = open.map(|(sym, factor)| (*sym, factor.clone())) else { continue };
            let mut rest = side.clone();
            rest.factors.remove(&sym);
            let value = other.sub(&rest).times(&factor);
            if !value.factors.contains_key(&sym) {
                self.open_lens.remove(&sym);
                self.lens.insert(sym, value);
                return Ok(());
            }
        }
        match self.prove(&Formula::eq(&actual, &expected)) {
            super::prove::Proof::Holds => Ok(()),
            _ => {
                let name = |sym: Sym| self.symbol_name(sym).map_or_else(|| "_".to_owned(), str::to_owned);
                let (actual, expected) = (show_linear(&actual, &name), show_linear(&expected, &name));
                Err(Misfit::Lengths(if actual == expected || actual.contains('_') {
                    "the lengths could not be proved equal".to_owned()
                } else {
                    format!("{actual} is not {expected}")
                }))
            }
        }
    }
}

/// Instantiates a signature's type for one use: types for its parameters, terms for its names.
pub(super) fn instantiate(ty: &Ty, types: &HashMap<Name, Ty>, names: &HashMap<Name, Linear>) -> Ty {
    ty.map(&mut |part| match part {
        Ty::Param(name) => types.get(name).cloned(),
        Ty::Seq(seq, element, Len::Named(named)) => {
            let mut term = Linear::number(named.constant);
            for (name, factor) in &named.factors {
                if let Some(value) = names.get(name) {
                    term = term.plus(&(*factor).into(), value);
                }
            }
            Some(Ty::Seq(*seq, Arc::new(instantiate(element, types, names)), Len::Term(term)))
        }
        Ty::Refined(base, pred) if mentions_names(pred, names) => {
            let pred = Pred {
                var: pred.var.clone(),
                condition: pred.condition.clone(),
                names: names.clone(),
                text: pred.text.clone(),
            };
            Some(Ty::Refined(Arc::new(instantiate(base, types, names)), Arc::new(pred)))
        }
        _ => None,
    })
}

/// True if a predicate mentions any of these names.
fn mentions_names(pred: &Pred, names: &HashMap<Name, Linear>) -> bool {
    let mut speaks = false;
    names_in(&pred.condition, &mut |name| speaks |= *name != *pred.var && names.contains_key(name));
    speaks
}

/// A number or a text as messages show it.
fn describe(term: &Term, body: &Body<'_>) -> Option<String> {
    let linear = match term {
        Term::Int(linear) => linear,
        Term::Float(linear) => match linear.as_number() {
            Some(place) => return floats::float_at(place).map(floats::show),
            None => linear,
        },
        Term::Word(linear) => match linear.as_number() {
            Some(_) => return body.show_known_word(linear),
            None => linear,
        },
        _ => return None,
    };
    let named = linear.factors.keys().all(|sym| body.symbol_name(*sym).is_some());
    let name = |sym: Sym| body.symbol_name(sym).unwrap_or("_").to_owned();
    named.then(|| show_linear(linear, &name))
}

/// Returns advice for two different types of the same name, which are then shown with their modules.
pub(super) fn two_of_a_name(one: &str, other: &str) -> Option<String> {
    let head = |shown: &str| shown.split('(').next().unwrap_or_default().to_owned();
    let (one, other) = (head(one), head(other));
    let own = |full: &str| full.rsplit_once('.').map(|(_, name)| name.to_owned());
    let name = own(&one).filter(|name| one != other && own(&other).as_ref() == Some(name))?;
    Some(format!("these are two types of one name: remove the definition of `{name}` that is not needed, or rename it"))
}
