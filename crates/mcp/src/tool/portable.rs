//! The schemas of a listing in the form that every model's API takes. Gemini refuses all tools of a turn, with HTTP 400, if one
//! schema has a boolean for a schema, a list of types, a combinator below `items`, or an array without `items`.
//!
//! A rewritten schema accepts everything that the original accepts, and possibly more. Arguments and results are always checked
//! against the original.

use serde_json::{Map, Value, json};

/// The longest form that is described in words, in bytes.
const FORM_MAX: usize = 400;

const COMBINATORS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Whose schema is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A model reads it: the description states the rules that the schema can no longer express.
    Model,
    /// A program reads it.
    Program,
}

/// Returns the schema as it is listed.
pub(crate) fn portable(schema: &Value, reader: Reader) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(object) = &mut schema {
        rewrite(object, reader, false);
    }
    schema
}

fn rewrite(schema: &mut Map<String, Value>, reader: Reader, is_in_items: bool) {
    drop_type_list(schema, reader);
    for name in COMBINATORS {
        let Some(Value::Array(forms)) = schema.remove(name) else { continue };
        match as_objects(name, forms) {
            Some(forms) if !is_in_items => {
                let mut listed = forms.clone();
                listed.iter_mut().for_each(|form| rewrite(form, reader, false));
                // Of forms that accept more than before, several may match.
                let name = if name == "oneOf" && listed != forms { "anyOf" } else { name };
                schema.entry(name).or_insert(listed.into_iter().map(Value::Object).collect());
            }
            Some(forms) => inline(schema, name, forms, reader),
            None => {}
        }
    }
    // Forms that were put in place of a combinator may have such a list.
    drop_type_list(schema, reader);
    if let Some(Value::String(word)) = schema.get("const") {
        let words = json!([word]);
        schema.remove("const");
        schema.insert("enum".to_owned(), words);
    }
    schema.retain(|name, value| !(name.starts_with("unevaluated") || value.is_boolean() && is_schema(name)));
    // Keywords that accept less if the schema below them accepts more.
    for name in ["not", "if", "contains"] {
        if schema.get(name).is_some_and(|below| portable(below, Reader::Program) != with_enums(below)) {
            schema.remove(name);
        }
    }
    for (name, value) in schema.iter_mut() {
        let is_below_items =
            is_in_items || matches!(name.as_str(), "items" | "prefixItems" | "contains" | "additionalItems");
        match (name.as_str(), value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                rewrite_named(named, reader, is_in_items);
            }
            // A reference below `items` may lead here.
            ("$defs" | "definitions", Value::Object(named)) => rewrite_named(named, reader, true),
            ("prefixItems", Value::Array(forms)) => {
                forms.iter_mut().filter(|form| form.is_boolean()).for_each(|form| *form = json!({}));
                forms.iter_mut().filter_map(Value::as_object_mut).for_each(|form| rewrite(form, reader, true));
            }
            (name, Value::Object(below)) if is_schema(name) || name == "additionalProperties" => {
                rewrite(below, reader, is_below_items);
            }
            _ => {}
        }
    }
    if schema.get("type").is_some_and(|kind| kind == "array") && !schema.contains_key("items") {
        schema.insert("items".to_owned(), json!({}));
    }
}

/// Returns the schema with `enum` in place of each `const` of a text, which means the same.
fn with_enums(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let renamed = object.iter().map(|(name, value)| match (name.as_str(), value) {
                ("const", Value::String(word)) => ("enum".to_owned(), json!([word])),
                (_, value) => (name.clone(), with_enums(value)),
            });
            Value::Object(renamed.collect())
        }
        Value::Array(items) => items.iter().map(with_enums).collect(),
        value => value.clone(),
    }
}

/// Rewrites schemas below names that their author chose. One that forbids its value is left out.
fn rewrite_named(named: &mut Map<String, Value>, reader: Reader, is_in_items: bool) {
    named.retain(|_, schema| *schema != false);
    for schema in named.values_mut() {
        match schema {
            Value::Object(schema) => rewrite(schema, reader, is_in_items),
            schema => *schema = json!({}),
        }
    }
}

/// Returns true if a keyword holds a schema that is not a boolean in a listing.
fn is_schema(keyword: &str) -> bool {
    matches!(
        keyword,
        "items" | "contains" | "additionalItems" | "propertyNames" | "not" | "if" | "then" | "else" | "contentSchema"
    )
}

/// Returns the forms of a combinator without those that are booleans; `None` if nothing is left to say.
fn as_objects(combinator: &str, forms: Vec<Value>) -> Option<Vec<Map<String, Value>>> {
    if combinator != "allOf" && forms.contains(&Value::Bool(true)) {
        return None;
    }
    let objects = forms.into_iter().filter_map(|form| match form {
        Value::Object(form) => Some(form),
        _ => None,
    });
    Some(objects.collect::<Vec<_>>()).filter(|forms| !forms.is_empty())
}

/// Replaces a combinator by the keywords that all its forms have in common, if these make one form.
fn inline(schema: &mut Map<String, Value>, combinator: &str, forms: Vec<Map<String, Value>>, reader: Reader) {
    if combinator == "allOf" {
        forms.into_iter().for_each(|form| add(schema, form));
        return;
    }
    let is_null = |form: &Map<String, Value>| form.get("type").is_some_and(|kind| kind == "null");
    let (nulls, mut others): (Vec<_>, Vec<_>) = forms.iter().cloned().partition(is_null);
    match (others.pop(), others.is_empty()) {
        (Some(mut only), true) => {
            if !nulls.is_empty() {
                ["type", "enum", "const", "$ref", "not", "if"].iter().for_each(|name| drop(only.remove(*name)));
            }
            add(schema, only);
        }
        _ => describe(schema, &format!("One of: {}", json!(forms)), reader),
    }
}

/// Adds the keywords of a form, except for those that would change the meaning of present ones.
fn add(schema: &mut Map<String, Value>, form: Map<String, Value>) {
    let has_names = schema.contains_key("properties") || schema.contains_key("patternProperties");
    for (name, value) in form {
        let depends = match name.as_str() {
            "additionalProperties" => has_names,
            "if" | "then" | "else" | "contains" | "minContains" | "maxContains" | "additionalItems" => true,
            _ => COMBINATORS.contains(&name.as_str()),
        };
        if !depends {
            schema.entry(name).or_insert(value);
        }
    }
}

fn drop_type_list(schema: &mut Map<String, Value>, reader: Reader) {
    let Some(Value::Array(kinds)) = schema.get("type") else { return };
    let kinds: Vec<String> = kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    schema.remove("type");
    match kinds.as_slice() {
        [only] => drop(schema.insert("type".to_owned(), only.as_str().into())),
        several => describe(schema, &format!("Type: {}.", several.join(" or ")), reader),
    }
}

fn describe(schema: &mut Map<String, Value>, words: &str, reader: Reader) {
    if reader == Reader::Model && words.len() <= FORM_MAX {
        let own = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{own} {words}").trim().to_owned();
        schema.insert("description".to_owned(), description.into());
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_listed_schema_has_nothing_that_a_model_s_api_refuses() {
        let schemas = [
            json!({"a": true, "b": false, "c": {"type": "string"}}),
            json!({"a": {"type": ["string", "null"], "description": "Name."}}),
            json!({"a": {"type": ["integer"]}, "b": {"type": "array"}}),
            json!({"a": {"anyOf": [{"type": "string"}, true]}, "b": {"oneOf": [{"const": "x"}, false]}}),
            json!({"a": {"anyOf": [{"type": "string"}, {"type": "array", "items": true}]}}),
            json!({"a": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}),
            json!({"a": {"items": {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]}}}),
            json!({"a": {"items": {"properties": {"x": {"allOf": [{"type": "string"}, {"minLength": 1}]}}}}}),
            json!({"a": {"prefixItems": [true, {"oneOf": [{"type": "string"}, {"type": "null"}]}], "items": false}}),
            json!({"a": {"type": "object", "additionalProperties": {"type": ["string", "number"]}, "propertyNames": true}}),
            json!({"a": {"not": false, "contains": true, "uniqueItems": true, "default": true, "enum": [true, false]}}),
            json!({"true": {"const": "x"}, "type": {"const": 1}}),
        ];
        let listed = schemas.map(|properties| {
            let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
            portable(&schema, Reader::Model)["properties"].to_string()
        });
        expect![[r#"
            {"a":{},"c":{"type":"string"}}
            {"a":{"description":"Name. Type: string or null."}}
            {"a":{"type":"integer"},"b":{"type":"array","items":{}}}
            {"a":{},"b":{"anyOf":[{"enum":["x"]}]}}
            {"a":{"anyOf":[{"type":"string"},{"type":"array","items":{}}]}}
            {"a":{"type":"array","items":{"description":"One of: [{\"type\":\"string\"},{\"type\":\"integer\"}]"}}}
            {"a":{"items":{"properties":{"n":{"type":"integer"}}}}}
            {"a":{"items":{"properties":{"x":{"type":"string","minLength":1}}}}}
            {"a":{"prefixItems":[{},{}]}}
            {"a":{"type":"object","additionalProperties":{"description":"Type: string or number."}}}
            {"a":{"uniqueItems":true,"default":true,"enum":[true,false]}}
            {"true":{"enum":["x"]},"type":{"const":1}}"#]]
        .assert_eq(&listed.join("\n"));
        let definitions =
            json!({"type": "object", "$defs": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "y": true}});
        expect![[r#"{"type":"object","$defs":{"x":{},"y":{}}}"#]]
            .assert_eq(&portable(&definitions, Reader::Program).to_string());
    }

    #[test]
    fn a_listed_schema_accepts_all_that_the_original_accepts() {
        let texts = json!({"type": "string", "enum": ["a", "b"]});
        let schemas = [
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"anyOf": [texts, {"type": "null"}]}),
            json!({"anyOf": [texts, {"type": "integer", "minimum": 3}]}),
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}),
            json!({"oneOf": [{"type": "object", "required": ["a"]}, {"type": "array", "items": true}]}),
            json!({"type": "array", "prefixItems": [true, texts], "items": false}),
            json!({"type": "object", "properties": {"a": false, "b": true}}),
            json!({"not": {"type": "string"}}),
            json!({"anyOf": [{"const": "a"}, false]}),
            json!({"if": true, "then": {"type": "string"}}),
            json!({"not": {"type": ["string", "null"]}}),
            json!({"oneOf": [{"type": ["string", "null"]}, {"type": "integer"}]}),
            json!({"if": {"type": ["string", "null"]}, "then": {"minLength": 1}, "else": {"type": "object"}}),
            json!({"allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}},
                {"properties": {"a": true}, "additionalProperties": false},
            ]}),
            json!({"properties": {"b": {"type": "integer"}}, "anyOf": [
                {"type": "object", "properties": {"a": true}, "additionalProperties": false}, {"type": "null"},
            ]}),
        ];
        let values = [
            json!(null),
            json!("a"),
            json!("b"),
            json!("c"),
            json!(2),
            json!(3),
            json!(true),
            json!([]),
            json!(["a", "a"]),
            json!(["a", "c"]),
            json!({}),
            json!({"a": "x"}),
            json!({"a": 1}),
            json!({"b": 1}),
        ];
        for schema in &schemas {
            for place in ["properties", "items"] {
                let whole = match place {
                    "items" => json!({"type": "object", "properties": {"v": {"type": "array", "items": schema}}}),
                    _ => json!({"type": "object", "properties": {"v": schema}}),
                };
                let listed = portable(&whole, Reader::Model);
                let mut accepted = 0;
                for value in &values {
                    let value = if place == "items" { json!({"v": [value]}) } else { json!({"v": value}) };
                    let is_valid = jsonschema::is_valid(&whole, &value);
                    accepted += usize::from(is_valid);
                    assert!(!is_valid || jsonschema::is_valid(&listed, &value), "{value}: {whole} as {listed}");
                }
                assert!(accepted > 0, "{whole}");
            }
        }
    }
}
