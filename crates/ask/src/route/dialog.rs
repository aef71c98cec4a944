//! Converts forms to agents' dialogs, which are flat JSON Schemas (MCP "Elicitation"), and answers back. The message describes
//! everything that the schema cannot express.
//!
//! A boolean becomes a choice instead of a checkbox, because an untouched checkbox would count as an answer.

use mcp::tool::Ask;
use project::visible;
use serde_json::{Map, Value, json};

use crate::attachment::{Attachment, AttachmentKind};
use crate::form::{Field, FieldKind, read};
use crate::question::{Danger, Question};

/// The field for the person's note.
const NOTE: &str = "note";
/// The suffix of the field for another text of a choice.
const OTHER: &str = "_other";
/// The maximum number of lines of an attached text in a dialog.
const LINES_MAX: usize = 40;

/// The client whose dialog shows the first lines of a message and one line of a description (Claude Code 2.1). The next
/// constant is its line length in characters.
const FOLDS: &str = "claude-code";
const LINE: usize = 80;

/// The clients that can draw a list of several choices. Others get a text field, because some accept fields that they cannot
/// draw without a value (Codex 0.169: integers, numbers and lists).
const DRAW_LISTS: &[&str] = &["claude-code"];

/// Converts the question to a form of the agent's dialog. `problem` describes the error of the previous answer; `client` is the
/// name of its program.
pub(crate) fn to_dialog(question: &Question, problem: Option<&str>, client: &str) -> Ask {
    let (mut message, mut rest) = (String::new(), String::new());
    if let Some(problem) = problem {
        message.push_str(&format!("The answer did not fit: {problem}\n\n"));
    }
    if question.danger == Danger::High {
        message.push_str("DANGEROUS: ");
    }
    message.push_str(&question.title);
    if !question.message.is_empty() {
        rest.push_str(&format!("\n\n{}", question.message));
    }
    question.attachments.iter().for_each(|attachment| rest.push_str(&attached(attachment, &question.id)));
    let draws_lists = DRAW_LISTS.iter().any(|name| client.contains(name));
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in &question.form.0 {
        if field.kind == FieldKind::Note {
            rest.push_str(&format!("\n\n{}", [&*field.label, &*field.help].join(" ").trim()));
            continue;
        }
        // A list of several choices has no room for labels.
        let is_many = field.kind == FieldKind::Multichoice;
        for option in &field.options {
            let label = if is_many { option.label.as_str() } else { "" };
            let said: Vec<&str> = [label, &option.help].into_iter().filter(|said| !said.is_empty()).collect();
            if !said.is_empty() {
                rest.push_str(&format!("\n- {}: {}", option.id, said.join(", ")));
            }
        }
        if field.required && field.show_if.is_none() && !(field.other && field.kind == FieldKind::Choice) {
            required.push(field.id.clone());
        }
        properties.insert(field.id.clone(), schema(field, draws_lists));
        if field.other {
            let other = json!({"type": "string", "title": format!("{}: another", visible(field.name()))});
            properties.insert(format!("{}{OTHER}", field.id), other);
        }
    }
    if !properties.contains_key(NOTE) {
        properties.insert(NOTE.to_owned(), json!({"type": "string", "title": "Note (optional)"}));
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    // A person must know that there is unread text before saying yes.
    if client.contains(FOLDS) && (rest.trim().contains('\n') || rest.trim().chars().count() > LINE) {
        message.push_str(&format!("\nNot everything is shown: press Ctrl-O, or run `hob answer {}`.", question.id));
    }
    message.push_str(&rest);
    Ask::Form { message: project::visible::escaped(&message), schema }
}

/// Renders an attachment for a dialog, which has no room for long texts or pictures.
fn attached(attachment: &Attachment, id: &str) -> String {
    let label = &attachment.label;
    if attachment.kind == AttachmentKind::Picture {
        return format!("\n\nPicture {label}: `hob answer {id}` shows its path.");
    }
    let shown: Vec<&str> = attachment.text.lines().take(LINES_MAX).collect();
    let left = attachment.text.lines().count() - shown.len();
    let rest = if left > 0 { format!("\n… {left} more lines: `hob answer {id}` shows them.") } else { String::new() };
    format!("\n\n{label}:\n{}{rest}", shown.join("\n"))
}

/// Returns the values and the note of a completed dialog, which are then validated.
pub(crate) fn from_dialog(question: &Question, content: Value) -> (Map<String, Value>, Option<String>) {
    let Value::Object(mut content) = content else { return (Map::new(), None) };
    let is_field = |id: &str| question.form.0.iter().any(|field| field.id == id);
    let note = match content.get(NOTE) {
        Some(Value::String(_)) if !is_field(NOTE) => content.remove(NOTE),
        _ => None,
    };
    let note = note.and_then(|note| note.as_str().map(str::trim).filter(|note| !note.is_empty()).map(str::to_owned));
    for field in &question.form.0 {
        if let Some(word) =
            content.get(&field.id).and_then(Value::as_str).filter(|_| field.kind == FieldKind::Multichoice)
        {
            let several = read(field, word);
            content.insert(field.id.clone(), several);
        }
        if field.other
            && let Some(Value::String(other)) = content.remove(&format!("{}{OTHER}", field.id))
            && !other.trim().is_empty()
        {
            match (field.kind, content.get_mut(&field.id)) {
                (FieldKind::Multichoice, Some(Value::Array(chosen))) => chosen.push(other.into()),
                (FieldKind::Multichoice, _) => drop(content.insert(field.id.clone(), json!([other]))),
                _ => drop(content.insert(field.id.clone(), other.into())),
            }
        }
        let is_word = matches!(field.kind, FieldKind::Boolean | FieldKind::Integer | FieldKind::Number);
        if let Some(value) = content.get_mut(&field.id).filter(|_| is_word)
            && let Some(word) = value.as_str()
        {
            *value = read(field, word);
        }
    }
    (content, note)
}

fn schema(field: &Field, draws_lists: bool) -> Value {
    let is_text = match field.kind {
        FieldKind::Integer | FieldKind::Number => true,
        FieldKind::Multichoice => !draws_lists,
        _ => false,
    };
    let ids: Vec<&str> = field.options.iter().map(|option| option.id.as_str()).collect();
    let labels: Vec<String> = field
        .options
        .iter()
        .map(|option| visible(if option.label.is_empty() { &option.id } else { &option.label }))
        .collect();
    let mut schema = match field.kind {
        _ if is_text => json!({"type": "string"}),
        FieldKind::Boolean => json!({"type": "string", "enum": ["yes", "no"]}),
        FieldKind::Choice => json!({"type": "string", "enum": ids, "enumNames": labels}),
        FieldKind::Multichoice => json!({"type": "array", "items": {"type": "string", "enum": ids}}),
        FieldKind::Date => json!({"type": "string", "format": "date"}),
        _ => json!({"type": "string"}),
    };
    schema["title"] = visible(field.name()).into();
    match &field.default {
        Some(Value::Bool(yes)) => schema["default"] = if *yes { "yes" } else { "no" }.into(),
        Some(default) if is_text => schema["default"] = typed(default).into(),
        Some(default) => schema["default"] = default.clone(),
        None => {}
    }
    let mut about: Vec<String> = Some(field.help.clone()).filter(|help| !help.is_empty()).into_iter().collect();
    if is_text {
        about.push(rule(field, &ids));
    }
    if !field.pattern.is_empty() {
        about.push(format!("Matches {} as a whole.", field.pattern));
    }
    if let Some(on) = &field.show_if {
        about.push(format!("Only if {} is {}.", on.field, on.equals));
    }
    let about = about.join(" ");
    if !about.is_empty() {
        schema["description"] = visible(&about).into();
    }
    let bounds = match field.kind {
        _ if is_text => return schema,
        FieldKind::Text | FieldKind::Multiline => ["minLength", "maxLength"],
        FieldKind::Multichoice => ["minItems", "maxItems"],
        _ => return schema,
    };
    for (name, bound) in bounds.into_iter().zip([field.min, field.max]) {
        if let Some(bound) = bound {
            let is_whole = bound.fract() == 0.0 && bound.abs() < 1e15;
            schema[name] = if is_whole { json!(bound as i64) } else { json!(bound) };
        }
    }
    schema
}

/// Describes the valid input of a field that is drawn as a text.
fn rule(field: &Field, ids: &[&str]) -> String {
    let what = match field.kind {
        FieldKind::Integer => "A whole number".to_owned(),
        FieldKind::Number => "A number".to_owned(),
        _ => format!("Several of these, with commas: {}", ids.join(", ")),
    };
    match (field.min, field.max) {
        (Some(min), Some(max)) => format!("{what}; from {min} to {max}."),
        (Some(min), None) => format!("{what}; at least {min}."),
        (None, Some(max)) => format!("{what}; at most {max}."),
        (None, None) => format!("{what}."),
    }
}

/// Renders a default as a person would type it.
fn typed(default: &Value) -> String {
    match default {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(typed).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::{Form, FormView};
    use crate::question::tests::question;
    use expect_test::expect;

    #[test]
    fn a_confirmation_is_a_choice_that_nobody_made_yet() {
        let Ask::Form { message, schema } = to_dialog(&question("q_1", 1), None, "t") else { panic!("a form") };
        expect!["Delete the branch?"].assert_eq(&message);
        expect![[r#"{"type":"object","properties":{"confirm":{"type":"string","enum":["yes","no"],"title":"Do it?"},"note":{"type":"string","title":"Note (optional)"}},"required":["confirm"]}"#]]
        .assert_eq(&schema.to_string());
        let (values, note) = from_dialog(&question("q_1", 1), json!({"confirm": "no", "note": " wait "}));
        assert_eq!((Value::from(values), note.as_deref()), (json!({"confirm": false}), Some("wait")));
    }

    #[test]
    fn a_dialog_that_folds_says_so_where_it_is_seen() {
        let said = |message: &str, client: &str| {
            let question = Question { message: message.to_owned(), ..question("q_1", 1) };
            let Ask::Form { message, .. } = to_dialog(&question, None, client) else { panic!("a form") };
            message
        };
        assert_eq!(said("It is merged.", "claude-code"), "Delete the branch?\n\nIt is merged.");
        assert_eq!(said("One.\nTwo.", "cursor"), "Delete the branch?\n\nOne.\nTwo.");
        expect![[r#"
            Delete the branch?
            Not everything is shown: press Ctrl-O, or run `hob answer q_1`.

            One.
            Two."#]]
        .assert_eq(&said("One.\nTwo.", "claude-code"));
    }

    #[test]
    fn a_default_is_that_of_the_form() {
        let form = serde_json::from_value(json!([
            {"id": "ship", "kind": "boolean", "default": true},
            {"id": "copies", "kind": "integer", "default": 2},
            {"id": "where", "kind": "choice", "options": [{"id": "eu"}], "default": "eu"}
        ]));
        let question = Question { form: form.unwrap(), ..question("q_1", 1) };
        let Ask::Form { schema, .. } = to_dialog(&question, None, "t") else { panic!("a form") };
        let of = |field: &str| schema["properties"][field]["default"].clone();
        assert_eq!([of("ship"), of("copies"), of("where")], [json!("yes"), json!("2"), json!("eu")]);
    }

    #[test]
    fn another_text_wins_over_the_choice() {
        let options = serde_json::from_value(json!([{"id": "a", "label": "First"}, {"id": "b"}])).unwrap();
        let question = Question { form: Form::select(options, true), ..question("q_1", 1) };
        let Ask::Form { schema, .. } = to_dialog(&question, Some("x"), "t") else { panic!("a form") };
        assert_eq!(schema["properties"]["choice"]["enumNames"], json!(["First", "b"]));
        assert_eq!(schema["required"], json!([]));
        let (values, _) = from_dialog(&question, json!({"choice": "a", "choice_other": "neither"}));
        assert_eq!(question.form.check(values, FormView::Flat).unwrap()["choice"], json!("neither"));
        let (nothing, _) = from_dialog(&question, json!({}));
        assert_eq!(question.form.check(nothing, FormView::Flat).unwrap_err().to_string(), "`choice`: it is required");
    }
}
