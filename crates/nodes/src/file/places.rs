//! Which places a value of a schema cannot have: a test or a check of one would always go the same way.

use serde_json::Value;

/// The first part of a place that no value of the schema has there; `None` where it may have it, or where the schema does not say.
pub(super) fn impossible<'a>(schema: &Value, parts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const OPEN: [&str; 10] =
        ["$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "if", "not", "const", "enum", "patternProperties"];
    let mut here = schema;
    for part in parts {
        if OPEN.iter().any(|keyword| here.get(keyword).is_some()) {
            return None;
        }
        match here["type"].as_str() {
            Some("object") => match (&here["properties"][part], &here["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => return Some(part),
                (Value::Null, _) => return None,
                (property, _) => here = property,
            },
            Some("array") if part.bytes().all(|byte| byte.is_ascii_digit()) && here["items"].is_object() => {
                here = &here["items"];
            }
            Some("string" | "integer" | "number" | "boolean" | "null") => return Some(part),
            _ => return None,
        }
    }
    None
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
        ] {
            assert_eq!(impossible(&schema, place.split('/')), wanted, "{place}");
        }
    }
}
