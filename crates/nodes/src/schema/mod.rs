//! Validates values against JSON Schema, always and completely: hob does not rely on a decoder. Problems give a model the path,
//! the error, and the existing keys.

mod circle;
mod error_messages;
mod form;
pub mod keywords;
mod strict;
mod work;

use circle::Targets;
use jsonschema::Validator;
use serde_json::Value;

pub use form::Dialect;
pub(crate) use form::Form;

/// The maximum number of reported problems per value.
const MAX_PROBLEMS: usize = 20;

/// A compiled schema.
pub struct Schema {
    pub json: Value,
    validator: Validator,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.json.fmt(f)
    }
}

impl Schema {
    /// Compiles a schema. References to other documents are not followed.
    pub fn new(json: Value) -> Result<Schema, String> {
        let targets = Targets::new(&json);
        // The validator might not terminate for such a schema.
        if let Some(why) = circle::find(&targets) {
            return Err(why);
        }
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&json).map_err(|error| {
            // The schema itself is invalid: the error's path points into the schema.
            let said = error_messages::describe(&error);
            match (error.instance_path().as_str(), error.instance().as_ref()) {
                ("", _) => said,
                (place, Value::Object(_) | Value::Array(_)) => format!("{place}: {said}"),
                (place, scalar) => format!("{place}: {said}, got {}", shortened(&scalar.to_string())),
            }
        })?;
        if let Some(why) = work::uncounted(&targets) {
            return Err(why);
        }
        Ok(Schema { json, validator })
    }

    /// Returns the problems of a value; empty if it is valid.
    pub fn problems(&self, value: &Value) -> Vec<String> {
        if work::is_too_much(&self.json, value) {
            return vec![format!(
                "the whole value: checking it needs more than {} comparisons, or more than {} nested ones, because of \
                 references in the schema; use a less nested value or fewer branches",
                work::MAX,
                work::DEPTH_MAX
            )];
        }
        let mut problems = Vec::new();
        for error in self.validator.iter_errors(value).take(MAX_PROBLEMS) {
            let path = error.instance_path().as_str().to_owned();
            let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
            let keys = match value.pointer(&path) {
                Some(Value::Object(object)) if object.is_empty() && error_messages::is_missing(&error) => String::new(),
                Some(Value::Object(object)) if object.is_empty() => " (it has no keys)".to_owned(),
                Some(Value::Object(object)) => {
                    format!(" (keys there: {})", object.keys().cloned().collect::<Vec<_>>().join(", "))
                }
                _ => String::new(),
            };
            let said = error_messages::describe(&error);
            let got = match value.pointer(&path) {
                Some(Value::Object(_) | Value::Array(_)) | None => String::new(),
                Some(scalar) => format!(", got {}", shortened(&scalar.to_string())),
            };
            problems.push(format!("{place}{said}{got}{keys}"));
        }
        problems
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
