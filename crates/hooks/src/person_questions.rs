//! Questions to a person instead of the agent's own prompt, and the conversion of the answers.
//!
//! A permission request becomes a yes or no, with the agent's own suggestions of permissions for the future. Claude Code's
//! questions to its user become a form. Questions that do not fit a form, and unanswered ones, are left to the agent's own
//! prompt.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::agents::{Agent, Answer, Verdict};
use crate::event::{Event, Kind, ToolKind};

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Asking {
    /// The title, one line.
    pub title: String,
    pub message: String,
    /// The fields of the form, as `ask_form` takes them.
    pub fields: Value,
    /// The hash of the question and its session, which identifies repetitions.
    pub digest: String,
    what: QuestionKind,
}

#[derive(Debug, Clone, PartialEq)]
enum QuestionKind {
    /// A permission request, with the agent's suggestions by the ids of their options.
    Permission(Vec<(String, Value)>),
    /// Claude Code's own questions: the tool's input.
    Questions(Value),
}

/// The fields of the form.
const ALLOW: &str = "allow";
const ALWAYS: &str = "always";

/// The tool by which Claude Code asks its user.
const QUESTIONS: &str = "AskUserQuestion";
/// The maximum length of a title, and of a tool's input in a message, in characters.
const TITLE_MAX: usize = 200;
const INPUT_MAX: usize = 4000;
/// The maximum number of offered suggestions.
const SUGGESTIONS_MAX: usize = 8;
/// The maximum length of an option's label in characters.
const LABEL_MAX: usize = 180;

/// Returns the question to a person about an event, if it is one. `reason` is the rule's.
pub fn asking(event: &Event, raw: &[u8], reason: &str) -> Option<Asking> {
    let tool = event.tool.as_ref()?;
    let payload = crate::agents::parse(raw).unwrap_or_default();
    let digest = {
        let mut digest = Sha256::new();
        for part in [event.agent, event.session.as_deref().unwrap_or_default(), event.name.as_str(), &tool.native] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.update(tool.input.to_string());
        hex::encode(&digest.finalize()[..16])
    };
    let agent = Agent::named(event.agent).map_or(event.agent, Agent::title);
    if tool.native == QUESTIONS && event.kind == Kind::ToolBefore {
        let fields = questions(&tool.input)?;
        let what = QuestionKind::Questions(tool.input.clone());
        return Some(Asking { title: format!("{agent} asks you"), message: String::new(), fields, digest, what });
    }
    let about = match (tool.kind, &tool.command, tool.paths.first()) {
        (ToolKind::Shell, Some(_), _) => shell_text(&tool.input).map(|text| format!("run: {text}")),
        (_, _, Some(path)) => Some(format!("use {} on {path}", tool.native)),
        _ => None,
    };
    let about = about.unwrap_or_else(|| format!("use {}", tool.native));
    let title = format!("May {agent} {}", cut(&project::visible(&about), TITLE_MAX));
    let input = serde_json::to_string_pretty(&tool.input).unwrap_or_default();
    let mut message = cut(&project::visible::escaped(&input), INPUT_MAX);
    if !reason.is_empty() {
        message = format!("{reason}\n\n{message}");
    }
    let suggestions = if event.agent == Agent::Claude.name() {
        payload.get("permission_suggestions").and_then(Value::as_array).cloned().unwrap_or_default()
    } else {
        Vec::new()
    };
    let suggestions: Vec<(String, Value)> = suggestions
        .into_iter()
        .take(SUGGESTIONS_MAX)
        .enumerate()
        .map(|(at, suggestion)| (format!("{ALWAYS}-{}", at + 1), suggestion))
        .collect();
    let mut fields = vec![json!({"id": ALLOW, "kind": "boolean", "label": "Allow it?"})];
    if !suggestions.is_empty() {
        let options: Vec<Value> = suggestions
            .iter()
            .map(|(id, suggestion)| json!({"id": id, "label": format!("{id}: {}", suggested(suggestion))}))
            .collect();
        let help = "Also allows this one. If you refuse, the agent gets your note.";
        fields.push(
            json!({"id": ALWAYS, "kind": "choice", "label": "And from now on", "help": help, "options": options}),
        );
    }
    Some(Asking { title, message, fields: fields.into(), digest, what: QuestionKind::Permission(suggestions) })
}

impl Asking {
    /// Converts a person's answer for the agent; `None` if it decides nothing and the agent shows its own prompt.
    pub fn answer(&self, values: &Map<String, Value>, note: Option<&str>, by: &str) -> Option<Answer> {
        match &self.what {
            QuestionKind::Permission(suggestions) => {
                let chosen = values.get(ALWAYS).and_then(Value::as_str);
                let chosen = chosen.and_then(|id| suggestions.iter().find(|(of, _)| of == id));
                let yes = values.get(ALLOW).and_then(Value::as_bool).or(chosen.map(|_| true))?;
                if !yes {
                    let said = note.map_or_else(|| "no".to_owned(), str::to_owned);
                    return Some(Answer::new(Verdict::Deny, format!("{by} refused this: {said}")));
                }
                let permissions = chosen.map(|(_, suggestion)| suggestion.clone()).into_iter().collect();
                Some(Answer { permissions, ..Answer::new(Verdict::Allow, format!("{by} allowed this")) })
            }
            QuestionKind::Questions(input) => {
                let mut answers = Map::new();
                for (at, question) in input.get("questions")?.as_array()?.iter().enumerate() {
                    let said = match values.get(&format!("q{}", at + 1)) {
                        Some(Value::String(text)) => text.clone(),
                        Some(Value::Array(several)) => {
                            several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
                        }
                        _ => continue,
                    };
                    answers.insert(question.get("question")?.as_str()?.to_owned(), said.into());
                }
                if answers.is_empty() {
                    return None;
                }
                let mut input = input.clone();
                input["answers"] = answers.into();
                Some(Answer { input: Some(input), ..Answer::new(Verdict::Allow, format!("{by} answered")) })
            }
        }
    }
}

/// Converts Claude Code's questions to fields.
fn questions(input: &Value) -> Option<Value> {
    let mut fields = Vec::new();
    for (at, question) in input.get("questions")?.as_array()?.iter().enumerate() {
        let text = question.get("question")?.as_str()?;
        let options: Option<Vec<Value>> = question
            .get("options")?
            .as_array()?
            .iter()
            .map(|option| {
                let label = option.get("label")?.as_str()?;
                let help = option.get("description").and_then(Value::as_str).unwrap_or_default();
                Some(json!({"id": label, "help": help}))
            })
            .collect();
        let several = question.get("multiSelect").and_then(Value::as_bool) == Some(true);
        let kind = if several { "multichoice" } else { "choice" };
        let id = format!("q{}", at + 1);
        let label = cut(&project::visible(text), LABEL_MAX);
        fields.push(
            json!({"id": id, "kind": kind, "label": label, "required": true, "other": true, "options": options?}),
        );
    }
    (!fields.is_empty()).then(|| fields.into())
}

/// Describes a suggestion.
fn suggested(suggestion: &Value) -> String {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let rules: Vec<String> = suggestion
        .get("rules")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|rule| match text(rule, "ruleContent") {
            content if content.is_empty() => text(rule, "toolName"),
            content => format!("{}({content})", text(rule, "toolName")),
        })
        .collect();
    let said = match (rules.is_empty(), text(suggestion, "destination")) {
        (true, _) => suggestion.to_string(),
        (false, to) => format!("{} {} ({to})", text(suggestion, "behavior"), rules.join(", ")),
    };
    cut(&project::visible(&said), LABEL_MAX - 20)
}

/// Returns the shell text of a tool.
fn shell_text(input: &Value) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn question(payload: &Value) -> Asking {
        let raw = payload.to_string();
        let event = crate::read(Agent::Claude, "", raw.as_bytes());
        asking(&event, raw.as_bytes(), "releases are yours").unwrap()
    }

    fn answered(asking: &Asking, values: Value, note: Option<&str>) -> Option<String> {
        let Value::Object(values) = values else { panic!("an object") };
        let answer = asking.answer(&values, note, "ann")?;
        let name = if matches!(asking.what, QuestionKind::Permission(_)) { "PermissionRequest" } else { "PreToolUse" };
        Some(Agent::Claude.render(Agent::Claude.row(name), &answer).stdout.trim().to_owned())
    }

    #[test]
    fn a_permission_is_given_once_always_or_refused_with_a_text() {
        let suggestion = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm publish:*"}],
            "behavior": "allow", "destination": "localSettings"});
        let asking = question(&json!({"hook_event_name": "PermissionRequest", "tool_name": "Bash", "session_id": "s",
            "tool_input": {"command": "npm publish\u{1b}[2J"}, "permission_suggestions": [suggestion]}));
        expect![[r#"
            May Claude Code run: npm publish\x1b[2J
            releases are yours

            {
              "command": "npm publish\u001b[2J"
            }
            [{"id":"allow","kind":"boolean","label":"Allow it?"},{"id":"always","kind":"choice","label":"And from now on","help":"Also allows this one. If you refuse, the agent gets your note.","options":[{"id":"always-1","label":"always-1: allow Bash(npm publish:*) (localSettings)"}]}]"#]]
        .assert_eq(&format!("{}\n{}\n{}", asking.title, asking.message, asking.fields));
        let said = [
            answered(&asking, json!({"allow": true}), None),
            answered(&asking, json!({"always": "always-1"}), None),
            answered(&asking, json!({"allow": false}), Some("wait for the tag")),
            answered(&asking, json!({"allow": false, "always": "always-1"}), None),
        ];
        expect![[r#"
            {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}
            {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm publish:*"}],"behavior":"allow","destination":"localSettings"}]}}}
            {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"ann refused this: wait for the tag"}}}
            {"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"ann refused this: no"}}}"#]]
        .assert_eq(&said.map(|said| said.unwrap_or_default()).join("\n"));
        assert_eq!(answered(&asking, json!({}), Some("hm")), None, "which is neither");
    }

    #[test]
    fn claude_codes_own_questions_are_answered_in_its_form() {
        let asking = question(
            &json!({"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": {"questions": [
            {"question": "Which store?", "header": "Store", "multiSelect": false,
             "options": [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL", "description": ""}]},
            {"question": "Which extras?", "header": "Extras", "multiSelect": true,
             "options": [{"label": "docs", "description": ""}, {"label": "tests", "description": ""}]}]}}),
        );
        expect![[r#"[{"id":"q1","kind":"choice","label":"Which store?","required":true,"other":true,"options":[{"id":"SQLite","help":"one file"},{"id":"PostgreSQL","help":""}]},{"id":"q2","kind":"multichoice","label":"Which extras?","required":true,"other":true,"options":[{"id":"docs","help":""},{"id":"tests","help":""}]}]"#]]
        .assert_eq(&asking.fields.to_string());
        let said = answered(&asking, json!({"q1": "SQLite", "q2": ["docs", "tests"]}), None).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "allow");
        let input = &said["hookSpecificOutput"]["updatedInput"];
        assert_eq!(input["answers"], json!({"Which store?": "SQLite", "Which extras?": "docs, tests"}));
        assert_eq!(input["questions"].as_array().map(Vec::len), Some(2));
        assert_eq!(answered(&asking, json!({}), None), None);
    }
}
