//! The frame around each page: title, navigation, notices; and the plain page of a refusal.

use project::dashboard::Room;

use super::admission::Refusal;
use super::dashboard::View;
use super::html::{Html, el, line, notice};
use super::route::Route;
use crate::rows;

/// The parts of a page that stay while it is open.
pub(super) struct Frame<'a> {
    pub(super) view: &'a View<'a>,
    /// The name of the project.
    pub(super) project: String,
    pub(super) heading: String,
    /// The reason why the rows may be old.
    pub(super) problem: Option<&'a str>,
}

impl Frame<'_> {
    /// Draws a whole page: `live` is replaced as things change; the parts before and after it stay, for forms being filled in.
    pub(super) fn document(&self, before: Html, live: Html, after: Html) -> String {
        let here = self.view.here;
        let header = el("header").with([
            el("p").class("brand").with([el("strong").line("hob"), line(&format!(" {}", self.project))]),
            el("nav").attr("aria-label", "Rooms").id("rooms").with([self.navigation()]),
        ]);
        let live = el("div").id("live").with([live]);
        let main = el("main").id("main").attr("tabindex", "-1");
        // Only the script removes the link, because it keeps the rows current.
        let reload = el("p").id("reload").with([el("a").route("href", here).line("Reload")]);
        let body = el("body").route("data-live", &Route::Live(Box::new(here.clone()))).with([
            el("a").class("skip").route("href", &Route::Content(None)).line("Skip to the content"),
            header,
            el("div").id("state").attr("role", "status").with([self.state()]),
            main.with([el("h1").line(&self.heading), before, live, after]),
            el("footer").with([reload]),
        ]);
        let links = [
            el("link").attr("rel", "stylesheet").route("href", &Route::Style).alone(),
            el("link").attr("rel", "icon").id("icon").route("href", &self.icon()).alone(),
            el("script").route("src", &Route::Script).flag("defer", true).line(""),
        ];
        document(&self.title(), links, body)
    }

    /// Returns the title of the tab.
    pub(super) fn title(&self) -> String {
        let count = match self.view.rooms().questions.len() {
            0 => String::new(),
            open => format!("({open}) "),
        };
        format!("{count}{} · {} · hob", self.heading, self.project)
    }

    /// Returns the icon of the tab.
    pub(super) fn icon(&self) -> Route {
        Route::Icon { has_questions: !self.view.rooms().questions.is_empty() }
    }

    /// Draws why the rows may be old.
    pub(super) fn state(&self) -> Html {
        self.problem.map(notice).unwrap_or_default()
    }

    /// Draws the links to all rooms with the number of rows.
    pub(super) fn navigation(&self) -> Html {
        let here = self.view.here.room();
        let link = |room: Room| {
            let link = el("a").page(&Route::Room(room)).id(&format!("room-{}", room.name()));
            let link = if room == here { link.attr("aria-current", "page") } else { link };
            let class = if matches!(room, Room::Now | Room::Questions) { "count waits" } else { "count" };
            let number = match rows::count(self.view.rooms(), room) {
                0 => Html::default(),
                number => el("span").class(class).line(&format!(" {number}")),
            };
            el("li").with([link.with([line(room.name()), number])])
        };
        el("ul").with(Room::ALL.into_iter().map(link))
    }
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
    let scheme = el("meta").attr("name", "color-scheme").attr("content", "light dark").alone();
    document(title, [scheme], el("body").with([el("main").with([el("h1").line(title), content])]))
}

fn document(title: &str, links: impl IntoIterator<Item = Html>, body: Html) -> String {
    let begin = [
        el("meta").attr("charset", "utf-8").alone(),
        el("meta").attr("name", "viewport").attr("content", "width=device-width, initial-scale=1").alone(),
        el("title").line(title),
    ];
    let head = el("head").with(begin.into_iter().chain(links));
    el("html").attr("lang", "en").with([head, body]).into_document()
}
