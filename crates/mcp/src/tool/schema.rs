//! Rust types → the JSON Schema that clients see, trimmed to save a model's tokens.
//!
//! Output schemas keep `null` where a field may be null (strict clients check); input schemas drop it, since an
//! absent optional argument is what a model should write.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The description (the type's doc comment) and the trimmed schema of an argument type.
pub fn input_schema<T: JsonSchema>() -> (String, Value) {
    let mut schema = generate::<T>();
    let description = match schema.as_object_mut().and_then(|object| object.remove("description")) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    trim(&mut schema, Nulls::Drop);
    (description, plain_object(schema))
}

/// The trimmed schema of an output type.
pub fn output_schema<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>();
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
    }
    trim(&mut schema, Nulls::Keep);
    plain_object(schema)
}

/// Adds the argument `resume`, by which a question is answered if the client cannot be asked.
pub(super) fn add_resume(input_schema: &mut Value) {
    let resume = serde_json::json!({
        "type": "object",
        "description": "Only to answer a question that an earlier call ended with.",
        "properties": {
            "id": {"type": "string", "description": "The question's id."},
            "answers": {"type": "object", "description": "The person's answers by field; left out for no."},
        },
        "required": ["id"],
        "additionalProperties": false,
    });
    if let Some(object) = input_schema.as_object_mut() {
        let properties = object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        properties["resume"] = resume;
    }
}

/// The schema of a result that may also be a question or a job.
pub(super) fn wrapped(result: Value, asks: bool, jobs: bool) -> Value {
    let mut states = vec!["done"];
    let mut properties = Map::new();
    if asks {
        states.push("asking");
        properties.insert(
            "ask".to_owned(),
            serde_json::json!({
                "type": "object",
                "description": "A question for the person; nothing more is done until it is answered.",
                "properties": {"id": {"type": "string"}, "questions": {"type": "object"}},
                "required": ["id", "questions"],
            }),
        );
    }
    if jobs {
        states.push("running");
        properties.insert(
            "job".to_owned(),
            serde_json::json!({
                "type": "object",
                "description": "It still runs; job_wait gives the result.",
                "properties": {"id": {"type": "string"}},
                "required": ["id"],
            }),
        );
    }
    let mut all = Map::new();
    all.insert("state".to_owned(), serde_json::json!({"type": "string", "enum": states}));
    all.insert("result".to_owned(), result);
    all.extend(properties);
    serde_json::json!({"type": "object", "properties": all, "required": ["state"]})
}

/// What happens to `null` in a trimmed schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// It is kept: the schema describes output.
    Keep,
    /// It is dropped: the schema describes what a model should write.
    Drop,
}

/// Removes redundant keywords: `$schema`, titles, number formats, null defaults.
pub fn trim(schema: &mut Value, nulls: Nulls) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| trim(item, nulls)),
        Value::Object(object) => {
            object.remove("$schema");
            if object.get("title").is_some_and(Value::is_string) {
                object.remove("title");
            }
            if object.get("format").and_then(Value::as_str).is_some_and(is_number_format) {
                object.remove("format");
                object.remove("minimum");
                object.remove("maximum");
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if nulls == Nulls::Drop {
                drop_null(object);
            }
            name_choices(object);
            for (key, value) in object.iter_mut() {
                match (key.as_str(), value) {
                    // The keys below these are the author's names, not keywords.
                    ("properties" | "$defs", Value::Object(named)) => {
                        named.values_mut().for_each(|value| trim(value, nulls));
                    }
                    ("enum" | "const" | "default" | "examples" | "required", _) => {}
                    (_, value) => trim(value, nulls),
                }
            }
        }
        _ => {}
    }
}

/// Rewrites `oneOf` constants as one `enum`, which every client understands, with their meanings in the description.
fn name_choices(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("oneOf") else { return };
    let mut names = Vec::new();
    let mut meanings = Vec::new();
    for choice in choices {
        let (of_one, of_several) = (choice.get("const"), choice.get("enum").and_then(Value::as_array));
        let new: Vec<&str> =
            of_one.into_iter().chain(of_several.into_iter().flatten()).filter_map(Value::as_str).collect();
        if choice.get("type").is_some_and(|kind| kind != "string") || new.is_empty() {
            return;
        }
        if let (Some(meaning), [name]) = (choice.get("description").and_then(Value::as_str), new.as_slice()) {
            meanings.push(format!("{name}: {meaning}"));
        }
        names.extend(new.into_iter().map(Value::from));
    }
    let own = object.get("description").and_then(Value::as_str).map(str::to_owned);
    let description = own.into_iter().chain(meanings).collect::<Vec<_>>().join("\n");
    object.remove("oneOf");
    object.insert("type".to_owned(), "string".into());
    object.insert("enum".to_owned(), names.into());
    if !description.is_empty() {
        object.insert("description".to_owned(), description.into());
    }
}

/// One line that names every argument with its type.
pub(super) fn usage(input_schema: &Value) -> String {
    let required = |name: &str| {
        input_schema["required"].as_array().is_some_and(|required| required.iter().any(|item| item == name))
    };
    let Some(properties) = input_schema["properties"].as_object().filter(|properties| !properties.is_empty()) else {
        return "It takes no arguments.".to_owned();
    };
    let arguments: Vec<String> = properties
        .iter()
        .map(|(name, schema)| {
            let kind = match (&schema["enum"], &schema["type"]) {
                (Value::Array(values), _) => values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
                (_, Value::String(kind)) => kind.clone(),
                _ => "any".to_owned(),
            };
            format!("{name}: {kind}{}", if required(name) { " (required)" } else { "" })
        })
        .collect();
    format!("Arguments: {}.", arguments.join(", "))
}

/// Whether values of this schema are objects: only objects are structured content in every revision.
pub(super) fn is_object(schema: &Value) -> bool {
    schema["type"] == "object"
}

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Ensures an object at the root, which clients demand even for a tool without arguments.
fn plain_object(schema: Value) -> Value {
    match schema {
        Value::Object(mut object) => {
            object.entry("type").or_insert_with(|| "object".into());
            Value::Object(object)
        }
        _ => serde_json::json!({"type": "object"}),
    }
}

fn is_number_format(format: &str) -> bool {
    format.starts_with("uint") || format.starts_with("int") || matches!(format, "float" | "double")
}

fn drop_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [one] = kinds.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let only = match object.get_mut("anyOf") {
        Some(Value::Array(choices)) => {
            choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
            match choices.as_slice() {
                [Value::Object(one)] => Some(one.clone()),
                _ => None,
            }
        }
        _ => None,
    };
    if let Some(only) = only {
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}
