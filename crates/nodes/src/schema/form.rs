//! The form of a schema for a server, and the conversion of its answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::strict;

/// The schema dialect of a server's decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Dialect {
    /// The unchanged schema. The server decides which parts it enforces.
    Full,
    /// OpenAI's strict subset, which is enforced completely.
    Strict,
    /// No schema: it is only in the prompt.
    None,
}

/// A node's schema for one server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Form {
    dialect: Dialect,
    /// The node's schema.
    schema: Value,
    /// The same schema with more widely supported keywords.
    plain: Value,
    /// The schema in the strict subset, or the keywords that it cannot express.
    strict: Result<Value, Vec<String>>,
}

impl Form {
    pub(crate) fn new(schema: &Value, dialect: Dialect) -> Form {
        let strict = match dialect {
            Dialect::Strict => strict::project(schema).map_err(|refused| {
                refused.iter().map(|refused| format!("{} at {}", refused.keyword, refused.at)).collect()
            }),
            Dialect::Full | Dialect::None => Err(Vec::new()),
        };
        Form { dialect, schema: schema.clone(), plain: plain(schema), strict }
    }

    /// Creates the form for a recorded answer of an unknown server.
    pub(crate) fn recorded(schema: &Value) -> Form {
        let strict = strict::project(schema).map_err(|_| Vec::new());
        Form { dialect: Dialect::Full, schema: schema.clone(), plain: plain(schema), strict }
    }

    /// Returns the schema to send, with whether the server enforces all of it; `None` if it is only in the prompt.
    pub(crate) fn sent(&self) -> Option<(&Value, Option<bool>)> {
        match (self.dialect, &self.strict) {
            (Dialect::None, _) => None,
            (Dialect::Full, _) => Some((&self.plain, None)),
            (Dialect::Strict, Ok(projected)) => Some((projected, Some(true))),
            // The ledger shows this, and `policy.enforce` can refuse it.
            (Dialect::Strict, Err(_)) => Some((&self.plain, Some(false))),
        }
    }

    /// Returns the enforcement for the ledger.
    pub(crate) fn enforced(&self) -> &'static str {
        match self.sent() {
            Some((_, Some(true))) => "decoder",
            Some(_) => "best_effort",
            None => "none",
        }
    }

    /// Returns why the decoder cannot enforce the schema, if it cannot.
    pub(crate) fn unenforceable_reason(&self) -> Option<String> {
        match (self.dialect, &self.strict) {
            (Dialect::None, _) => Some("its server takes no schema".to_owned()),
            (Dialect::Strict, Err(refused)) => Some(format!("its server does not take {}", refused.join(", "))),
            _ => None,
        }
    }

    /// Converts an answer back to the node's schema. `conforms` validates against that schema.
    pub(crate) fn value(&self, answer: Value, conforms: impl FnOnce(&Value) -> bool) -> Value {
        match (&self.strict, self.dialect) {
            (Err(_), _) => answer,
            (Ok(_), Dialect::Strict) => strict::undo(&self.schema, answer),
            (Ok(_), _) if conforms(&answer) => answer,
            (Ok(_), _) => strict::undo(&self.schema, answer),
        }
    }
}

/// Keywords with one schema, a list of schemas, or a map of schemas.
const ONE_OR_LIST: &[&str] =
    &["items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains"];
const MAPS: &[&str] = &["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// Replaces `true` with the equivalent `{}`, because llama.cpp accepts only objects. Rust fields of any type are `true`.
fn plain(schema: &Value) -> Value {
    let Value::Object(object) = schema else {
        return if *schema == Value::Bool(true) { Value::Object(Map::new()) } else { schema.clone() };
    };
    let part = |(keyword, value): (&String, &Value)| {
        let is_map = MAPS.contains(&keyword.as_str());
        let value = match value {
            Value::Object(named) if is_map => {
                Value::Object(named.iter().map(|(name, part)| (name.clone(), plain(part))).collect())
            }
            Value::Array(parts) if ONE_OR_LIST.contains(&keyword.as_str()) => parts.iter().map(plain).collect(),
            value if ONE_OR_LIST.contains(&keyword.as_str()) => plain(value),
            Value::Object(_) if keyword == "additionalProperties" => plain(value),
            value => value.clone(),
        };
        (keyword.clone(), value)
    };
    Value::Object(object.iter().map(part).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn true_is_said_as_an_object_where_it_is_a_schema() {
        let schema = json!({
            "type": "object",
            "properties": {"true": true, "a": {"type": "array", "items": true}, "b": {"enum": [true]}, "c": {"const": true}, "d": false},
            "anyOf": [true, {"uniqueItems": true}],
            "additionalProperties": true,
            "default": {"properties": {"x": true}},
        });
        let wanted = json!({
            "type": "object",
            "properties": {"true": {}, "a": {"type": "array", "items": {}}, "b": {"enum": [true]}, "c": {"const": true}, "d": false},
            "anyOf": [{}, {"uniqueItems": true}],
            "additionalProperties": true,
            "default": {"properties": {"x": true}},
        });
        assert_eq!(plain(&schema), wanted);
    }
}
