//! `Zero`, `Succ(n)` and `Pred(n)`: natural numbers in expressions and patterns.

use num_bigint::BigInt;
use num_traits::Zero;

use super::body::{Body, Term, Val};
use super::exprs::tree;
use super::patterns::{Spot, Walk};
use crate::diagnostic::{Span, code};
use crate::ir::form::{Literal, Operation};
use crate::ir::tree::{Shape, TreeKind};
use crate::ir::ty::Ty;
use crate::solver::{Formula, Linear};
use crate::syntax::ast::{Expr, Ident, Name, Pattern, PatternKind};

impl Body<'_> {
    /// `Zero`, `Succ(n)` and `Pred(n)`.
    pub(super) fn natural(&mut self, name: &str, args: &[Expr], span: Span) -> Option<Val> {
        if self.scope.constructor(name).is_some() {
            return None;
        }
        let nat = |term: Linear, kind: TreeKind| Val { tree: tree(kind, span), ty: Ty::int(), term: Term::Int(term) };
        match (name, args) {
            ("Zero", []) => Some(nat(Linear::number(0), TreeKind::Literal(Literal::Int(BigInt::zero())))),
            ("Succ" | "Pred", [arg]) => {
                let val = self.check(arg, &Ty::int());
                let term = match &val.term {
                    Term::Int(term) => term.clone(),
                    _ => Linear::symbol(self.symbol(None)),
                };
                let least = Linear::number(i64::from(name == "Pred"));
                let goal = Formula::le(&least, &term);
                let what = |_: &Self| format!("the precondition of `{name}` does not hold");
                let pair = code::Pair(code::PRECONDITION, code::PRECONDITION);
                let hint = if name == "Pred" { "Pred needs n > 0" } else { "Succ needs n >= 0" };
                self.require(&goal, arg.span, pair, what, Some(hint));
                let (operation, step) = if name == "Succ" { (Operation::Add, 1) } else { (Operation::Subtract, -1) };
                let one = tree(TreeKind::Literal(Literal::Int(1.into())), span);
                Some(nat(term.add(&Linear::number(step)), TreeKind::Operation(operation, vec![val.tree, one])))
            }
            _ => None,
        }
    }

    /// True if a value is an integer, or may still become one.
    pub(super) fn counts(&self, ty: &Ty) -> bool {
        let base = self.base(ty);
        base.is_con("Int") || matches!(base, Ty::Meta(_))
    }

    /// `Zero` is 0; `Succ(n)` is n + 1.
    pub(super) fn natural_pattern(
        &mut self,
        name: &Ident,
        parts: &[Pattern],
        at: &Spot,
        found: &mut Walk<'_>,
        span: Span,
    ) -> Shape {
        self.literal_type(&at.ty, &Ty::int(), span);
        let takes = usize::from(&*name.name == "Succ");
        if !self.takes_fields(name, takes, parts, span) {
            return Shape::Any;
        }
        let [inner] = parts else {
            let zero = Pattern { kind: PatternKind::Int(BigInt::default()), span };
            return self.pattern(&zero, at, found);
        };
        let term = match &at.term {
            Term::Int(term) => term.clone(),
            _ => {
                found.whole = false;
                Linear::symbol(self.symbol(None))
            }
        };
        let one = Linear::number(1);
        found.tests.push(Formula::le(&one, &term));
        let before = Term::Data(Name::from("Succ"), vec![Term::Int(term.sub(&one))]);
        let nat = crate::resolve::written_types::nat(span);
        let below = self.descend(&at.path, (Some(Name::from("Succ")), 0), &nat, &before, found.places);
        Shape::Succ(Box::new(self.pattern(inner, &below, found)))
    }
}
