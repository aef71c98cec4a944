//! Which places a value of a schema cannot have: a test or a check of one would always go the same way.

use serde_json::Value;

/// Where a part of a value leads.
pub(super) enum Step<'a> {
    /// To what has this schema.
    To(&'a Value),
    /// No value of the schema has it.
    Nowhere,
    /// The schema does not say.
    Unknown,
}

/// The part of that name of what has this schema.
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

/// The item of that number of what has this schema, or any item.
pub(super) fn item(list: &Value, index: Option<usize>) -> Step<'_> {
    let first = list["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
    match (index.map(|index| first.get(index)), &list["items"]) {
        (Some(Some(item)), _) => Step::To(item),
        // Any may be one of the first.
        (None, _) if !first.is_empty() => Step::Unknown,
        (_, Value::Bool(false)) => Step::Nowhere,
        (_, rest @ Value::Object(_)) => Step::To(rest),
        _ => Step::Unknown,
    }
}

/// The first part of a place that no value of the schema has there; `None` where it may have it, or where the schema does not say.
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

/// The word for the values of a schema.
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
