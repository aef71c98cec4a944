//! OpenAI's strict structured output: an object at the root, all properties required, all objects closed, and only `anyOf` for
//! alternatives. An optional property becomes nullable. Keywords that the decoder does not support are validated only here. The
//! answer is converted back.
//!
//! The rules: <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The keywords that are copied unchanged.
const KEPT: &[&str] = &[
    "description",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];
/// The supported formats.
const FORMATS: &[&str] = &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// The property that wraps a root that is not an object.
const VALUE: &str = "value";
/// The maximum number of chained references.
const MAX_HOPS: usize = 32;
/// The maximum depth of an answer, and the maximum number of comparisons of its parts with parts of the schema.
const MAX_DEPTH: usize = 300;
const MAX_STEPS: usize = 200_000;

/// Returns true if the decoder enforces a keyword with this value.
pub(super) fn holds(keyword: &str, value: &Value) -> bool {
    let shapes = ["type", "properties", "required", "items", "enum", "const", "anyOf", "$ref", "additionalProperties"];
    match keyword {
        "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
        _ => KEPT.contains(&keyword) || shapes.contains(&keyword),
    }
}

/// A keyword that the subset cannot express, with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub keyword: &'static str,
    pub at: String,
}

/// Converts a schema to the subset.
pub(super) fn project(schema: &Value) -> Result<Value, Vec<Refused>> {
    let mut projector = Projector { whole: schema, refused: Vec::new(), wanted: Vec::new(), is_wrapped: wraps(schema) };
    let root = projector.part(schema, "");
    let mut root = if projector.is_wrapped { closed(Map::from_iter([(VALUE.to_owned(), root)])) } else { root };
    let mut definitions = Map::new();
    let mut done = BTreeSet::new();
    while let Some((list, name)) = projector.wanted.pop() {
        if done.insert((list, name.clone())) {
            let part = projector.part(&schema[list][&name], &format!("/{list}/{name}"));
            let named = definitions.entry(list).or_insert_with(|| json!({}));
            named[&name] = part;
        }
    }
    if let Value::Object(root) = &mut root {
        root.extend(definitions);
    }
    if projector.refused.is_empty() { Ok(root) } else { Err(projector.refused) }
}

/// Returns true if the root must be wrapped in an object.
fn wraps(schema: &Value) -> bool {
    schema["type"] != "object" || schema.get("enum").is_some() || schema.get("const").is_some()
}

fn closed(properties: Map<String, Value>) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
}

struct Projector<'a> {
    whole: &'a Value,
    refused: Vec<Refused>,
    /// Referenced definitions.
    wanted: Vec<(&'static str, String)>,
    is_wrapped: bool,
}

impl Projector<'_> {
    fn refuse(&mut self, keyword: &'static str, at: &str) -> Value {
        self.refused.push(Refused { keyword, at: if at.is_empty() { "the root".to_owned() } else { at.to_owned() } });
        json!({})
    }

    fn part(&mut self, schema: &Value, at: &str) -> Value {
        let Value::Object(schema) = schema else { return self.refuse("true or false", at) };
        if let Some(reference) = schema.get("$ref") {
            return self.reference(reference.as_str().unwrap_or_default(), at);
        }
        let kept = |keyword: &&str| schema.get(*keyword).map(|value| ((*keyword).to_owned(), value.clone()));
        let mut part: Map<String, Value> = KEPT.iter().filter_map(kept).collect();
        if let Some(format) = schema.get("format").filter(|format| holds("format", format)) {
            part.insert("format".to_owned(), format.clone());
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.constants("enum", values, part, at);
        }
        if let Some(value) = schema.get("const") {
            return self.constants("const", std::slice::from_ref(value), part, at);
        }
        let types: Vec<&str> = match &schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ if schema.contains_key("properties") => vec!["object"],
            _ if schema.contains_key("items") => vec!["array"],
            _ => return self.choice(schema, at),
        };
        match types[..] {
            ["object"] => self.object(schema, part, at),
            ["array"] => self.array(schema, part, at),
            _ if types.iter().any(|kind| matches!(*kind, "object" | "array")) => {
                let one = |kind: &&str| {
                    let mut one = schema.clone();
                    one.insert("type".to_owned(), (*kind).into());
                    Value::Object(one)
                };
                let branches: Vec<Value> = types.iter().map(one).collect();
                json!({"anyOf": branches.iter().map(|branch| self.part(branch, at)).collect::<Vec<_>>()})
            }
            _ => {
                part.insert("type".to_owned(), schema["type"].clone());
                Value::Object(part)
            }
        }
    }

    fn reference(&mut self, reference: &str, at: &str) -> Value {
        if reference == "#" {
            return json!({"$ref": if self.is_wrapped { format!("#/properties/{VALUE}") } else { "#".to_owned() }});
        }
        let definition = ["$defs", "definitions"].into_iter().find_map(|list| {
            let name = reference.strip_prefix(&format!("#/{list}/"))?;
            self.whole[list].get(name).map(|_| (list, name.to_owned()))
        });
        match definition {
            Some(definition) => {
                self.wanted.push(definition);
                json!({"$ref": reference})
            }
            None => self.refuse("$ref", at),
        }
    }

    fn constants(&mut self, keyword: &'static str, values: &[Value], mut part: Map<String, Value>, at: &str) -> Value {
        let mut types = Vec::new();
        for value in values {
            let kind = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) | Value::Object(_) => return self.refuse(keyword, at),
            };
            if !types.contains(&kind) {
                types.push(kind);
            }
        }
        part.retain(|keyword, _| keyword == "description");
        part.insert("type".to_owned(), if let [one] = types[..] { one.into() } else { types.into() });
        part.insert("enum".to_owned(), values.into());
        Value::Object(part)
    }

    /// Converts an alternative, or a schema without a type.
    fn choice(&mut self, schema: &Map<String, Value>, at: &str) -> Value {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
                let branches = branches.iter().enumerate();
                let branches = branches.map(|(index, branch)| self.part(branch, &format!("{at}/{keyword}/{index}")));
                return json!({"anyOf": branches.collect::<Vec<_>>()});
            }
        }
        match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([one]) => self.part(one, &format!("{at}/allOf/0")),
            Some(_) => self.refuse("allOf", at),
            None => self.refuse("any value", at),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, part: Map<String, Value>, at: &str) -> Value {
        let nothing = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
        let names: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        if properties.is_empty() && (!is_closed || schema.contains_key("patternProperties")) {
            // Fields with arbitrary names.
            let keyword =
                if schema.contains_key("patternProperties") { "patternProperties" } else { "additionalProperties" };
            return self.refuse(keyword, at);
        }
        if names.iter().any(|name| !properties.contains_key(*name)) {
            return self.refuse("required", at);
        }
        let mut all = Map::new();
        for (name, property) in properties {
            let part = self.part(property, &format!("{at}/properties/{name}"));
            all.insert(name.clone(), if names.contains(&name.as_str()) { part } else { nullable(part) });
        }
        let mut object = closed(all);
        if let (Value::Object(object), Some(said)) = (&mut object, part.get("description")) {
            object.insert("description".to_owned(), said.clone());
        }
        object
    }

    fn array(&mut self, schema: &Map<String, Value>, mut part: Map<String, Value>, at: &str) -> Value {
        if schema.contains_key("prefixItems") {
            return self.refuse("prefixItems", at);
        }
        let Some(items) = schema.get("items") else { return self.refuse("items", at) };
        let items = self.part(items, &format!("{at}/items"));
        part.retain(|keyword, _| matches!(keyword.as_str(), "description" | "minItems" | "maxItems"));
        part.insert("type".to_owned(), "array".into());
        part.insert("items".to_owned(), items);
        Value::Object(part)
    }
}

/// Makes a schema nullable.
fn nullable(mut part: Value) -> Value {
    let is_scalar = part.get("enum").is_none();
    match &mut part["type"] {
        Value::Array(types) if is_scalar => {
            if !types.contains(&"null".into()) {
                types.push("null".into());
            }
            part
        }
        Value::String(kind) if kind == "null" => part,
        Value::String(kind) if is_scalar && !matches!(kind.as_str(), "object" | "array") => {
            part["type"] = json!([kind.clone(), "null"]);
            part
        }
        _ => {
            if part["type"].is_null() {
                part.as_object_mut().map(|part| part.remove("type"));
            }
            json!({"anyOf": [part, {"type": "null"}]})
        }
    }
}

/// Converts an answer under the projection of a schema back to the schema's own form.
pub(super) fn undo(schema: &Value, answer: Value) -> Value {
    let answer = match answer {
        Value::Object(mut object) if wraps(schema) && object.len() == 1 && object.contains_key(VALUE) => {
            object.remove(VALUE).unwrap_or_default()
        }
        answer => answer,
    };
    Undoer { whole: schema, steps: Cell::new(0) }.part(schema, answer, 0)
}

/// A converter that bounds the recursion of self-referencing schemas.
struct Undoer<'a> {
    whole: &'a Value,
    steps: Cell<usize>,
}

impl<'a> Undoer<'a> {
    /// Resolves references.
    fn resolve(&self, mut schema: &'a Value) -> &'a Value {
        for _ in 0..MAX_HOPS {
            let target = match schema.get("$ref").and_then(Value::as_str) {
                Some(reference) => reference.strip_prefix('#').and_then(|pointer| self.whole.pointer(pointer)),
                None => match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
                    Some([one]) if schema.get("type").is_none() => Some(one),
                    _ => None,
                },
            };
            match target {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    fn branches(&self, schema: &'a Value) -> impl Iterator<Item = &'a Value> {
        ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()).flatten()
    }

    fn part(&self, schema: &'a Value, value: Value, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return value;
        }
        let schema = self.resolve(schema);
        match value {
            Value::Object(_) | Value::Array(_)
                if schema.get("type").is_none() && schema.get("properties").is_none() =>
            {
                match self.branches(schema).find(|branch| self.fits(branch, &value, depth + 1)) {
                    Some(branch) => self.part(branch, value, depth + 1),
                    None => value,
                }
            }
            Value::Object(object) => {
                let kept = object
                    .into_iter()
                    .filter(|(name, value)| !(value.is_null() && self.is_absent(schema, name, depth)));
                Value::Object(
                    kept.map(|(name, value)| match schema["properties"].get(&name) {
                        Some(property) => {
                            let value = self.part(property, value, depth + 1);
                            (name, value)
                        }
                        None => (name, value),
                    })
                    .collect(),
                )
            }
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|item| self.part(&schema["items"], item, depth + 1)).collect())
            }
            value => value,
        }
    }

    /// Returns true if null stands for a missing property.
    fn is_absent(&self, schema: &'a Value, name: &str, depth: usize) -> bool {
        let is_required = schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
        let property = schema["properties"].get(name);
        property.is_some_and(|property| !is_required && !self.fits(property, &Value::Null, depth + 1))
    }

    /// Returns true if the answer may match this part: only its shape is compared.
    fn fits(&self, schema: &'a Value, value: &Value, depth: usize) -> bool {
        self.steps.set(self.steps.get() + 1);
        if depth > MAX_DEPTH || self.steps.get() > MAX_STEPS {
            return false;
        }
        let schema = self.resolve(schema);
        if let Some(constant) = schema.get("const") {
            return constant == value;
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.contains(value);
        }
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let is_kind =
            |said: &Value| said == kind || (said == "integer" && value.as_f64().is_some_and(|n| n.fract() == 0.0));
        let is_of_type = match &schema["type"] {
            Value::Array(types) => types.iter().any(is_kind),
            Value::Null if schema.get("properties").is_some() => kind == "object",
            Value::Null if schema.get("items").is_some() => kind == "array",
            Value::Null => return self.branches(schema).any(|branch| self.fits(branch, value, depth + 1)),
            one => is_kind(one),
        };
        is_of_type
            && match value {
                Value::Object(object) => {
                    let nothing = Map::new();
                    let properties = schema["properties"].as_object().unwrap_or(&nothing);
                    properties.len() == object.len()
                        && properties.iter().all(|(name, property)| match object.get(name) {
                            Some(Value::Null) if self.is_absent(schema, name, depth) => true,
                            Some(value) => self.fits(property, value, depth + 1),
                            None => false,
                        })
                }
                Value::Array(items) => items.iter().all(|item| self.fits(&schema["items"], item, depth + 1)),
                _ => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_says_less_and_its_answer_means_the_same() {
        for (schema, projected, answer, wanted) in [
            // Optional properties become nullable and null means missing; a nullable property stays.
            (
                json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": ["string", "null"]}, "c": {"type": "string", "minLength": 2}}, "required": ["a"]}),
                r#"{"type":"object","required":["a","b","c"],"additionalProperties":false,"properties":{"a":{"minimum":3,"type":"integer"},"b":{"type":["string","null"]},"c":{"type":["string","null"]}}}"#,
                json!({"a": 3, "b": null, "c": null}),
                json!({"a": 3, "b": null}),
            ),
            // A root that is not an object, and an alternative.
            (
                json!({"oneOf": [{"type": "boolean"}, {"$ref": "#/$defs/n"}], "$defs": {"n": {"const": 7}, "unused": true}}),
                r##"{"type":"object","required":["value"],"additionalProperties":false,"properties":{"value":{"anyOf":[{"type":"boolean"},{"$ref":"#/$defs/n"}]}},"$defs":{"n":{"type":"number","enum":[7]}}}"##,
                json!({"value": 7}),
                json!(7),
            ),
            // An answer of a server that ignored the schema.
            (
                json!({"type": "integer"}),
                r#"{"type":"object","required":["value"],"additionalProperties":false,"properties":{"value":{"type":"integer"}}}"#,
                json!(7),
                json!(7),
            ),
            // Alternatives are distinguished by their content; recursion continues below.
            (
                json!({"type": "object", "properties": {"t": {"anyOf": [
                    {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]},
                    {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": "null"}}, "required": ["kind"]},
                ]}, "of": {"type": "array", "items": {"$ref": "#"}}}, "required": ["t"]}),
                r##"{"type":"object","required":["t","of"],"additionalProperties":false,"properties":{"t":{"anyOf":[{"type":"object","required":["kind","x"],"additionalProperties":false,"properties":{"kind":{"type":"string","enum":["a"]},"x":{"type":["integer","null"]}}},{"type":"object","required":["kind","x"],"additionalProperties":false,"properties":{"kind":{"type":"string","enum":["b"]},"x":{"type":"null"}}}]},"of":{"anyOf":[{"type":"array","items":{"$ref":"#"}},{"type":"null"}]}}}"##,
                json!({"t": {"kind": "b", "x": null}, "of": [{"t": {"kind": "a", "x": null}, "of": null}]}),
                json!({"t": {"kind": "b", "x": null}, "of": [{"t": {"kind": "a"}}]}),
            ),
        ] {
            assert_eq!(project(&schema).map(|schema| schema.to_string()), Ok(projected.to_owned()));
            let meant = undo(&schema, answer.clone());
            assert_eq!(meant, wanted, "{answer}");
            let validator = |schema: &Value| jsonschema::validator_for(schema).expect("a schema");
            assert!(validator(&schema).is_valid(&meant), "{meant}");
        }
    }

    #[test]
    fn a_schema_without_an_end_is_looked_at_for_a_while() {
        let endless = json!({"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}, {"type": "integer"}]});
        let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {
            "a": endless, "b": {"$ref": "#/$defs/b"},
        }});
        assert!(project(&schema).is_ok());
        let answer = json!({"x": {"y": [1, {"z": null}]}});
        assert_eq!(undo(&schema, answer.clone()), answer);
        undo(&json!({"$ref": "#/$defs/b", "$defs": {"b": {"$ref": "#/$defs/b"}}}), answer);
    }

    #[test]
    fn unsupported_keywords_are_named_with_their_path() {
        let refused = |schema: Value| {
            let refused = project(&schema).unwrap_err();
            refused.iter().map(|one| format!("{} at {}", one.keyword, one.at)).collect::<Vec<_>>().join(", ")
        };
        let of = |part: Value| json!({"type": "object", "properties": {"a": part}, "required": ["a"]});
        assert_eq!(refused(of(json!({}))), "any value at /properties/a");
        assert_eq!(refused(of(json!(true))), "true or false at /properties/a");
        assert_eq!(refused(of(json!({"type": "object"}))), "additionalProperties at /properties/a");
        assert_eq!(
            refused(of(json!({"type": "array", "prefixItems": [{"type": "null"}]}))),
            "prefixItems at /properties/a"
        );
        assert_eq!(refused(of(json!({"type": "array"}))), "items at /properties/a");
        assert_eq!(refused(of(json!({"$ref": "#x"}))), "$ref at /properties/a");
        assert_eq!(
            refused(json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"]})),
            "required at the root"
        );
        assert_eq!(refused(json!({"allOf": [{"type": "string"}, {"minLength": 1}]})), "allOf at the root");
    }
}
