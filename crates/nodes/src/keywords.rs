//! What decoders make of the keywords of a schema, by the probe of the offline engine (docs/generated/nodes-keywords.md). All of
//! them are checked here, whatever a decoder does.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// What becomes of a keyword on its way to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Handling {
    /// A decoder of llama.cpp holds it.
    Decoder,
    /// It is only checked here: a wrong answer costs another attempt.
    CheckedHere,
}

/// The keywords that such a decoder holds.
const HELD: &[&str] = &[
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
];
/// Those that it does not hold, or not in every form.
const NOT_HELD: &[&str] = &[
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
];
/// Those whose members are named by the author.
const NAMED: &[&str] = &["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// The keywords of a schema, each with what becomes of it.
pub fn of(schema: &Value) -> Vec<(String, Handling)> {
    let mut found = BTreeMap::new();
    walk(schema, &mut found);
    found.into_iter().map(|(keyword, handling)| (keyword.to_owned(), handling)).collect()
}

fn walk(schema: &Value, found: &mut BTreeMap<&'static str, Handling>) {
    match schema {
        Value::Array(parts) => parts.iter().for_each(|part| walk(part, found)),
        Value::Object(object) => {
            for (key, value) in object {
                if let Some(keyword) = HELD.iter().find(|held| *held == key) {
                    found.insert(keyword, Handling::Decoder);
                }
                if let Some(keyword) = NOT_HELD.iter().find(|keyword| *keyword == key) {
                    // A small range of integers and an anchored pattern are held, and it is not for a table to say which is one.
                    found.insert(keyword, Handling::CheckedHere);
                }
                match value {
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values().for_each(|part| walk(part, found))
                    }
                    _ if matches!(key.as_str(), "enum" | "const" | "default" | "examples" | "required") => {}
                    value => walk(value, found),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_authors_names_are_no_keywords() {
        let schema = json!({
            "type": "object",
            "properties": {"pattern": {"type": "string", "format": "email"}, "not": {"enum": [{"minimum": 1}]}},
            "required": ["pattern"],
        });
        let of: Vec<String> =
            of(&schema).into_iter().map(|(keyword, handling)| format!("{keyword} {handling:?}")).collect();
        assert_eq!(
            of,
            ["enum Decoder", "format CheckedHere", "properties Decoder", "required Decoder", "type Decoder"]
        );
    }
}
