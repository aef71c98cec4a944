//! Checks patterns and matches. Each position of a scrutinee has a path and, for a number or a truth value, a term. All
//! clauses of a match share them, so that the solver can compare their tests.

use std::collections::HashMap;

use num_bigint::BigInt;

use super::body::{Binding, Body, Local, Term, Val};
use super::exhaustive::{Arm, Guard, Path, Step, text};
use super::exprs::short;
use super::floats;
use super::prove::MOST_WAYS;
use super::scrutinee_positions::Places;
use super::subtype::{instantiate, two_of_a_name};
use super::text_numbers::Word;
use super::value_conditions::Flow;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::ir::form::Literal;
use crate::ir::tree::{Branch, Shape, Tree, TreeKind, VarId};
use crate::ir::ty::Ty;
use crate::resolve::interface::{Constructor, TypeInfoKind};
use crate::resolve::suggest;
use crate::solver::{Formula, Linear};
use crate::syntax::ast::*;

/// A position that a pattern is matched against.
pub(super) struct Spot {
    pub(super) path: Path,
    pub(super) ty: Ty,
    pub(super) term: Term,
}

/// The traversal of a pattern: its tests and bindings.
pub(super) struct Walk<'p> {
    pub(super) places: &'p mut Places,
    pub(super) tests: Vec<Formula>,
    /// Tests of constructors.
    tags: Vec<Formula>,
    /// True if the tests describe the pattern completely.
    pub(super) whole: bool,
    bound: Vec<(Name, VarId)>,
}

impl Walk<'_> {
    fn new(places: &mut Places) -> Walk<'_> {
        Walk { places, tests: Vec::new(), tags: Vec::new(), whole: true, bound: Vec::new() }
    }
}

impl Body<'_> {
    pub(super) fn match_expr(
        &mut self,
        scrutinee: &Expr,
        clauses: &[Clause],
        expected: Option<&Ty>,
        span: Span,
    ) -> Val {
        let (errors, metas, symbols) = (self.errors.len(), self.count_metas(), self.count());
        let own = expected.is_none();
        let expected = &expected.cloned().unwrap_or_else(|| self.meta());
        let (mut flows, mut ways, mut earlier) = (Vec::new(), Vec::new(), Vec::new());
        let val = self.infer(scrutinee);
        let ty = self.opened(&val.ty);
        let val = match val.term {
            Term::Opaque => {
                let mut facts = Vec::new();
                let term = self.term_of(&ty, None, &mut facts);
                self.facts.extend(facts);
                Val { term, ..val }
            }
            _ => val,
        };
        let (tree, scrutinee) = (val.tree, Spot { path: Vec::new(), ty, term: val.term });
        let mut places = Places::default();
        let mut branches = Vec::new();
        let mut arms = Vec::new();
        let outside = self.facts.len();
        // For many clauses the results are not kept, because comparing them would be too slow.
        let are_few = clauses.len() <= MOST_WAYS;
        for clause in clauses {
            let (locals, facts) = (self.locals.len(), self.facts.len());
            let mut found = Walk::new(&mut places);
            let shape = self.pattern(&clause.pattern, &scrutinee, &mut found);
            let Walk { mut tests, tags, whole, .. } = found;
            // Later clauses depend on the constructor only together with its fields. After a clause that accepts
            // everything, no clause is reached.
            let tells = !tests.is_empty() || clause.guard.is_some() || tags.is_empty();
            tests.extend(tags);
            self.facts.extend(tests.iter().cloned());
            let guard = clause.guard.as_ref().map(|guard| self.guard(guard));
            if let Some((_, Some(formula))) = &guard {
                self.facts.push(formula.clone());
            }
            let body = self.check(&clause.body, expected);
            if own && let Some(flow) = Flow::new(self, &body, &clause.body, expected) {
                // The names of a clause mean nothing outside of it.
                let ty = self.without_later(&flow.ty, symbols);
                flows.push(Flow { ty, term: Term::Opaque, ..flow });
            }
            if are_few {
                let guard = guard.as_ref().and_then(|(_, formula)| formula.as_ref());
                ways.push((earlier.iter().chain(&tests).chain(guard).cloned().collect(), body.term));
            }
            self.locals.truncate(locals);
            self.facts.truncate(facts);
            // Later clauses may rely on the fact that this one did not match.
            let not_taken = match (&guard, whole && tells) {
                (None, true) => Some(Formula::And(tests).not()),
                (Some((_, Some(formula))), true) => Some(Formula::And(tests).and(formula.clone()).not()),
                _ => None,
            };
            arms.push(Arm {
                shape: shape.clone(),
                guard: match &guard {
                    None => Guard::None,
                    Some((_, Some(formula))) => Guard::Formula(formula.clone()),
                    Some(_) => Guard::Unknown,
                },
                span: clause.pattern.span,
            });
            branches.push(Branch { shape, guard: guard.map(|(tree, _)| tree), body: body.tree });
            if are_few {
                earlier.extend(not_taken.clone());
            }
            self.facts.extend(not_taken);
        }
        self.facts.truncate(outside);
        if self.errors.len() == errors {
            self.keep(metas, &flows, &[]);
        }
        self.exhaustive(&arms, &scrutinee.ty, &places, span, "match");
        let kind = TreeKind::Match(Box::new(tree), branches);
        let mut facts = Vec::new();
        let term = self.term_of(expected, None, &mut facts);
        self.facts.extend(facts);
        if are_few {
            self.one_of(&term, &ways);
        }
        Val { tree: Tree { kind, span }, ty: expected.clone(), term }
    }

    /// The pattern of a `let`, which must always match.
    pub(super) fn let_pattern(&mut self, pattern: &Pattern, val: &Val) -> Shape {
        let ty = self.opened(&val.ty);
        if let PatternKind::Name(name) = &pattern.kind
            && self.scope.constructor(name).is_none()
        {
            let known = if matches!(val.term, Term::Opaque) { None } else { Some(val.term.clone()) };
            self.note(pattern.span, &ty);
            return Shape::Bind(self.bind(name, &ty, known));
        }
        let spot = Spot { path: Vec::new(), ty, term: val.term.clone() };
        let mut places = Places::default();
        let mut found = Walk::new(&mut places);
        let shape = self.pattern(pattern, &spot, &mut found);
        let tests = found.tests;
        let arm = Arm { shape: shape.clone(), guard: Guard::None, span: pattern.span };
        self.exhaustive(&[arm], &spot.ty, &places, pattern.span, "let");
        self.facts.extend(tests);
        shape
    }

    /// A position below another one.
    pub(super) fn descend(&mut self, path: &Path, step: Step, ty: &Ty, parent: &Term, places: &mut Places) -> Spot {
        let mut path = path.clone();
        let (tag, at) = step.clone();
        path.push(step);
        if !places.known.contains_key(&path) {
            let ty = self.opened(ty);
            let mut facts = Vec::new();
            let known = match parent {
                Term::Tuple(parts) if tag.is_none() => parts.get(at as usize).cloned(),
                Term::Data(known, parts) if tag.as_ref() == Some(known) => parts.get(at as usize).cloned(),
                _ => None,
            };
            let term = match known {
                None | Some(Term::Opaque) => self.term_of(&ty, None, &mut facts),
                Some(known) => known,
            };
            if let Term::Int(_) | Term::Float(_) | Term::Word(_) = &term {
                places.conditions.extend(facts.iter().map(|fact| (path.clone(), fact.clone())));
            }
            places.known.insert(path.clone(), (ty, term, facts));
        }
        let (ty, term, facts) = places.known[&path].clone();
        self.facts.extend(facts);
        Spot { path, ty, term }
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern, at: &Spot, found: &mut Walk<'_>) -> Shape {
        let (span, ty, term) = (pattern.span, &at.ty, &at.term);
        self.record_position(&at.path, ty, term, found.places);
        match &pattern.kind {
            PatternKind::Wild => Shape::Any,
            PatternKind::Missing => Shape::Any,
            PatternKind::Name(name) => {
                if self.scope.constructor(name).is_some() || (&**name == "Zero" && self.counts(ty)) {
                    let ident = Ident { name: name.clone(), span };
                    return self.constructor_pattern(&ident, &[], at, found, span);
                }
                if let Some((_, var)) = found.bound.iter().find(|(known, _)| known == name) {
                    let before = self.locals.iter().find(|(_, local)| local.var == *var).map(|(_, local)| &local.known);
                    match (before, term) {
                        (Some(Binding::Term(Term::Int(a))), Term::Int(b))
                        | (Some(Binding::Term(Term::Float(a))), Term::Float(b))
                        | (Some(Binding::Term(Term::Word(a))), Term::Word(b)) => found.tests.push(Formula::eq(a, b)),
                        _ => found.whole = false,
                    }
                    return Shape::Same(*var);
                }
                if name.starts_with(|c: char| c.is_ascii_uppercase()) && !self.capital(name, ty, span) {
                    return Shape::Any;
                }
                let known = match term {
                    Term::Opaque if matches!(self.base(ty), Ty::Meta(_)) => Binding::Later(self.symbol(Some(name))),
                    // A name for counter-examples.
                    Term::Int(_) | Term::Float(_) | Term::Word(_) => Binding::Term(self.named(term, name)),
                    known => Binding::Term(known.clone()),
                };
                let var = self.fresh_var();
                found.bound.push((name.clone(), var));
                self.note(span, ty);
                self.locals.push((name.clone(), Local { var, ty: ty.clone(), known }));
                Shape::Bind(var)
            }
            PatternKind::Int(value) => {
                self.literal_type(ty, &Ty::int(), span);
                match term {
                    Term::Int(term) => found.tests.push(Formula::eq(term, &Linear::number(value.clone()))),
                    _ => found.whole = false,
                }
                Shape::Literal(Literal::Int(value.clone()))
            }
            PatternKind::Float(value) => {
                self.literal_type(ty, &Ty::float(), span);
                match term {
                    Term::Float(term) => {
                        found.tests.push(Formula::eq(term, &Linear::number(floats::place_of(*value))));
                    }
                    _ => found.whole = false,
                }
                Shape::Literal(Literal::Float(*value))
            }
            PatternKind::Bool(value) => {
                self.literal_type(ty, &Ty::bool(), span);
                match term {
                    Term::Bool(formula) if *value => found.tests.push(formula.clone()),
                    Term::Bool(formula) => found.tests.push(formula.clone().not()),
                    _ => found.whole = false,
                }
                Shape::Literal(Literal::atom(if *value { "true" } else { "false" }))
            }
            PatternKind::Str(text) => {
                let word = Word::Text(Name::from(&**text));
                self.constant(Literal::string(text), word, &Ty::string(), at, found, span)
            }
            PatternKind::Atom(name) => {
                let word = Word::Atom(name.clone());
                self.constant(Literal::Atom(name.clone()), word, &Ty::atom(), at, found, span)
            }
            PatternKind::Unit => {
                self.literal_type(ty, &Ty::unit(), span);
                found.whole &= self.base(ty).is_con("Unit");
                Shape::Literal(Literal::atom("unit"))
            }
            PatternKind::Charlist(text) => {
                let codes = text.chars().map(|c| Pattern { kind: PatternKind::Int(BigInt::from(u32::from(c))), span });
                self.list_pattern(&codes.collect::<Vec<_>>(), None, at, found, span)
            }
            PatternKind::List(elements, rest) => self.list_pattern(elements, rest.as_deref(), at, found, span),
            PatternKind::Tuple(parts) => {
                let types = match self.base(ty) {
                    Ty::Tuple(types) if types.len() == parts.len() => types,
                    Ty::Any => {
                        found.whole = false;
                        vec![Ty::Any; parts.len()]
                    }
                    other => {
                        let types: Vec<_> = parts.iter().map(|_| self.meta()).collect();
                        self.literal_type(&other, &Ty::Tuple(types.clone()), span);
                        types
                    }
                };
                let shapes = parts.iter().zip(types).enumerate().map(|(place, (part, ty))| {
                    let below = self.descend(&at.path, (None, place as u16), &ty, term, found.places);
                    self.pattern(part, &below, found)
                });
                Shape::Tuple(shapes.collect())
            }
            PatternKind::Ctor(name, parts) => self.constructor_pattern(name, parts, at, found, span),
            PatternKind::Record(name, fields) => self.record_pattern(name, fields, at, found, span),
        }
    }

    /// Handles a variable that looks like a constructor: an error if the intended constructor is clear, and a warning
    /// if the value has constructors. Returns true if it is a variable.
    fn capital(&mut self, name: &Name, ty: &Ty, span: Span) -> bool {
        let own: Vec<Name> = match self.base(ty) {
            Ty::Con(full, _) => match self.scope.type_by_full(&full).map(|info| &info.kind) {
                Some(TypeInfoKind::Sum(all)) => all.iter().map(|one| one.name.clone()).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let near = || {
            self.scope.most_similar(name, own.iter().map(|name| &**name)).map(|near| format!("did you mean `{near}`?"))
        };
        if let Some(hint) = suggest::usual_name(name).or_else(near) {
            let message = format!("there is no constructor `{name}`");
            self.error(code::UNKNOWN_CONSTRUCTOR, span, message).hints.push(hint);
            return false;
        }
        if !own.is_empty() {
            let message = format!("`{name}` is a variable here, and takes every value: no constructor is called so");
            let hint = "write a variable in lower case; import a constructor by its name".to_owned();
            self.errors.push(Diagnostic::warning(code::CAPITAL, span, message).hint(hint));
        }
        true
    }

    /// Binds the value to this name unless it has one.
    fn named(&mut self, term: &Term, name: &str) -> Term {
        let (Term::Int(linear) | Term::Float(linear) | Term::Word(linear)) = term else { return term.clone() };
        let Some(sym) = linear.as_symbol().filter(|sym| self.symbol_name(*sym).is_none()) else { return term.clone() };
        let named = self.symbol(Some(name));
        self.axioms.push(Formula::eq(&Linear::symbol(named), linear));
        self.record_value(named, term);
        match term {
            Term::Float(_) => {
                self.floats.insert(named);
                Term::Float(Linear::symbol(named))
            }
            Term::Word(_) => {
                self.words.same_kind(sym, named);
                Term::Word(Linear::symbol(named))
            }
            _ => Term::Int(Linear::symbol(named)),
        }
    }

    fn constant(
        &mut self,
        literal: Literal,
        word: Word,
        own: &Ty,
        at: &Spot,
        found: &mut Walk<'_>,
        span: Span,
    ) -> Shape {
        self.literal_type(&at.ty, own, span);
        match (&at.term, self.word(word)) {
            (Term::Word(term), Term::Word(number)) => {
                found.tests.push(Formula::eq(term, &number));
                found.places.words.insert(text(&literal), number);
            }
            _ => found.whole = false,
        }
        Shape::Literal(literal)
    }

    /// Matches a pattern of type `own` against a value of type `ty`. A value of type Any may be anything.
    pub(super) fn literal_type(&mut self, ty: &Ty, own: &Ty, span: Span) {
        let base = self.base(ty);
        if matches!(base, Ty::Any) {
            return;
        }
        if self.subtype(own, &base, &Term::Opaque, span).is_err() {
            let (own, ty) = self.show_both(own, &base);
            let two = two_of_a_name(&own, &ty);
            let error = self.error(code::MISMATCH, span, format!("this pattern matches {own}, the value is {ty}"));
            error.hints.extend(two);
        }
    }

    fn constructor_pattern(
        &mut self,
        name: &Ident,
        parts: &[Pattern],
        at: &Spot,
        found: &mut Walk<'_>,
        span: Span,
    ) -> Shape {
        if self.scope.constructor(&name.name).is_none() && matches!(&*name.name, "Zero" | "Succ") && self.counts(&at.ty)
        {
            return self.natural_pattern(name, parts, at, found, span);
        }
        let Some(constructor) = self.scope.constructor(&name.name).cloned() else {
            let near = match &*name.name {
                "Pred" => Some("`Pred` computes; as a pattern write `Succ(n)`".to_owned()),
                other => suggest::usual_name(other)
                    .or_else(|| self.scope.nearest_constructor(other).map(|near| format!("did you mean `{near}`?"))),
            };
            let error =
                self.error(code::UNKNOWN_CONSTRUCTOR, name.span, format!("there is no constructor `{}`", name.name));
            error.hints.extend(near);
            return Shape::Any;
        };
        if !self.takes_fields(name, constructor.fields.len(), parts, span) {
            return Shape::Any;
        }
        // For a value of type Any, the tag says nothing about the types of the contents.
        let base = self.base(&at.ty);
        let any = matches!(base, Ty::Any);
        let types: HashMap<Name, Ty> = match &base {
            Ty::Con(full, args) if *full == constructor.of => {
                constructor.params.iter().cloned().zip(args.iter().cloned()).collect()
            }
            _ => constructor.params.iter().map(|param| (param.clone(), self.meta())).collect(),
        };
        let own =
            Ty::Con(constructor.of.clone(), constructor.params.iter().map(|param| types[param].clone()).collect());
        self.literal_type(&at.ty, &own, span);
        found.whole &= !any;
        self.tag_test(&constructor, at, found);
        let empty = HashMap::new();
        let tag = Some(constructor.tag.clone());
        let shapes = parts.iter().zip(&constructor.fields).enumerate().map(|(place, (part, field))| {
            let field = if any { Ty::Any } else { instantiate(field, &types, &empty) };
            let below = self.descend(&at.path, (tag.clone(), place as u16), &field, &at.term, found.places);
            self.pattern(part, &below, found)
        });
        Shape::Tagged(constructor.tag.clone(), shapes.collect())
    }

    /// States for later clauses that a value has this constructor. Conditions on the fields of one constructor do not
    /// apply to another.
    fn tag_test(&mut self, constructor: &Constructor, at: &Spot, found: &mut Walk<'_>) {
        let all = match self.scope.type_by_full(&constructor.of).map(|info| &info.kind) {
            Some(TypeInfoKind::Sum(all)) => all,
            _ => return,
        };
        let number = |tag: &Name| all.iter().position(|one| one.tag == *tag);
        let Some(own) = number(&constructor.tag).filter(|_| all.len() > 1) else { return };
        let tag = match &at.term {
            Term::Data(known, _) => number(known).map(Linear::number),
            _ => None,
        };
        let tag = tag.unwrap_or_else(|| match found.places.tags.get(&at.path) {
            Some(sym) => Linear::symbol(*sym),
            None => {
                let sym = self.symbol(None);
                found.places.tags.insert(at.path.clone(), sym);
                Linear::symbol(sym)
            }
        });
        found.tags.push(Formula::eq(&tag, &Linear::number(own)));
    }

    /// True if the constructor has as many fields as the pattern gives; reports it if not.
    pub(super) fn takes_fields(&mut self, name: &Ident, takes: usize, given: &[Pattern], span: Span) -> bool {
        if takes != given.len() {
            let message = format!("`{}` has {takes} field(s), not {}", name.name, given.len());
            self.error(code::ARITY, span, message);
        }
        takes == given.len()
    }

    fn record_pattern(
        &mut self,
        name: &Ident,
        given: &[(Ident, Pattern)],
        at: &Spot,
        found: &mut Walk<'_>,
        span: Span,
    ) -> Shape {
        let info = self.scope.ty(&name.name).filter(|info| matches!(info.kind, TypeInfoKind::Record(_))).cloned();
        let Some(info) = info else {
            self.error(code::UNKNOWN_RECORD, name.span, format!("there is no record `{}`", name.name));
            return Shape::Any;
        };
        let base = self.base(&at.ty);
        let any = matches!(base, Ty::Any);
        let args: Vec<Ty> = match base {
            Ty::Con(full, args) if full == info.full => args,
            _ => info.params.iter().map(|_| self.meta()).collect(),
        };
        self.literal_type(&at.ty, &Ty::Con(info.full.clone(), args.clone()), span);
        found.whole &= !any;
        let fields = self.fields_of(&info, &args);
        let tag = short(&info.full);
        let mut shapes = vec![Shape::Any; fields.len()];
        for (field, part) in given {
            let Some(place) = self.field_place(&fields, field, &name.name) else { continue };
            if given.iter().take_while(|(other, _)| other.span != field.span).any(|(other, _)| other.name == field.name)
            {
                self.error(code::DUPLICATE, field.span, format!("the field `{}` is there twice", field.name));
                continue;
            }
            let ty = if any { &Ty::Any } else { &fields[place].1 };
            let below = self.descend(&at.path, (Some(tag.clone()), place as u16), ty, &at.term, found.places);
            shapes[place] = self.pattern(part, &below, found);
        }
        Shape::Tagged(tag, shapes)
    }
}
