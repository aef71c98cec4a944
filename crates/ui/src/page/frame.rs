//! The frame around each page: title, navigation, notices; and the plain page of a refusal.

use project::dashboard::Room;

use super::admission::Refusal;
use super::dashboard::View;
use super::html::{Html, el, line, notice};
use super::route::Route;
use crate::rows;

/// The parts of a page that stay while it is open.
pub(super) struct Frame<'a> {
    /// The name of the project.
    pub(super) project: &'a str,
    pub(super) route: &'a Route,
    pub(super) heading: &'a str,
    /// The reason why the rows may be old.
    pub(super) problem: Option<&'a str>,
    /// The reason why the page only shows.
    pub(super) refusal: Option<&'a str>,
    /// The outcome of the last action.
    pub(super) outcome: Option<&'a str>,
}

impl Frame<'_> {
    /// Draws a whole page: `live` is replaced as things change; the parts before and after it stay, for forms being filled in.
    pub(super) fn document(&self, view: &View<'_>, before: Html, live: Html, after: Html) -> String {
        let questions = view.rooms().questions.len();
        let icon = Route::Icon { has_questions: questions > 0 };
        let head = el("head").with([
            el("meta").attr("charset", "utf-8").alone(),
            el("meta").attr("name", "viewport").attr("content", "width=device-width, initial-scale=1").alone(),
            el("title").line(&self.title(questions)),
            el("link").attr("rel", "stylesheet").route("href", &Route::Style).alone(),
            el("link").attr("rel", "icon").id("icon").route("href", &icon).alone(),
            el("script").route("src", &Route::Script).flag("defer", true).line(""),
        ]);
        let outcome = self
            .outcome
            .map(|outcome| el("p").class("notice").attr("role", "status").text(outcome))
            .unwrap_or_default();
        let refusal = self.refusal.map(|refusal| notice(&format!("This page is read-only: {refusal}.")));
        let main = el("main").id("main").attr("tabindex", "-1").with([
            el("h1").line(self.heading),
            refusal.unwrap_or_default(),
            outcome,
            before,
            el("div").id("live").with([live]),
            after,
        ]);
        let header = el("header").with([
            el("p").class("brand").with([el("strong").line("hob"), line(&format!(" {}", self.project))]),
            el("nav").attr("aria-label", "Rooms").id("rooms").with([self.navigation(view)]),
        ]);
        // Only the script removes the link, because it keeps the rows current.
        let reload = el("footer").with([el("p").id("reload").with([el("a").route("href", self.route).line("Reload")])]);
        let body = el("body").route("data-live", &Route::Live(Box::new(self.route.clone()))).with([
            skip_link(),
            header,
            el("div").id("state").attr("role", "status").with([self.state()]),
            main,
            reload,
        ]);
        el("html").attr("lang", "en").with([head, body]).into_document()
    }

    /// Returns the title of the tab.
    pub(super) fn title(&self, questions: usize) -> String {
        let count = if questions > 0 { format!("({questions}) ") } else { String::new() };
        format!("{count}{} · {} · hob", self.heading, self.project)
    }

    /// Draws why the rows may be old.
    pub(super) fn state(&self) -> Html {
        self.problem.map(notice).unwrap_or_default()
    }

    /// Draws the links to all rooms with the number of rows.
    pub(super) fn navigation(&self, view: &View<'_>) -> Html {
        let rooms = view.rooms();
        let here = self.route.room();
        let link = |room: Room| {
            let link = el("a").page(&Route::Room(room)).id(&format!("room-{}", room.name()));
            let link = if room == here { link.attr("aria-current", "page") } else { link };
            let number = match rows::count(rooms, room) {
                0 => Html::default(),
                number => el("span")
                    .class(if matches!(room, Room::Now | Room::Questions) { "count waits" } else { "count" })
                    .line(&format!(" {number}")),
            };
            el("li").with([link.with([line(room.name()), number])])
        };
        el("ul").all(Room::ALL.into_iter().map(link))
    }
}

fn skip_link() -> Html {
    el("a").class("skip").route("href", &Route::Content(None)).line("Skip to the content")
}

/// Draws a refusal. It needs no other file, because its reader may have none of them.
pub(super) fn refused(refusal: &Refusal) -> String {
    plain(refusal.title, el("p").line(refusal.advice))
}

/// Draws the page that asks again for the page to which it is the answer.
pub(super) fn again() -> String {
    let head = el("meta").attr("http-equiv", "refresh").attr("content", "0").alone();
    plain("hob", [head, el("p").line("One moment. If nothing happens, reload this page.")].into_iter().collect())
}

fn plain(title: &str, content: Html) -> String {
    let head = el("head").with([
        el("meta").attr("charset", "utf-8").alone(),
        el("meta").attr("name", "viewport").attr("content", "width=device-width, initial-scale=1").alone(),
        el("meta").attr("name", "color-scheme").attr("content", "light dark").alone(),
        el("title").line(title),
    ]);
    let body = el("body").with([el("main").with([el("h1").line(title), content])]);
    el("html").attr("lang", "en").with([head, body]).into_document()
}
