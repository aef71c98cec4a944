//! The options of `select_option`: `[id, label]`, or objects with id, label and help.

use mcp::tool::ToolError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::form::{Choice, OPTIONS_MAX};

/// The option ids that the result reserves.
const TAKEN: &[&str] = &["custom", "cancelled"];

/// The options argument.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Options(Vec<OptionArgument>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OptionArgument {
    Pair(Vec<String>),
    Whole(Choice),
    Word(String),
}

impl JsonSchema for Options {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Options".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}})
    }
}

impl Options {
    /// Validates the options. Ids are unique.
    pub(crate) fn checked(self) -> Result<Vec<Choice>, ToolError> {
        let count = self.0.len();
        if !(1..=OPTIONS_MAX).contains(&count) {
            return Err(ToolError::user(format!("`options`: expected 1 to {OPTIONS_MAX}, got {count}")));
        }
        let options: Option<Vec<Choice>> = self.0.into_iter().map(OptionArgument::choice).collect();
        let options = options.ok_or_else(|| {
            ToolError::user("`options`: write each as [id, label], or {\"id\": …, \"label\": …, \"help\": …}")
        })?;
        match options.iter().find(|option| TAKEN.contains(&option.id.as_str())) {
            Some(option) => Err(ToolError::user(format!(
                "`options`: the option id `{}` is reserved: choose another one",
                option.id
            ))),
            None => Ok(options),
        }
    }
}

impl OptionArgument {
    fn choice(self) -> Option<Choice> {
        let choice = |id: &str, label: &str| Choice { id: id.to_owned(), label: label.to_owned(), help: String::new() };
        match self {
            OptionArgument::Pair(pair) => match pair.as_slice() {
                [id] => Some(choice(id, "")),
                [id, label] => Some(choice(id, label)),
                [id, label, help] => Some(Choice { help: help.clone(), ..choice(id, label) }),
                _ => None,
            },
            OptionArgument::Word(id) => Some(choice(&id, "")),
            OptionArgument::Whole(choice) => Some(choice),
        }
    }
}
