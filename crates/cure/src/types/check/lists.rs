//! Checks lists and vectors, in expressions and in patterns, and the operators that join them.

use std::sync::Arc;

use super::body::{Body, Term, Val};
use super::calls::is_choice;
use super::exprs::tree;
use super::patterns::{Spot, Walk};
use super::value_conditions::{Flow, exact};
use crate::diagnostic::{Span, code};
use crate::ir::form::Operation;
use crate::ir::tree::{Shape, TreeKind};
use crate::ir::ty::{Len, Seq, Ty};
use crate::resolve::scope::Function;
use crate::solver::{Formula, Linear};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, ExprKind, Pattern};

/// A longer list keeps nothing of what its elements say beyond their base type.
const MOST_KEPT: usize = 256;

impl Body<'_> {
    /// A list or a vector; `expected` decides which, and the element type.
    pub(super) fn list(&mut self, elements: &[Expr], rest: Option<&Expr>, expected: &Ty, span: Span) -> Val {
        self.list_of(elements, rest, expected, &mut Vec::new(), span)
    }

    /// A list or a vector of which nothing is expected.
    pub(super) fn inferred_list(&mut self, seq: Seq, elements: &[Expr], rest: Option<&Expr>, span: Span) -> Val {
        let (errors, first, mut flows) = (self.errors.len(), self.count_metas(), Vec::new());
        let list = Ty::Seq(seq, Arc::new(self.meta()), Len::Unknown);
        let val = self.list_of(elements, rest, &list, &mut flows, span);
        if self.errors.len() == errors && elements.len() <= MOST_KEPT {
            self.keep(first, &flows, &[]);
        }
        val
    }

    /// True if the elements of a list determine their type better than the expected type does: it is still unknown, or
    /// it is known from other values and the elements are literals.
    pub(super) fn says_nothing(&self, expected: &Ty, element: &Ty, list: &Expr) -> bool {
        let is_open = |ty: &Ty| matches!(ty, Ty::Meta(_));
        is_open(&self.shallow(element))
            || ((is_open(expected) || element.any(&mut |part| is_open(part)))
                && is_data(list)
                && !self.resolved(element).any(&mut |part| exact(part)))
    }

    fn list_of(
        &mut self,
        elements: &[Expr],
        rest: Option<&Expr>,
        expected: &Ty,
        flows: &mut Vec<Flow>,
        span: Span,
    ) -> Val {
        let Ty::Seq(seq, element, wanted) = expected else { return self.wrong(span) };
        let seq = *seq;
        let mut trees = Vec::new();
        for one in elements {
            let val = self.check(one, element);
            if flows.len() <= MOST_KEPT {
                flows.extend(Flow::new(self, &val, one, element));
            }
            trees.push(val.tree);
        }
        let count = Linear::number(elements.len());
        let (rest, length) = match rest {
            None => (None, Len::Term(count)),
            Some(rest) => {
                let wanted = match wanted {
                    // Each branch of a choice must be long enough on its own.
                    Len::Term(whole) if is_choice(rest) || matches!(rest.kind, ExprKind::List(_, Some(_))) => {
                        Len::Term(self.length(whole).sub(&count))
                    }
                    _ => Len::Unknown,
                };
                let into = Ty::Seq(seq, element.clone(), wanted);
                let val = self.check(rest, &into);
                flows.extend(Flow::new(self, &val, rest, &into));
                let length = match self.base(&val.ty) {
                    Ty::Seq(_, _, Len::Term(rest)) => Len::Term(self.length(&rest).add(&count)),
                    _ => Len::Unknown,
                };
                (Some(Box::new(val.tree)), length)
            }
        };
        let ty = Ty::Seq(seq, element.clone(), length);
        Val { tree: tree(TreeKind::List(trees, rest), span), ty, term: Term::Opaque }
    }

    /// True if an expression is obviously a vector; `[x | v]` is then a vector too.
    pub(super) fn is_vector(&self, expr: &Expr) -> bool {
        let is_vector = |ty: &Ty| matches!(self.base(ty), Ty::Seq(Seq::Vector, ..));
        match &expr.kind {
            ExprKind::Vector(_) => true,
            ExprKind::List(_, Some(rest)) => self.is_vector(rest),
            ExprKind::Name(name) => self.local(name).is_some_and(|local| is_vector(&local.ty)),
            ExprKind::Call(callee, args) => match &callee.kind {
                ExprKind::Name(name) if self.local(name).is_none() => {
                    match self.scope.function(name, args.len() as u32) {
                        Some(Function::Plain(signature)) => is_vector(&signature.result),
                        _ => false,
                    }
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Checks `a ++ b` and `a -- b`. The expected element type applies to both sides of `++`, and to the left side of
    /// `--`.
    pub(super) fn joined(&mut self, operator: K, left: &Expr, right: &Expr, wanted: Option<&Ty>, span: Span) -> Val {
        let (first, second, element) = match wanted {
            Some(element) => {
                let list = |element: Ty| Ty::Seq(Seq::List, Arc::new(element), Len::Unknown);
                let other = if operator == K::PlusPlus { element.clone() } else { self.widened(element) };
                (self.check(left, &list(element.clone())), self.check(right, &list(other)), element.clone())
            }
            None => {
                let element = self.meta();
                let list = Ty::Seq(Seq::List, Arc::new(element.clone()), Len::Unknown);
                let (errors, own) = (self.errors.len(), self.count_metas() - 1);
                let (first, second) = (self.infer(left), self.infer(right));
                if self.base(&first.ty).is_con("String") {
                    let hint = "strings are joined with `<>`".to_owned();
                    self.error(code::OPERATOR, span, "`++` joins lists").hints.push(hint);
                    return self.wrong(span);
                }
                let flows = [Flow::new(self, &first, left, &list), Flow::new(self, &second, right, &list)];
                let (first, second) = (self.coerce(first, &list, left.span), self.coerce(second, &list, right.span));
                if self.errors.len() == errors {
                    self.keep(own, &flows.into_iter().flatten().collect::<Vec<_>>(), &[]);
                }
                (first, second, element)
            }
        };
        let length = |body: &Self, val: &Val| match body.base(&val.ty) {
            Ty::Seq(_, _, Len::Term(term)) => Some(body.length(&term)),
            _ => None,
        };
        let whole = match (operator, length(self, &first), length(self, &second)) {
            (K::PlusPlus, Some(a), Some(b)) => Len::Term(a.add(&b)),
            _ => Len::Unknown,
        };
        let operation = if operator == K::PlusPlus { Operation::Append } else { Operation::Without };
        let kind = TreeKind::Operation(operation, vec![first.tree, second.tree]);
        Val { tree: tree(kind, span), ty: Ty::Seq(Seq::List, Arc::new(element), whole), term: Term::Opaque }
    }

    pub(super) fn list_pattern(
        &mut self,
        elements: &[Pattern],
        rest: Option<&Pattern>,
        at: &Spot,
        found: &mut Walk<'_>,
        span: Span,
    ) -> Shape {
        let (seq, element, length) = match self.base(&at.ty) {
            Ty::Seq(seq, element, length) => (seq, (*element).clone(), length),
            Ty::Any => (Seq::List, Ty::Any, Len::Unknown),
            other => {
                let element = self.meta();
                let list = Ty::list(element.clone());
                self.literal_type(&other, &list, span);
                (Seq::List, element, Len::Unknown)
            }
        };
        let count = Linear::number(elements.len());
        match &length {
            Len::Term(length) => {
                let length = self.length(length);
                found.tests.push(if rest.is_some() {
                    Formula::le(&count, &length)
                } else {
                    Formula::eq(&length, &count)
                });
            }
            _ => found.whole = false,
        }
        // The tail of a value of type Any has type Any.
        let any = matches!(self.base(&at.ty), Ty::Any);
        let tail = |body: &Self, by: usize| {
            if any { Ty::Any } else { Ty::Seq(seq, Arc::new(element.clone()), shorter(body, &length, by)) }
        };
        // A list cell is a position with two positions below it: head and tail.
        let mut cells = Vec::new();
        let mut here = at.path.clone();
        for (before, part) in elements.iter().enumerate() {
            let ty = tail(self, before);
            self.record_position(&here, &ty, &Term::Opaque, found.places);
            let head = self.descend(&here, (None, 0), &element, &Term::Opaque, found.places);
            cells.push(self.pattern(part, &head, found));
            here.push((None, 1));
        }
        let ty = tail(self, elements.len());
        let last = match rest {
            Some(rest) => self.pattern(rest, &Spot { path: here, ty, term: Term::Opaque }, found),
            None => {
                self.record_position(&here, &ty, &Term::Opaque, found.places);
                Shape::Nil
            }
        };
        cells.into_iter().rev().fold(last, |tail, head| Shape::Cons(Box::new(head), Box::new(tail)))
    }
}

/// True if an expression is made of literals alone.
fn is_data(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Str(_) => true,
        ExprKind::Unary(K::Minus, inner) => matches!(inner.kind, ExprKind::Int(_) | ExprKind::Float(_)),
        ExprKind::List(parts, None) | ExprKind::Vector(parts) | ExprKind::Tuple(parts) => parts.iter().all(is_data),
        _ => false,
    }
}

fn shorter(body: &Body<'_>, length: &Len, by: usize) -> Len {
    match length {
        Len::Term(length) => Len::Term(body.length(length).sub(&Linear::number(by))),
        _ => Len::Unknown,
    }
}
