//! hob's methods for control connections: `ask/list`, `ask/answer`, `ask/claim`, `ask/watch` with its notification
//! `ask/changed`, and `ask/refusal`.

use std::sync::Arc;

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use project::{Caller, journal};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::board::{Board, BoardError};
use crate::form::{Field, FieldKind, Form, FormView, Misfit, read};
use crate::question::{Event, Question, QuestionState, Response, Via, rfc3339};

/// The maximum length of a note in characters.
const NOTE_MAX: usize = 4000;
/// The maximum number of questions in a list of all.
const LISTED: u32 = 200;

type Answer = Result<Box<RawValue>, RpcError>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListParams {
    /// True to include closed questions.
    all: bool,
    /// A single question, with its attached texts.
    question: Option<String>,
}

/// Handles `ask/list {all, question}`: the open questions, oldest first; the latest of all, newest first; or a single one.
pub async fn list(board: Arc<Board>, params: Option<Box<RawValue>>) -> Answer {
    let asked: ListParams = parse(params)?;
    if let Some(id) = asked.question {
        board.open_if_there();
        let found = board.find(&id).map_err(failed)?.ok_or_else(|| failed(BoardError::Unknown(id)))?;
        return result(&json!({ "questions": [board.whole_view(&found)], "watching": board.watching() }));
    }
    let questions = if asked.all {
        board.open_if_there();
        if board.is_open() { board.blocking(|board| board.latest(LISTED)).await.map_err(failed)? } else { Vec::new() }
    } else {
        board.unsettled().into_iter().filter(Question::is_open).collect()
    };
    let views: Vec<Value> = questions.iter().map(|question| board.view(question)).collect();
    result(&json!({ "questions": views, "watching": board.watching() }))
}

/// An answer in one of the forms for persons.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AnswerParams {
    /// The question; optional if only one is open.
    question: Option<String>,
    /// Yes or no, for a question with one such field.
    yes: Option<bool>,
    /// An option, for a question with one choice.
    choose: Option<String>,
    /// A text, for a question with one text field.
    text: Option<String>,
    /// Unparsed values by field.
    set: Map<String, Value>,
    /// Values by field.
    values: Map<String, Value>,
    /// True to refuse to answer.
    decline: bool,
    /// A note of the person.
    note: Option<String>,
    via: Option<Via>,
}

/// Handles `ask/answer {question, yes | choose | text | set | values | decline, note, via}`. The first answer wins; later ones
/// get an error that names its author. A command sets some fields, and the others keep their defaults. A terminal form sets all
/// fields.
pub async fn answer(board: Arc<Board>, cx: Context, params: Option<Box<RawValue>>) -> Answer {
    let given: AnswerParams = parse(params)?;
    if let Some(why) = refusal_of(&board, &cx) {
        return Err(refused("refused", why, None));
    }
    if given.via == Some(Via::Dialog) {
        return Err(RpcError::new(INVALID_PARAMS, "an answer in a dialog comes from the program that asked"));
    }
    let question = find_one(&board, given.question.as_deref())?;
    let note = given.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
    if note.is_some_and(|note| note.chars().count() > NOTE_MAX) {
        return Err(refused("misfit", format!("the note is too long: at most {NOTE_MAX} characters"), None));
    }
    let said = Response {
        by: board.options.person.clone(),
        via: given.via.unwrap_or(Via::Command),
        at_ms: journal::now(),
        note: note.map(str::to_owned),
    };
    let event = if given.decline {
        Event::Decline(said)
    } else {
        let seen = if matches!(given.via, None | Some(Via::Command)) { FormView::Named } else { FormView::Asked };
        let values = values(&question.form, &given).and_then(|values| question.form.check(values, seen));
        match values {
            Ok(values) => Event::Answer { values, said },
            Err(misfit) => {
                let text = format!("the answer does not fit {}, which stays open: {misfit}", question.id);
                let data = json!({"reason": "misfit", "field": misfit.field, "why": misfit.why});
                return Err(RpcError::new(INVALID_PARAMS, text).with_data(&data));
            }
        }
    };
    let answered = board.change_soon(&question.id, event).await.map_err(failed)?;
    result(&json!({ "question": board.view(&answered) }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimParams {
    question: String,
    via: Via,
}

/// Handles `ask/claim {question, via}`: a person begins to answer. This only delays the expiry of the question.
pub async fn claim(board: Arc<Board>, cx: Context, params: Option<Box<RawValue>>) -> Answer {
    let params = params.ok_or_else(|| RpcError::new(INVALID_PARAMS, "which question?"))?;
    let given: ClaimParams = serde_json::from_str(params.get()).map_err(invalid)?;
    if let Some(why) = refusal_of(&board, &cx) {
        return Err(refused("refused", why, None));
    }
    let event = Event::Claim { via: given.via, at_ms: journal::now() };
    let claimed = board.change_soon(&given.question, event).await.map_err(failed)?;
    result(&json!({ "question": board.view(&claimed) }))
}

/// Handles `ask/watch {}`: registers this connection as a face that is notified of changes. Returns the open
/// questions.
pub async fn watch(board: Arc<Board>, cx: Context, params: Option<Box<RawValue>>) -> Answer {
    if let Some(why) = refusal_of(&board, &cx) {
        return Err(refused("refused", why, None));
    }
    board.add_face(&cx);
    list(board, params).await
}

/// Handles `ask/refusal {}`: returns why this process may not answer for a person, or null.
pub async fn refusal(board: Arc<Board>, cx: Context) -> Answer {
    result(&json!({ "refusal": refusal_of(&board, &cx) }))
}

fn refusal_of(board: &Board, cx: &Context) -> Option<String> {
    let pid = cx.caller::<Caller>().map_or(0, |caller| caller.pid);
    (board.options.refuses)(pid)
}

/// Returns the question with this id, or the only open one.
fn find_one(board: &Board, id: Option<&str>) -> Result<Question, RpcError> {
    if let Some(id) = id {
        let found = board.find(id).map_err(failed)?;
        return found.ok_or_else(|| failed(BoardError::Unknown(id.to_owned())));
    }
    let mut open: Vec<Question> = board.unsettled().into_iter().filter(Question::is_open).collect();
    let ids: Vec<String> = open.iter().map(|question| question.id.clone()).collect();
    match (open.len(), open.pop()) {
        (1, Some(question)) => Ok(question),
        (0, _) => Err(refused("none", "no question is open".to_owned(), None)),
        (count, _) => {
            Err(refused("unknown", format!("{count} questions are open: name one of {}", ids.join(", ")), None))
        }
    }
}

/// Returns the values by field from any of the forms of an answer.
fn values(form: &Form, given: &AnswerParams) -> Result<Map<String, Value>, Misfit> {
    let mut values = given.values.clone();
    let mut put = |what: &str, fits: fn(&Field) -> bool, value: &dyn Fn(&Field) -> Value| {
        let fields: Vec<&Field> = form.0.iter().filter(|field| fits(field)).collect();
        let [field] = fields.as_slice() else {
            let asked: Vec<&Field> = form.0.iter().filter(|field| field.kind != FieldKind::Note).collect();
            let why = match (fields.len(), asked.as_slice()) {
                (0, [only]) => format!("expected {}", expected(only)),
                (count, _) => {
                    let ids: Vec<&str> = asked.iter().map(|field| field.id.as_str()).collect();
                    format!("{count} fields accept that; set them by name: {}", ids.join(", "))
                }
            };
            return Err(Misfit { field: what.to_owned(), why });
        };
        values.insert(field.id.clone(), value(field));
        Ok(())
    };
    if let Some(yes) = given.yes {
        put(if yes { "yes" } else { "no" }, |field| field.kind == FieldKind::Boolean, &|_| yes.into())?;
    }
    if let Some(choose) = &given.choose {
        let fits = |field: &Field| matches!(field.kind, FieldKind::Choice | FieldKind::Multichoice);
        put("choose", fits, &|field| read(field, choose))?;
    }
    if let Some(text) = &given.text {
        let fits = |field: &Field| {
            matches!(field.kind, FieldKind::Text | FieldKind::Multiline)
                || (field.kind == FieldKind::Choice && field.other)
        };
        put("text", fits, &|_| text.as_str().into())?;
    }
    if given.choose.is_some() {
        only_options(form, &values)?;
    }
    for (id, word) in &given.set {
        let value = match (form.0.iter().find(|field| field.id == *id), word.as_str()) {
            (Some(field), Some(word)) => read(field, word),
            _ => word.clone(),
        };
        values.insert(id.clone(), value);
    }
    Ok(values)
}

/// Describes the values of a field.
fn expected(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Boolean => "yes or no",
        FieldKind::Choice if field.other => "one of its options, or a text",
        FieldKind::Choice => "one of its options",
        FieldKind::Multichoice => "some of its options",
        FieldKind::Date => "a date",
        FieldKind::Integer | FieldKind::Number => "a number",
        FieldKind::Text | FieldKind::Multiline | FieldKind::Note => "a text",
    }
}

/// Checks that values of choices are options. Without `other`, a mistyped option is an error.
fn only_options(form: &Form, values: &Map<String, Value>) -> Result<(), Misfit> {
    for field in form.0.iter().filter(|field| !field.options.is_empty()) {
        let Some(value) = values.get(&field.id) else { continue };
        let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let is_option = |value: &&Value| field.options.iter().any(|option| **value == option.id.as_str());
        if let Some(other) = all.iter().find(|value| !is_option(value)) {
            let ids: Vec<&str> = field.options.iter().map(|option| option.id.as_str()).collect();
            let text = if field.other { "; another text is given with --text" } else { "" };
            let why = format!("unknown option {other}; available: {}{text}", ids.join(", "));
            return Err(Misfit { field: field.id.clone(), why });
        }
    }
    Ok(())
}

fn failed(error: BoardError) -> RpcError {
    match error {
        BoardError::Closed(question) => {
            let how = match question.response() {
                Some(said) => format!(
                    "{} is {} already: by {} ({}), {}",
                    question.id,
                    question.status(),
                    said.by,
                    said.via.as_str(),
                    rfc3339(said.at_ms)
                ),
                None => match question.standing {
                    QuestionState::Withdrawn { at_ms, .. } => {
                        format!("{} is cancelled already: withdrawn by its asker, {}", question.id, rfc3339(at_ms))
                    }
                    QuestionState::Expired { at_ms } => format!("{} expired, {}", question.id, rfc3339(at_ms)),
                    _ => format!("{} is {} already", question.id, question.status()),
                },
            };
            refused("closed", how, None)
        }
        BoardError::Unknown(id) => refused("unknown", format!("unknown question `{id}`"), None),
        error => RpcError::new(INTERNAL, error.to_string()),
    }
}

fn refused(reason: &str, text: String, field: Option<&str>) -> RpcError {
    RpcError::new(INVALID_PARAMS, text).with_data(&json!({"reason": reason, "field": field}))
}

fn invalid(error: serde_json::Error) -> RpcError {
    RpcError::new(INVALID_PARAMS, error.to_string())
}

fn parse<T: Default + for<'a> Deserialize<'a>>(params: Option<Box<RawValue>>) -> Result<T, RpcError> {
    params.map_or_else(|| Ok(T::default()), |params| serde_json::from_str(params.get())).map_err(invalid)
}

fn result(value: &impl Serialize) -> Answer {
    to_raw_value(value).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}
