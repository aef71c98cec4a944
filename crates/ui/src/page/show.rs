//! Requests for pages: a route as a whole document, and as a stream of its changes.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::StatusCode;
use project::dashboard::{Room, Snapshot};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::admission::Refusal;
use super::daemon::LastState;
use super::dashboard::View;
use super::detail;
use super::frame::Frame;
use super::html::{Html, el, line, notice};
use super::response::{Answer, Content, content, html, refused};
use super::route::Route;
use super::{Site, response, write};
use crate::feed::{self, Output};
use crate::form::{Draft, Problem, Question, defaults};
use crate::letter::Letter;
use crate::rows;

/// The interval at which ages are drawn again.
const TICK: Duration = Duration::from_secs(5);
/// The interval at which the output of a session is read again.
const OUTPUT_TICK: Duration = Duration::from_secs(1);
/// The pause between two changes that are sent.
const PAUSE: Duration = Duration::from_millis(50);
/// The time for the first state of the daemon.
const FIRST: Duration = Duration::from_secs(2);
/// The size limit of a picture, in bytes.
const PICTURE_MAX: u64 = 4 << 20;

const NO_QUESTION: Refusal = Refusal::new(
    StatusCode::NOT_FOUND,
    "Unknown question",
    "It may belong to another project. Go back and open the room of questions.",
);
const NO_PICTURE: Refusal =
    Refusal::new(StatusCode::NOT_FOUND, "Picture not found", "A picture is kept while its question is open.");

/// Data beyond the rooms.
pub(super) enum Loaded {
    Nothing,
    /// A question, with the answer if it was rejected.
    Question(Value, Option<(Draft, Problem)>),
    /// The output of a session from its first byte.
    Output(Result<Output, String>),
    /// A message of the person that was not sent, and the reason.
    Unsent(Letter, String),
    Problem(String),
}

/// Answers a request for a route.
pub(super) async fn get(site: Arc<Site>, route: Route) -> Answer {
    match route {
        Route::Live(route) => return live(site, *route),
        Route::Style => return asset("text/css; charset=utf-8", include_str!("assets/page.css")),
        Route::Script => return asset("text/javascript; charset=utf-8", include_str!("assets/page.js")),
        Route::Icon { has_questions: false } => return asset("image/svg+xml", include_str!("assets/icon.svg")),
        Route::Icon { has_questions: true } => return asset("image/svg+xml", include_str!("assets/icon-waits.svg")),
        Route::Picture(id, number) => return picture(site, id, number).await,
        _ => {}
    }
    // A page that was just started waits for the first state.
    let mut seen = site.daemon.subscribe();
    let is_known = |seen: &LastState| seen.problem.is_some() || !seen.snapshot.life.is_empty();
    let _ = tokio::time::timeout(FIRST, seen.wait_for(is_known)).await;
    let loaded = load(&site, route.clone(), site.daemon.latest().snapshot).await;
    if let Loaded::Question(Value::Null, _) = loaded {
        return refused(&NO_QUESTION);
    }
    html(StatusCode::OK, document(&site, &route, &loaded))
}

fn asset(kind: &'static str, text: &'static str) -> Answer {
    content(StatusCode::OK, kind, Content::Whole(Some(Bytes::from_static(text.as_bytes()))))
}

/// Draws a whole page.
pub(super) fn document(site: &Site, route: &Route, loaded: &Loaded) -> String {
    let seen = site.daemon.latest();
    let view = view(site, route, &seen.snapshot);
    let outcome = site.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    let outcome = outcome.map(|outcome| el("p").class("notice").attr("role", "status").text(&outcome));
    let refusal = site.refusal.as_ref().map(|refusal| notice(&format!("This page is read-only: {refusal}.")));
    let (to_form, after) = match loaded {
        Loaded::Question(value, left) if left.is_some() || value["open"] == true => {
            (None, question_form(&view, value, left.as_ref()))
        }
        loaded => {
            let unsent = if let Loaded::Unsent(letter, why) = loaded { Some((letter, why.as_str())) } else { None };
            let form = write::form(&view, unsent);
            let link = || el("p").with([el("a").route("href", &Route::Writing).line("Write a message")]);
            ((form != Html::default()).then(link), form)
        }
    };
    let before = [refusal, outcome, filter(route), to_form].into_iter().flatten().collect();
    frame(site, &view, &seen, loaded).document(before, region(&view, loaded), after)
}

fn frame<'a>(site: &Site, view: &'a View<'a>, seen: &'a LastState, loaded: &Loaded) -> Frame<'a> {
    Frame { view, project: site.daemon.name(), heading: heading(view, loaded), problem: seen.problem.as_deref() }
}

/// Draws an open question with its form, as a person left it.
fn question_form(view: &View<'_>, value: &Value, left: Option<&(Draft, Problem)>) -> Html {
    match (Question::deserialize(value), left) {
        (Ok(question), Some((draft, problem))) => detail::question(view, &question, draft, Some(problem)),
        (Ok(question), None) => detail::question(view, &question, &defaults(&question), None),
        (Err(error), _) => line(&format!("This question cannot be shown: {error}")),
    }
}

/// Draws the form that shows only rows with a text.
fn filter(route: &Route) -> Option<Html> {
    let (room, text) = match route {
        Route::Room(room) if *room != Room::Now => (*room, ""),
        Route::Filtered(room, text) => (*room, text.as_str()),
        _ => return None,
    };
    let form = el("form").class("find").attr("method", "get").attr("role", "search");
    Some(form.route("action", &Route::Room(room)).with([
        el("label").attr("for", "find").line("Only rows with"),
        el("input").kind("text").id("find").attr("name", "find").typed(text).alone(),
        el("button").kind("submit").class("small").line("Filter"),
    ]))
}

fn view<'a>(site: &'a Site, here: &'a Route, snapshot: &'a Snapshot) -> View<'a> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let form_token = site.refusal.is_none().then(|| site.gate.form_token());
    View { snapshot, now: u64::try_from(now.as_millis()).unwrap_or(u64::MAX), here, form_token }
}

fn heading(view: &View<'_>, loaded: &Loaded) -> String {
    match (view.here, loaded) {
        (_, Loaded::Question(question, _)) => question["title"].as_str().unwrap_or("Question").to_owned(),
        (Route::Row(Room::Questions, _), _) => "Question".to_owned(),
        (Route::Row(Room::Sessions, id), _) => match rows::session(view.rooms(), id) {
            Some(row) => format!("Session {}", row.name),
            None => "Session".to_owned(),
        },
        (Route::Row(Room::Agents, id), _) => {
            format!("Agent {}", rows::agent(view.rooms(), id).map_or(id.as_str(), rows::name))
        }
        (Route::Row(Room::Mail, _), _) => "Conversation".to_owned(),
        (route, _) => route.room().name().to_owned(),
    }
}

/// Draws the part of a page that changes.
fn region(view: &View<'_>, loaded: &Loaded) -> Html {
    match (view.here, loaded) {
        (_, Loaded::Problem(problem)) => notice(problem),
        (_, Loaded::Question(question, _)) => detail::standing(view, question),
        (Route::Row(Room::Sessions, id), Loaded::Output(output)) => detail::session(view, id, output),
        (Route::Row(Room::Sessions, id), _) => detail::session(view, id, &Ok(Output::default())),
        (Route::Row(Room::Agents, id), _) => detail::agent(view, id),
        (Route::Row(Room::Mail, id), _) => detail::thread(view, id),
        (Route::Filtered(room, text), _) => view.room(*room, text),
        (route, _) => view.room(route.room(), ""),
    }
}

/// Loads the data of a route beyond the rooms. Messages to the person in a conversation are read then.
pub(super) async fn load(site: &Site, route: Route, snapshot: Arc<Snapshot>) -> Loaded {
    let (daemon, is_person) = (site.daemon.clone(), site.refusal.is_none());
    let loading = tokio::task::spawn_blocking(move || match &route {
        Route::Row(Room::Questions, id) => match daemon.question(id) {
            Ok(question) => Loaded::Question(question, None),
            Err(client::control::ControlError::Refused { .. }) => Loaded::Question(Value::Null, None),
            Err(error) => Loaded::Problem(error.to_string()),
        },
        Route::Row(Room::Sessions, id) => match rows::session(&snapshot.rooms, id) {
            Some(row) if !row.is_server => Loaded::Output(feed::output(daemon.project(), &row.worktree, &row.name, 0)),
            _ => Loaded::Nothing,
        },
        Route::Row(Room::Mail, id) if is_person => {
            let mail = snapshot.rooms.mail.iter().filter(|mail| mail.thread == *id && mail.is_unread_by_user());
            let ids: Vec<&str> = mail.map(|mail| mail.id.as_str()).collect();
            match if ids.is_empty() { Ok(Value::Null) } else { daemon.request("mail/seen", json!({"ids": ids})) } {
                Ok(_) => Loaded::Nothing,
                Err(error) => Loaded::Problem(error.to_string()),
            }
        }
        _ => Loaded::Nothing,
    });
    loading.await.unwrap_or(Loaded::Nothing)
}

/// A tab that follows the changes.
struct Tab(Arc<Site>);

impl Tab {
    fn open(site: Arc<Site>) -> Tab {
        site.tabs.send_modify(|tabs| *tabs += 1);
        Tab(site)
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.0.tabs.send_modify(|tabs| *tabs -= 1);
    }
}

/// Streams the changes of a route as server-sent events. A slow browser gets the latest state only.
fn live(site: Arc<Site>, route: Route) -> Answer {
    let (send, parts) = mpsc::channel(1);
    tokio::spawn(async move {
        let tab = Tab::open(site);
        let site = &tab.0;
        let tick = if matches!(route, Route::Row(Room::Sessions, _)) { OUTPUT_TICK } else { TICK };
        let mut seen = site.daemon.subscribe();
        let mut last = String::new();
        loop {
            let now = seen.borrow_and_update().clone();
            // A stopped daemon stays stopped while a tab is open.
            let loaded = match now.problem {
                Some(_) => None,
                None => Some(load(site, route.clone(), now.snapshot.clone()).await),
            };
            let change = change(site, &route, &now, loaded.as_ref());
            if change != last {
                if send.send(Bytes::from(format!("data: {change}\n\n"))).await.is_err() {
                    return;
                }
                last = change;
            }
            tokio::select! {
                () = send.closed() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
            tokio::select! {
                () = send.closed() => return,
                changed = seen.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(tick) => {}
            }
        }
    });
    content(StatusCode::OK, "text/event-stream", Content::Stream(parts))
}

/// Returns the changed parts of a page as JSON. Without `loaded`, its region stays.
fn change(site: &Site, route: &Route, seen: &LastState, loaded: Option<&Loaded>) -> String {
    let view = view(site, route, &seen.snapshot);
    let frame = frame(site, &view, seen, loaded.unwrap_or(&Loaded::Nothing));
    let parts = json!({"rooms": frame.navigation().as_str(), "state": frame.state().as_str()});
    let mut change = json!({"icon": frame.icon().url(), "parts": parts});
    if let Some(loaded) = loaded {
        change["parts"]["live"] = region(&view, loaded).as_str().into();
        change["title"] = frame.title().into();
    }
    change.to_string()
}

/// Answers with a picture of a question: the copy that the daemon made when it was asked.
async fn picture(site: Arc<Site>, id: String, number: usize) -> Answer {
    let daemon = site.daemon.clone();
    let loading = tokio::task::spawn_blocking(move || {
        let question = daemon.question(&id).ok()?;
        let file = question["attachments"][number]["file"].as_str()?.to_owned();
        project::private::read(file.as_ref(), PICTURE_MAX).ok().flatten()
    });
    let bytes = loading.await.ok().flatten().unwrap_or_default();
    let kind = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'R', b'I', b'F', b'F', ..] => "image/webp",
        _ => return response::refused(&NO_PICTURE),
    };
    content(StatusCode::OK, kind, Content::Whole(Some(bytes.into())))
}
