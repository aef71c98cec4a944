//! Lenient parsing of arguments in forms that models write and that are unambiguous: a number as text, or a number of
//! lines instead of true.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Deserializes a number, also as `"12"` or `"#12"`.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_option(Number)
}

struct Number;

impl<'de> Visitor<'de> for Number {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a non-negative whole number")
    }

    fn visit_none<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<u64>, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<u64>, E> {
        Ok(Some(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<u64>, E> {
        let digits = text.trim().trim_start_matches('#');
        digits.parse().map(Some).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Selects the end of the output, and optionally a number of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tail {
    #[default]
    No,
    /// As many lines as fit.
    Yes,
    Lines(u64),
}

impl<'de> Deserialize<'de> for Tail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tail, D::Error> {
        deserializer.deserialize_any(TailVisitor)
    }
}

struct TailVisitor;

impl Visitor<'_> for TailVisitor {
    type Value = Tail;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a number of lines")
    }

    fn visit_unit<E: Error>(self) -> Result<Tail, E> {
        Ok(Tail::No)
    }

    fn visit_bool<E: Error>(self, tail: bool) -> Result<Tail, E> {
        Ok(if tail { Tail::Yes } else { Tail::No })
    }

    fn visit_u64<E: Error>(self, lines: u64) -> Result<Tail, E> {
        Ok(Tail::Lines(lines))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tail, E> {
        match (text, text.parse()) {
            ("true", _) => Ok(Tail::Yes),
            ("false", _) => Ok(Tail::No),
            (_, Ok(lines)) => Ok(Tail::Lines(lines)),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::{Value, json};

    fn render<T: fmt::Debug>(read: impl Fn(Value) -> Result<T, serde_json::Error>, values: &[Value]) -> String {
        let line = |value: &Value| match read(value.clone()) {
            Ok(read) => format!("{value}: {read:?}\n"),
            Err(error) => format!("{value}: {error}\n"),
        };
        values.iter().map(line).collect()
    }

    #[test]
    fn a_number_as_text_is_that_number() {
        let values = [json!(7), json!("7"), json!("#7"), json!(null), json!("seven"), json!(-1), json!(1.5), json!([])];
        expect![[r##"
            7: Some(7)
            "7": Some(7)
            "#7": Some(7)
            null: None
            "seven": invalid value: string "seven", expected a non-negative whole number
            -1: invalid type: integer `-1`, expected a non-negative whole number
            1.5: invalid type: floating point `1.5`, expected a non-negative whole number
            []: invalid type: sequence, expected a non-negative whole number
        "##]]
        .assert_eq(&render(number, &values));
    }

    #[test]
    fn a_tail_is_a_yes_or_a_number_of_lines() {
        let values =
            [json!(true), json!(false), json!(5), json!("5"), json!("true"), json!(null), json!("few"), json!(-5)];
        expect![[r#"
            true: Yes
            false: No
            5: Lines(5)
            "5": Lines(5)
            "true": Yes
            null: No
            "few": invalid value: string "few", expected true, false or a number of lines
            -5: invalid type: integer `-5`, expected true, false or a number of lines
        "#]]
        .assert_eq(&render(Tail::deserialize, &values));
    }
}
