//! Posted forms: answers to questions, and actions on sessions. Each does what a command of hob does.

use std::sync::Arc;

use client::control::ControlError;
use hyper::StatusCode;
use project::visible;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Site;
use super::form::{self, Problem};
use super::gate::Refusal;
use super::place::Place;
use super::response::{Answer, html, refused, see};
use super::show::{self, Filled, Loaded};
use crate::form::{Draft, Question};

const FOREIGN: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "This form is not of this page",
    "Nothing was sent. Go back, reload the page, and send it again.",
);
const ONLY_SHOWS: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "This page only shows",
    "Nothing was sent: an agent may have started the page, and an agent must not answer for its person. Run `hob page` in a terminal of your own.",
);
const UNKNOWN: Refusal = Refusal::new(
    StatusCode::BAD_REQUEST,
    "The form is not complete",
    "Nothing was sent. Reload the page and try again.",
);

/// Handles a posted form.
pub(super) async fn post(site: Arc<Site>, body: &[u8]) -> Answer {
    let pairs: Vec<(String, String)> =
        form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    if !value("token").is_some_and(|token| site.gate.is_own_form(&token)) {
        return refused(&FOREIGN);
    }
    if site.refusal.is_some() {
        return refused(&ONLY_SHOWS);
    }
    let action = value("action").unwrap_or_default();
    match (&*action, value("question"), value("session")) {
        ("send" | "decline", Some(id), _) => answer(site, id, action == "decline", pairs).await,
        ("claim", Some(id), _) => claim(site, id).await,
        ("interrupt" | "stop", _, Some(id)) => {
            let back = value("back").and_then(|back| Place::parse(&back));
            let eval = value("eval").and_then(|eval| eval.parse::<u64>().ok());
            on_session(site, &action, &id, eval, back.unwrap_or(Place::Session(id.clone()))).await
        }
        _ => refused(&UNKNOWN),
    }
}

/// The outcome of an answer.
enum Sent {
    Stored,
    /// It can be corrected.
    Rejected {
        question: Value,
        draft: Draft,
        problem: Problem,
    },
    /// The question is closed.
    Late {
        question: Value,
        draft: Draft,
        why: String,
    },
    Failed(String),
}

async fn answer(site: Arc<Site>, id: String, declines: bool, pairs: Vec<(String, String)>) -> Answer {
    let place = Place::Question(id.clone());
    let daemon = site.daemon.clone();
    let sending = tokio::task::spawn_blocking(move || {
        let value = match daemon.question(&id) {
            Ok(value) => value,
            Err(error) => return Sent::Failed(error.to_string()),
        };
        let Ok(question) = Question::deserialize(&value) else { return Sent::Failed("unknown question".to_owned()) };
        let draft = form::posted(&question, &pairs);
        let mut params = json!({"question": id, "note": draft.note, "via": "page"});
        if declines {
            params["decline"] = true.into();
        } else {
            match form::values(&question, &draft) {
                Ok(values) => params["values"] = values.into(),
                Err(problem) => return Sent::Rejected { question: value, draft, problem },
            }
        }
        match daemon.answer(&id, &params) {
            Ok(_) => Sent::Stored,
            Err(ControlError::Refused { message, data, .. }) => {
                let data = data.unwrap_or_default();
                let text = |key: &str| data[key].as_str().map(str::to_owned);
                match data["reason"].as_str() {
                    Some("misfit") => {
                        let problem = Problem { field: text("field"), why: text("why").unwrap_or(message) };
                        Sent::Rejected { question: value, draft, problem }
                    }
                    // It may have closed meanwhile.
                    Some("closed") => {
                        Sent::Late { question: daemon.question(&id).unwrap_or(value), draft, why: message }
                    }
                    _ => Sent::Rejected { question: value, draft, problem: Problem { field: None, why: message } },
                }
            }
            Err(error) => {
                Sent::Rejected { question: value, draft, problem: Problem { field: None, why: error.to_string() } }
            }
        }
    });
    let (status, question, filled, outcome) =
        match sending.await.unwrap_or_else(|error| Sent::Failed(error.to_string())) {
            Sent::Stored => return see(&place.address(), None),
            Sent::Rejected { question, draft, problem } => {
                (StatusCode::UNPROCESSABLE_ENTITY, question, Some(Filled { draft, problem: Some(problem) }), None)
            }
            Sent::Late { question, draft, why } => (StatusCode::CONFLICT, question, None, Some(late(&why, &draft))),
            Sent::Failed(why) => {
                let loaded = Loaded::Problem(format!("Not sent: {}", visible(&why)));
                return html(StatusCode::BAD_GATEWAY, show::document(&site, &place, &loaded, None));
            }
        };
    if let Some(outcome) = outcome {
        tell(&site, outcome);
    }
    html(status, show::document(&site, &place, &Loaded::Question(question), filled.as_ref()))
}

/// Describes an answer that came too late, with all that was typed.
fn late(why: &str, draft: &Draft) -> String {
    let fields = draft.fields.iter().filter(|(_, field)| !field.text.trim().is_empty());
    let texts = fields
        .map(|(id, field)| format!("\n{id}: {}", field.text))
        .chain(draft.note.iter().map(|note| format!("\nComment: {note}")));
    let texts: String = texts.collect();
    let typed = if texts.is_empty() { String::new() } else { format!("\nWhat you had typed:{texts}") };
    format!("Your answer was not sent: {why}. Tell the agent if you want to change the answer.{typed}")
}

/// Tells others that a person is answering, which delays the expiry. Its failure does not matter.
async fn claim(site: Arc<Site>, id: String) -> Answer {
    let daemon = site.daemon.clone();
    let claiming = move || daemon.request("ask/claim", json!({"question": id, "via": "page"}));
    let _ = tokio::task::spawn_blocking(claiming).await;
    super::response::content(StatusCode::NO_CONTENT, "text/plain; charset=utf-8", super::response::Content::Whole(None))
}

async fn on_session(site: Arc<Site>, action: &str, id: &str, eval: Option<u64>, back: Place) -> Answer {
    let snapshot = site.daemon.latest().snapshot;
    let Some(row) = snapshot.rooms.sessions.iter().find(|row| row.id == id).cloned() else {
        tell(&site, "That session is gone.".to_owned());
        return see(&back.address(), None);
    };
    let mut arguments = Map::new();
    arguments.insert("session".to_owned(), row.name.clone().into());
    let tool = if action == "stop" { "repl_stop" } else { "repl_interrupt" };
    if let (Some(eval), "repl_interrupt") = (eval, tool) {
        arguments.insert("eval".to_owned(), eval.into());
    }
    let (daemon, name, worktree) = (site.daemon.clone(), row.name, row.worktree);
    let called = tokio::task::spawn_blocking(move || daemon.call(&worktree, tool, arguments)).await;
    let word = |value: &Value| value.as_str().unwrap_or_default().replace('_', " ");
    tell(
        &site,
        match called {
            Ok(Ok((_, result))) if tool == "repl_stop" => {
                format!("{name}: {}: {}", word(&result["state"]), word(&result["reason"]))
            }
            Ok(Ok((_, result))) => format!("{name}: {}, after {} ms", word(&result["outcome"]), result["took_ms"]),
            Ok(Err(why)) => format!("{name}: not done: {why}"),
            Err(error) => format!("{name}: not done: {error}"),
        },
    );
    see(&back.address(), None)
}

/// Keeps an outcome for the next page.
fn tell(site: &Site, outcome: String) {
    *site.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(outcome);
}
