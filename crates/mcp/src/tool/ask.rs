//! Questions of a call to the person at the other end, or to their client. The connection decides how a question
//! travels (`server/client_questions.rs`): each revision has its own way, and without one the call's result says how to answer by
//! calling again.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ToolError, schema};

/// The timeout of a question.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The person or program that the calls of a tool may ask, and the ways of answering
/// ([`Tool::ASKS`](super::Tool::ASKS)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asks {
    /// The tool asks no questions.
    #[default]
    Never,
    /// A person, in every way there is. Where the client cannot be asked, the call's result says how to answer by an
    /// argument `resume`, and structured content is `{state, result?, ask?}`.
    Person,
    /// A person, in a dialog of the client and in no other way: an answer by an argument would be the model's. Without
    /// a dialog, a question fails immediately with [`AskError::Unsupported`]. Arguments and results stay the same.
    PersonByDialog,
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// A form for the person to fill in.
    Form {
        /// The text of the question.
        message: String,
        /// A flat object of strings, numbers, booleans and enums (MCP "Elicitation").
        schema: Value,
    },
    /// A page for the person to visit, for data that must not pass through the client. The answer reports only that
    /// they visited it.
    Url {
        /// The text of the question.
        message: String,
        /// The URL of the page.
        url: String,
    },
    /// A completion by the client's model: the parameters of `sampling/createMessage`. The answer is its result.
    Sample(Value),
    /// The client's root directories. The answer is the result of `roots/list`.
    Roots,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum AskResponse {
    /// Accepted: the filled form, or the client's result. Null for a page.
    Accepted(Value),
    /// The person declined.
    Declined,
    /// The person dismissed the question without a choice.
    Dismissed,
}

/// Answers by the names of their questions.
pub type Answers = BTreeMap<String, AskResponse>;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The client does not support this question, and no other way exists.
    #[error("this needs an answer from the user, which the client does not support")]
    Unsupported,
    /// The tool does not declare that it asks, so its schemas do not say how to answer: a bug in the program.
    #[error(
        "the tool asks, but does not declare it: write `const ASKS: Asks = Asks::Person;` in its `impl Tool`, or \
         `.asks(Asks::Person)` where its `ToolFn` is made"
    )]
    Undeclared,
    /// The answer did not come in time, or the client disconnected.
    #[error("the question was not answered")]
    Unanswered,
    /// The call has another open question.
    #[error("one question at a time: an earlier question of this call is unanswered")]
    Busy,
    /// Too many questions are open.
    #[error("too many questions are open: answer one of them first")]
    Full,
    /// The client answered with this error, or with a result that does not fit.
    #[error("the client did not answer the question: {0}")]
    Refused(String),
}

impl From<AskError> for ToolError {
    fn from(error: AskError) -> ToolError {
        match error {
            AskError::Undeclared => ToolError::internal(error),
            error => ToolError::Unanswered(error),
        }
    }
}

impl Ask {
    /// Returns a form with the fields of this type: a struct of strings, numbers, booleans and plain enums, whose doc
    /// comments are shown.
    pub fn form<T: JsonSchema>(message: impl Into<String>) -> Ask {
        Ask::Form { message: message.into(), schema: schema::input_schema::<T>().1 }
    }

    /// Reads a client's result as the answer; `Err` with the reason if it does not fit. It is the same in every revision.
    pub(crate) fn parse_response(&self, mut result: Value) -> Result<AskResponse, String> {
        match self {
            Ask::Form { .. } | Ask::Url { .. } => match result["action"].as_str() {
                Some("accept") => {
                    let content = match result["content"].take() {
                        Value::Null => Value::Object(serde_json::Map::new()),
                        content => content,
                    };
                    match self {
                        Ask::Form { .. } => self.check(&content).map(|()| AskResponse::Accepted(content)),
                        _ => Ok(AskResponse::Accepted(Value::Null)),
                    }
                }
                Some("decline") => Ok(AskResponse::Declined),
                Some("cancel") => Ok(AskResponse::Dismissed),
                _ => Err("`action` must be accept, decline or cancel".to_owned()),
            },
            Ask::Sample(_) | Ask::Roots if result.is_object() => Ok(AskResponse::Accepted(result)),
            Ask::Sample(_) | Ask::Roots => Err("an object was expected".to_owned()),
        }
    }

    /// Checks that a filled form fits the question; `Err` has the reason.
    fn check(&self, answer: &Value) -> Result<(), String> {
        let Ask::Form { schema, .. } = self else { return Ok(()) };
        let Some(fields) = answer.as_object() else { return Err("an object was expected".to_owned()) };
        // Some clients accept a form that they cannot draw without a value. The tool decides how to treat that.
        if fields.is_empty() {
            return Ok(());
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return Err(format!("`{name}` is missing"));
            }
        }
        for (name, value) in fields {
            let Some(field) = schema["properties"].get(name) else { return Err(format!("`{name}` was not asked for")) };
            let fits = match field["type"].as_str() {
                Some("string") => value.is_string(),
                Some("boolean") => value.is_boolean(),
                Some("integer") => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
                Some("number") => value.is_number(),
                Some("array") => value.is_array(),
                _ => true,
            };
            let chosen = field["enum"].as_array().is_none_or(|choices| choices.contains(value));
            // A choice with titles (MCP 2025-11-25, "Requested Schema").
            let titled =
                field["oneOf"].as_array().is_none_or(|choices| choices.iter().any(|one| one["const"] == *value));
            if !fits || !chosen || !titled {
                return Err(format!("`{name}` has a value that was not asked for"));
            }
            if let Some(bound) = broken_bound(field, value) {
                return Err(format!("`{name}` must have {bound}"));
            }
        }
        Ok(())
    }
}

/// Returns the bound of a form's field that a value does not keep.
fn broken_bound(field: &Value, value: &Value) -> Option<String> {
    let length = value.as_str().map(|text| text.chars().count()).or(value.as_array().map(Vec::len));
    let length = length.map(|length| length as f64);
    let bounds = [
        ("minimum", value.as_f64(), true, "a value of at least"),
        ("maximum", value.as_f64(), false, "a value of at most"),
        ("minLength", length, true, "a length of at least"),
        ("maxLength", length, false, "a length of at most"),
        ("minItems", length, true, "a length of at least"),
        ("maxItems", length, false, "a length of at most"),
    ];
    bounds.into_iter().find_map(|(keyword, size, is_least, words)| {
        let (size, bound) = (size?, field.get(keyword)?);
        let is_kept = if is_least { size >= bound.as_f64()? } else { size <= bound.as_f64()? };
        (!is_kept).then(|| format!("{words} {bound}"))
    })
}

impl AskResponse {
    /// Returns the filled form; `None` if the person declined or dismissed the question.
    pub fn accepted<T: DeserializeOwned>(self) -> Result<Option<T>, AskError> {
        match self {
            AskResponse::Accepted(value) => {
                serde_json::from_value(value).map(Some).map_err(|error| AskError::Refused(error.to_string()))
            }
            AskResponse::Declined | AskResponse::Dismissed => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_must_fit_its_question() {
        let schema = json!({
            "type": "object",
            "properties": {
                "sure": {"type": "boolean"}, "color": {"type": "string", "enum": ["red", "blue"]}, "n": {"type": "integer"},
                "many": {"type": "integer", "minimum": 1, "maximum": 5},
                "word": {"type": "string", "minLength": 2, "maxLength": 3},
                "shade": {"type": "string", "oneOf": [{"const": "light", "title": "Light"}]},
            },
            "required": ["sure"],
        });
        let ask = Ask::Form { message: String::new(), schema };
        for (answer, problem) in [
            (json!({"sure": true}), None),
            (json!({"sure": true, "color": "red", "n": 3.0}), None),
            (json!({"color": "red"}), Some("`sure` is missing")),
            (json!({"sure": "yes"}), Some("`sure` has a value that was not asked for")),
            (json!({"sure": true, "color": "green"}), Some("`color` has a value that was not asked for")),
            (json!({"sure": true, "n": 1.5}), Some("`n` has a value that was not asked for")),
            (json!({"sure": true, "more": 1}), Some("`more` was not asked for")),
            (json!({"sure": true, "many": 5, "word": "äöü", "shade": "light"}), None),
            (json!({"sure": true, "many": 0}), Some("`many` must have a value of at least 1")),
            (json!({"sure": true, "many": 6}), Some("`many` must have a value of at most 5")),
            (json!({"sure": true, "word": "a"}), Some("`word` must have a length of at least 2")),
            (json!({"sure": true, "word": "abcd"}), Some("`word` must have a length of at most 3")),
            (json!({"sure": true, "shade": "dark"}), Some("`shade` has a value that was not asked for")),
            (json!(7), Some("an object was expected")),
        ] {
            assert_eq!(ask.check(&answer).err().as_deref(), problem, "{answer}");
        }
    }
}
