//! Finds parts that no value of a schema can have. A test or check of such a part would always have the same result.

use serde_json::Value;

/// The schema for a part of a value.
pub(super) enum Step<'a> {
    /// The part has this schema.
    To(&'a Value),
    /// No value of the schema has the part.
    Nowhere,
    /// The schema does not determine it.
    Unknown,
}

/// Returns the property of that name.
pub(super) fn step<'a>(schema: &'a Value, part: &str) -> Step<'a> {
    const OPEN: [&str; 10] =
        ["$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "if", "not", "const", "enum", "patternProperties"];
    if OPEN.iter().any(|keyword| schema.get(keyword).is_some()) {
        return Step::Unknown;
    }
    match schema["type"].as_str() {
        Some("object") => match (&schema["properties"][part], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => Step::Nowhere,
            (Value::Null, _) => Step::Unknown,
            (property, _) => Step::To(property),
        },
        Some("array") => part.parse().map_or(Step::Unknown, |index| item(schema, Some(index))),
        Some("string" | "integer" | "number" | "boolean" | "null") => Step::Nowhere,
        _ => Step::Unknown,
    }
}

/// Returns the item at an index, or any item.
pub(super) fn item(list: &Value, index: Option<usize>) -> Step<'_> {
    let first = list["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
    match (index.map(|index| first.get(index)), &list["items"]) {
        (Some(Some(item)), _) => Step::To(item),
        // Any item may be one of the first.
        (None, _) if !first.is_empty() => Step::Unknown,
        (_, Value::Bool(false)) => Step::Nowhere,
        (_, rest @ Value::Object(_)) => Step::To(rest),
        _ => Step::Unknown,
    }
}

/// Returns the first part of a path that no value of the schema can have; `None` if all parts are possible or unknown.
pub(super) fn impossible<'a>(schema: &Value, parts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut here = schema;
    for part in parts {
        match step(here, part) {
            Step::To(there) => here = there,
            Step::Nowhere => return Some(part),
            Step::Unknown => return None,
        }
    }
    None
}

/// Names the type of a schema's values.
pub(super) fn word(schema: &Value) -> &'static str {
    match schema["type"].as_str() {
        Some("string") => "a text",
        Some("integer" | "number") => "a number",
        Some("boolean") => "a boolean",
        _ => "it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_place_that_no_value_has() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "a": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {"b": {}}}},
            "open": {"type": "object"},
            "either": {"anyOf": [{"type": "string"}]},
            "pair": {"type": "array", "prefixItems": [{"type": "object"}, true], "items": {"type": "string"}},
            "one": {"type": "array", "prefixItems": [{"type": "string"}], "items": false},
        }});
        for (place, wanted) in [
            ("a", None),
            ("zz", Some("zz")),
            ("a/b", Some("b")),
            ("list/0/b/c", None),
            ("list/0/z", Some("z")),
            ("list/length", None),
            ("open/x/y", None),
            ("either/x", None),
            ("pair/0/x", None),
            ("pair/1/x", None),
            ("pair/2", None),
            ("pair/2/x", Some("x")),
            ("one/0/x", Some("x")),
            ("one/1", Some("1")),
        ] {
            assert_eq!(impossible(&schema, place.split('/')), wanted, "{place}");
        }
    }
}
