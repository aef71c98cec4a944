//! Posted forms: answers to questions, messages, and actions on sessions. Each has a command of hob with the same effect.

use std::fmt::Display;
use std::sync::Arc;

use client::control::ControlError;
use hyper::StatusCode;
use project::dashboard::Room;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Site;
use super::admission::Refusal;
use super::daemon::Daemon;
use super::form;
use super::response::{Answer, Content, content, html, refused, see};
use super::route::Route;
use super::show::{self, Loaded};
use super::write;
use crate::feed;
use crate::form::{Draft, Problem, Question, typed, values};
use crate::rows;

const FOREIGN: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "This form does not belong to this page",
    "Nothing was sent. Go back, reload the page, and send it again.",
);
const ONLY_SHOWS: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "This page is read-only",
    "Nothing was sent: an agent may have started the page, and an agent must not answer for its user. Run `hob page` in a terminal of your own.",
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
    let back = value("back").and_then(|back| Route::parse(&back)).unwrap_or(Route::Room(Room::Now));
    let number = |name: &str| value(name).and_then(|number| number.parse::<u64>().ok());
    match (&*action, value("question"), value("session")) {
        ("send" | "decline", Some(id), _) => answer(site, id, action == "decline", pairs).await,
        ("claim", Some(id), _) => claim(site, id).await,
        ("write", ..) => write(site, &pairs, back).await,
        ("interrupt" | "restart" | "stop", _, Some(id)) => {
            let eval = number("eval");
            act(site, back, move |daemon| on_session(daemon, &action, &id, eval)).await
        }
        ("cancel", ..) => match (number("number"), number("started")) {
            (Some(number), Some(started)) => {
                act(site, back, move |daemon| feed::stop_call(daemon.project(), number, started)).await
            }
            _ => refused(&UNKNOWN),
        },
        _ => refused(&UNKNOWN),
    }
}

/// The page after an answer that was not stored.
type Unsent = (StatusCode, Loaded);

fn failed(why: impl Display) -> Unsent {
    (StatusCode::BAD_GATEWAY, Loaded::Problem(format!("Not sent: {why}")))
}

async fn answer(site: Arc<Site>, id: String, declines: bool, pairs: Vec<(String, String)>) -> Answer {
    let route = Route::Row(Room::Questions, id.clone());
    let own = site.clone();
    let sending = tokio::task::spawn_blocking(move || send(&own, &id, declines, &pairs));
    match sending.await.unwrap_or_else(|error| Some(failed(error))) {
        None => see(&route.url(), None),
        Some((status, loaded)) => html(status, show::document(&site, &route, &loaded)),
    }
}

/// Sends an answer. Returns the page to show if it was not stored. Blocks.
fn send(site: &Site, id: &str, declines: bool, pairs: &[(String, String)]) -> Option<Unsent> {
    let daemon = &site.daemon;
    let asked = daemon.question(id).map_err(|error| error.to_string());
    let read = |value: &Value| Question::deserialize(value).map_err(|error| error.to_string());
    let (value, question) = match asked.and_then(|value| read(&value).map(|question| (value, question))) {
        Ok(asked) => asked,
        Err(why) => return Some(failed(why)),
    };
    let draft = form::posted(&question, pairs);
    let closed = |now: Value, why: &str| {
        tell(site, late(why, &question, &draft));
        Some((StatusCode::CONFLICT, Loaded::Question(now, None)))
    };
    if value["open"] != true {
        let why = format!("the question is {} already", value["status"].as_str().unwrap_or("closed"));
        return closed(value, &why);
    }
    let mut params = json!({"question": id, "note": draft.note, "via": "page", "decline": declines});
    let problem = match values(&question, &draft) {
        Err(problem) if !declines => problem,
        values => {
            params["values"] = values.unwrap_or_default().into();
            let (message, data) = match daemon.answer(id, &params) {
                Ok(_) => return None,
                Err(ControlError::Refused { message, data, .. }) => (message, data.unwrap_or_default()),
                Err(error) => (error.to_string(), Box::default()),
            };
            if data["reason"] == "closed" {
                return closed(daemon.question(id).unwrap_or_default(), &message);
            }
            let why = data["why"].as_str().map_or(message, str::to_owned);
            Problem { field: data["field"].as_str().map(str::to_owned), why }
        }
    };
    Some((StatusCode::UNPROCESSABLE_ENTITY, Loaded::Question(value, Some((draft, problem)))))
}

/// Describes an answer that came too late, with all that was typed.
fn late(why: &str, question: &Question, draft: &Draft) -> String {
    let texts: String = typed(question, draft).iter().map(|(name, text)| format!("\n{name}: {text}")).collect();
    let typed = if texts.is_empty() { String::new() } else { format!("\nWhat you had typed:{texts}") };
    format!("Your answer was not sent: {why}. Tell the agent if you want to change the answer.{typed}")
}

/// Sends a message of the person. What was typed stays on the page if it was not sent.
async fn write(site: Arc<Site>, pairs: &[(String, String)], back: Route) -> Answer {
    let letter = write::posted(pairs);
    let sent = match letter.params() {
        Err(why) => Err(why.to_owned()),
        Ok(params) => request(&site, "mail/write", params).await,
    };
    match sent {
        Ok(sent) => {
            tell(&site, sent["content"][0]["text"].as_str().unwrap_or("Sent.").to_owned());
            see(&back.url(), None)
        }
        Err(why) => {
            let document = show::document(&site, &back, &Loaded::Unsent(letter, why));
            html(StatusCode::UNPROCESSABLE_ENTITY, document)
        }
    }
}

/// Tells others that a person is answering, which delays the expiry. Its failure does not matter.
async fn claim(site: Arc<Site>, id: String) -> Answer {
    let _ = request(&site, "ask/claim", json!({"question": id, "via": "page"})).await;
    content(StatusCode::NO_CONTENT, "text/plain; charset=utf-8", Content::Whole(None))
}

async fn request(site: &Site, method: &'static str, params: Value) -> Result<Value, String> {
    let daemon = site.daemon.clone();
    let answer = tokio::task::spawn_blocking(move || daemon.request(method, params)).await;
    answer.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Acts on a row, and shows the outcome.
async fn act(site: Arc<Site>, back: Route, action: impl FnOnce(&Daemon) -> String + Send + 'static) -> Answer {
    let daemon = site.daemon.clone();
    let acting = tokio::task::spawn_blocking(move || action(&daemon));
    tell(&site, acting.await.unwrap_or_else(|error| format!("not done: {error}")));
    see(&back.url(), None)
}

/// Interrupts, restarts or stops a session. Blocks.
fn on_session(daemon: &Daemon, action: &str, id: &str, eval: Option<u64>) -> String {
    let Some(row) = rows::session(&daemon.latest().snapshot.rooms, id).cloned() else {
        return "That session is gone.".to_owned();
    };
    let arguments = json!({"session": row.name, "eval": eval.filter(|_| action == "interrupt")});
    feed::outcome(feed::call(daemon.project(), row.worktree.as_ref(), &format!("repl_{action}"), arguments))
}

/// Keeps an outcome for the next page.
fn tell(site: &Site, outcome: String) {
    *site.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(outcome);
}
