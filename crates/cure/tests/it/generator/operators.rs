//! Evaluates operators, within the range of comparable results.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::evaluate::{Outcome, Unusable};
use super::value::Value;

pub(super) fn ordering(order: Ordering) -> Value {
    let name = match order {
        Ordering::Less => "Lt",
        Ordering::Equal => "Eq",
        Ordering::Greater => "Gt",
    };
    Value::construct(name, Vec::new())
}

pub(super) fn int(value: BigInt) -> Outcome {
    if value.bits() > 3000 { Err(Unusable) } else { Ok(Value::Int(value)) }
}

pub(super) fn float(value: f64) -> Outcome {
    // Erlang raises an error where IEEE has infinities.
    if value.is_finite() { Ok(Value::Float(value)) } else { Err(Unusable) }
}

pub(super) fn binary(operator: &str, left: &Value, right: &Value) -> Outcome {
    use Value::{Float, Int, List, Text};
    Ok(match (operator, left, right) {
        ("+", Int(a), Int(b)) => int(a + b)?,
        ("-", Int(a), Int(b)) => int(a - b)?,
        ("*", Int(a), Int(b)) => int(a * b)?,
        ("/", Int(a), Int(b)) => {
            let size = a.magnitude() / b.magnitude();
            let quotient = BigInt::from(size);
            Int(if (a.sign() == num_bigint::Sign::Minus) == (b.sign() == num_bigint::Sign::Minus) {
                quotient
            } else {
                -quotient
            })
        }
        ("%", Int(a), Int(b)) => {
            let rest = BigInt::from(a.magnitude() % b.magnitude());
            Int(if a.sign() == num_bigint::Sign::Minus { -rest } else { rest })
        }
        ("+", Float(a), Float(b)) => float(a + b)?,
        ("-", Float(a), Float(b)) => float(a - b)?,
        ("*", Float(a), Float(b)) => float(a * b)?,
        ("/", Float(a), Float(b)) => float(a / b)?,
        ("|->", ..) => Value::atom("unit"),
        ("==", a, b) => Value::bool(a.order(b).is_eq()),
        ("!=", a, b) => Value::bool(a.order(b).is_ne()),
        ("<", a, b) => Value::bool(a.order(b).is_lt()),
        ("<=", a, b) => Value::bool(a.order(b).is_le()),
        (">", a, b) => Value::bool(a.order(b).is_gt()),
        (">=", a, b) => Value::bool(a.order(b).is_ge()),
        ("<>", Text(a), Text(b)) => {
            if a.len() + b.len() > 5000 {
                return Err(Unusable);
            }
            Value::text(&format!("{a}{b}"))
        }
        ("++", List(a), List(b)) => {
            if a.len() + b.len() > 2000 {
                return Err(Unusable);
            }
            Value::list(a.iter().chain(b.iter()).cloned().collect())
        }
        ("--", List(a), List(b)) => {
            let mut left = (**a).clone();
            for item in b.iter() {
                if let Some(at) = left.iter().position(|one| one.order(item).is_eq()) {
                    left.remove(at);
                }
            }
            Value::list(left)
        }
        _ => panic!("{left:?} {operator} {right:?}"),
    })
}
