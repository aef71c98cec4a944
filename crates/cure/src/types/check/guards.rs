//! Checks the guards of clauses: their form, and the solver's knowledge about them.

use super::body::{Body, Term};
use crate::diagnostic::code;
use crate::ir::tree::Tree;
use crate::ir::ty::Ty;
use crate::solver::Formula;
use crate::syntax::ast::{Expr, ExprKind};

impl Body<'_> {
    /// A guard: its tree, and its formula if the solver can follow it.
    pub(super) fn guard(&mut self, guard: &Expr) -> (Tree, Option<Formula>) {
        self.guard_form(guard);
        let val = self.check(guard, &Ty::bool());
        let formula = match val.term {
            Term::Bool(formula) => Some(formula),
            _ => None,
        };
        (val.tree, formula)
    }

    /// Guards may use operators only, not calls.
    fn guard_form(&mut self, guard: &Expr) {
        match &guard.kind {
            ExprKind::Binary(_, _, left, right) => {
                self.guard_form(left);
                self.guard_form(right);
            }
            ExprKind::Unary(_, inner) | ExprKind::Field(inner, _) => self.guard_form(inner),
            ExprKind::Call(callee, _) => {
                let hint = "match on the value first: `match f(x) do true -> … end`".to_owned();
                self.error(code::GUARD, callee.span, "a guard cannot call functions").hints.push(hint);
            }
            ExprKind::Match(..)
            | ExprKind::If(..)
            | ExprKind::Lambda(..)
            | ExprKind::Block(_)
            | ExprKind::Chain(..)
            | ExprKind::Interpolation(_) => {
                self.error(code::GUARD, guard.span, "a guard holds operators over names and literals only");
            }
            _ => {}
        }
    }
}
