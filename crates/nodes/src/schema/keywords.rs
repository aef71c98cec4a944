//! The handling of schema keywords by models. For servers that take an unchanged schema, it comes from a probe of the offline
//! engine (docs/generated/nodes-keywords.md); for the strict subset, from its rules. hob itself validates all keywords,
//! regardless of the decoder.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::{Dialect, strict};

/// The handling of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Handling {
    /// The decoder enforces it.
    Decoder,
    /// Only hob validates it: a wrong answer costs another attempt.
    CheckedHere,
    /// The server refuses a schema with it, or cannot enforce such a schema.
    Refused,
}

/// The keywords of a node's output, for one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Projection {
    /// The model's alias; absent if no model is configured, for a server like llama.cpp's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The schema dialect of its server.
    pub schema: Dialect,
    pub keywords: Vec<Keyword>,
}

/// A keyword with its handling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Keyword {
    pub keyword: String,
    pub handling: Handling,
}

impl Projection {
    /// Returns the handling of a schema's keywords.
    pub fn new(schema: &Value, dialect: Dialect, model: Option<String>) -> Projection {
        let keywords = classify(schema, dialect).into_iter();
        let keywords = keywords.map(|(keyword, handling)| Keyword { keyword, handling }).collect();
        Projection { model, schema: dialect, keywords }
    }
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let takes = match self.schema {
            Dialect::Full => "sent as it is",
            Dialect::Strict => "sent as OpenAI's strict subset",
            Dialect::None => "in the prompt alone",
        };
        write!(f, "schema on {}, {takes}", self.model.as_deref().unwrap_or("a server like llama.cpp's"))?;
        for (handling, words) in [
            (Handling::Decoder, "enforced by the decoder"),
            (Handling::CheckedHere, "checked here only"),
            (Handling::Refused, "refused by the server"),
        ] {
            let of = self.keywords.iter().filter(|keyword| keyword.handling == handling);
            let of: Vec<&str> = of.map(|keyword| keyword.keyword.as_str()).collect();
            if !of.is_empty() {
                write!(f, "; {words}: {}", of.join(", "))?;
            }
        }
        Ok(())
    }
}

/// Keywords that an unrestricted decoder enforces.
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
/// Keywords that it does not enforce, or not in every form.
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
/// Keywords whose members have names chosen by the author.
const NAMED: &[&str] = &["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// Returns the keywords of a schema with their handling.
fn classify(schema: &Value, dialect: Dialect) -> Vec<(String, Handling)> {
    let mut found = BTreeMap::new();
    walk(schema, dialect, &mut found);
    if let (Dialect::Strict, Err(refused)) = (dialect, strict::project(schema)) {
        for refused in refused {
            found.insert(refused.keyword.to_owned(), Handling::Refused);
        }
    }
    found.into_iter().collect()
}

fn handling(keyword: &str, value: &Value, dialect: Dialect) -> Option<Handling> {
    let is_known = HELD.contains(&keyword) || NOT_HELD.contains(&keyword);
    let reference = value.as_str().filter(|_| keyword == "$ref");
    let is_held = match dialect {
        Dialect::None => false,
        Dialect::Strict => strict::holds(keyword, value),
        // llama.cpp follows references to a part of the schema, but not to its root.
        Dialect::Full if reference.is_some_and(|reference| !reference.starts_with("#/")) => {
            return Some(Handling::Refused);
        }
        // Small integer ranges and anchored patterns are enforced, but this table cannot recognize them.
        Dialect::Full => HELD.contains(&keyword),
    };
    is_known.then_some(if is_held { Handling::Decoder } else { Handling::CheckedHere })
}

fn walk(schema: &Value, dialect: Dialect, found: &mut BTreeMap<String, Handling>) {
    let mut note = |keyword: &str, handling: Handling| {
        let noted = found.entry(keyword.to_owned()).or_insert(handling);
        *noted = handling.max(*noted);
    };
    match schema {
        // `true` is sent as an object.
        Value::Bool(false) if dialect == Dialect::Full => note("false", Handling::Refused),
        Value::Array(parts) => parts.iter().for_each(|part| walk(part, dialect, found)),
        Value::Object(object) => {
            for (key, value) in object {
                if let Some(handling) = handling(key, value, dialect) {
                    note(key, handling);
                }
            }
            for (key, value) in object {
                match value {
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values().for_each(|part| walk(part, dialect, found))
                    }
                    Value::Bool(_) => {}
                    _ if matches!(key.as_str(), "enum" | "const" | "default" | "examples" | "required") => {}
                    value => walk(value, dialect, found),
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
    fn keywords_have_their_handling() {
        let schema = json!({
            "type": "object",
            // Property names are not keywords.
            "properties": {"pattern": {"type": "string", "format": "email"}, "not": {"enum": [{"minimum": 1}]}, "any": false},
            "required": ["pattern"],
        });
        let said = |dialect| Projection::new(&schema, dialect, Some("m".to_owned())).to_string();
        assert_eq!(
            said(Dialect::Full),
            "schema on m, sent as it is; enforced by the decoder: enum, properties, required, type; checked here only: format; \
             refused by the server: false"
        );
        assert_eq!(
            said(Dialect::Strict),
            "schema on m, sent as OpenAI's strict subset; enforced by the decoder: format, properties, required, type; \
             refused by the server: enum, true or false"
        );
        assert_eq!(
            said(Dialect::None),
            "schema on m, in the prompt alone; checked here only: enum, format, properties, required, type"
        );
    }
}
