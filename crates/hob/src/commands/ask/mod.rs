//! The commands for questions, one file each: `hob questions` and `hob answer` for the person who answers, `hob ask` for
//! scripts that ask.

mod answer;
mod answerer;
mod form;
mod questions;
mod script;

pub(crate) use answer::{Answer, answer_in_form};
pub(crate) use questions::Questions;
pub(crate) use script::Ask;

use client::Control;
use client::control::ControlError;
use project::{Project, ancestry, span, visible};
use serde_json::{Value, json};

use self::answerer::Answerer;
use super::call::control_failure;
use super::call::flags::quoted;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{Style, paint};

/// Returns the reason why this process may not answer: an agent started it. The daemon of `running` identifies the agent.
pub(crate) fn refusal(running: Option<&mut Control>) -> Option<String> {
    let marked = ancestry::refusal(std::process::id(), &[], 0);
    marked.or_else(|| {
        let answer = running?.request("ask/refusal", json!({}), |_, _| {}).ok()?;
        answer["refusal"].as_str().map(str::to_owned)
    })
}

/// The hint if no question is open.
const NONE: &str = "`hob questions --watch` waits for one; `hob questions --all` lists answered ones too.";

fn connect(project: &Project) -> Result<Control, Failure> {
    current_project::connect_or_start(project, &current_project::hello(project)?)
}

/// Like [`refused`]; for an invalid answer, adds the valid answers.
fn misfit(error: ControlError, answerer: &mut Answerer<'_>, id: Option<&str>) -> Failure {
    let is_misfit = matches!(&error, ControlError::Refused { data: Some(data), .. } if data["reason"] == "misfit");
    let list = is_misfit.then(|| answerer.request("ask/list", json!({})).ok()).flatten();
    let open = list.as_ref().and_then(|list| list["questions"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let question = open.iter().find(|question| id.is_none_or(|id| question["question"] == id));
    let Some(question) = question else { return refused(error) };
    let takes = ways(question).iter().map(|way| format!("`{way}`")).collect::<Vec<_>>().join(", ");
    control_failure(error).hint(format_args!("Answer it by {takes}; `hob questions` shows what is asked."))
}

/// Converts a refusal by the daemon, with a hint.
fn refused(error: ControlError) -> Failure {
    let reason = match &error {
        ControlError::Refused { data: Some(data), .. } => data["reason"].as_str().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let failure = control_failure(error);
    match reason.as_str() {
        "unknown" => failure.hint("`hob questions` lists the open ones."),
        "none" => failure.hint(NONE),
        "misfit" => failure.hint("`hob questions` shows what is asked."),
        "closed" => failure.hint("The first answer counts; tell the agent if you want to change it."),
        _ => failure,
    }
}

/// Completes the prefix of an open question's id if it is unique; else returns it unchanged.
fn whole_id(answerer: &mut Answerer<'_>, given: &str) -> Result<String, Failure> {
    // Without a list, the daemon will report the error.
    let Ok(list) = answerer.request("ask/list", json!({})) else { return Ok(given.to_owned()) };
    let open = list["questions"].as_array().into_iter().flatten().filter_map(|question| question["question"].as_str());
    let beginning = given.trim_start_matches("q_");
    let mut found: Vec<&str> = open.filter(|id| id.trim_start_matches("q_").starts_with(beginning)).collect();
    found.sort_unstable();
    match &*found {
        [one] if !beginning.is_empty() => Ok((*one).to_owned()),
        [_, _, ..] if !found.contains(&given) => {
            Err(Failure::new(format_args!("{} open questions begin with `{}`", found.len(), visible(given)))
                .hint(format_args!("Name one of them: {}.", found.join(", "))))
        }
        _ => Ok(given.to_owned()),
    }
}

/// Renders a question: the text, who asks, and how to answer.
fn render_question(question: &Value) -> String {
    let text = |field: &str| question[field].as_str().unwrap_or_default();
    let id = text("question");
    let [age, left] = ["age_s", "left_s"].map(|key| span(question[key].as_u64().unwrap_or_default()));
    let agent = question["agent"].as_str().map(|agent| format!("{} in ", visible(agent))).unwrap_or_default();
    let urgent = if question["urgent"] == true { ", urgent" } else { "" };
    let when = format!("{age} ago, {left} left{urgent}, from {agent}{}", visible(text("worktree")));
    let mut lines = vec![format!("{}  {}", paint(id, Style::Bold), paint(&when, Style::Dim))];
    let danger = if question["danger"] == "high" { "DANGEROUS: " } else { "" };
    lines.push(format!("  {danger}{}", visible(text("title"))));
    lines.extend(visible::escaped(text("message")).lines().map(|line| format!("  | {line}")));
    question["attachments"]
        .as_array()
        .into_iter()
        .flatten()
        .for_each(|attached| lines.extend(attachment_lines(attached, id)));
    for field in question["fields"].as_array().into_iter().flatten() {
        lines.extend(field_lines(field, text("tool")));
    }
    lines.extend(ways(question).iter().map(|way| paint(&format!("  {way}"), Style::Dim)));
    lines.join("\n")
}

/// Renders an attachment: the text, or the path of a picture.
fn attachment_lines(attached: &Value, id: &str) -> Vec<String> {
    let text = |key: &str| attached[key].as_str().unwrap_or_default();
    if !text("file").is_empty() {
        return vec![format!("  {}: {}", visible(text("label")), visible(text("file")))];
    }
    let whole = visible::escaped(text("text"));
    if whole.is_empty() {
        let lines = &attached["lines"];
        return vec![format!(
            "  {}: {} of {lines} lines, which `hob answer {id}` shows",
            visible(text("label")),
            text("kind")
        )];
    }
    let head = format!("  {}:", visible(text("label")));
    std::iter::once(head).chain(whole.lines().map(|line| format!("  | {line}"))).collect()
}

/// Renders a field. A confirmation's field repeats the title, so it is omitted.
fn field_lines(field: &Value, tool: &str) -> Vec<String> {
    let text = |field: &Value, key: &str| visible(field[key].as_str().unwrap_or_default());
    let mut lines = Vec::new();
    if tool == "ask_form" {
        let required = if field["required"] == true { ", required" } else { "" };
        let kind = text(field, "kind");
        lines.push(match kind.as_str() {
            "note" => format!("  {} {}", text(field, "label"), text(field, "help")),
            _ => {
                let (id, label, help) = (text(field, "id"), text(field, "label"), text(field, "help"));
                format!("  {id} ({kind}{required}{}) {label} {help}", bounds(field))
            }
        });
    } else if field["help"].is_string() {
        lines.push(format!("  {}", text(field, "help")));
    }
    for option in field["options"].as_array().into_iter().flatten() {
        lines.push(format!("    {}  {}  {}", text(option, "id"), text(option, "label"), text(option, "help")));
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Renders the constraints and the default of a field.
fn bounds(field: &Value) -> String {
    let what = match field["kind"].as_str().unwrap_or_default() {
        "text" | "multiline" => " characters",
        "multichoice" => " options",
        _ => "",
    };
    let number = |key: &str| field[key].as_f64();
    let mut words = match (number("min"), number("max")) {
        (Some(min), Some(max)) => format!(", {min} to {max}{what}"),
        (Some(min), None) => format!(", at least {min}{what}"),
        (None, Some(max)) => format!(", at most {max}{what}"),
        (None, None) => String::new(),
    };
    if let Some(pattern) = field["pattern"].as_str() {
        words.push_str(&format!(", matches {}", visible(pattern)));
    }
    if !field["default"].is_null() {
        words.push_str(&format!(", else {}", visible(&field["default"].to_string())));
    }
    if let Some(on) = field["show_if"]["field"].as_str() {
        words.push_str(&format!(", if {} is {}", visible(on), visible(&field["show_if"]["equals"].to_string())));
    }
    words
}

/// The maximum number of options that are listed with a command each.
const OPTIONS: usize = 5;

/// Lists the commands that answer a question, ready to be typed.
fn ways(question: &Value) -> Vec<String> {
    let answer = format!("hob answer {}", visible(question["question"].as_str().unwrap_or_default()));
    let field = &question["fields"][0];
    // If an option needs shell quoting, suggest the prompts instead.
    let options =
        field["options"].as_array().into_iter().flatten().map(|option| option["id"].as_str().unwrap_or_default());
    let options: Vec<&str> = options.filter(|id| visible(id) == *id).collect();
    let text = || format!("{answer} --text '…'");
    match question["tool"].as_str().unwrap_or_default() {
        "confirm_action" => vec![format!("{answer} --yes"), format!("{answer} --no")],
        "select_option" if (1..=OPTIONS).contains(&options.len()) => {
            let chosen = options.iter().map(|id| format!("{answer} --choose {}", quoted(id)));
            chosen.chain((field["other"] == true).then(text)).collect()
        }
        "request_guidance" if (1..=OPTIONS).contains(&options.len()) => {
            let chosen = options.iter().map(|id| format!("{answer} --choose {}", quoted(id)));
            chosen.chain([text()]).collect()
        }
        "request_guidance" => vec![text(), answer],
        "select_option" => vec![format!("{answer} --choose ID"), answer],
        _ => vec![answer.clone(), format!("{answer} --set FIELD=VALUE")],
    }
}

/// Describes how a question ended.
fn ending(question: &Value) -> String {
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    let (id, status, answered) = (text(&question["question"]), text(&question["status"]), &question["answered"]);
    match answered {
        Value::Null => format!("{id}: {status}"),
        said => format!("{id}: {status} by {} ({})", text(&said["by"]), text(&said["via"])),
    }
}

/// Describes a closed question: its text and the stored answer.
fn closed(question: &Value) -> String {
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    let mut lines = vec![format!("{}: {}", ending(question), text(&question["title"]))];
    let answer = question["answer"].as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.extend(answer.map(|line| format!("  {}", visible(line))));
    lines.join("\n")
}

/// Chooses the exit code from the structured result of the tool.
fn exit_of(result: &Value) -> Exit {
    match result["status"].as_str().unwrap_or_default() {
        "answered" if result["confirmed"] == false => Exit::SaidNo,
        "answered" => Exit::Done,
        "declined" | "cancelled" => Exit::SaidNo,
        "unavailable" => Exit::NobodyThere,
        _ => Exit::NothingCame,
    }
}
