//! Erlang's order and equality of values.

use std::cmp::Ordering;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::heap::visit;
use super::value::Value;

/// The rank of a value's kind in Erlang's order of terms.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Big(_) | Value::Float(_) => 0,
        Value::Atom(_) => 1,
        Value::Function(_) => 2,
        Value::Machine(_) => 3,
        Value::Tuple(_) => 4,
        Value::Map(_) => 5,
        Value::Nil => 6,
        Value::Cons(_) => 7,
        Value::Binary(_) => 8,
    }
}

pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    walk(a, b, false)
}

/// The order of keys in maps: like [`compare`], but all integers come before all floats.
pub(crate) fn compare_keys(a: &Value, b: &Value) -> Ordering {
    walk(a, b, true)
}

/// `==`: equal in the order of terms.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    walk(a, b, false).is_eq()
}

/// `=:=`: equal in the order of terms, except that 1 and 1.0 differ. Both zeros are the same, as before OTP 27.
pub(crate) fn exactly_equal(a: &Value, b: &Value) -> bool {
    walk(a, b, true).is_eq()
}

/// Walks two values in parallel to their first difference, without recursion: values can be deeper than the host's
/// stack. A walk that is too long is aborted, and its result is not used.
fn walk(a: &Value, b: &Value, exactly: bool) -> Ordering {
    let mut open: Vec<(&Value, &Value, bool)> = Vec::new();
    let (mut a, mut b, mut exactly) = (a, b, exactly);
    loop {
        if !visit(1) {
            return Ordering::Equal;
        }
        let order = match (a, b) {
            (Value::Cons(x), Value::Cons(y)) => {
                if !Rc::ptr_eq(x, y) {
                    open.push((&x.tail, &y.tail, exactly));
                    (a, b) = (&x.head, &y.head);
                    continue;
                }
                Ordering::Equal
            }
            (Value::Tuple(x), Value::Tuple(y)) => {
                if x.len() == y.len() && !Rc::ptr_eq(x, y) {
                    open.extend(x.iter().zip(y.iter()).rev().map(|(x, y)| (x, y, exactly)));
                }
                x.len().cmp(&y.len())
            }
            (Value::Map(x), Value::Map(y)) => {
                if x.len() == y.len() {
                    let pairs = x.iter().zip(y.iter()).rev();
                    open.extend(pairs.flat_map(|(x, y)| [(&x.1, &y.1, exactly), (&x.0, &y.0, true)]));
                }
                x.len().cmp(&y.len())
            }
            (Value::Function(x), Value::Function(y)) => {
                let names = (&x.module, &x.function, x.arity).cmp(&(&y.module, &y.function, y.arity));
                if names.is_eq() && !Rc::ptr_eq(x, y) {
                    open.extend(x.captured.iter().zip(&y.captured).rev().map(|(x, y)| (x, y, exactly)));
                }
                names
            }
            _ => single(a, b, exactly),
        };
        if order.is_ne() {
            return order;
        }
        match open.pop() {
            Some(next) => (a, b, exactly) = next,
            None => return Ordering::Equal,
        }
    }
}

/// Compares two values of which at least one has no parts that are compared.
fn single(a: &Value, b: &Value, exactly: bool) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Float(_), Value::Int(_) | Value::Big(_)) | (Value::Int(_) | Value::Big(_), Value::Float(_)) => {
            if exactly {
                matches!(a, Value::Float(_)).cmp(&matches!(b, Value::Float(_)))
            } else {
                float_of(a).partial_cmp(&float_of(b)).unwrap_or(Ordering::Equal)
            }
        }
        (Value::Big(a), Value::Big(b)) => (***a).cmp(&***b),
        (Value::Big(a), Value::Int(b)) => (***a).cmp(&BigInt::from(*b)),
        (Value::Int(a), Value::Big(b)) => BigInt::from(*a).cmp(&***b),
        (Value::Atom(a), Value::Atom(b)) => a.cmp(b),
        (Value::Binary(a), Value::Binary(b)) => a[..].cmp(&b[..]),
        (Value::Machine(a), Value::Machine(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn float_of(value: &Value) -> f64 {
    match value {
        Value::Int(value) => *value as f64,
        Value::Big(value) => value.to_f64().unwrap_or(f64::INFINITY),
        Value::Float(value) => *value,
        _ => 0.0,
    }
}

/// A map key: a value in Erlang's order of terms.
pub(crate) struct Ordered(pub Value);

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        compare(&self.0, &other.0).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        compare(&self.0, &other.0)
    }
}
