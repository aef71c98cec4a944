//! The tests in a node's file: an input, and conditions on the value.

use std::fmt;

use regex::Regex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// A test of a node.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The id of the test in its node, independent of its position.
    pub id: String,
    pub input: Map<String, Value>,
    pub expect: Vec<Expectation>,
    /// The number of runs, and the number of runs that must pass.
    pub repeat: u32,
    pub pass: u32,
    /// The line in the node's file.
    pub line: usize,
}

/// Returns the hash of a test's input and expectations.
pub(crate) fn trial_id(input: &Map<String, Value>, expect: &Value) -> String {
    hex::encode(&Sha256::digest(json!([input, expect]).to_string())[..6])
}

/// A condition on a part of the value.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// A JSON pointer into the value.
    pub at: String,
    pub matcher: Matcher,
}

#[derive(Debug, Clone)]
pub enum Matcher {
    Is(Value),
    /// One of `<`, `<=`, `>`, `>=`.
    Compares(String, f64),
    Matches(Regex),
    /// A list that contains at least one of these.
    Overlaps(Vec<Value>),
}

/// The operators, for messages to people.
pub const OPERATORS: &[&str] = &["is", "<", "<=", ">", ">=", "matches", "overlaps"];

impl Matcher {
    /// Creates the matcher of an operator and its operand. `Err` explains which operand is valid.
    pub(super) fn new(operator: &str, operand: Value) -> Result<Matcher, String> {
        match (operator, operand) {
            ("is", value) => Ok(Matcher::Is(value)),
            ("<" | "<=" | ">" | ">=", Value::Number(number)) => {
                Ok(Matcher::Compares(operator.to_owned(), number.as_f64().unwrap_or(f64::NAN)))
            }
            ("matches", Value::String(text)) => {
                Regex::new(&text).map(Matcher::Matches).map_err(|error| {
                    // The library underlines the error in the pattern; its last line has the message.
                    let said = error.to_string();
                    let why = said.lines().last().unwrap_or_default();
                    format!("`matches`: {}", why.strip_prefix("error: ").unwrap_or(why))
                })
            }
            ("overlaps", Value::Array(values)) => Ok(Matcher::Overlaps(values)),
            ("<" | "<=" | ">" | ">=", _) => Err(format!("`{operator}` is followed by a number")),
            ("matches", _) => Err("`matches` is followed by a regular expression".to_owned()),
            ("overlaps", _) => Err("`overlaps` is followed by a list".to_owned()),
            _ => Err(format!("unknown operator `{operator}`; available: {}", OPERATORS.join(", "))),
        }
    }

    fn fits(&self, value: &Value) -> bool {
        match self {
            Matcher::Is(wanted) => value == wanted || (value.as_f64().is_some() && value.as_f64() == wanted.as_f64()),
            Matcher::Compares(operator, bound) => value.as_f64().is_some_and(|number| match operator.as_str() {
                "<" => number < *bound,
                "<=" => number <= *bound,
                ">" => number > *bound,
                _ => number >= *bound,
            }),
            Matcher::Matches(pattern) => value.as_str().is_some_and(|text| pattern.is_match(text)),
            Matcher::Overlaps(wanted) => {
                value.as_array().is_some_and(|values| values.iter().any(|value| wanted.contains(value)))
            }
        }
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Matcher::Is(value) => write!(f, "{value}"),
            Matcher::Compares(operator, bound) => write!(f, "{operator} {bound}"),
            Matcher::Matches(pattern) => write!(f, "matches {:?}", pattern.as_str()),
            Matcher::Overlaps(values) => write!(f, "overlaps {}", Value::from(values.clone())),
        }
    }
}

impl Trial {
    /// Returns the differences from the expectations.
    pub(crate) fn problems(&self, value: &Value) -> Vec<String> {
        let expectation = |expectation: &Expectation| {
            let found = value.pointer(&expectation.at);
            let fits = found.is_some_and(|found| expectation.matcher.fits(found));
            let place = if expectation.at.is_empty() { "the whole value" } else { &expectation.at };
            let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
            (!fits).then(|| format!("{place}: expected {}, got {found}", expectation.matcher))
        };
        self.expect.iter().filter_map(expectation).collect()
    }
}
