//! The order in which functions are checked: those whose result is inferred come first, each after the functions it
//! calls, so that long chains need no recursion.

use std::collections::HashMap;

use crate::resolve::collect::Group;
use crate::syntax::ast::{Clause, Expr, ExprKind, Name, Piece, Stmt};

/// The order, as indices into `groups`.
pub(super) fn order(groups: &[Group<'_>]) -> Vec<usize> {
    let mut inferred: HashMap<&Name, Vec<usize>> = HashMap::new();
    for (at, group) in groups.iter().enumerate().filter(|(_, group)| group.inferred) {
        inferred.entry(&group.signature.name).or_default().push(at);
    }
    let needs = |at: usize| {
        let mut needs = Vec::new();
        for body in groups[at].clauses.iter().filter_map(|clause| clause.body.as_ref()) {
            names(body, &mut |name| needs.extend(inferred.get(name).into_iter().flatten().copied()));
        }
        needs
    };
    let mut order = Vec::with_capacity(groups.len());
    let mut met = vec![false; groups.len()];
    for at in (0..groups.len()).filter(|at| groups[*at].inferred) {
        // Not marked as met before it is needed: in a cycle, the function written first is checked first, and the error
        // is reported there.
        if met[at] {
            continue;
        }
        let mut open = vec![(at, needs(at))];
        while let Some((_, waits)) = open.last_mut() {
            match waits.pop() {
                Some(next) if !met[next] => {
                    met[next] = true;
                    open.push((next, needs(next)));
                }
                Some(_) => {}
                None => order.extend(open.pop().map(|(ready, _)| ready)),
            }
        }
    }
    order.extend((0..groups.len()).filter(|at| !groups[*at].inferred));
    order
}

/// Calls the closure with every name that may be a function.
fn names(expr: &Expr, seen: &mut impl FnMut(&Name)) {
    let mut all = |exprs: &[Expr]| exprs.iter().for_each(|one| names(one, seen));
    match &expr.kind {
        ExprKind::Name(name) => seen(name),
        ExprKind::Call(callee, args) => {
            all(args);
            names(callee, seen);
        }
        ExprKind::Field(base, field) => {
            names(base, seen);
            seen(&field.name);
        }
        ExprKind::List(elements, rest) => {
            all(elements);
            rest.iter().for_each(|rest| names(rest, seen));
        }
        ExprKind::Vector(parts) | ExprKind::Tuple(parts) => all(parts),
        ExprKind::Record(_, fields) => fields.iter().for_each(|(_, value)| names(value, seen)),
        ExprKind::Update(_, base, fields) => {
            names(base, seen);
            fields.iter().for_each(|(_, value)| names(value, seen));
        }
        ExprKind::Unary(_, inner) | ExprKind::As(inner, _) | ExprKind::Lambda(_, inner) => names(inner, seen),
        ExprKind::Binary(operator, _, left, right) => {
            if let Some(text) = operator.text() {
                seen(&Name::from(text));
            }
            names(left, seen);
            names(right, seen);
        }
        ExprKind::Chain(operator, _, parts) => {
            seen(&Name::from(operator.text().unwrap_or("")));
            parts.iter().for_each(|part| names(part, seen));
        }
        ExprKind::Interpolation(pieces) => {
            for piece in pieces {
                if let Piece::Value(value) = piece {
                    names(value, seen);
                }
            }
        }
        ExprKind::Block(statements) => {
            for statement in statements {
                let (Stmt::Let(_, _, value) | Stmt::Expr(value)) = statement;
                names(value, seen);
            }
        }
        ExprKind::Match(scrutinee, clauses) => {
            names(scrutinee, seen);
            for Clause { guard, body, .. } in clauses {
                guard.iter().for_each(|guard| names(guard, seen));
                names(body, seen);
            }
        }
        ExprKind::If(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|part| names(part, seen));
        }
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Str(_)
        | ExprKind::Charlist(_)
        | ExprKind::Atom(_)
        | ExprKind::Bool(_)
        | ExprKind::Unit
        | ExprKind::Missing => {}
    }
}
