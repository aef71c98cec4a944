//! The validation of all answers, and the parsing of values from the command line.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::{Choice, Field, FieldKind, Form};

/// The maximum length of a text in characters.
const ANSWER_MAX: usize = 64 * 1024;
/// The maximum memory of a compiled pattern in bytes.
const PATTERN_SIZE: usize = 256 * 1024;

/// The reason why an answer is invalid: the field and the error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {why}")]
pub struct Misfit {
    pub field: String,
    pub why: String,
}

/// The fields that a person saw before answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormView {
    /// The applicable fields with their content. An empty field has no value.
    Asked,
    /// All fields, including those whose condition fails; their values are ignored.
    Flat,
    /// No fields: the answer names some, and the others keep their defaults.
    Named,
}

impl Form {
    /// Validates an answer. Returns the values of all applicable fields.
    ///
    /// # Errors
    /// The field and the reason, if a value is invalid.
    pub fn check(&self, mut given: Map<String, Value>, seen: FormView) -> Result<Map<String, Value>, Misfit> {
        let mut checked = Map::new();
        for field in &self.0 {
            let default = || field.default.clone().filter(|_| seen == FormView::Named);
            let given = given.remove(&field.id);
            let is_asked =
                field.show_if.as_ref().is_none_or(|on| checked.get(&on.field).is_some_and(|is| on.holds(is)));
            if field.kind == FieldKind::Note {
                continue;
            }
            if let (false, Some(on)) = (is_asked, &field.show_if) {
                // A value for a field that was not shown is an error instead of being ignored.
                if seen != FormView::Flat && given.is_some_and(|value| !is_empty(&value)) {
                    return Err(misfit(field, &format!("it is asked only if `{}` is {}", on.field, on.equals)));
                }
                continue;
            }
            match given.or_else(default).filter(|value| !is_empty(value)) {
                Some(value) => {
                    checked.insert(field.id.clone(), self::value(field, &value)?);
                }
                None if field.required => return Err(misfit(field, "it is required")),
                None => {}
            }
        }
        match given.keys().next() {
            Some(unknown) => {
                Err(Misfit { field: unknown.clone(), why: format!("unknown field; available: {}", self.ids()) })
            }
            None => Ok(checked),
        }
    }

    fn ids(&self) -> String {
        let asked = self.0.iter().filter(|field| field.kind != FieldKind::Note);
        asked.map(|field| field.id.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Validates and normalizes the value of a field.
pub(super) fn value(field: &Field, value: &Value) -> Result<Value, Misfit> {
    let wrong = |why: &str| Err(misfit(field, why));
    match (field.kind, value) {
        (FieldKind::Text | FieldKind::Multiline, Value::String(text)) => {
            let length = text.chars().count();
            if field.kind == FieldKind::Text && text.contains('\n') {
                return wrong("one line is needed");
            }
            if length > ANSWER_MAX {
                return wrong("it is too long: at most 65,536 characters");
            }
            check_range(field, length as f64, "characters")?;
            // Invalid patterns are refused when the question is asked.
            if !field.pattern.is_empty() && !pattern(&field.pattern).is_ok_and(|pattern| pattern.is_match(text)) {
                return wrong(&format!("it does not match {}", field.pattern));
            }
        }
        (FieldKind::Integer, Value::Number(number)) => {
            if let Some(whole) = number.as_i64() {
                check_range(field, whole as f64, "")?;
                return Ok(Value::from(whole));
            }
            let number = number.as_f64().unwrap_or(f64::NAN);
            if number.fract() != 0.0 || number.abs() > 9_007_199_254_740_992.0 {
                return wrong("a whole number is needed");
            }
            check_range(field, number, "")?;
            return Ok(Value::from(number as i64));
        }
        (FieldKind::Number, Value::Number(number)) => check_range(field, number.as_f64().unwrap_or(f64::NAN), "")?,
        (FieldKind::Boolean, Value::Bool(_)) => {}
        (FieldKind::Date, Value::String(text)) => {
            if text.len() != 10 || text.parse::<jiff::civil::Date>().is_err() {
                return wrong("a date is needed, such as 2026-11-25");
            }
        }
        (FieldKind::Choice, Value::String(text)) => chosen(field, text)?,
        (FieldKind::Multichoice, Value::Array(items)) => {
            for (nth, item) in items.iter().enumerate() {
                let Value::String(text) = item else { return wrong("a list of options is needed") };
                chosen(field, text)?;
                if items[..nth].contains(item) {
                    return wrong(&format!("`{text}` is chosen twice"));
                }
            }
            check_range(field, items.len() as f64, "options")?;
        }
        (FieldKind::Text | FieldKind::Multiline, _) => return wrong("a text is needed"),
        (FieldKind::Integer, _) => return wrong("a whole number is needed"),
        (FieldKind::Number, _) => return wrong("a number is needed"),
        (FieldKind::Boolean, _) => return wrong("yes or no is needed"),
        (FieldKind::Date, _) => return wrong("a date is needed, such as 2026-11-25"),
        (FieldKind::Choice, _) => return wrong("one of the options is needed"),
        (FieldKind::Multichoice, _) => return wrong("a list of options is needed"),
        (FieldKind::Note, _) => return wrong("it takes no answer"),
    }
    Ok(value.clone())
}

/// Compiles a pattern that must match a whole text.
///
/// # Errors
/// If it is invalid or needs too much memory.
pub(super) fn pattern(text: &str) -> Result<Regex, &'static str> {
    // The pattern must be valid without the group: `a)|(?:b` would change its meaning inside the group.
    let whole = format!(r"\A(?:{text})\z");
    let build = |text: &str| RegexBuilder::new(text).size_limit(PATTERN_SIZE).build();
    let built = build(text).and_then(|_| build(&whole));
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "is too large",
        _ => "is not a valid regular expression (look-around and back-references are not supported)",
    })
}

/// Parses a word of the command line for this field. An unparseable word stays a text, which validation refuses.
pub fn read(field: &Field, word: &str) -> Value {
    let text = || Value::from(word);
    match field.kind {
        FieldKind::Integer | FieldKind::Number => match serde_json::from_str(word.trim()) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => text(),
        },
        FieldKind::Boolean => match word.trim().to_lowercase().as_str() {
            "yes" | "true" => Value::Bool(true),
            "no" | "false" => Value::Bool(false),
            _ => text(),
        },
        FieldKind::Multichoice => {
            word.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::from).collect()
        }
        FieldKind::Choice => option_of(field, word).map_or_else(text, Value::from),
        FieldKind::Date => Value::from(word.trim()),
        FieldKind::Note | FieldKind::Text | FieldKind::Multiline => text(),
    }
}

/// Returns the option with this id or label.
fn option_of<'a>(field: &'a Field, word: &str) -> Option<&'a str> {
    let by_id = |word: &str| field.options.iter().find(|option| option.id == word);
    // An empty word does not match an option without a label.
    let word_of_label = word.trim();
    let labelled = |option: &&Choice| !word_of_label.is_empty() && option.label.eq_ignore_ascii_case(word_of_label);
    let by_label = || field.options.iter().find(labelled);
    by_id(word).or_else(|| by_id(word.trim())).or_else(by_label).map(|option| option.id.as_str())
}

fn chosen(field: &Field, text: &str) -> Result<(), Misfit> {
    if field.options.iter().any(|option| option.id == text) || (field.other && text.chars().count() <= ANSWER_MAX) {
        return Ok(());
    }
    let ids: Vec<&str> = field.options.iter().map(|option| option.id.as_str()).collect();
    Err(misfit(field, &format!("one of the options is needed: {}", ids.join(", "))))
}

fn check_range(field: &Field, number: f64, unit: &str) -> Result<(), Misfit> {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    match (field.min, field.max) {
        (Some(min), _) if number < min => Err(misfit(field, &format!("at least {min}{unit}"))),
        (_, Some(max)) if number > max => Err(misfit(field, &format!("at most {max}{unit}"))),
        _ => Ok(()),
    }
}

fn misfit(field: &Field, why: &str) -> Misfit {
    Misfit { field: field.id.clone(), why: why.to_owned() }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn all_kinds() -> Form {
        serde_json::from_value(json!([
            {"id": "about", "kind": "note", "label": "About the release"},
            {"id": "name", "required": true, "max": 10, "pattern": "[a-z ]+"},
            {"id": "why", "kind": "multiline"},
            {"id": "copies", "kind": "integer", "min": 1, "max": 9},
            {"id": "share", "kind": "number", "min": 0, "max": 1},
            {"id": "ship", "kind": "boolean", "required": true},
            {"id": "where", "kind": "choice", "options": [{"id": "eu", "label": "Europe"}, {"id": "us"}], "other": true},
            {"id": "with", "kind": "multichoice", "options": [{"id": "docs"}, {"id": "source"}]},
            {"id": "when", "kind": "date", "required": true, "show_if": {"field": "ship", "equals": true}}
        ]))
        .unwrap()
    }

    fn check(answer: Value) -> Result<Map<String, Value>, String> {
        let Value::Object(answer) = answer else { panic!("an object") };
        all_kinds().check(answer, FormView::Asked).map_err(|misfit| misfit.to_string())
    }

    #[test]
    fn unseen_fields_keep_their_defaults() {
        let form: Form = serde_json::from_value(json!([
            {"id": "copies", "kind": "integer", "default": 2},
            {"id": "ship", "kind": "boolean", "default": true},
            {"id": "count", "kind": "number", "default": 1.0},
            {"id": "when", "kind": "date", "default": "2026-12-01", "show_if": {"field": "ship", "equals": true}},
            {"id": "why", "show_if": {"field": "count", "equals": 1}}
        ]))
        .unwrap();
        let check = |answer: Value, seen| {
            let Value::Object(answer) = answer else { panic!("an object") };
            form.check(answer, seen).map_or_else(|misfit| misfit.to_string(), |values| Value::from(values).to_string())
        };
        let said = [
            check(json!({}), FormView::Named),
            check(json!({"copies": "", "ship": false}), FormView::Named),
            check(json!({"ship": false, "when": "2026-12-02"}), FormView::Named),
            check(json!({"ship": false, "when": "2026-12-02"}), FormView::Asked),
            check(json!({"ship": false, "when": "2026-12-02"}), FormView::Flat),
            check(json!({"count": 1, "why": "because"}), FormView::Flat),
            check(json!({}), FormView::Asked),
        ];
        expect![[r#"
            {"copies":2,"ship":true,"count":1.0,"when":"2026-12-01"}
            {"ship":false,"count":1.0}
            `when`: it is asked only if `ship` is true
            `when`: it is asked only if `ship` is true
            {"ship":false}
            {"count":1,"why":"because"}
            {}"#]]
        .assert_eq(&said.join("\n"));
    }

    #[test]
    fn an_answer_that_fits_is_kept_as_it_was_asked() {
        let all = json!({
            "name": "hob", "why": "because\nof it", "copies": 3.0, "share": 0.5, "ship": true, "where": "mars",
            "with": ["docs"], "when": "2026-11-25",
        });
        let kept = check(all).unwrap();
        assert_eq!(kept["copies"], json!(3));
        assert_eq!(kept.len(), 8);
        // A field whose condition fails is not shown.
        assert_eq!(
            check(json!({"name": "hob", "ship": false, "when": ""})),
            Ok(Map::from_iter([("name".to_owned(), json!("hob")), ("ship".to_owned(), json!(false)),]))
        );
    }

    #[test]
    fn an_answer_that_does_not_fit_names_its_field() {
        let fine = json!({"name": "hob", "ship": false});
        let with = |field: &str, value: Value| {
            let mut answer = fine.clone();
            answer[field] = value;
            check(answer).unwrap_err()
        };
        let why = [
            check(json!({"ship": true})).unwrap_err(),
            with("name", json!("much too long for it")),
            with("name", json!("two\nlines")),
            with("name", json!("hob7")),
            with("copies", json!(0)),
            with("copies", json!(1.5)),
            with("share", json!(2)),
            with("ship", json!("maybe")),
            with("ship", json!(true)),
            with("with", json!(["docs", "docs"])),
            with("with", json!(["pictures"])),
            with("more", json!(1)),
        ];
        expect![[r#"
            `name`: it is required
            `name`: at most 10 characters
            `name`: one line is needed
            `name`: it does not match [a-z ]+
            `copies`: at least 1
            `copies`: a whole number is needed
            `share`: at most 1
            `ship`: yes or no is needed
            `when`: it is required
            `with`: `docs` is chosen twice
            `with`: one of the options is needed: docs, source
            `more`: unknown field; available: name, why, copies, share, ship, where, with, when"#]]
        .assert_eq(&why.join("\n"));
    }

    #[test]
    fn words_become_values() {
        let form = all_kinds();
        let said = |id: &str, word: &str| read(form.0.iter().find(|field| field.id == id).unwrap(), word);
        let values = [
            said("copies", "3"),
            said("ship", "Yes"),
            // A single letter is not an answer.
            said("ship", "y"),
            said("where", "europe"),
            said("where", "mars"),
            said("with", "docs, source"),
            // An empty word does not match an option without a label.
            said("where", ""),
        ];
        assert_eq!(Value::from(values.to_vec()), json!([3, true, "y", "eu", "mars", ["docs", "source"], ""]));
    }
}
