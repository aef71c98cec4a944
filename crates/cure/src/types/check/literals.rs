//! What literals say of the values that hold them: the elements of `[3, 1, 10]` are numbers from 1 to 10, so that they may
//! become those of a `List(Nat)`.
//!
//! It is an ordinary condition that the program does not contain, so messages show the plain type.

use std::sync::Arc;

use num_bigint::BigInt;

use super::body::{Body, Term};
use super::floats;
use crate::diagnostic::Span;
use crate::ir::ty::{LITERAL, Len, Pred, Ty};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, ExprKind, Name};

/// Maximum number of distinct literals. Above it, only the minimum, the maximum, and the presence of zero or the empty text are known.
const MOST: usize = 8;

/// Maximum length of a text whose characters are known. In a longer text, characters are only known to be numbers.
const MOST_CHARACTERS: usize = 256;

impl Body<'_> {
    /// Adds the literal value of a term to a type, if it is a number or a text.
    pub(super) fn with_literals(&self, ty: &Ty, term: &Term) -> Ty {
        match (ty, term) {
            (Ty::Con(name, _), Term::Int(value)) if &**name == "Int" => match value.as_number() {
                Some(value) => refined(ty, is(ExprKind::Int(value.clone()))),
                None => ty.clone(),
            },
            (Ty::Con(name, _), Term::Float(value)) if &**name == "Float" => {
                match value.as_number().and_then(floats::float_at) {
                    Some(value) => refined(ty, is(ExprKind::Float(value))),
                    None => ty.clone(),
                }
            }
            (Ty::Con(name, _), Term::Word(value)) if &**name == "String" => match self.known_text(value) {
                Some(text) => refined(ty, is(ExprKind::Str(text.to_string()))),
                None => ty.clone(),
            },
            (Ty::Tuple(types), Term::Tuple(terms)) if types.len() == terms.len() => {
                Ty::Tuple(types.iter().zip(terms).map(|(ty, term)| self.with_literals(ty, term)).collect())
            }
            _ => ty.clone(),
        }
    }
}

/// Returns a type for the values of both if they differ only in literals. Conditions of the program take precedence
/// over literals.
pub(super) fn joined(one: &Ty, other: &Ty) -> Ty {
    match (one, other) {
        (Ty::Refined(base, a), Ty::Refined(_, b)) if a.is_of_literals() && b.is_of_literals() => {
            let mut all = disjuncts(&a.condition);
            all.extend(disjuncts(&b.condition));
            match simplified(all) {
                Some(condition) => refined(base, condition),
                None => (**base).clone(),
            }
        }
        (Ty::Refined(_, a), Ty::Refined(..)) if a.is_of_literals() => other.clone(),
        (Ty::Refined(base, a), _) if a.is_of_literals() => (**base).clone(),
        (Ty::Seq(seq, element, length), Ty::Seq(also, part, same)) if seq == also => {
            let length = if length == same { length.clone() } else { Len::Unknown };
            Ty::Seq(*seq, Arc::new(joined(element, part)), length)
        }
        (Ty::Tuple(parts), Ty::Tuple(others)) if parts.len() == others.len() => {
            Ty::Tuple(parts.iter().zip(others).map(|(one, other)| joined(one, other)).collect())
        }
        (Ty::Con(name, args), Ty::Con(also, others)) if name == also && args.len() == others.len() => {
            Ty::Con(name.clone(), args.iter().zip(others).map(|(one, other)| joined(one, other)).collect())
        }
        _ => one.clone(),
    }
}

/// The type of the characters of a text that is written.
pub(super) fn characters(text: &str) -> Ty {
    let codes = text.chars().map(|c| is(ExprKind::Int(u32::from(c).into())));
    let condition = if text.len() > MOST_CHARACTERS { None } else { simplified(codes.collect()) };
    condition.map_or_else(Ty::int, |condition| refined(&Ty::int(), condition))
}

/// `literal == value`
fn is(value: ExprKind) -> Expr {
    binary(K::EqEq, name(), plain(value))
}

fn plain(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

fn name() -> Expr {
    plain(ExprKind::Name(Name::from(LITERAL)))
}

fn binary(operator: K, left: Expr, right: Expr) -> Expr {
    plain(ExprKind::Binary(operator, Span::default(), Box::new(left), Box::new(right)))
}

fn refined(base: &Ty, condition: Expr) -> Ty {
    let text = if let Ty::Con(name, _) = base { name.to_string() } else { String::new() };
    let pred = Pred { var: Name::from(LITERAL), condition, names: Default::default(), text };
    Ty::Refined(Arc::new(base.clone()), Arc::new(pred))
}

/// The conditions of which one holds.
fn disjuncts(condition: &Expr) -> Vec<Expr> {
    match &condition.kind {
        ExprKind::Binary(K::OrKw, _, left, right) => {
            let mut all = disjuncts(left);
            all.extend(disjuncts(right));
            all
        }
        _ => vec![condition.clone()],
    }
}

/// One condition for all of these; `None` if it would be too long.
fn simplified(all: Vec<Expr>) -> Option<Expr> {
    let mut kept: Vec<Expr> = Vec::new();
    for one in all {
        if !kept.iter().any(|known| is_same_condition(known, &one)) {
            kept.push(one);
        }
    }
    if kept.len() > MOST {
        kept = vec![bounds(&kept)?];
    }
    kept.into_iter().reduce(|one, other| binary(K::OrKw, one, other))
}

/// True if two conditions are written alike.
fn is_same_condition(one: &Expr, other: &Expr) -> bool {
    match (&one.kind, &other.kind) {
        (ExprKind::Binary(a, _, left, right), ExprKind::Binary(b, _, first, second)) => {
            a == b && is_same_condition(left, first) && is_same_condition(right, second)
        }
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Float(a), ExprKind::Float(b)) => a == b,
        (ExprKind::Str(a), ExprKind::Str(b)) => a == b,
        (ExprKind::Name(a), ExprKind::Name(b)) => a == b,
        _ => false,
    }
}

/// The bounds of many literals, and that none of them is zero; of texts, that none is empty.
fn bounds(all: &[Expr]) -> Option<Expr> {
    let mut ints: Vec<BigInt> = Vec::new();
    let mut floats: Vec<f64> = Vec::new();
    let (mut zero, mut texts) = (false, false);
    for one in all {
        for value in literals(one)? {
            match value {
                ExprKind::Int(value) => {
                    zero |= *value == BigInt::ZERO;
                    ints.push(value.clone());
                }
                ExprKind::Float(value) => {
                    zero |= *value == 0.0;
                    floats.push(*value);
                }
                ExprKind::Str(text) => {
                    zero |= text.is_empty();
                    texts = true;
                }
                _ => return None,
            }
        }
        // Bounds from before, which leave zero out only if they say so.
        zero |= matches!(one.kind, ExprKind::Binary(K::AndKw, ..)) && !says_not_zero(one);
    }
    let (least, most, nothing) = match (ints.iter().min(), ints.iter().max()) {
        (Some(least), Some(most)) => {
            (ExprKind::Int(least.clone()), ExprKind::Int(most.clone()), ExprKind::Int(BigInt::ZERO))
        }
        _ if texts => {
            let filled = binary(K::NotEq, name(), plain(ExprKind::Str(String::new())));
            return (!zero).then_some(filled);
        }
        _ => {
            let least = floats.iter().copied().reduce(f64::min)?;
            let most = floats.iter().copied().reduce(f64::max)?;
            (ExprKind::Float(least), ExprKind::Float(most), ExprKind::Float(0.0))
        }
    };
    let between = binary(K::AndKw, binary(K::LtEq, plain(least), name()), binary(K::LtEq, name(), plain(most)));
    Some(if zero { between } else { binary(K::AndKw, between, binary(K::NotEq, name(), plain(nothing))) })
}

/// The literals in a condition that was made here; `None` in another one.
fn literals(condition: &Expr) -> Option<Vec<&ExprKind>> {
    let ExprKind::Binary(operator, _, left, right) = &condition.kind else { return None };
    match operator {
        K::EqEq => Some(vec![&right.kind]),
        K::LtEq => Some(vec![if matches!(left.kind, ExprKind::Name(_)) { &right.kind } else { &left.kind }]),
        // A nonzero number is not a literal, and of a nonempty text nothing more is known.
        K::NotEq if matches!(right.kind, ExprKind::Str(_)) => None,
        K::NotEq => Some(Vec::new()),
        K::AndKw => {
            let mut all = literals(left)?;
            all.extend(literals(right)?);
            Some(all)
        }
        _ => None,
    }
}

fn says_not_zero(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Binary(K::NotEq, ..) => true,
        ExprKind::Binary(K::AndKw, _, _, right) => says_not_zero(right),
        _ => false,
    }
}
