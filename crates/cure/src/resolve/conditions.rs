//! Conditions of refined types: whether the form is allowed, the names are known, and both sides have matching types.

use super::written_types::Reader;
use crate::diagnostic::{Span, code};
use crate::ir::ty::Ty;
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, ExprKind, Name};

/// The kind of an operand of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Int,
    Float,
    Bool,
    Text,
    Atom,
    /// Unknown; matches anything.
    Open,
}

impl Sort {
    fn name(self) -> &'static str {
        match self {
            Sort::Int => "Int",
            Sort::Float => "Float",
            Sort::Bool => "Bool",
            Sort::Text => "String",
            Sort::Atom => "Atom",
            Sort::Open => "something else",
        }
    }

    fn fits(self, other: Sort) -> bool {
        self == other || self == Sort::Open || other == Sort::Open
    }
}

impl Reader<'_> {
    /// Checks a condition over a value of this base type: operators over names and literals with a boolean result.
    pub(crate) fn condition(&mut self, condition: &Expr, var: &Name, base: &Ty) {
        let sort = self.sort(condition, var, base);
        self.expect_sort(sort, Sort::Bool, condition.span, "a condition is true or false");
    }

    fn expect_sort(&mut self, sort: Sort, wanted: Sort, span: Span, why: &str) {
        if !sort.fits(wanted) {
            self.error(code::MISMATCH, span, format!("{why}; this is {}", sort.name()), None);
        }
    }

    fn sort(&mut self, expr: &Expr, var: &Name, base: &Ty) -> Sort {
        match &expr.kind {
            ExprKind::Int(_) => Sort::Int,
            ExprKind::Float(_) => Sort::Float,
            ExprKind::Bool(_) => Sort::Bool,
            ExprKind::Str(_) => Sort::Text,
            ExprKind::Atom(_) => Sort::Atom,
            ExprKind::Name(name) if name == var => sort_of(base),
            ExprKind::Name(name) => {
                self.pending.push((name.clone(), expr.span));
                Sort::Open
            }
            ExprKind::Unary(K::NotKw, inner) => {
                let sort = self.sort(inner, var, base);
                self.expect_sort(sort, Sort::Bool, inner.span, "`not` is for what is true or false");
                Sort::Bool
            }
            ExprKind::Unary(_, inner) => self.number(inner, var, base),
            ExprKind::Binary(operator, at, left, right) => self.operator(*operator, *at, left, right, var, base),
            ExprKind::Missing => Sort::Open,
            _ => {
                let hint = "use comparisons, arithmetic, `and`, `or` and `not` over names and literals";
                let message = "a condition can hold operators, names and literals only";
                self.error(code::GUARD, expr.span, message, Some(hint));
                Sort::Open
            }
        }
    }

    fn number(&mut self, expr: &Expr, var: &Name, base: &Ty) -> Sort {
        let sort = self.sort(expr, var, base);
        if matches!(sort, Sort::Int | Sort::Float | Sort::Open) {
            return sort;
        }
        self.error(code::MISMATCH, expr.span, format!("expected a number, found {}", sort.name()), None);
        Sort::Open
    }

    fn operator(&mut self, operator: K, at: Span, left: &Expr, right: &Expr, var: &Name, base: &Ty) -> Sort {
        match operator {
            K::AndKw | K::OrKw => {
                for side in [left, right] {
                    let sort = self.sort(side, var, base);
                    self.expect_sort(sort, Sort::Bool, side.span, "`and` and `or` are for what is true or false");
                }
                Sort::Bool
            }
            K::Plus | K::Minus | K::Star | K::Slash | K::Percent => {
                let (one, other) = (self.number(left, var, base), self.number(right, var, base));
                self.expect_sort(other, one, right.span, &format!("the left side is {}", one.name()));
                if one == Sort::Open { other } else { one }
            }
            K::EqEq | K::NotEq | K::Lt | K::Gt | K::LtEq | K::GtEq => {
                let (one, other) = (self.sort(left, var, base), self.sort(right, var, base));
                self.expect_sort(other, one, right.span, &format!("the left side is {}", one.name()));
                Sort::Bool
            }
            _ => {
                let message = format!("a condition cannot use `{}`", operator.text().unwrap_or("this"));
                self.error(code::GUARD, at, message, Some("it compares, counts, and joins with `and` and `or`"));
                Sort::Open
            }
        }
    }

    /// The only name in the condition after a type: it stands for the value.
    pub(crate) fn subject(condition: &Expr) -> Option<Name> {
        let mut found: Vec<Name> = Vec::new();
        crate::ir::ty::names_in(condition, &mut |name| {
            if !found.iter().any(|known| **known == *name) {
                found.push(Name::from(name));
            }
        });
        if found.len() == 1 { found.pop() } else { None }
    }
}

fn sort_of(base: &Ty) -> Sort {
    match base {
        Ty::Refined(base, _) => sort_of(base),
        Ty::Con(name, _) => match &**name {
            "Int" => Sort::Int,
            "Float" => Sort::Float,
            "Bool" => Sort::Bool,
            "String" => Sort::Text,
            "Atom" => Sort::Atom,
            _ => Sort::Open,
        },
        _ => Sort::Open,
    }
}
