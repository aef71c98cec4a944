//! The schemas of all tools are accepted by the model APIs.

use serde_json::{Value, json};

use crate::fresh;
use crate::whole_set::{all_sets, text};

/// A node file whose schemas have everything that a listing must not have.
const WIDE: &str = r#"---
description: Take whatever JSON Schema can say.
input:
  schema:
    type: object
    properties:
      anything: true
      maybe: { type: [string, "null"] }
      mixed: { type: array, items: { anyOf: [{ type: string }, { type: integer }] } }
      pairs: { type: array, items: { type: object, properties: { key: true, both: { type: [string, integer] } } } }
    required: [mixed]
    additionalProperties: false
output:
  schema:
    type: object
    properties:
      known: { type: [string, "null"] }
      parts: { type: array, items: { oneOf: [{ type: string }, { type: "null" }] } }
    required: [known, parts]
    additionalProperties: false
---
{% block user %}{{ mixed | tojson }}{% endblock %}
"#;

/// With one of these in one schema, Gemini's API refuses every turn with HTTP 400.
#[test]
fn no_schema_has_what_a_model_s_api_refuses() {
    let project = fresh();
    project.run(["node", "new", "summarize"]).ok();
    project.write("nodes/wide.node.md", WIDE);
    project.run(["node", "check"]).ok();
    let mut of_nodes = 0;
    for (set, _, tools) in all_sets(&project) {
        for tool in &tools {
            let name = text(tool, "name");
            let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            assert!(begins_well && name.len() <= 64, "{set}: {name}");
            of_nodes += usize::from(["summarize", "wide"].contains(&name));
            for schema in ["inputSchema", "outputSchema"] {
                let mut faults = Vec::new();
                find_faults(&tool[schema], schema, false, &mut faults);
                assert!(faults.is_empty(), "{set}: {name}: {faults:#?}");
            }
        }
    }
    assert!(of_nodes >= 2, "the nodes are listed");
    // Arguments are validated with the schema in the file.
    let mut peer = project.mcp(&[]);
    peer.initialize();
    let refused = peer.call("wide", json!({"mixed": [true]}));
    assert!(refused.is_error && refused.text.contains("/mixed/0"), "{}", refused.text);
    assert_eq!(peer.call("wide", json!({"mixed": ["a", 1]})).structured["state"], "delegate");
}

/// Finds the parts of a schema that an API refuses, as paths.
fn find_faults(schema: &Value, path: &str, is_in_items: bool, faults: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        if !schema.is_null() {
            faults.push(format!("{path}: {schema} is no object"));
        }
        return;
    };
    if object.get("type").is_some_and(Value::is_array) {
        faults.push(format!("{path}: a list of types"));
    }
    if object.get("type").is_some_and(|kind| kind == "array") && !object.contains_key("items") {
        faults.push(format!("{path}: an array without items"));
    }
    for (name, value) in object {
        let below = format!("{path}/{name}");
        match (name.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                let is_in_items = is_in_items || name.contains("def");
                named
                    .iter()
                    .for_each(|(name, value)| find_faults(value, &format!("{below}/{name}"), is_in_items, faults));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(forms)) => {
                if is_in_items {
                    faults.push(format!("{below}: a combinator in items"));
                }
                forms.iter().for_each(|form| find_faults(form, &below, is_in_items, faults));
            }
            ("prefixItems", Value::Array(forms)) => {
                forms.iter().for_each(|form| find_faults(form, &below, true, faults))
            }
            ("items" | "contains", value) => find_faults(value, &below, true, faults),
            ("additionalProperties", Value::Bool(_)) => {}
            ("additionalProperties" | "propertyNames" | "not" | "if" | "then" | "else", value) => {
                find_faults(value, &below, is_in_items, faults);
            }
            _ => {}
        }
    }
}
