//! Hostile references in schemas: a daemon loads the node files of a checkout.

use nodes::Node;
use serde_json::{Map, Value, json};

/// Returns the problems of a node with this output schema and this value as an example.
fn problems(schema: &Value, value: &Value) -> String {
    let text = format!(
        "---\ndescription: A.\noutput: {{ schema: {schema} }}\nexamples: [ {{ input: {{}}, output: {value} }} ]\n---\nSay it.\n"
    );
    match Node::parse("n", &text) {
        Ok(_) => "good".to_owned(),
        Err(problems) => problems[0].to_string(),
    }
}

/// Builds an object schema with a field `x` of the first definition.
fn object(defs: Map<String, Value>) -> Value {
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

/// Builds definitions that each refer to the next one twice: exponential work.
fn doubled(place: &str) -> Map<String, Value> {
    let part = |at: usize| {
        let next = json!({"$ref": format!("{place}{}", at + 1)});
        if at == 39 { json!({}) } else { json!({"allOf": [next, next]}) }
    };
    (0..40).map(|at| (format!("d{at}"), part(at))).collect()
}

/// This once crashed the daemon: counting its comparisons did not terminate.
#[test]
fn a_circle_through_dependencies_is_refused() {
    let text = "---\ndescription: A.\ninput: { schema: { type: object, dependencies: { x: { $ref: \"#\" } } } }\n\
                output: { schema: { a: string } }\ntests: [ { input: {} } ]\n---\nSay it.\n";
    let said = Node::parse("n", text).unwrap_err()[0].to_string();
    let wanted =
        "3: the schema of the input: # refers to itself without entering a part of the value, so it has no meaning";
    assert_eq!(said, wanted);
}

#[test]
fn references_that_lead_to_one_another_are_few() {
    let chain = |length: usize| {
        let part = |at: usize| {
            if at + 1 == length { json!({"type": "integer"}) } else { json!({"$ref": format!("#/$defs/d{}", at + 1)}) }
        };
        object((0..length).map(|at| (format!("d{at}"), part(at))).collect())
    };
    assert_eq!(problems(&chain(64), &json!({"x": 1})), "good");
    let refused = problems(&chain(2_500), &json!({"x": 1}));
    assert!(refused.contains("a chain of more than 64 references: refer to the last"), "{refused}");
}

/// This once crashed the daemon: the validator recurses for each schema.
#[test]
fn schemas_that_stand_in_one_another_without_end_are_refused_for_the_value() {
    let deep = |inner: Value| (0..15).fold(inner, |inner, _| json!({"allOf": [inner]}));
    let part = |at: usize| match at {
        59 => json!({"items": deep(json!({"$ref": "#/$defs/d0"}))}),
        _ => deep(json!({"$ref": format!("#/$defs/d{}", at + 1)})),
    };
    let schema = object((0..60).map(|at| (format!("d{at}"), part(at))).collect());
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(problems(&schema, &json!({"x": 1})), "good");
    let refused = problems(&schema, &json!({"x": nested(40)}));
    assert!(
        refused.contains(
            "or more than 1000 nested ones, because of references in the schema; use a less nested \
                              value"
        ),
        "{refused}"
    );
}

/// If the validator resolved a reference differently than the estimate, its comparisons could be unbounded.
#[test]
fn a_reference_leads_to_one_part() {
    let mut anchored = object(doubled("#d"));
    for at in 0..40 {
        anchored["$defs"][format!("d{at}")]["$anchor"] = json!(format!("d{at}"));
    }
    let light: Vec<Value> = (0..40).map(|at| json!({"$anchor": format!("d{at}")})).collect();
    let mut escaped: Map<String, Value> =
        doubled("#/$defs/%25").into_iter().map(|(name, part)| (name.replace('d', "%"), part)).collect();
    escaped.extend((0..40).map(|at| (format!("%25{at}"), json!({}))));
    let fourth =
        json!({"id": "http://a/b", "allOf": [{"$ref": "#/definitions/d0"}], "definitions": doubled("#/definitions/d")});
    let light_fourth: Map<String, Value> = (0..40).map(|at| (format!("d{at}"), json!({}))).collect();
    for (schema, wanted) in [
        (
            json!({"default": light, "type": "object", "properties": {"x": {"$ref": "#d0"}}, "$defs": anchored["$defs"]}),
            "#d0 is an unresolved reference; write it as #/$defs/NAME",
        ),
        (
            json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/%250"}}, "$defs": escaped}),
            "#/$defs/%250 is an unresolved reference; write it as #/$defs/NAME",
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "properties": {"x": fourth},
            "definitions": light_fourth}),
            "an `$id` inside of a schema changes what references mean",
        ),
    ] {
        let refused = problems(&schema, &json!({"x": 1}));
        assert!(refused.contains(wanted), "{refused}");
    }
    // A reference by that name is followed.
    let named = json!({"type": "object", "properties": {"x": {"$ref": "#a"}}, "$defs": {"a": {"$anchor": "a", "type": "integer"}}});
    assert_eq!(problems(&named, &json!({"x": 1})), "good");
    assert!(problems(&named, &json!({"x": "1"})).contains("/x: it is not of type"));
}
