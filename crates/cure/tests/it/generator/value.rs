//! Values as on the BEAM: their order and their text.

use std::cmp::Ordering;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::evaluate::Env;
use super::tree::{Expr, Pattern, Type};

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Int(BigInt),
    Float(f64),
    Atom(Rc<str>),
    Text(Rc<str>),
    Tuple(Rc<Vec<Value>>),
    List(Rc<Vec<Value>>),
    Function(Rc<Closure>),
    /// A running state machine.
    Machine(usize),
}

#[derive(Debug)]
pub(crate) enum Closure {
    Lambda(Vec<String>, Rc<Expr>, Env),
    Taking(Vec<Pattern>, Rc<Expr>, Env),
    Function(usize),
    Constructor(String),
    Method(usize, Type),
    Show(Type),
    /// A partially applied library function.
    Native(&'static str, Vec<Value>),
}

impl Value {
    pub(crate) fn atom(name: &str) -> Value {
        Value::Atom(name.into())
    }

    pub(crate) fn bool(value: bool) -> Value {
        Value::atom(if value { "true" } else { "false" })
    }

    pub(crate) fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    pub(crate) fn tuple(parts: Vec<Value>) -> Value {
        Value::Tuple(Rc::new(parts))
    }

    pub(crate) fn list(items: Vec<Value>) -> Value {
        Value::List(Rc::new(items))
    }

    /// A constructor's value: its tag begins with a lower-case letter.
    pub(crate) fn construct(name: &str, fields: Vec<Value>) -> Value {
        let mut tag = name.to_owned();
        tag[..1].make_ascii_lowercase();
        Value::tuple(std::iter::once(Value::atom(&tag)).chain(fields).collect())
    }

    pub(crate) fn is(&self, atom: &str) -> bool {
        matches!(self, Value::Atom(name) if &**name == atom)
    }

    /// The fields after the tag, if the value is of this constructor or record.
    pub(crate) fn fields(&self, tag: &str) -> Option<&[Value]> {
        match self {
            Value::Tuple(parts) if parts.first().is_some_and(|first| first.is(tag)) => Some(&parts[1..]),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Int(_) => 0,
            Value::Float(_) => 1,
            Value::Atom(_) => 2,
            Value::Function(_) => 3,
            Value::Machine(_) => 4,
            Value::Tuple(_) => 5,
            Value::List(_) => 6,
            Value::Text(_) => 7,
        }
    }

    /// Erlang's order of terms.
    pub(crate) fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            // Both zeros are equal.
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).expect("no value is NaN"),
            (Value::Atom(a), Value::Atom(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Tuple(a), Value::Tuple(b)) => a.len().cmp(&b.len()).then_with(|| each(a, b)),
            (Value::List(a), Value::List(b)) => each(a, b).then_with(|| a.len().cmp(&b.len())),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// The term as Erlang prints it: lists of Latin-1 characters as text, binaries of Unicode.
    pub(crate) fn erlang(&self) -> String {
        let joined = |items: &[Value]| items.iter().map(Value::erlang).collect::<Vec<_>>().join(",");
        match self {
            Value::Int(value) => value.to_string(),
            Value::Float(value) => cure::erlang_float(*value),
            Value::Atom(name)
                if name.starts_with(|c: char| c.is_ascii_lowercase())
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') =>
            {
                name.to_string()
            }
            Value::Atom(name) => format!("'{name}'"),
            Value::Text(text) if text.is_empty() => "<<>>".to_owned(),
            Value::Text(text) => {
                format!("<<\"{}\"{}>>", escaped(text), if text.is_ascii() { "" } else { "/utf8" })
            }
            Value::Tuple(parts) => format!("{{{}}}", joined(parts)),
            Value::List(items) => {
                let text: Option<String> = items.iter().map(printable).collect();
                match text {
                    Some(text) if !text.is_empty() => format!("\"{}\"", escaped(&text)),
                    _ => format!("[{}]", joined(items)),
                }
            }
            Value::Function(_) => "a function".to_owned(),
            Value::Machine(_) => "a machine".to_owned(),
        }
    }
}

fn each(a: &[Value], b: &[Value]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| a.order(b));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The character of a number, if Erlang would print a list of such numbers as text.
fn printable(value: &Value) -> Option<char> {
    let Value::Int(code) = value else { return None };
    let c = char::from_u32(code.to_u32()?)?;
    matches!(c, ' '..='~' | '\u{a0}'..='\u{ff}' | '\u{8}'..='\r' | '\u{1b}').then_some(c)
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\e"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
