//! Converts Rust types to the JSON Schema that clients see, trimmed to save a model's tokens.
//!
//! Output schemas keep `null` where a field may be null (strict clients check). Input schemas drop it, since a model
//! should omit an absent optional argument.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the description (the type's doc comment) and the trimmed schema of an argument type.
pub fn input_schema<T: JsonSchema>() -> (String, Value) {
    let mut schema = generate::<T>();
    let description = match schema.as_object_mut().and_then(|object| object.remove("description")) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    trim(&mut schema, Nulls::Drop);
    (description, plain_object(schema))
}

/// The keyword that marks a property as one that is accepted and not listed:
/// `#[schemars(extend("x-unlisted" = true))]`.
pub const UNLISTED: &str = "x-unlisted";

/// Takes the properties out of an input schema that are not to be listed.
pub(super) fn take_unlisted(input_schema: &mut Value) -> Map<String, Value> {
    let Some(Value::Object(properties)) = input_schema.get_mut("properties") else { return Map::new() };
    let is_unlisted = |schema: &Value| schema.get(UNLISTED).is_some_and(|is| *is == true);
    let (mut unlisted, listed): (Map<_, _>, Map<_, _>) =
        std::mem::take(properties).into_iter().partition(|(_, schema)| is_unlisted(schema));
    *properties = listed;
    for schema in unlisted.values_mut() {
        schema.as_object_mut().map(|schema| schema.remove(UNLISTED));
    }
    unlisted
}

/// Returns the trimmed schema of an output type.
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

/// The treatment of `null` in a trimmed schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// It is kept: the schema describes output.
    Keep,
    /// Dropped: the schema describes the arguments that a model should write.
    Drop,
}

/// Removes parts that a model need not read: `$schema`, formats of numbers with the bounds that they imply, null
/// defaults. The author's own parts stay: titles, other bounds, patterns and the like.
pub fn trim(schema: &mut Value, nulls: Nulls) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| trim(item, nulls)),
        Value::Object(object) => {
            object.remove("$schema");
            drop_number_format(object);
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
/// Constants with further keywords, such as titles, stay.
fn name_choices(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("oneOf") else { return };
    let is_plain = |name: &String| matches!(name.as_str(), "const" | "enum" | "type" | "description");
    if !choices.iter().all(|choice| choice.as_object().is_some_and(|choice| choice.keys().all(is_plain))) {
        return;
    }
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

/// Returns one line that names every argument with its type.
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

/// Returns true if this type has no fields, as `()`, and so means no arguments.
pub(crate) fn takes_nothing<T: JsonSchema>() -> bool {
    generate::<T>()["type"] == "null"
}

/// Returns true if values of this schema are objects: only objects are structured content in every revision.
pub(super) fn is_object(schema: &Value) -> bool {
    schema["type"] == "object"
}

fn generate<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    // Without an explicit title a schema gets the name of the Rust type.
    if let Some(object) = schema.as_object_mut()
        && object.get("title").and_then(Value::as_str) == Some(&*T::schema_name())
    {
        object.remove("title");
    }
    schema
}

/// Ensures an object at the root, which clients demand even for a tool without arguments.
fn plain_object(schema: Value) -> Value {
    match schema {
        // A type without fields.
        Value::Object(object) if object.get("type").is_some_and(|kind| kind == "null") => {
            serde_json::json!({"type": "object", "additionalProperties": false})
        }
        Value::Object(mut object) => {
            object.entry("type").or_insert_with(|| "object".into());
            Value::Object(object)
        }
        _ => serde_json::json!({"type": "object"}),
    }
}

/// Drops the format of a number, which is that of a Rust type, and the bounds of that type.
fn drop_number_format(object: &mut Map<String, Value>) {
    let bounds: (Option<i64>, Option<i64>) = match object.get("format").and_then(Value::as_str) {
        Some("float" | "double") => (None, None),
        Some("uint8") => (Some(0), Some(u8::MAX.into())),
        Some("uint16") => (Some(0), Some(u16::MAX.into())),
        Some("int8") => (Some(i8::MIN.into()), Some(i8::MAX.into())),
        Some("int16") => (Some(i16::MIN.into()), Some(i16::MAX.into())),
        Some(format) if format.starts_with("uint") => (Some(0), None),
        Some(format) if format.starts_with("int") => (None, None),
        _ => return,
    };
    object.remove("format");
    for (name, bound) in [("minimum", bounds.0), ("maximum", bounds.1)] {
        if bound.is_some() && object.get(name).and_then(Value::as_i64) == bound {
            object.remove(name);
        }
    }
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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn unlisted_arguments_are_known_and_not_listed() {
        #[allow(dead_code)]
        #[derive(JsonSchema)]
        struct Args {
            /// A name.
            name: String,
            /// All of it.
            #[schemars(extend("x-unlisted" = true))]
            whole: Option<bool>,
        }
        let (_, mut schema) = input_schema::<Args>();
        let unlisted = take_unlisted(&mut schema);
        expect![[r#"{"whole":{"type":"boolean","description":"All of it."}}"#]]
            .assert_eq(&Value::from(unlisted).to_string());
        assert_eq!(schema["properties"].as_object().map(Map::len), Some(1));
        assert!(schema["properties"]["name"].is_object());
    }

    /// One field for each attribute that says more of a schema.
    #[allow(dead_code, deprecated)]
    #[derive(JsonSchema)]
    #[schemars(title = "Everything", extend("x-all" = true))]
    #[serde(deny_unknown_fields)]
    struct Attributes {
        #[schemars(range(min = 1, max = 50))]
        some: u32,
        #[schemars(range(min = 1))]
        optional: Option<u64>,
        #[schemars(range(max = 100))]
        byte: u8,
        #[schemars(range(min = -5, max = 5))]
        small: i8,
        #[schemars(range(min = 0.5, max = 1.5))]
        share: f64,
        #[schemars(extend("multipleOf" = 5, "exclusiveMinimum" = 0))]
        fives: i64,
        at_least_one: std::num::NonZeroU32,
        #[schemars(length(min = 1, max = 8))]
        word: String,
        #[schemars(length(equal = 2), inner(range(min = 0, max = 9)))]
        pair: Vec<i32>,
        #[schemars(regex(pattern = "^[a-z]+$"))]
        lower: String,
        #[schemars(contains(pattern = "@"))]
        at: String,
        #[schemars(email)]
        mail: String,
        #[schemars(url)]
        page: String,
        #[schemars(title = "The day", description = "When.", example = &"2026-07-28", extend("format" = "date"))]
        day: String,
        /// # The hour
        ///
        /// At which.
        hour: String,
        #[deprecated]
        old: Option<bool>,
        #[serde(default = "seven")]
        with_default: u16,
        titled: Titled,
        plain: Plain,
    }

    fn seven() -> u16 {
        7
    }

    #[allow(dead_code)]
    #[derive(JsonSchema)]
    enum Titled {
        #[schemars(title = "Sky blue")]
        Blue,
        #[schemars(title = "Fire red")]
        Red,
    }

    #[allow(dead_code)]
    #[derive(JsonSchema)]
    enum Plain {
        /// Up.
        Up,
        /// Down.
        Down,
    }

    #[test]
    fn bounds_and_titles_that_an_author_wrote_are_listed() {
        let (_, schema) = input_schema::<Attributes>();
        let fields = schema["properties"].as_object().expect("fields");
        let mut lines = vec![format!("title: {}, x-all: {}", schema["title"], schema["x-all"])];
        lines.extend(fields.iter().map(|(name, field)| format!("{name}: {field}")));
        expect![[r#"
            title: "Everything", x-all: true
            some: {"type":"integer","maximum":50,"minimum":1}
            optional: {"type":"integer","minimum":1}
            byte: {"type":"integer","maximum":100}
            small: {"type":"integer","maximum":5,"minimum":-5}
            share: {"type":"number","maximum":1.5,"minimum":0.5}
            fives: {"type":"integer","exclusiveMinimum":0,"multipleOf":5}
            at_least_one: {"type":"integer","minimum":1}
            word: {"type":"string","minLength":1,"maxLength":8}
            pair: {"type":"array","items":{"type":"integer","maximum":9,"minimum":0},"minItems":2,"maxItems":2}
            lower: {"type":"string","pattern":"^[a-z]+$"}
            at: {"type":"string","pattern":"@"}
            mail: {"type":"string","format":"email"}
            page: {"type":"string","format":"uri"}
            day: {"type":"string","title":"The day","description":"When.","examples":["2026-07-28"],"format":"date"}
            hour: {"type":"string","title":"The hour","description":"At which."}
            old: {"type":"boolean","deprecated":true}
            with_default: {"type":"integer","default":7}
            titled: {"oneOf":[{"type":"string","const":"Blue","title":"Sky blue"},{"type":"string","const":"Red","title":"Fire red"}]}
            plain: {"type":"string","enum":["Up","Down"],"description":"Up: Up.\nDown: Down."}"#]].assert_eq(&lines.join("\n"));
    }

    #[test]
    fn what_a_rust_type_says_by_itself_is_not_listed() {
        #[allow(dead_code)]
        #[derive(JsonSchema)]
        struct Numbers {
            a: u8,
            b: i16,
            c: u64,
            d: Option<usize>,
            e: f32,
        }
        let (_, schema) = input_schema::<Numbers>();
        expect![[r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"},"d":{"type":"integer"},"e":{"type":"number"}},"required":["a","b","c","e"]}"#]].assert_eq(&schema.to_string());
    }
}
