//! Operations on values, with Erlang's meaning: arithmetic, comparison, lists and binaries.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::Zero;

use super::compare::{Ordered, compare, equal, exactly_equal};
use super::value::Value;
use crate::ir::form::Operation;

/// The maximal size of an integer in bits; Erlang has such a bound too, and raises `system_limit`.
pub(super) const MOST_BITS: u64 = 4_194_304;

/// Performs an operation; `None` if Erlang would raise an error.
pub(super) fn operate(operation: Operation, args: &[Value]) -> Option<Value> {
    use Operation as O;
    Some(match (operation, args) {
        (O::Add | O::Subtract | O::Multiply, [Value::Int(a), Value::Int(b)]) => {
            let small = match operation {
                O::Add => a.checked_add(*b),
                O::Subtract => a.checked_sub(*b),
                _ => a.checked_mul(*b),
            };
            match small {
                Some(value) => Value::Int(value),
                None => big(operation, &(*a).into(), &(*b).into())?,
            }
        }
        (O::Add, [Value::Float(a), Value::Float(b)]) => finite(a + b)?,
        (O::Subtract, [Value::Float(a), Value::Float(b)]) => finite(a - b)?,
        (O::Multiply, [Value::Float(a), Value::Float(b)]) => finite(a * b)?,
        (O::Divide, [Value::Float(a), Value::Float(b)]) if *b != 0.0 => finite(a / b)?,
        (O::Add | O::Subtract | O::Multiply | O::Quotient | O::Remainder, [a, b]) => {
            big(operation, &a.as_big()?, &b.as_big()?)?
        }
        (O::Negate, [Value::Float(a)]) => Value::Float(-a),
        (O::Negate, [a]) => Value::int(-a.as_big()?),
        (O::Equal, [a, b]) => Value::bool(equal(a, b)),
        (O::NotEqual, [a, b]) => Value::bool(!equal(a, b)),
        (O::Identical, [a, b]) => Value::bool(exactly_equal(a, b)),
        (O::NotIdentical, [a, b]) => Value::bool(!exactly_equal(a, b)),
        (O::Less, [a, b]) => Value::bool(compare(a, b).is_lt()),
        (O::AtMost, [a, b]) => Value::bool(compare(a, b).is_le()),
        (O::Greater, [a, b]) => Value::bool(compare(a, b).is_gt()),
        (O::AtLeast, [a, b]) => Value::bool(compare(a, b).is_ge()),
        (O::Not, [a]) if a.is_atom("true") => Value::bool(false),
        (O::Not, [a]) if a.is_atom("false") => Value::bool(true),
        (O::Append, [a, b]) => Value::list(a.items()?, b.clone()),
        (O::Without, [a, b]) => {
            // Each element of the second list removes its first occurrence in the first.
            let mut away: BTreeMap<Ordered, Vec<Value>> = BTreeMap::new();
            for item in b.items()? {
                away.entry(Ordered(item.clone())).or_default().push(item);
            }
            let mut items = a.items()?;
            items.retain(|item| {
                let Some(left) = away.get_mut(&Ordered(item.clone())) else { return true };
                let found = left.iter().position(|one| exactly_equal(one, item));
                found.map(|at| left.swap_remove(at)).is_none()
            });
            Value::list(items, Value::Nil)
        }
        (O::Length, [a]) => Value::Int(a.items()?.len() as i64),
        (O::Join, [parts]) => {
            let mut joined: Vec<u8> = Vec::new();
            for part in parts.items()? {
                let Value::Binary(bytes) = part else { return None };
                joined.extend_from_slice(&bytes);
            }
            Value::binary(joined)
        }
        _ => return None,
    })
}

fn finite(value: f64) -> Option<Value> {
    value.is_finite().then_some(Value::Float(value))
}

fn big(operation: Operation, a: &BigInt, b: &BigInt) -> Option<Value> {
    Some(Value::int(match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        _ if b.is_zero() => return None,
        Operation::Quotient => a / b,
        Operation::Remainder => a % b,
        _ => return None,
    }))
}
