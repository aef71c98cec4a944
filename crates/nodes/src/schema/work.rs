//! Estimates the number of the validator's comparisons before validation. With references, a small schema can require
//! arbitrarily many comparisons of a small value. The estimate visits each pair of a reference and a part of the value once.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::circle::{SAME_VALUE, SAME_VALUE_MAPS, Targets, referred};

/// The maximum number of comparisons per value. Their errors stay in memory until the end.
pub(super) const MAX: u64 = 1_000_000;
/// The maximum nesting depth of comparisons, because the validator is recursive.
pub(super) const DEPTH_MAX: usize = 1_000;

/// Returns an error if the work of a schema cannot be estimated.
pub(super) fn uncounted(targets: &Targets<'_>) -> Option<String> {
    let references = targets.references();
    if let Some(reference) = references.iter().find(|one| targets.resolve(one).is_none()) {
        return Some(format!(
            "{reference} is an unresolved reference; write it as #/$defs/NAME, with that name in `$defs`"
        ));
    }
    let Value::Object(schema) = targets.schema else { return None };
    // Draft 4 has `id` instead of `$id`.
    let ids: &[&str] = if targets.schema.to_string().contains("/draft-04/") { &["$id", "id"] } else { &["$id"] };
    let has_inner = !references.is_empty() && schema.values().any(|part| has_any(part, ids));
    has_inner.then(|| "an `$id` inside of a schema changes what references mean; leave it out".to_owned())
}

/// Returns true if one of these keys has a text value.
fn has_any(value: &Value, keys: &[&str]) -> bool {
    match value {
        Value::Object(object) => {
            keys.iter().any(|key| object.get(*key).is_some_and(Value::is_string))
                || object.values().any(|part| has_any(part, keys))
        }
        Value::Array(parts) => parts.iter().any(|part| has_any(part, keys)),
        _ => false,
    }
}

/// Returns true if validating a value takes too many comparisons.
pub(super) fn is_too_much(schema: &Value, value: &Value) -> bool {
    let targets = Targets::new(schema);
    // Without references, each part of the schema meets each part of the value at most once.
    !targets.references().is_empty() && Count { targets, known: BTreeMap::new(), depth: 0 }.count(schema, value) > MAX
}

struct Count<'a> {
    targets: Targets<'a>,
    /// By the addresses of a referenced schema and a part of the value.
    known: BTreeMap<(*const Value, *const Value), u64>,
    depth: usize,
}

impl Count<'_> {
    fn count(&mut self, schema: &Value, value: &Value) -> u64 {
        let Value::Object(keywords) = schema else { return 1 };
        // The number of pairs has the same limit as the number of comparisons.
        if self.known.len() as u64 > MAX || self.depth > DEPTH_MAX {
            return u64::MAX;
        }
        self.depth += 1;
        let sum = self.keywords(schema, keywords, value);
        self.depth -= 1;
        sum
    }

    fn keywords(&mut self, schema: &Value, keywords: &Map<String, Value>, value: &Value) -> u64 {
        let mut sum = 1_u64;
        for reference in referred(schema) {
            sum = sum.saturating_add(self.referred(reference, value));
        }
        for (keyword, part) in keywords {
            let work = match (keyword.as_str(), part, value) {
                (keyword, Value::Array(parts), _) if SAME_VALUE.contains(&keyword) => self.count_all(parts, value),
                (keyword, part, _) if SAME_VALUE.contains(&keyword) => self.count(part, value),
                (keyword, Value::Object(parts), _) if SAME_VALUE_MAPS.contains(&keyword) => {
                    self.count_all(parts.values(), value)
                }
                ("properties", Value::Object(parts), Value::Object(fields)) => {
                    let both = parts.iter().filter_map(|(name, part)| Some((part, fields.get(name)?)));
                    both.fold(0, |sum: u64, (part, field)| sum.saturating_add(self.count(part, field)))
                }
                ("patternProperties", Value::Object(parts), Value::Object(fields)) => {
                    fields.values().fold(0, |sum: u64, field| sum.saturating_add(self.count_all(parts.values(), field)))
                }
                ("additionalProperties" | "unevaluatedProperties", part, Value::Object(fields)) => {
                    fields.values().fold(0, |sum: u64, field| sum.saturating_add(self.count(part, field)))
                }
                // A name has no parts.
                ("propertyNames", part, Value::Object(fields)) => {
                    self.count(part, &Value::Null).saturating_mul(fields.len() as u64)
                }
                ("prefixItems" | "items", Value::Array(parts), Value::Array(items)) => {
                    parts.iter().zip(items).fold(0, |sum: u64, (part, item)| sum.saturating_add(self.count(part, item)))
                }
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", part, Value::Array(items)) => {
                    items.iter().fold(0, |sum: u64, item| sum.saturating_add(self.count(part, item)))
                }
                _ => 0,
            };
            sum = sum.saturating_add(work);
        }
        // To find unevaluated parts, the validator evaluates the other keywords again.
        let is_twice = keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems");
        if is_twice { sum.saturating_mul(2) } else { sum }
    }

    fn count_all<'b>(&mut self, parts: impl IntoIterator<Item = &'b Value>, value: &Value) -> u64 {
        parts.into_iter().fold(0, |sum: u64, part| sum.saturating_add(self.count(part, value)))
    }

    fn referred(&mut self, reference: &str, value: &Value) -> u64 {
        let Some(target) = self.targets.resolve(reference) else { return 1 };
        let pair = (std::ptr::from_ref(target), std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        // A cycle back to this pair would not terminate.
        self.known.insert(pair, u64::MAX);
        let work = self.count(target, value);
        self.known.insert(pair, work);
        work
    }
}
