//! Extracts the value from an answer. Reasoning tags are removed. The rest must be strict JSON, or contain strict JSON in a
//! fence or as a single balanced value. hob never chooses between different values, and never completes one.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The reason why a text has no value.
#[derive(Debug, PartialEq)]
pub(crate) enum NoValue {
    /// It has no complete value.
    Missing,
    /// It has several different values.
    Several,
    /// An object has this duplicate key.
    Twice(String),
}

/// Returns the only value in a text.
pub(crate) fn value(text: &str) -> Result<Value, NoValue> {
    let text = trim_reasoning(text);
    if let Some(value) = strict(text) {
        return value;
    }
    let fenced: Vec<_> = fenced(text).filter_map(strict).collect();
    single(if fenced.is_empty() { values(text) } else { fenced })
}

/// Parses the whole text as a value.
fn strict(text: &str) -> Option<Result<Value, NoValue>> {
    let value = serde_json::from_str(text.trim()).ok()?;
    Some(duplicate_key(text).map_or(Ok(value), |key| Err(NoValue::Twice(key))))
}

/// Returns the value if all of these are equal.
fn single(found: Vec<Result<Value, NoValue>>) -> Result<Value, NoValue> {
    let mut found = found.into_iter();
    let first = found.next().ok_or(NoValue::Missing)??;
    for another in found {
        if another? != first {
            return Err(NoValue::Several);
        }
    }
    Ok(first)
}

/// Returns true if the text is refused only for its nesting depth.
pub(super) fn is_too_deep(text: &str) -> bool {
    serde_json::from_str::<Value>(trim_reasoning(text)).is_err_and(|error| is_limit(&error))
}

/// Returns a model's answer without its reasoning.
pub(super) fn trim_reasoning(text: &str) -> &str {
    without_reasoning(text).trim()
}

/// Returns the text after `<think>…</think>`, which some servers include.
fn without_reasoning(text: &str) -> &str {
    let begun = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")] {
        if begun.starts_with(open) {
            return begun.split_once(close).map_or("", |(_, rest)| rest);
        }
    }
    text
}

/// Returns the contents of the fences.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").skip(1).step_by(2).filter_map(|inside| inside.split_once('\n')).map(|(_, inside)| inside)
}

/// Returns the objects and arrays that parse. A truncated or too deep value invalidates its content and everything before it. An
/// invalid value is skipped up to the error.
fn values(text: &str) -> Vec<Result<Value, NoValue>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(begin) = text.as_bytes()[from..].iter().position(|byte| matches!(byte, b'{' | b'[')) {
        let at = from + begin;
        let rest = &text[at..];
        let mut read = serde_json::Deserializer::from_str(rest).into_iter();
        match read.next() {
            Some(Ok(value)) => {
                let read = read.byte_offset();
                found.push(duplicate_key(&rest[..read]).map_or(Ok(value), |key| Err(NoValue::Twice(key))));
                from = at + read;
            }
            Some(Err(error)) if error.is_eof() || is_limit(&error) => {
                return if found.is_empty() { found } else { vec![Err(NoValue::Several)] };
            }
            Some(Err(error)) => from = at + read_until(rest, &error),
            None => break,
        }
    }
    found
}

/// Returns the number of valid bytes before an error: at least the bracket. The parser may include the invalid byte.
fn read_until(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let read = lines.map(str::len).sum::<usize>() + error.column();
    read.saturating_sub(1).clamp(1, text.len())
}

fn is_limit(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}

/// Returns the first duplicate key of an object in this JSON.
fn duplicate_key(json: &str) -> Option<String> {
    let mut found = None;
    // The text was parsed before, so no other error can occur.
    let _ = Keys(&mut found).deserialize(&mut serde_json::Deserializer::from_str(json));
    found
}

/// A visitor of all keys of a value.
struct Keys<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(Keys(self.0))?;
            if self.0.is_none() && keys.contains(&key) {
                *self.0 = Some(key.clone());
            }
            keys.insert(key);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Keys(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_answers() {
        for (text, wanted) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("\n 7 \n", "7"),
            ("```json\n{\"a\":1}\n```", r#"{"a":1}"#),
            ("Here it is:\n```\n[1, 2]\n```\nDone.", "[1,2]"),
            (r#"Sure! {"a": {"b": "}"}} I hope that helps."#, r#"{"a":{"b":"}"}}"#),
            // Different values are ambiguous; equal ones are not.
            (r#"{"b":"one"} or {"b":"two"}"#, "Several"),
            (r#"{"b":"one"}, that is: {"b": "one"}"#, r#"{"b":"one"}"#),
            (r#"{"b":"one"} or {"b":"tw"#, "Several"),
            ("```json\n{\"a\":1}\n```\nor\n```json\n{\"a\":2}\n```", "Several"),
            (r#"{"b":"x","b":"y"}"#, r#"Twice("b")"#),
            (r#"So: {"a":[{"b":1,"c":{"b":1},"b":null}]}"#, r#"Twice("b")"#),
            (r#"[{"b":1.5},{"b":-1}]"#, r#"[{"b":1.5},{"b":-1}]"#),
            (r#"<think>{"a": 0}</think> {"a": 1}"#, r#"{"a":1}"#),
            (r#"<think>{"a": 0}"#, "Missing"),
            // The texts inside a valid value are not searched.
            (r#"{"a":"```\n{\"b\":2}\n```"}"#, r#"{"a":"```\n{\"b\":2}\n```"}"#),
            (r#"{"a": "cut in the mid"#, "Missing"),
            (r#"{"a": {"b": 1}, "c": "#, "Missing"),
            ("Use {curly} braces: {\"a\": 1}", r#"{"a":1}"#),
            ("{{\"a\": 1}", r#"{"a":1}"#),
            ("{a\n{é\n{\"\\é\" {\"a\": 1}", r#"{"a":1}"#),
            (format!("{} {{\"a\": 1}}", "{curly} ".repeat(1_000)).as_str(), r#"{"a":1}"#),
            // A value after a large value counts too.
            (format!("Draft: [{}[0]] Final: [[9]]", "[1], ".repeat(60)).as_str(), "Several"),
            (format!("Draft: [{}[0]] Done.", "[1], ".repeat(2)).as_str(), "[[1],[1],[0]]"),
            // The valid beginning of an invalid value is not the answer.
            (r#"So: [{"b":1}, oops]"#, "Missing"),
            ("So: {\"a\": {\"b\": 1},\n 'c': 2}", "Missing"),
            (format!("So: {}{}", "[".repeat(130), "]".repeat(130)).as_str(), "Missing"),
            ("{'a': None}", "Missing"),
            ("I cannot say.", "Missing"),
            ("", "Missing"),
        ] {
            assert_eq!(value(text).map_or_else(|why| format!("{why:?}"), |value| value.to_string()), wanted, "{text}");
        }
    }
}
