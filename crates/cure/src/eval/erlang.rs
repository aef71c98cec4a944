//! The Erlang functions that the interpreter implements, for `curify`: those that the standard library calls and those
//! that programs commonly use. Calling any other function is an error that says so.

use std::collections::BTreeMap;

use unicode_segmentation::UnicodeSegmentation;

use super::compare::{Ordered, compare, compare_keys};
use super::interpreter::{CELL, Interpreter};
use super::limits::Failure;
use super::operations::operate;
use super::value::{Value, float, show};

impl Interpreter<'_> {
    /// Calls a function of Erlang.
    pub(super) fn erlang(&mut self, module: &str, function: &str, args: &[Value]) -> Result<Value, Failure> {
        if module == "cure_fsm" {
            return self.fsm_call(function, args);
        }
        let size = args.iter().fold(0, |sum: usize, arg| sum.saturating_add(size(arg)));
        self.meter.work(256 + u32::try_from(size / 64).unwrap_or(u32::MAX / 2))?;
        self.meter.room(room(module, function, args))?;
        let found = match (module, function, args) {
            ("io", "put_chars", [text]) => {
                let text = chars(text).ok_or_else(|| self.raise("badarg"))?;
                self.print(&text)?;
                Some(Value::atom("ok"))
            }
            ("io", "get_line", [_]) => Some(Value::atom("eof")),
            ("timer", "sleep", [Value::Int(ms)]) => {
                self.sleep(u64::try_from(*ms).unwrap_or(0))?;
                Some(Value::atom("ok"))
            }
            ("erlang", "system_time" | "monotonic_time", [Value::Atom(unit)]) => {
                let in_second = match &**unit {
                    "second" => 1,
                    "millisecond" => 1_000,
                    "microsecond" => 1_000_000,
                    "nanosecond" | "native" => 1_000_000_000,
                    _ => return Err(self.raise("badarg")),
                };
                Some(self.time(in_second))
            }
            ("erlang", "system_time" | "monotonic_time", []) => Some(self.time(1_000_000_000)),
            ("erlang", "timestamp", []) => {
                let micro = i64::try_from(self.clock).unwrap_or(i64::MAX).saturating_mul(1000);
                let parts = [micro / 1_000_000_000_000, micro / 1_000_000 % 1_000_000, micro % 1_000_000];
                Some(Value::tuple(parts.map(Value::Int).to_vec()))
            }
            ("erlang", "error", [reason]) => return Err(self.raise(&show(reason, 1000))),
            ("maps", "get", [key, Value::Map(pairs)]) => match entry(pairs, key) {
                Some(value) => Some(value.clone()),
                None => {
                    let reason = Value::tuple(vec![Value::atom("badkey"), key.clone()]);
                    return Err(self.raise(&show(&reason, 1000)));
                }
            },
            ("gen_server", "cast", [_, _]) => Some(Value::atom("ok")),
            ("lists", "map", [f, list]) => {
                let mut out = Vec::new();
                for item in list.items().ok_or_else(|| self.raise("badarg"))? {
                    out.push(self.apply(f, vec![item])?);
                }
                Some(Value::list(out, Value::Nil))
            }
            _ => match pure(module, function, args) {
                Pure::Value(value) => Some(value),
                // Results outside a function's domain or range are reported like other arithmetic errors.
                Pure::BadArgument if module == "math" => return Err(self.raise("badarith")),
                Pure::BadArgument => return Err(self.raise("badarg")),
                Pure::Unknown => None,
            },
        };
        found.ok_or_else(|| self.undefined(module, function, args.len()))
    }

    /// Returns the time in units of `1 / in_second` seconds.
    fn time(&self, in_second: u64) -> Value {
        Value::int((u128::from(self.clock) * u128::from(in_second) / 1000).into())
    }
}

/// The maximal number of bytes that the result may take, if that is more than a few times the size of the arguments.
fn room(module: &str, function: &str, args: &[Value]) -> usize {
    match (module, function, args) {
        ("lists", "seq", [Value::Int(from), Value::Int(to)]) => {
            usize::try_from(to.saturating_sub(*from)).unwrap_or(0).saturating_mul(CELL)
        }
        ("unicode", "characters_to_list", [value]) | ("string", "to_graphemes", [value]) => {
            weight(value).saturating_mul(CELL)
        }
        ("unicode", "characters_to_binary", [value]) | ("erlang", "iolist_to_binary", [value]) => weight(value),
        ("maps", "to_list", [map]) => size(map).saturating_mul(2 * CELL),
        ("string", "uppercase" | "lowercase", [value]) => size(value),
        ("lists", "reverse" | "sort" | "map", [.., list]) => list.length().saturating_mul(CELL),
        ("maps", "put", [_, _, map]) | ("maps", "remove", [_, map]) => size(map).saturating_mul(CELL),
        _ => 0,
    }
}

/// The approximate cost of reading a value's outermost layer.
fn size(value: &Value) -> usize {
    match value {
        Value::Binary(bytes) => bytes.len(),
        Value::Cons(_) => value.length(),
        // Digits are computed one by one.
        Value::Big(value) => usize::try_from(value.bits() / 64).map_or(usize::MAX, |words| words.saturating_mul(words)),
        Value::Tuple(parts) => parts.len(),
        Value::Map(pairs) => pairs.len(),
        _ => 1,
    }
}

/// The total number of bytes in the binaries of a list.
fn weight(value: &Value) -> usize {
    match value {
        Value::Binary(bytes) => bytes.len(),
        Value::Cons(_) => value.items().unwrap_or_default().iter().fold(0usize, |sum, item| match item {
            Value::Binary(bytes) => sum.saturating_add(bytes.len()),
            _ => sum.saturating_add(4),
        }),
        _ => 0,
    }
}

enum Pure {
    Value(Value),
    BadArgument,
    Unknown,
}

/// Functions without effects.
fn pure(module: &str, function: &str, args: &[Value]) -> Pure {
    let value = match (module, function, args) {
        ("erlang", "length", [list]) => list.items().map(|items| Value::Int(items.len() as i64)),
        ("erlang", "abs", [Value::Float(value)]) => Some(Value::Float(value.abs())),
        ("erlang", "abs", [value]) => value.as_big().map(|big| Value::int(num_traits::Signed::abs(&big))),
        ("erlang", "byte_size", [Value::Binary(bytes)]) => Some(Value::Int(bytes.len() as i64)),
        ("erlang", "integer_to_binary", [value]) => value.as_big().map(|big| Value::string(&big.to_string())),
        ("erlang", "binary_to_integer", [value]) => {
            value.text().filter(|text| text.len() <= MOST_DIGITS).and_then(integer)
        }
        ("erlang", "atom_to_binary", [Value::Atom(name)]) => Some(Value::string(name)),
        ("erlang", "binary_to_float", [value]) => value.text().and_then(float_of_text),
        ("erlang", "iolist_to_binary", [value]) => bytes(value).map(Value::binary),
        ("erlang", "binary_to_atom", [value]) => value.text().map(Value::atom),
        ("erlang", "float", [value]) => match value {
            Value::Float(_) => Some(value.clone()),
            _ => value.as_big().and_then(|big| num_traits::ToPrimitive::to_f64(&big)).map(Value::Float).filter(finite),
        },
        ("erlang", "trunc", [Value::Float(value)]) => {
            num_traits::FromPrimitive::from_f64(value.trunc()).map(Value::int)
        }
        ("erlang", "round", [Value::Float(value)]) => {
            num_traits::FromPrimitive::from_f64(value.round()).map(Value::int)
        }
        ("erlang", "floor", [Value::Float(value)]) => {
            num_traits::FromPrimitive::from_f64(value.floor()).map(Value::int)
        }
        ("erlang", "ceil", [Value::Float(value)]) => num_traits::FromPrimitive::from_f64(value.ceil()).map(Value::int),
        ("erlang", "tuple_to_list", [Value::Tuple(parts)]) => Some(Value::list(parts.to_vec(), Value::Nil)),
        ("erlang", "hd", [Value::Cons(cell)]) => Some(cell.head.clone()),
        ("erlang", "tl", [Value::Cons(cell)]) => Some(cell.tail.clone()),
        ("erlang", "tuple_size", [Value::Tuple(parts)]) => Some(Value::Int(parts.len() as i64)),
        ("erlang", "max", [a, b]) => Some(if compare(a, b).is_lt() { b.clone() } else { a.clone() }),
        ("erlang", "min", [a, b]) => Some(if compare(b, a).is_lt() { b.clone() } else { a.clone() }),
        ("io_lib_format", "fwrite_g", [Value::Float(value)]) => Some(text_list(&float(*value))),
        ("lists", "reverse", [list]) => {
            list.items().map(|items| Value::list(items.into_iter().rev().collect::<Vec<_>>(), Value::Nil))
        }
        ("lists", "sort", [list]) => list.items().map(|items| {
            let mut sorted: BTreeMap<Ordered, Vec<Value>> = BTreeMap::new();
            items.into_iter().for_each(|item| sorted.entry(Ordered(item.clone())).or_default().push(item));
            Value::list(sorted.into_values().flatten().collect::<Vec<_>>(), Value::Nil)
        }),
        ("lists", "sum", [list]) => list.items().and_then(|items| {
            items
                .into_iter()
                .try_fold(Value::Int(0), |sum, item| operate(crate::ir::form::Operation::Add, &[sum, item]))
        }),
        ("lists", "seq", [Value::Int(from), Value::Int(to)]) => {
            Some(Value::list((*from..=*to).map(Value::Int).collect::<Vec<_>>(), Value::Nil))
        }
        ("unicode", "characters_to_list", [Value::Binary(bytes)]) if std::str::from_utf8(bytes).is_err() => {
            let good = std::str::from_utf8(bytes).err().map_or(0, |wrong| wrong.valid_up_to());
            let text = String::from_utf8_lossy(&bytes[..good]).into_owned();
            let rest = Value::binary(&bytes[good..]);
            Some(Value::tuple(vec![Value::atom("error"), text_list(&text), rest]))
        }
        ("unicode", "characters_to_list", [value]) => chars(value).map(|text| text_list(&text)),
        ("unicode", "characters_to_binary", [value]) => chars(value).map(|text| Value::string(&text)),
        ("string", "uppercase", [value]) => value.text().map(|text| Value::string(&text.to_uppercase())),
        ("string", "lowercase", [value]) => {
            value.text().map(|text| Value::string(&text.chars().flat_map(char::to_lowercase).collect::<String>()))
        }
        ("string", "to_graphemes", [value]) => value.text().map(|text| {
            let cluster = |cluster: &str| match text_list(cluster) {
                Value::Cons(only) if matches!(only.tail, Value::Nil) => only.head.clone(),
                several => several,
            };
            Value::list(text.graphemes(true).map(cluster).collect::<Vec<_>>(), Value::Nil)
        }),
        ("math", "pi", []) => Some(Value::Float(std::f64::consts::PI)),
        ("math", "exp", [Value::Float(value)]) => Some(Value::Float(value.exp())).filter(finite),
        ("math", "sqrt", [Value::Float(value)]) => Some(Value::Float(value.sqrt())).filter(finite),
        ("math", "log", [Value::Float(value)]) => Some(Value::Float(value.ln())).filter(finite),
        ("math", "sin", [Value::Float(value)]) => Some(Value::Float(value.sin())).filter(finite),
        ("math", "cos", [Value::Float(value)]) => Some(Value::Float(value.cos())).filter(finite),
        ("math", "tan", [Value::Float(value)]) => Some(Value::Float(value.tan())).filter(finite),
        ("math", "pow", [Value::Float(base), Value::Float(to)]) => Some(Value::Float(base.powf(*to))).filter(finite),
        ("math", "atan2", [Value::Float(y), Value::Float(x)]) => Some(Value::Float(y.atan2(*x))).filter(finite),
        ("maps", "new", []) => Some(Value::map(Vec::new())),
        ("maps", "is_key", [key, Value::Map(pairs)]) => Some(Value::bool(entry(pairs, key).is_some())),
        ("maps", "size", [Value::Map(pairs)]) => Some(Value::Int(pairs.len() as i64)),
        ("maps", "remove", [key, Value::Map(pairs)]) => {
            let mut pairs = pairs.to_vec();
            if let Ok(at) = pairs.binary_search_by(|(known, _)| compare_keys(known, key)) {
                pairs.remove(at);
            }
            Some(Value::map(pairs))
        }
        ("maps", "to_list", [Value::Map(pairs)]) => {
            let pairs = pairs.iter().map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()]));
            Some(Value::list(pairs.collect::<Vec<_>>(), Value::Nil))
        }
        ("maps", "get", [key, Value::Map(pairs), default]) => Some(entry(pairs, key).unwrap_or(default).clone()),
        ("maps", "put", [key, value, Value::Map(pairs)]) => {
            let mut pairs = pairs.to_vec();
            match pairs.binary_search_by(|(known, _)| compare_keys(known, key)) {
                Ok(at) => pairs[at].1 = value.clone(),
                Err(at) => pairs.insert(at, (key.clone(), value.clone())),
            }
            Some(Value::map(pairs))
        }
        _ => return Pure::Unknown,
    };
    value.map_or(Pure::BadArgument, Pure::Value)
}

/// The value under a key.
fn entry<'m>(pairs: &'m [(Value, Value)], key: &Value) -> Option<&'m Value> {
    let at = pairs.binary_search_by(|(known, _)| compare_keys(known, key)).ok()?;
    Some(&pairs[at].1)
}

/// The number that a text is, in the form of Erlang: digits, a point, digits, an exponent or none.
fn float_of_text(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, rest) = digits.split_once('.')?;
    let (fraction, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let all = plain(whole) && plain(fraction) && plain(exponent);
    all.then(|| text.parse().ok().map(Value::Float)).flatten().filter(finite)
}

/// The bytes of an iolist: a binary, or a list of bytes, binaries and such lists.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    let mut open = vec![value.clone()];
    while let Some(next) = open.pop() {
        match next {
            Value::Nil => {}
            Value::Int(byte) => all.push(u8::try_from(byte).ok()?),
            Value::Binary(bytes) => all.extend_from_slice(&bytes),
            Value::Cons(cell) => {
                open.push(cell.tail.clone());
                open.push(cell.head.clone());
            }
            _ => return None,
        }
    }
    Some(all)
}

/// The longest text that is read as an integer; longer ones would exceed the integer limit.
const MOST_DIGITS: usize = 1_262_612;

fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = plain.then(|| crate::syntax::integer(digits))?;
    Some(Value::int(if text.starts_with('-') { -value } else { value }))
}

fn finite(value: &Value) -> bool {
    matches!(value, Value::Float(value) if value.is_finite())
}

fn text_list(text: &str) -> Value {
    Value::list(text.chars().map(|c| Value::Int(u32::from(c).into())).collect::<Vec<_>>(), Value::Nil)
}

/// The text of Erlang's `chardata`: a binary, or a list of code points, binaries and such lists.
fn chars(value: &Value) -> Option<String> {
    let mut text = String::new();
    let mut open = vec![value.clone()];
    while let Some(next) = open.pop() {
        match next {
            Value::Nil => {}
            Value::Int(code) => text.push(char::from_u32(u32::try_from(code).ok()?)?),
            Value::Binary(_) => text.push_str(next.text()?),
            Value::Cons(cell) => {
                open.push(cell.tail.clone());
                open.push(cell.head.clone());
            }
            _ => return None,
        }
    }
    Some(text)
}
