//! The wrapper of structured content that is not always a result: a question, a job, or another case of a tool.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A case of a call's structured content other than its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The value of `state`.
    pub state: String,
    /// The member that holds the data of the case.
    pub member: String,
    /// JSON Schema of that member.
    pub schema: Value,
}

impl Case {
    /// Returns a case of a tool's own.
    pub fn new(state: impl Into<String>, member: impl Into<String>, schema: Value) -> Case {
        Case { state: state.into(), member: member.into(), schema }
    }

    /// Returns a question that the client cannot be asked ([`Asks::Person`](super::Asks::Person)).
    pub fn asking() -> Case {
        let schema = serde_json::json!({
            "type": "object",
            "description": "A question for the person; nothing more is done until it is answered.",
            "properties": {"id": {"type": "string"}, "questions": {"type": "object"}},
            "required": ["id", "questions"],
        });
        Case::new("asking", "ask", schema)
    }

    /// Returns the job that the call has become ([`Tool::JOB_AFTER`](super::Tool::JOB_AFTER)).
    pub fn running() -> Case {
        let schema = serde_json::json!({
            "type": "object",
            "description": "It still runs; job_wait gives the result.",
            "properties": {"id": {"type": "string"}},
            "required": ["id"],
        });
        Case::new("running", "job", schema)
    }
}

/// Returns the schema of structured content that begins with its state: `{state: "done", result}`, or one of these
/// cases. The library's own tools have it by [`Tool::ASKS`](super::Tool::ASKS) and
/// [`Tool::JOB_AFTER`](super::Tool::JOB_AFTER). A tool made by hand that becomes jobs, or asks a person in every way,
/// needs [`Case::running`] or [`Case::asking`]. Definitions (`$defs`) move to the root, where references find them.
pub fn wrapped(result: Value, cases: impl IntoIterator<Item = Case>) -> Value {
    let mut states = vec![Value::from("done")];
    let (mut properties, mut definitions) = (Map::new(), Map::new());
    properties.insert("state".to_owned(), Value::Null);
    properties.insert("result".to_owned(), moved(result, "result", &mut definitions));
    for Case { state, member, schema } in cases {
        states.push(state.into());
        let schema = moved(schema, &member, &mut definitions);
        properties.insert(member, schema);
    }
    properties["state"] = serde_json::json!({"type": "string", "enum": states});
    let mut root = Map::new();
    root.insert("type".to_owned(), "object".into());
    root.insert("properties".to_owned(), properties.into());
    root.insert("required".to_owned(), serde_json::json!(["state"]));
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), definitions.into());
    }
    root.into()
}

/// Returns a schema that was a root, as that of a property. Its definitions go to the new root, under other names if
/// theirs are taken, and its references lead to where things are now.
fn moved(mut schema: Value, property: &str, definitions: &mut Map<String, Value>) -> Value {
    let own = match schema.as_object_mut().and_then(|object| object.remove("$defs")) {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    let mut names = BTreeMap::new();
    for (name, definition) in &own {
        let mut free = name.clone();
        while definitions.get(&free).is_some_and(|taken| taken != definition)
            || names.values().any(|name| *name == free)
        {
            free.push('_');
        }
        names.insert(format!("#/$defs/{name}"), free);
    }
    let place = format!("#/properties/{property}");
    refer(&mut schema, &place, &names);
    for (name, mut definition) in own {
        refer(&mut definition, &place, &names);
        let name = names.get(&format!("#/$defs/{name}")).cloned().unwrap_or(name);
        definitions.insert(name, definition);
    }
    schema
}

/// Rewrites references to the former root.
fn refer(schema: &mut Value, place: &str, names: &BTreeMap<String, String>) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, place, names)),
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref")
                && let Some(below) = reference.strip_prefix('#')
            {
                let named = names.iter().find_map(|(former, name)| {
                    let rest = reference.strip_prefix(former.as_str())?;
                    (rest.is_empty() || rest.starts_with('/')).then(|| format!("#/$defs/{name}{rest}"))
                });
                // An anchor, or a definition that is not there, stays as it is.
                let is_pointer = below.is_empty() || (below.starts_with('/') && !below.starts_with("/$defs/"));
                match named {
                    Some(named) => *reference = named,
                    None if is_pointer => *reference = format!("{place}{below}"),
                    None => {}
                }
            }
            for (key, value) in object.iter_mut() {
                match (key.as_str(), value) {
                    // The keys below these are the author's names, not keywords.
                    ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                        named.values_mut().for_each(|value| refer(value, place, names));
                    }
                    ("enum" | "const" | "default" | "examples" | "required", _) => {}
                    (_, value) => refer(value, place, names),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    use super::*;
    use crate::tool::output_schema;

    #[test]
    fn a_wrapper_has_the_cases_that_its_tool_names() {
        let result = json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "integer"}}});
        let ticket = json!({
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/x"}, "more": {"$ref": "#"}, "$ref": {"type": "string"}},
            "$defs": {"x": {"type": "string"}},
        });
        let schema = wrapped(result, [Case::new("delegate", "delegate", ticket), Case::running(), Case::asking()]);
        for (content, fits) in [
            (json!({"state": "done", "result": 7}), true),
            (json!({"state": "done", "result": "7"}), false),
            (json!({"state": "delegate", "delegate": {"x": "7", "more": {"x": "8"}, "$ref": "#"}}), true),
            (json!({"state": "delegate", "delegate": {"more": {"x": 8}}}), false),
            (json!({"state": "running", "job": {"id": "1"}}), true),
            (json!({"state": "asking", "ask": {"id": "1", "questions": {}}}), true),
            (json!({"state": "elsewhere"}), false),
        ] {
            assert_eq!(jsonschema::is_valid(&schema, &content), fits, "{content} in {schema}");
        }
        // Equal definitions of both appear once.
        let same = || json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "integer"}}});
        let schema = wrapped(same(), [Case::new("other", "other", same())]);
        assert_eq!(schema["$defs"], json!({"x": {"type": "integer"}}));
        assert!(!jsonschema::is_valid(&schema, &json!({"state": "other", "other": "7"})));
    }

    #[test]
    fn a_recursive_result_can_be_wrapped() {
        #[allow(dead_code)]
        #[derive(JsonSchema)]
        struct Tree {
            leaves: Vec<u8>,
            below: Vec<Tree>,
        }
        let schema = wrapped(output_schema::<Tree>(), [Case::running()]);
        let tree = |leaf: Value| json!({"leaves": [], "below": [{"leaves": [leaf], "below": []}]});
        assert!(jsonschema::is_valid(&schema, &json!({"state": "done", "result": tree(json!(1))})), "{schema}");
        assert!(!jsonschema::is_valid(&schema, &json!({"state": "done", "result": tree(json!("1"))})), "{schema}");
    }
}
