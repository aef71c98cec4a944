//! Evaluates patterns: whether a value matches, and its bindings.

use num_bigint::BigInt;

use super::evaluate::{Env, Evaluator};
use super::tree::{Pattern, Shape};
use super::value::Value;

impl Evaluator<'_> {
    /// The bindings of the pattern, if it matches. A name that occurs twice must have the same value.
    pub(super) fn bind(&self, pattern: &Pattern, value: &Value, env: Env) -> Option<Env> {
        let mut bound: Vec<(String, Value)> = Vec::new();
        self.take(pattern, value, &mut bound)
            .then(|| bound.into_iter().fold(env, |env, (name, value)| env.with(&name, value)))
    }

    fn take(&self, pattern: &Pattern, value: &Value, bound: &mut Vec<(String, Value)>) -> bool {
        match (pattern, value) {
            (Pattern::Any, _) => true,
            (Pattern::Var(name), _) => match bound.iter().find(|(known, _)| known == name) {
                Some((_, known)) => known.order(value).is_eq(),
                None => {
                    bound.push((name.clone(), value.clone()));
                    true
                }
            },
            (Pattern::Int(wanted), Value::Int(value)) => wanted == value,
            (Pattern::Float(wanted), Value::Float(value)) => wanted == value,
            (Pattern::Unit, _) => value.is("unit"),
            (Pattern::Construct(name, wanted, _), Value::Int(value)) => match (&**name, &wanted[..]) {
                ("Zero", []) => *value == BigInt::ZERO,
                ("Succ", [before]) => *value > BigInt::ZERO && self.take(before, &Value::Int(value - 1), bound),
                _ => false,
            },
            (Pattern::Bool(wanted), _) => value.is(if *wanted { "true" } else { "false" }),
            (Pattern::Text(wanted), Value::Text(value)) => **wanted == **value,
            (Pattern::Atom(wanted), _) => value.is(wanted),
            (Pattern::List(heads, rest), Value::List(items)) => {
                let enough = if rest.is_some() { items.len() >= heads.len() } else { items.len() == heads.len() };
                enough
                    && heads.iter().zip(items.iter()).all(|(head, item)| self.take(head, item, bound))
                    && rest
                        .as_ref()
                        .is_none_or(|rest| self.take(rest, &Value::list(items[heads.len()..].to_vec()), bound))
            }
            (Pattern::Tuple(wanted), Value::Tuple(parts)) => {
                wanted.len() == parts.len()
                    && wanted.iter().zip(parts.iter()).all(|(pattern, part)| self.take(pattern, part, bound))
            }
            (Pattern::Construct(name, wanted, _), Value::Tuple(_)) => {
                let tag = Value::construct(name, Vec::new());
                let Value::Tuple(tag) = tag else { return false };
                let Value::Atom(tag) = &tag[0] else { return false };
                value
                    .fields(tag)
                    .filter(|fields| fields.len() == wanted.len())
                    .is_some_and(|fields| wanted.iter().zip(fields).all(|(one, field)| self.take(one, field, bound)))
            }
            (Pattern::Record(data, wanted), Value::Tuple(_)) => {
                let data = &self.program.data[*data];
                let Shape::Record(all) = &data.shape else { return false };
                value
                    .fields(&data.name)
                    .filter(|fields| fields.len() == all.len())
                    .is_some_and(|fields| wanted.iter().all(|(at, pattern)| self.take(pattern, &fields[*at], bound)))
            }
            _ => false,
        }
    }
}
