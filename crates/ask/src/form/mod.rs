//! Forms with their fields. The simple tools use forms of one field. `check.rs` validates all answers, and `route/dialog.rs`
//! converts forms for agents' dialogs.

mod check;
mod secrets;

pub use check::{FormView, Misfit, read};

use project::visible::{escaped, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum number of fields in a form. The next constants limit the options of a field and the bytes of all texts.
pub const FIELDS_MAX: usize = 20;
pub const OPTIONS_MAX: usize = 50;
pub const TEXT_MAX: usize = 16 * 1024;
/// The maximum length of a label in characters.
pub const LABEL_MAX: usize = 200;

/// The field ids of the simple tools.
pub const CONFIRM: &str = "confirm";
pub const CHOICE: &str = "choice";
pub const GUIDANCE: &str = "guidance";

/// The fields of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Form(pub Vec<Field>);

/// A field of a form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Field {
    pub id: String,
    #[serde(default)]
    pub kind: FieldKind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Options of a choice or multichoice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// True if a choice also accepts another text (default false).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other: bool,
    /// Minimum of a number, or minimum length of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Maximum of a number, or maximum length of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Regular expression that must match a whole text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// Condition: the field is shown only if another field has this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show_if: Option<ShowIf>,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FieldKind {
    Note,
    #[default]
    Text,
    Multiline,
    Integer,
    Number,
    Boolean,
    Choice,
    Multichoice,
    Date,
}

/// An option of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Choice {
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}

/// The condition of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ShowIf {
    pub field: String,
    pub equals: Value,
}

impl ShowIf {
    /// Returns true if the other field has the required value. Numbers are compared as numbers.
    fn holds(&self, value: &Value) -> bool {
        match (value.as_f64(), self.equals.as_f64()) {
            (Some(is), Some(equals)) => is == equals,
            _ => *value == self.equals,
        }
    }
}

impl Field {
    /// Returns the text that names the option to a person.
    pub fn name(&self) -> &str {
        if self.label.is_empty() { &self.id } else { &self.label }
    }
}

impl Form {
    /// Creates the form of `confirm_action`.
    pub fn confirm() -> Form {
        let label = "Do it?".to_owned();
        Form(vec![Field {
            id: CONFIRM.to_owned(),
            kind: FieldKind::Boolean,
            label,
            required: true,
            ..Field::default()
        }])
    }

    /// Creates the form of `select_option`.
    pub fn select(options: Vec<Choice>, other: bool) -> Form {
        let (id, kind) = (CHOICE.to_owned(), FieldKind::Choice);
        Form(vec![Field { id, kind, label: "Choice".to_owned(), required: true, options, other, ..Field::default() }])
    }

    /// Creates the form of `request_guidance`: a person can pick a suggestion or write another text.
    pub fn guidance(suggestions: &[String]) -> Form {
        let (id, label) = (GUIDANCE.to_owned(), "Guidance".to_owned());
        let option = |text: &String| Choice { id: text.trim().to_owned(), label: String::new(), help: String::new() };
        let options = suggestions.iter().map(option).collect();
        let (kind, other) = (FieldKind::Choice, true);
        let pick = Form(vec![Field { id, kind, label, options, other, ..Field::default() }]);
        if pick.validate().is_ok() {
            return pick;
        }
        // No suggestions, or some that cannot be options because they are long or duplicate.
        let help = match suggestions {
            [] => String::new(),
            some => format!("Suggestions: {}", some.join("; ")),
        };
        let Form(fields) = pick;
        let fields = fields.into_iter();
        let (kind, options, other) = (FieldKind::Multiline, Vec::new(), false);
        Form(fields.map(|field| Field { kind, help: help.clone(), options: options.clone(), other, ..field }).collect())
    }

    /// Returns an error if the form cannot be asked.
    pub fn validate(&self) -> Result<(), String> {
        let fields = &self.0;
        if fields.is_empty() || fields.len() > FIELDS_MAX {
            return Err(format!("expected 1 to {FIELDS_MAX} fields, got {}", fields.len()));
        }
        for (at, field) in fields.iter().enumerate() {
            let id = field.id.as_str();
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if id.is_empty() || id.len() > 64 || !id.chars().all(is_name) {
                return Err(format!("field {}: invalid id; use 1 to 64 of A-Z, a-z, 0-9, _, - and .", at + 1));
            }
            if fields[..at].iter().any(|other| other.id == id) {
                return Err(format!("two fields have the id `{id}`"));
            }
            if let Some(word) = secrets::secret_name(field) {
                return Err(format!(
                    "`{id}` asks for a secret ({word}): answers are stored and reach the model. Have the person put it into a file or the environment, and ask whether that is done"
                ));
            }
            if field.label.chars().count() > LABEL_MAX {
                return Err(format!(
                    "`{id}`: the label is too long; the limit is {LABEL_MAX} characters, so use `help` for more"
                ));
            }
            let is_choice = matches!(field.kind, FieldKind::Choice | FieldKind::Multichoice);
            if is_choice && (field.options.is_empty() || field.options.len() > OPTIONS_MAX) {
                return Err(format!("`{id}`: expected 1 to {OPTIONS_MAX} options, got {}", field.options.len()));
            }
            if !is_choice && (field.other || !field.options.is_empty()) {
                return Err(format!("`{id}`: only a choice or a multichoice has options"));
            }
            for (nth, option) in field.options.iter().enumerate() {
                let before = &field.options[..nth];
                if option.id.trim().is_empty() || before.iter().any(|other| other.id == option.id) {
                    return Err(format!("`{id}`: each option needs a unique id"));
                }
                if [&option.id, &option.label].iter().any(|text| text.chars().count() > LABEL_MAX) {
                    return Err(format!(
                        "`{id}`: the id or label of an option is too long; the limit is {LABEL_MAX} characters, so \
                         use `help` for more"
                    ));
                }
                // Programs return the id unchanged, so it must not need escaping for display.
                if visible(&option.id) != option.id {
                    return Err(format!("`{id}`: the id of an option contains invisible characters"));
                }
                if option.id != option.id.trim() || (field.kind == FieldKind::Multichoice && option.id.contains(',')) {
                    return Err(format!(
                        "`{id}`: the id of an option must not have blanks around it, nor a comma in a multichoice"
                    ));
                }
                // A person could not distinguish such answers.
                let looks_alike = |other: &Choice| {
                    let label = option.label.trim().to_lowercase();
                    !label.is_empty()
                        && (other.label.trim().to_lowercase() == label || other.id.to_lowercase() == label)
                };
                let others = field.options.iter().enumerate().filter(|(at, _)| *at != nth);
                if others.map(|(_, other)| other).any(looks_alike) {
                    return Err(format!("`{id}`: two options look the same: `{}`", option.label));
                }
            }
            if let (Some(min), Some(max)) = (field.min, field.max)
                && min > max
            {
                return Err(format!("`{id}`: min is more than max"));
            }
            if fields.iter().any(|other| other.other && *id == format!("{}_other", other.id)) {
                return Err(format!("`{id}` is reserved for the free text of a choice: choose another id"));
            }
            if !field.pattern.is_empty() {
                if field.kind != FieldKind::Text {
                    return Err(format!("`{id}`: only a text has a pattern"));
                }
                check::pattern(&field.pattern).map_err(|why| format!("`{id}`: the pattern {why}"))?;
            }
            if let Some(ShowIf { field: on, .. }) = &field.show_if
                && !fields[..at].iter().any(|other| other.id == *on)
            {
                return Err(format!("`{id}`: show_if names `{on}`, which is not an earlier field"));
            }
            if let Some(text) = field.default.as_ref().and_then(Value::as_str)
                && escaped(text) != text
            {
                return Err(format!("`{id}`: the default contains invisible characters"));
            }
            if let Some(default) = &field.default
                && let Err(misfit) = check::value(field, default)
            {
                return Err(format!("the default of {misfit}"));
            }
        }
        let bytes = serde_json::to_string(self).map_or(0, |text| text.len());
        if bytes > TEXT_MAX {
            return Err(format!("the form is too large: {bytes} bytes; the limit is {TEXT_MAX}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn form(fields: Value) -> Form {
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn a_form_that_cannot_be_asked_says_why() {
        let wrong = [
            json!([]),
            json!([{"id": "a b"}]),
            json!([{"id": "a"}, {"id": "a"}]),
            json!([{"id": "key", "label": "API key"}]),
            json!([{"id": "a", "kind": "choice"}]),
            json!([{"id": "a", "options": [{"id": "x"}]}]),
            json!([{"id": "a", "kind": "choice", "options": [{"id": "x"}, {"id": "x"}]}]),
            json!([{"id": "a", "show_if": {"field": "b", "equals": true}}, {"id": "b", "kind": "boolean"}]),
            json!([{"id": "a", "kind": "integer", "default": "many"}]),
            json!([{"id": "a", "kind": "integer", "pattern": "[0-9]"}]),
            json!([{"id": "a", "pattern": "(a"}]),
            json!([{"id": "a", "pattern": "(((a{1000}){1000}){1000})"}]),
            json!([{"id": "a", "pattern": "v[0-9]+", "default": "1"}]),
            json!([{"id": "a", "pattern": "a)|(?:b"}]),
            json!([{"id": "a", "kind": "integer", "min": 5, "max": 1}]),
            json!([{"id": "a", "kind": "choice", "options": [{"id": "x", "label": "Yes"}, {"id": "yes"}]}]),
            json!([{"id": "a", "kind": "choice", "options": [{"id": "x", "label": "Same"}, {"id": "y", "label": "same"}]}]),
            json!([{"id": "a", "kind": "choice", "options": [{"id": " x"}]}]),
            json!([{"id": "a", "kind": "multichoice", "options": [{"id": "x,y"}]}]),
            json!([{"id": "a", "kind": "choice", "options": [{"id": "x"}], "other": true}, {"id": "a_other"}]),
            json!([{"id": "a", "kind": "choice", "options": [{"id": "x\u{7}"}]}]),
            json!([{"id": "a", "default": "\u{1b}[2J"}]),
            json!([{"id": "a", "label": "x".repeat(201)}]),
            json!([{"id": "a", "kind": "choice", "options": [{"id": "x", "label": "y".repeat(201)}]}]),
        ];
        let why: Vec<String> = wrong.into_iter().map(|fields| form(fields).validate().unwrap_err()).collect();
        expect![[r#"
            expected 1 to 20 fields, got 0
            field 1: invalid id; use 1 to 64 of A-Z, a-z, 0-9, _, - and .
            two fields have the id `a`
            `key` asks for a secret (api key): answers are stored and reach the model. Have the person put it into a file or the environment, and ask whether that is done
            `a`: expected 1 to 50 options, got 0
            `a`: only a choice or a multichoice has options
            `a`: each option needs a unique id
            `a`: show_if names `b`, which is not an earlier field
            the default of `a`: a whole number is needed
            `a`: only a text has a pattern
            `a`: the pattern is not a valid regular expression (look-around and back-references are not supported)
            `a`: the pattern is too large
            the default of `a`: it does not match v[0-9]+
            `a`: the pattern is not a valid regular expression (look-around and back-references are not supported)
            `a`: min is more than max
            `a`: two options look the same: `Yes`
            `a`: two options look the same: `Same`
            `a`: the id of an option must not have blanks around it, nor a comma in a multichoice
            `a`: the id of an option must not have blanks around it, nor a comma in a multichoice
            `a_other` is reserved for the free text of a choice: choose another id
            `a`: the id of an option contains invisible characters
            `a`: the default contains invisible characters
            `a`: the label is too long; the limit is 200 characters, so use `help` for more
            `a`: the id or label of an option is too long; the limit is 200 characters, so use `help` for more"#]]
        .assert_eq(&why.join("\n"));
        for form in [Form::confirm(), Form::guidance(&["x".to_owned()])] {
            form.validate().unwrap();
        }
        let suggested = |suggestions: &[&str]| {
            let form = Form::guidance(&suggestions.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
            form.validate().unwrap();
            (form.0[0].kind, form.0[0].options.len(), form.0[0].help.clone())
        };
        assert_eq!(suggested(&["mend the test", " mend the program "]), (FieldKind::Choice, 2, String::new()));
        assert_eq!(suggested(&[]), (FieldKind::Multiline, 0, String::new()));
        assert_eq!(suggested(&["so", "so"]), (FieldKind::Multiline, 0, "Suggestions: so; so".to_owned()));
    }
}
