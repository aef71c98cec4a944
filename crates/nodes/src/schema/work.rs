//! How often the validator would compare: with references, a small schema can ask for any number of comparisons of a small value.
//! What it would be is counted first, each reference at each part of the value once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::circle::{collect, referred, target};

/// How many comparisons a value may take. The errors of each are kept until the end.
pub(super) const MAX: u64 = 1_000_000;
const SAME_VALUE: &[&str] = &["anyOf", "oneOf", "allOf", "not", "if", "then", "else"];

/// A reference whose work could not be counted, if there is one.
pub(super) fn uncounted(schema: &Value) -> Option<String> {
    let mut references = Default::default();
    collect(schema, &mut references);
    if let Some(reference) = references.iter().find(|reference| {
        target(schema, reference).is_none()
            && !reference.starts_with("http://json-schema.org/")
            && !reference.starts_with("https://json-schema.org/")
    }) {
        return Some(format!(
            "{reference} leads to no part of this schema; write it as #/$defs/NAME, with that name in `$defs`"
        ));
    }
    let has_inner = |value: &Value| match value {
        Value::Object(object) => object.values().any(has_id),
        Value::Array(parts) => parts.iter().any(has_id),
        _ => false,
    };
    (!references.is_empty() && has_inner(schema))
        .then(|| "an `$id` inside of a schema changes what references mean; leave it out".to_owned())
}

fn has_id(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.get("$id").is_some_and(Value::is_string) || object.values().any(has_id),
        Value::Array(parts) => parts.iter().any(has_id),
        _ => false,
    }
}

/// Whether a value takes more comparisons than it may.
pub(super) fn is_too_much(schema: &Value, value: &Value) -> bool {
    let mut references = Default::default();
    collect(schema, &mut references);
    // Without references each part of the schema meets each part of the value at most once.
    !references.is_empty() && Count { schema, known: BTreeMap::new() }.of(schema, value) > MAX
}

struct Count<'a> {
    schema: &'a Value,
    /// By the places of a schema that is referred to and of a part of the value.
    known: BTreeMap<(*const Value, *const Value), u64>,
}

impl Count<'_> {
    fn of(&mut self, schema: &Value, value: &Value) -> u64 {
        let Value::Object(keywords) = schema else { return 1 };
        // As many pairs are as many comparisons.
        if self.known.len() as u64 > MAX {
            return u64::MAX;
        }
        let mut sum = 1_u64;
        for reference in referred(schema) {
            sum = sum.saturating_add(self.referred(reference, value));
        }
        for (keyword, part) in keywords {
            let work = match (keyword.as_str(), part, value) {
                (keyword, Value::Array(parts), _) if SAME_VALUE.contains(&keyword) => self.each(parts, value),
                (keyword, part, _) if SAME_VALUE.contains(&keyword) => self.of(part, value),
                ("dependentSchemas" | "dependencies", Value::Object(parts), _) => self.each(parts.values(), value),
                ("properties", Value::Object(parts), Value::Object(fields)) => {
                    let both = parts.iter().filter_map(|(name, part)| Some((part, fields.get(name)?)));
                    both.fold(0, |sum: u64, (part, field)| sum.saturating_add(self.of(part, field)))
                }
                ("patternProperties", Value::Object(parts), Value::Object(fields)) => {
                    fields.values().fold(0, |sum: u64, field| sum.saturating_add(self.each(parts.values(), field)))
                }
                ("additionalProperties" | "unevaluatedProperties", part, Value::Object(fields)) => {
                    fields.values().fold(0, |sum: u64, field| sum.saturating_add(self.of(part, field)))
                }
                // A name has no parts.
                ("propertyNames", part, Value::Object(fields)) => {
                    self.of(part, &Value::Null).saturating_mul(fields.len() as u64)
                }
                ("prefixItems" | "items", Value::Array(parts), Value::Array(items)) => {
                    parts.iter().zip(items).fold(0, |sum: u64, (part, item)| sum.saturating_add(self.of(part, item)))
                }
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", part, Value::Array(items)) => {
                    items.iter().fold(0, |sum: u64, item| sum.saturating_add(self.of(part, item)))
                }
                _ => 0,
            };
            sum = sum.saturating_add(work);
        }
        // To know what is not evaluated, the validator evaluates the rest again.
        let is_twice = keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems");
        if is_twice { sum.saturating_mul(2) } else { sum }
    }

    fn each<'b>(&mut self, parts: impl IntoIterator<Item = &'b Value>, value: &Value) -> u64 {
        parts.into_iter().fold(0, |sum: u64, part| sum.saturating_add(self.of(part, value)))
    }

    fn referred(&mut self, reference: &str, value: &Value) -> u64 {
        let Some(target) = target(self.schema, reference) else { return 1 };
        let pair = (std::ptr::from_ref(target), std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        let work = self.of(target, value);
        self.known.insert(pair, work);
        work
    }
}
