//! References that lead back to themselves with no part of a value in between. They say nothing: JSON Schema leaves undefined what
//! they mean, and the validator takes any value for valid where it meets one.

use std::collections::BTreeSet;

use serde_json::Value;

/// Keywords whose schemas are of the same value: with one, a list, or a map of them.
const SAME_VALUE: &[&str] = &["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas"];

/// A reference that leads back to itself, if there is one.
pub(super) fn find(schema: &Value) -> Option<&str> {
    let mut references = BTreeSet::new();
    collect(schema, &mut references);
    references.into_iter().find(|reference| {
        let (mut wanted, mut seen) = (vec![*reference], BTreeSet::new());
        while let Some(at) = wanted.pop() {
            let mut same = Vec::new();
            of_same_value(target(schema, at).unwrap_or(&Value::Null), &mut same);
            if same.contains(reference) {
                return true;
            }
            wanted.extend(same.into_iter().filter(|next| seen.insert(*next)));
        }
        false
    })
}

pub(super) fn target<'a>(schema: &'a Value, reference: &str) -> Option<&'a Value> {
    let place = reference.strip_prefix('#')?;
    schema.pointer(place).or_else(|| anchored(schema, place))
}

/// The part with that name of its own.
fn anchored<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let is_it =
        ["$anchor", "$dynamicAnchor"].iter().any(|keyword| schema.get(*keyword).is_some_and(|said| said == name));
    match schema {
        _ if is_it => Some(schema),
        Value::Object(object) => object.values().find_map(|part| anchored(part, name)),
        Value::Array(parts) => parts.iter().find_map(|part| anchored(part, name)),
        _ => None,
    }
}

/// What a schema refers to.
pub(super) fn referred(schema: &Value) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_str())
}

/// Every reference in a schema.
pub(super) fn collect<'a>(schema: &'a Value, references: &mut BTreeSet<&'a str>) {
    match schema {
        Value::Object(object) => {
            references.extend(referred(schema));
            object.values().for_each(|part| collect(part, references));
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, references)),
        _ => {}
    }
}

/// The references that apply to the same value as a schema.
fn of_same_value<'a>(schema: &'a Value, references: &mut Vec<&'a str>) {
    references.extend(referred(schema));
    for part in SAME_VALUE.iter().filter_map(|keyword| Some((*keyword, schema.get(keyword)?))) {
        match part {
            (_, Value::Array(parts)) => parts.iter().for_each(|part| of_same_value(part, references)),
            ("dependentSchemas", Value::Object(parts)) => {
                parts.values().for_each(|part| of_same_value(part, references))
            }
            (_, part) => of_same_value(part, references),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn which_references_say_nothing() {
        let with = |a: Value, b: Value| json!({"$ref": "#/$defs/a", "$defs": {"a": a, "b": b}});
        let (a, b) = (json!({"$ref": "#/$defs/a"}), json!({"$ref": "#/$defs/b"}));
        for (schema, wanted) in [
            (with(a.clone(), json!({})), Some("#/$defs/a")),
            (with(b.clone(), a.clone()), Some("#/$defs/a")),
            (
                with(json!({"anyOf": [{"type": "null"}, {"not": b}]}), json!({"if": {"then": {}}, "else": a})),
                Some("#/$defs/a"),
            ),
            (json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}), Some("#")),
            (json!({"$defs": {"a": {"$anchor": "a", "$ref": "#a"}}}), Some("#a")),
            (json!({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}), Some("#a")),
            // A part of the value lies in between.
            (with(json!({"type": "array", "items": a}), json!({})), None),
            (json!({"properties": {"of": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}), None),
            (with(json!({"type": "object", "additionalProperties": {"allOf": [a]}}), json!({})), None),
            (with(json!({"type": "null"}), json!({})), None),
        ] {
            assert_eq!(find(&schema), wanted, "{schema}");
        }
    }
}
