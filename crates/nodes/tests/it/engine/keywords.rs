//! The decoder's handling of each JSON Schema keyword. The committed table shows the effect of an upgrade.

use std::path::Path;

use serde_json::{Value, json};

use super::{engine, node, run};
use nodes::schema::Dialect;
use nodes::schema::keywords::{Handling, Projection};
use nodes::{ModelSettings, Models, NodesSettings};

/// Returns schemas for the type of a field, with their names.
fn forms() -> Vec<(&'static str, Value)> {
    let field = |schema: Value| schema;
    vec![
        ("type: string", field(json!({"type": "string"}))),
        ("type: integer", json!({"type": "integer"})),
        ("type: number", json!({"type": "number"})),
        ("type: boolean", json!({"type": "boolean"})),
        ("type: null", json!({"type": "null"})),
        ("type: array", json!({"type": "array"})),
        ("type: object", json!({"type": "object"})),
        ("type: [string, null]", json!({"type": ["string", "null"]})),
        ("any value", json!({})),
        ("enum", json!({"enum": ["red", "green"]})),
        ("enum of numbers", json!({"enum": [7, 9]})),
        ("const", json!({"const": "fixed"})),
        ("minLength", json!({"type": "string", "minLength": 5})),
        ("maxLength", json!({"type": "string", "minLength": 2, "maxLength": 3})),
        ("pattern, anchored", json!({"type": "string", "pattern": "^[a-c]{3}$"})),
        ("pattern, not anchored", json!({"type": "string", "pattern": "[a-c]{3}"})),
        ("pattern, with an escape", json!({"type": "string", "pattern": "^\\d{3}$"})),
        ("pattern, with a look-ahead", json!({"type": "string", "pattern": "^(?=a)a{3}$"})),
        ("pattern, with a choice", json!({"type": "string", "pattern": "^(ab|cd)$"})),
        ("format: date", json!({"type": "string", "format": "date"})),
        ("format: date-time", json!({"type": "string", "format": "date-time"})),
        ("format: time", json!({"type": "string", "format": "time"})),
        ("format: email", json!({"type": "string", "format": "email"})),
        ("format: uuid", json!({"type": "string", "format": "uuid"})),
        ("format: ipv4", json!({"type": "string", "format": "ipv4"})),
        ("format: uri", json!({"type": "string", "format": "uri"})),
        ("integer, minimum 1, maximum 5", json!({"type": "integer", "minimum": 1, "maximum": 5})),
        ("integer, minimum 100", json!({"type": "integer", "minimum": 100})),
        ("integer, maximum -10", json!({"type": "integer", "maximum": -10})),
        ("integer, exclusiveMinimum 6", json!({"type": "integer", "exclusiveMinimum": 6, "maximum": 9})),
        ("integer, multipleOf 7", json!({"type": "integer", "multipleOf": 7, "minimum": 1})),
        ("number, minimum 2.5", json!({"type": "number", "minimum": 2.5})),
        ("items", json!({"type": "array", "items": {"type": "boolean"}})),
        ("minItems", json!({"type": "array", "items": {"type": "integer"}, "minItems": 2})),
        ("maxItems", json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2})),
        ("uniqueItems", json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": true})),
        (
            "prefixItems",
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2}),
        ),
        ("contains", json!({"type": "array", "items": {"type": "integer"}, "contains": {"const": 7}})),
        ("required", json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})),
        ("optional property", json!({"type": "object", "properties": {"a": {"type": "integer"}}})),
        (
            "additionalProperties: false",
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}),
        ),
        (
            "additionalProperties of a type",
            json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}),
        ),
        ("minProperties", json!({"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 2})),
        ("propertyNames", json!({"type": "object", "propertyNames": {"pattern": "^x"}, "minProperties": 1})),
        (
            "patternProperties",
            json!({"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false, "minProperties": 1}),
        ),
        (
            "dependentRequired",
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"], "dependentRequired": {"a": ["b"]}}),
        ),
        ("anyOf", json!({"anyOf": [{"type": "integer", "minimum": 3, "maximum": 3}, {"const": "x"}]})),
        ("oneOf", json!({"oneOf": [{"type": "boolean"}, {"const": "x"}]})),
        ("oneOf, both fit", json!({"oneOf": [{"type": "integer"}, {"type": "number"}]})),
        (
            "allOf",
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}]}),
        ),
        ("not", json!({"type": "string", "not": {"const": ""}})),
        (
            "if and then",
            json!({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "integer"}}, "required": ["a"], "if": {"properties": {"a": {"const": true}}}, "then": {"required": ["b"]}}),
        ),
        ("$ref", json!({"$ref": "#/$defs/three"})),
        ("$ref, recursive", json!({"$ref": "#/$defs/tree"})),
        ("$ref to the whole", json!({"anyOf": [{"type": "null"}, {"$ref": "#"}]})),
        ("$ref by a name of its own", json!({"$ref": "#three"})),
        ("true", json!(true)),
        ("false, of a property that is left out", json!({"type": "object", "properties": {"a": false}})),
        ("minLength 3000", json!({"type": "string", "minLength": 3000})),
    ]
}

#[tokio::test]
async fn keywords_of_the_decoder() {
    let Some(engine) = engine().await else { return };
    let models = engine.models("fixed");
    let strict = ModelSettings { schema: Some(Dialect::Strict), ..ModelSettings::at(engine.url(), "fixed") };
    let strict =
        Models::new(&NodesSettings { models: [("fixed".to_owned(), strict)].into(), ..NodesSettings::default() });
    let forms = forms();
    assert!(forms.len() >= 40, "{}", forms.len());
    let mut rows = Vec::new();
    for (name, schema) in &forms {
        let definitions = json!({
            "three": {"$anchor": "three", "type": "integer", "minimum": 3, "maximum": 3},
            "tree": {"type": "object", "properties": {"v": {"type": "boolean"}, "of": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["v", "of"]},
        });
        let output = json!({"type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": false, "$defs": definitions});
        let node = node("probe", "policy: { attempts: 1 }\nconfig: { maxOutputTokens: 200 }", &output)
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        let (verdict, said) = verdict(run(&models, &node).await);
        let keywords = Projection::new(&node.output.json, Dialect::Strict, None).keywords;
        let refused: Vec<String> = keywords
            .into_iter()
            .filter(|keyword| keyword.handling == Handling::Refused)
            .map(|keyword| keyword.keyword)
            .collect();
        let in_subset = match &refused[..] {
            [] => {
                let (verdict, said) = self::verdict(run(&strict, &node).await);
                if verdict == "conforms" { said } else { format!("{verdict}: {said}") }
            }
            refused => format!("not in the subset: {}", refused.join(", ")),
        };
        let cells = [name, verdict, &said, &in_subset].map(|cell| cell.replace('|', "\\|"));
        rows.push(format!("| {} |", cells.join(" | ")));
    }
    let table = format!(
        "# JSON Schema on the offline engine\n\nWhat llama.cpp's server ({}) makes of each form, as a required field of an object, asked \
         through a node. Its model says the shortest value that the decoder lets through; what does not conform is refused here. The last column is \
         the same form as OpenAI's strict subset says it (`schema = \"strict\"`), on the same engine, with the answer as the node means \
         it. Written by a test of `crates/nodes` (`UPDATE_EXPECT=1`).\n\n| form | what happens | the value, or why there is none | in \
         the strict subset |\n|---|---|---|---|\n{}\n",
        nodes::engine::PACKAGE,
        rows.join("\n")
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/nodes-keywords.md");
    expect_test::expect_file![path].assert_eq(&table);
    let holes = rows.iter().filter(|row| row.contains("refused here")).count();
    println!("{} forms, {holes} not enforced", rows.len());
    assert!(holes > 0);
}

/// Returns the handling of a schema.
fn verdict((said, classes): (Result<Value, String>, Vec<String>)) -> (&'static str, String) {
    match (&said, classes.first().map(String::as_str)) {
        (Ok(value), _) => ("conforms", value["x"].to_string()),
        (Err(_), Some("Invalid")) => ("not enforced: refused here", detail(&said)),
        (Err(_), Some("Rejected")) => ("refused by the server", detail(&said)),
        (Err(_), Some("Empty")) => ("nothing is said", String::new()),
        (Err(_), Some("Truncated")) => ("never ends", String::new()),
        (Err(_), class) => {
            (class.map_or("?", |class| if class == "Busy" { "the server fails" } else { "other" }), detail(&said))
        }
    }
}

fn detail(said: &Result<Value, String>) -> String {
    let Err(why) = said else { return String::new() };
    let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
    let why = why.split(" (attempt ").next().unwrap_or(why);
    why.trim_start_matches("the answer does not match the node's output schema: ").to_owned()
}
