//! The interpreter's values, which are those of the BEAM, and their printed form. Their order is in [`super::compare`].

use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::heap::{Counted, visit};
use crate::ir::form::Literal;
use crate::syntax::ast::Name;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// An integer that fits a machine word.
    Int(i64),
    /// An integer that does not fit a machine word.
    Big(Rc<Counted<BigInt>>),
    Float(f64),
    Atom(Name),
    Binary(Rc<Counted<Box<[u8]>>>),
    Nil,
    Cons(Rc<Counted<Cell>>),
    Tuple(Rc<Counted<Box<[Value]>>>),
    Function(Rc<Counted<Callable>>),
    /// A running state machine.
    Machine(u64),
    Map(Rc<Counted<Vec<(Value, Value)>>>),
}

/// A list cell.
#[derive(Debug)]
pub(crate) struct Cell {
    pub head: Value,
    pub tail: Value,
}

/// A function as a value.
#[derive(Debug)]
pub(crate) struct Callable {
    pub module: Name,
    pub function: Name,
    pub arity: u32,
    pub captured: Vec<Value>,
}

impl Value {
    pub(crate) fn atom(name: &str) -> Value {
        Value::Atom(Name::from(name))
    }

    pub(crate) fn bool(value: bool) -> Value {
        Value::atom(if value { "true" } else { "false" })
    }

    pub(crate) fn string(text: &str) -> Value {
        Value::binary(text.as_bytes())
    }

    pub(crate) fn binary(bytes: impl Into<Box<[u8]>>) -> Value {
        Value::Binary(Counted::new(bytes.into()))
    }

    pub(crate) fn tuple(parts: Vec<Value>) -> Value {
        Value::Tuple(Counted::new(parts.into()))
    }

    pub(crate) fn cons(head: Value, tail: Value) -> Value {
        Value::Cons(Counted::new(Cell { head, tail }))
    }

    pub(crate) fn function(callable: Callable) -> Value {
        Value::Function(Counted::new(callable))
    }

    pub(crate) fn map(pairs: Vec<(Value, Value)>) -> Value {
        Value::Map(Counted::new(pairs))
    }

    pub(crate) fn int(value: BigInt) -> Value {
        match value.to_i64() {
            Some(small) => Value::Int(small),
            None => Value::Big(Counted::new(value)),
        }
    }

    pub(crate) fn list(items: impl IntoIterator<Item = Value, IntoIter: DoubleEndedIterator>, tail: Value) -> Value {
        items.into_iter().rev().fold(tail, |tail, head| Value::cons(head, tail))
    }

    pub(crate) fn as_big(&self) -> Option<BigInt> {
        match self {
            Value::Int(small) => Some((*small).into()),
            Value::Big(big) => Some((***big).clone()),
            _ => None,
        }
    }

    pub(crate) fn is_atom(&self, name: &str) -> bool {
        matches!(self, Value::Atom(found) if &**found == name)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Binary(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The number of elements of a list.
    pub(crate) fn length(&self) -> usize {
        let (mut count, mut rest) = (0, self);
        while let Value::Cons(cell) = rest {
            count += 1;
            rest = &cell.tail;
        }
        visit(count as u64);
        count
    }

    /// The elements of a proper list.
    pub(crate) fn items(&self) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        let mut rest = self;
        loop {
            match rest {
                Value::Nil => {
                    visit(items.len() as u64);
                    return Some(items);
                }
                Value::Cons(cell) => {
                    items.push(cell.head.clone());
                    rest = &cell.tail;
                }
                _ => return None,
            }
        }
    }
}

impl From<&Literal> for Value {
    fn from(literal: &Literal) -> Value {
        match literal {
            Literal::Int(value) => Value::int(value.clone()),
            Literal::Float(value) => Value::Float(*value),
            Literal::Atom(name) => Value::Atom(name.clone()),
            Literal::Binary(bytes) => {
                visit(bytes.len() as u64 / 16);
                Value::binary(&bytes[..])
            }
            Literal::List(items) => {
                visit(4 * items.len() as u64);
                Value::list(items.iter().map(Value::from).collect::<Vec<_>>(), Value::Nil)
            }
            Literal::Tuple(parts) => Value::tuple(parts.iter().map(Value::from).collect()),
        }
    }
}

/// The maximal depth to which a value is printed.
const DEEPEST: usize = 300;
/// The maximal size in bits of an integer that is printed in full; smaller ones are cut too if they do not fit.
const LONGEST: u64 = 1 << 19;

/// The value as Erlang's shell writes it. Stops after about `limit` bytes.
pub(crate) fn show(value: &Value, limit: usize) -> String {
    let mut text = String::new();
    write(value, &mut text, limit, 0);
    text
}

fn write(value: &Value, out: &mut String, limit: usize, depth: usize) {
    if out.len() > limit || depth > DEEPEST {
        if !out.ends_with('…') {
            out.push('…');
        }
        return;
    }
    let parts = |items: &mut dyn Iterator<Item = &Value>, out: &mut String| {
        for (at, item) in items.enumerate() {
            if at > 0 {
                out.push(',');
            }
            write(item, out, limit, depth + 1);
            if out.len() > limit {
                break;
            }
        }
    };
    match value {
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Big(value) if value.bits() > LONGEST.min(4 * limit as u64) => {
            out.push_str(&format!("… (an integer of {} bits)", value.bits()))
        }
        Value::Big(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&float(*value)),
        Value::Atom(name) => out.push_str(&atom(name)),
        Value::Binary(bytes) => out.push_str(&binary(bytes, limit)),
        Value::Nil => out.push_str("[]"),
        Value::Tuple(items) => {
            out.push('{');
            parts(&mut items.iter(), out);
            out.push('}');
        }
        Value::Cons(_) => {
            if let Some(text) = printable(value, limit) {
                out.push_str(&format!("\"{}\"", escape(&text, '"')));
                return;
            }
            out.push('[');
            let mut rest = value;
            let mut first = true;
            while let Value::Cons(cell) = rest {
                if !first {
                    out.push(',');
                }
                first = false;
                write(&cell.head, out, limit, depth + 1);
                if out.len() > limit {
                    break;
                }
                rest = &cell.tail;
            }
            if !matches!(rest, Value::Nil | Value::Cons(_)) {
                out.push('|');
                write(rest, out, limit, depth + 1);
            }
            out.push(']');
        }
        Value::Function(callable) => {
            out.push_str(&format!("fun {}:{}/{}", atom(&callable.module), atom(&callable.function), callable.arity));
        }
        Value::Machine(id) => out.push_str(&format!("<machine {id}>")),
        Value::Map(pairs) => {
            out.push_str("#{");
            for (at, (key, value)) in pairs.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(key, out, limit, depth + 1);
                out.push_str(" => ");
                write(value, out, limit, depth + 1);
            }
            out.push('}');
        }
    }
}

/// The text of a list that Erlang prints as a string: printable Latin-1 characters.
fn printable(value: &Value, limit: usize) -> Option<String> {
    let mut text = String::new();
    let mut rest = value;
    while let Value::Cons(cell) = rest {
        if text.len() > limit {
            text.push('…');
            return Some(text);
        }
        let Value::Int(code) = cell.head else { return None };
        let c = char::from_u32(u32::try_from(code).ok()?)?;
        if !matches!(c, ' '..='~' | '\u{a0}'..='\u{ff}' | '\n' | '\t' | '\r' | '\u{8}' | '\u{b}' | '\u{c}' | '\u{1b}') {
            return None;
        }
        text.push(c);
        rest = &cell.tail;
    }
    matches!(rest, Value::Nil).then_some(text)
}

fn escape(text: &str, quote: char) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\u{1b}' => out.push_str("\\e"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

fn binary(bytes: &[u8], limit: usize) -> String {
    if bytes.len() > limit {
        let mut end = limit;
        while end > 0 && (bytes[end] & 0xc0) == 0x80 {
            end -= 1;
        }
        return format!("{}…", binary(&bytes[..end], limit));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(|c| !c.is_control() || matches!(c, '\u{8}'..='\r' | '\u{1b}')) => {
            let wide = if text.is_ascii() { "" } else { "/utf8" };
            if text.is_empty() { "<<>>".to_owned() } else { format!("<<\"{}\"{wide}>>", escape(text, '"')) }
        }
        _ => {
            let codes: Vec<_> = bytes.iter().map(ToString::to_string).collect();
            format!("<<{}>>", codes.join(","))
        }
    }
}

fn atom(name: &str) -> String {
    const RESERVED: &[&str] = &[
        "after", "and", "andalso", "band", "begin", "bnot", "bor", "bsl", "bsr", "bxor", "case", "catch", "cond",
        "div", "end", "fun", "if", "let", "not", "of", "or", "orelse", "receive", "rem", "try", "when", "xor", "maybe",
    ];
    // Erlang's letters are those of Latin-1 in unquoted atoms.
    let small = |c: char| c.is_ascii_lowercase() || matches!(c, 'ß'..='ö' | 'ø'..='ÿ');
    let capital = |c: char| c.is_ascii_uppercase() || matches!(c, 'À'..='Ö' | 'Ø'..='Þ');
    let letter = |c: char| small(c) || capital(c) || c.is_ascii_digit() || c == '_' || c == '@';
    let plain = name.starts_with(small) && name.chars().all(letter) && !RESERVED.contains(&name);
    if plain { name.to_owned() } else { format!("'{}'", escape(name, '\'')) }
}

/// The shortest text that reads back as the same float, as Erlang writes it.
pub fn float(value: f64) -> String {
    let (mut scientific, mut plain) = (format!("{value:e}"), format!("{value}"));
    if let Some(digit) = even_last_digit(value, &scientific) {
        let mantissa = scientific.find('e').unwrap_or(scientific.len());
        for (text, end) in [(&mut scientific, mantissa), (&mut plain, usize::MAX)] {
            let end = end.min(text.len());
            if let Some(at) = text[..end].rfind(|c| matches!(c, '1'..='9')) {
                text.replace_range(at..=at, &digit.to_string());
            }
        }
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = if digits.contains('.') { digits.to_owned() } else { format!("{digits}.0") };
    let scientific = format!("{digits}e{exponent}");
    let plain = if plain.contains('.') { plain } else { format!("{plain}.0") };
    let size = value.abs();
    if exponent == "0" || (size < 9_007_199_254_740_992.0 && plain.len() <= scientific.len()) {
        plain
    } else {
        scientific
    }
}

/// If two shortest texts are equally far from a float, Erlang takes the one with an even last digit. Returns that digit
/// if the text has the other one.
fn even_last_digit(value: f64, scientific: &str) -> Option<char> {
    let mantissa = &scientific[..scientific.find('e')?];
    let last = mantissa.chars().rfind(char::is_ascii_digit)?.to_digit(10)?;
    let count = mantissa.chars().filter(char::is_ascii_digit).count();
    if last % 2 == 0 || count < 15 {
        return None;
    }
    // The exact value has one more digit, a five, and no float has more digits than this.
    let exact = format!("{value:.780e}");
    let behind: Vec<char> = exact[..exact.find('e')?].chars().filter(char::is_ascii_digit).skip(count - 1).collect();
    let [own, five, rest @ ..] = &behind[..] else { return None };
    if *five != '5' || rest.iter().any(|digit| *digit != '0') {
        return None;
    }
    let down = own.to_digit(10)?;
    let other = char::from_digit(if down == last { last + 1 } else { down }, 10)?;
    let at = mantissa.len() - 1;
    let text = format!("{}{other}{}", &scientific[..at], &scientific[at + 1..]);
    (text.parse() == Ok(value)).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_erlang_writes_them() {
        // Each as `io:format("~p", [X])` prints it.
        let all = [
            "0.0",
            "0.0001",
            "1.2e-4",
            "2.5e-7",
            "1.0e-5",
            "0.001",
            "0.1",
            "12345.678",
            "1.0e5",
            "1.0e6",
            "1.0e15",
            "9007199254740991.0",
            "9.007199254740992e15",
            "1.2345678901234568e17",
            "-1.0e21",
            // Equally far from 1125000000157250.3 and 1125000000157250.7.
            "1125000000157250.2",
            "1125000000157250.8",
            "-1125000000157250.2",
        ];
        for text in all {
            assert_eq!(float(text.parse().unwrap()), text);
        }
    }

    #[test]
    fn characters_are_escaped_as_erlang_escapes_them() {
        let codes = Value::list([8, 9, 10, 11, 12, 13, 27].map(Value::Int), Value::Nil);
        assert_eq!(show(&codes, 100), r#""\b\t\n\v\f\r\e""#);
        assert_eq!(show(&Value::binary([27, 8, 34]), 100), r#"<<"\e\b\"">>"#);
        assert_eq!(show(&Value::binary([127]), 100), "<<127>>");
    }
}
