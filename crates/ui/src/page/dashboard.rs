//! The rooms, drawn from a snapshot.

use project::dashboard::{
    AgentRow, AgentState, CallRow, EventRow, Minute, Need, Room, Rooms, SessionRow, Snapshot, Urgency,
};
use project::span;

use super::html::{Html, button, el, hidden, key, line, link, post_form, remark};
use super::route::Route;
use crate::rows::{self, Cell, Column, Row, Tone};

/// The number of events that the first room shows.
const EVENTS: usize = 5;
/// The number of rows that a table shows.
pub(super) const ROWS: usize = 100;

/// The data of a region, and the rights of the person.
pub(super) struct View<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The present, in milliseconds since 1970.
    pub(super) now: u64,
    /// The route that shows it, to which an action returns.
    pub(super) here: &'a Route,
    /// The token of forms; `None` if the page only shows.
    pub(super) form_token: Option<&'a str>,
}

impl View<'_> {
    pub(super) fn rooms(&self) -> &Rooms {
        &self.snapshot.rooms
    }

    /// Draws the rows of a room that hold a text. Roles are written out, because the style shows the rows of a table as cards
    /// on narrow screens.
    pub(super) fn room(&self, room: Room, find: &str) -> Html {
        if room == Room::Now {
            return self.now_room();
        }
        let (columns, mut all) = (rows::columns(room), rows::rows(self.rooms(), room, self.now));
        all.retain(|row| row.has(find));
        if all.is_empty() {
            let empty = if find.is_empty() { room.when_empty() } else { "No row matches the filter." };
            return el("p").class("empty").line(empty);
        }
        let has_actions = matches!(room, Room::Sessions | Room::Activity);
        let titles = columns.iter().map(|column| column.title).chain(has_actions.then_some("actions"));
        let heads = titles.map(|title| el("th").attr("role", "columnheader").attr("scope", "col").line(title));
        let body = all.iter().take(ROWS).map(|row| {
            let cells = columns.iter().zip(&row.cells).map(|(column, cell)| {
                let element = match column.is_head {
                    true => el("th").attr("role", "rowheader").attr("scope", "row"),
                    false if is_short(column, cell) => el("td").attr("role", "cell").class("short"),
                    false => el("td").attr("role", "cell"),
                };
                element.attr("data-head", column.title).with([self.content(room, column, row, cell)])
            });
            let actions = el("td").attr("role", "cell").attr("data-head", "actions");
            let actions = has_actions.then(|| actions.with([self.actions(room, &row.id)]));
            el("tr").attr("role", "row").with(cells.chain(actions))
        });
        let table = el("table").attr("role", "table").with([
            el("caption").line(caption(room)),
            el("thead").attr("role", "rowgroup").with([el("tr").attr("role", "row").with(heads)]),
            el("tbody").attr("role", "rowgroup").with(body),
        ]);
        let more = (all.len() > ROWS).then(|| el("p").class("help").line(&format!("{ROWS} of {} rows.", all.len())));
        [table].into_iter().chain(more).collect()
    }

    /// Draws all cells of a row with their titles; `None` if the row is gone.
    pub(super) fn facts(&self, room: Room, id: &str) -> Option<Html> {
        let row = rows::rows(self.rooms(), room, self.now).into_iter().find(|row| row.id == id)?;
        let columns = rows::columns(room);
        let known = columns.iter().zip(&row.cells).filter(|(column, cell)| !column.is_head && !cell.text.is_empty());
        let fact = |(column, cell): (&Column, &rows::Cell)| {
            let value = self.content(room, column, &row, cell);
            el("div").with([el("dt").line(column.title), el("dd").with([value])])
        };
        Some(el("dl").class("facts").with(known.map(fact)))
    }

    /// Draws the content of a cell: a link to the row's page, the strip of an agent, or a text.
    fn content(&self, room: Room, column: &Column, row: &Row, cell: &Cell) -> Html {
        if column.is_head {
            return match self.route_to_row(room, &row.id) {
                Route::Room(_) => line(&cell.text),
                route => link(&route, &key(room.name(), &row.id), &cell.text),
            };
        }
        match rows::agent(self.rooms(), &row.id) {
            Some(agent) if (room, column.title) == (Room::Agents, rows::STRIP) => strip(&agent.strip),
            _ if is_short(column, cell) => line(&cell.text),
            _ => el("span").class(class(cell.tone)).line(&cell.text),
        }
    }

    fn actions(&self, room: Room, id: &str) -> Html {
        let session = rows::session(self.rooms(), id).filter(|_| room == Room::Sessions);
        let call = self.rooms().activity.iter().find(|call| room == Room::Activity && rows::call_id(call) == id);
        let session = session.map(|session| self.session_actions("row", session));
        session.or(call.map(|call| self.call_actions(call))).unwrap_or_default()
    }

    /// Returns the route of a row; its room if it has no page.
    fn route_to_row(&self, room: Room, id: &str) -> Route {
        let mail = || self.rooms().mail.iter().find(|mail| mail.id == id);
        let id = if room == Room::Mail { mail().map(|mail| mail.thread.as_str()) } else { Some(id) };
        match (room, id) {
            (Room::Questions | Room::Sessions | Room::Agents | Room::Mail, Some(id)) => Route::Row(room, id.to_owned()),
            _ => Route::Room(room),
        }
    }

    /// Returns how long ago a time was.
    pub(super) fn age(&self, at: u64) -> String {
        span(self.now.saturating_sub(at) / 1000)
    }

    fn now_room(&self) -> Html {
        let needs: Vec<Html> = self.rooms().now.iter().take(ROWS).map(|need| self.need(need)).collect();
        let is_at_work = |agent: &&AgentRow| agent.state == AgentState::Working || agent.doing.is_some();
        let agents = self.rooms().agents.iter().filter(is_at_work).map(|agent| self.working(agent));
        let running = self.rooms().sessions.iter().filter(|session| session.running_since.is_some());
        let at_work: Vec<Html> = agents.chain(running.map(|session| self.running(session))).collect();
        let event =
            |event: &EventRow| el("li").with([line(&event.text), remark(&format!("{} ago", self.age(event.at)))]);
        let mut events: Vec<Html> = self.rooms().events.iter().map(event).collect();
        let earlier = events.split_off(EVENTS.min(events.len()));
        let summary = el("summary").line(&format!("{} earlier events", earlier.len()));
        let earlier = match earlier.is_empty() {
            true => Html::default(),
            false => el("details").id("earlier").with([summary, el("ul").class("lines").with(earlier)]),
        };
        let section = |id: &'static str, class: &'static str, title: &str, rows: Vec<Html>, empty: &str| {
            let empty = || el("p").class("empty").line(empty);
            let content = if rows.is_empty() { empty() } else { el("ul").class(class).with(rows) };
            el("section").attr("aria-labelledby", id).with([el("h2").id(id).line(title), content])
        };
        [
            el("p").class("headline").line(&self.rooms().line()),
            section("needs", "needs", "Waits for you", needs, Room::Now.when_empty()),
            section("at-work", "needs", "At work", at_work, "Nothing is running."),
            section("events", "lines", "What happened", events, "Nothing happened yet."),
            earlier,
        ]
        .into_iter()
        .collect()
    }

    fn need(&self, need: &Need) -> Html {
        let session = rows::session(self.rooms(), &need.id).filter(|_| need.room == Room::Sessions);
        let (class, urgency) = match need.urgency {
            Urgency::Normal if session.is_some_and(|session| !is_alive(session)) => ("chip danger", "ended"),
            Urgency::Critical => ("chip danger", "urgent"),
            Urgency::High => ("chip waits", "waits"),
            Urgency::Normal => ("chip stuck", "stuck"),
            Urgency::Low => ("chip", "to read"),
        };
        let link = link(&self.route_to_row(need.room, &need.id), &key("need", &need.id), &need.text);
        let actions = session.map(|session| self.session_actions("need", session)).unwrap_or_default();
        item(class, urgency, [link, remark(&format!("for {}", self.age(need.since)))], actions)
    }

    fn working(&self, agent: &AgentRow) -> Html {
        let doing = agent.doing.as_deref().unwrap_or("between two calls");
        let link = link(&Route::Row(Room::Agents, agent.id.clone()), &key("work", &agent.id), rows::name(agent));
        let what = [link, line(" "), el("code").line(doing), remark(&format!("for {}", self.age(agent.since)))];
        item("chip working", "agent", what, Html::default())
    }

    fn running(&self, session: &SessionRow) -> Html {
        let link = link(&Route::Row(Room::Sessions, session.id.clone()), &key("run", &session.id), &session.name);
        let number = session.eval.unwrap_or_default();
        let age = self.age(session.running_since.unwrap_or(self.now));
        let what = [link, line(" "), el("code").line(&session.code), remark(&format!("#{number} for {age}"))];
        item("chip working", "session", what, self.session_actions("work", session))
    }

    /// Draws the buttons of a session. A stop takes two steps, because it loses the session's state.
    pub(super) fn session_actions(&self, prefix: &str, session: &SessionRow) -> Html {
        if session.is_server {
            return Html::default();
        }
        let act = |action: &'static str, title: String, class: &'static str| {
            button(action).id(&format!("{}-{action}", key(prefix, &session.id))).class(class).line(&title)
        };
        let name = &session.name;
        let interrupt = session.running_since.map(|_| act("interrupt", format!("Interrupt {name}"), "small"));
        let end = el("details").id(&format!("{}-more", key(prefix, &session.id))).with([
            el("summary").line(&format!("End {name}…")),
            act("restart", format!("Restart {name} and lose its state"), "small danger"),
            act("stop", format!("Stop {name} and lose its state"), "small danger"),
        ]);
        let eval = session.eval.map(|eval| hidden("eval", &eval.to_string()));
        let fields = [Some(hidden("session", &session.id)), eval, interrupt, Some(end)];
        self.action_form(fields.into_iter().flatten())
    }

    /// Draws the button that cancels an open call.
    fn call_actions(&self, call: &CallRow) -> Html {
        if call.outcome.is_some() {
            return Html::default();
        }
        let cancel = button("cancel").id(&key("cancel", &rows::call_id(call))).class("small");
        self.action_form([
            hidden("number", &call.number.to_string()),
            hidden("started", &call.started.to_string()),
            cancel.line(&format!("Cancel {}", call.tool)),
        ])
    }

    /// Draws the form of a row, if the person may act.
    fn action_form(&self, fields: impl IntoIterator<Item = Html>) -> Html {
        let Some(token) = self.form_token else { return Html::default() };
        let own = [hidden("token", token), hidden("back", &self.here.url())];
        post_form().class("actions").with(own.into_iter().chain(fields))
    }
}

/// Draws a line of the first room: its kind, what it is, and what can be done.
fn item(class: &'static str, kind: &str, what: impl IntoIterator<Item = Html>, actions: Html) -> Html {
    el("li").with([el("span").class(class).line(kind), el("span").class("what").with(what), actions])
}

/// Returns the caption of a room's table.
fn caption(room: Room) -> &'static str {
    match room {
        Room::Now => "",
        Room::Agents => {
            "In the strip of 15 minutes, a tall bar is work, a middle one waits for you, and a low one waits for mail"
        }
        Room::Sessions => "REPL sessions and language servers",
        Room::Mail => "Messages, newest first",
        Room::Questions => "Open questions, oldest first",
        Room::Activity => "Calls and decisions on hooks, newest first",
        Room::Work => "Worktrees, their agents and their unfinished work",
        Room::Nodes => "Nodes and their calls",
    }
}

fn is_alive(session: &SessionRow) -> bool {
    !matches!(session.state.as_str(), "exited" | "crashed" | "stopped" | "killed")
}

/// Returns true for a few words that stay on one line.
fn is_short(column: &Column, cell: &Cell) -> bool {
    class(cell.tone).is_empty() && column.width < 10 && !column.is_wide
}

/// Returns the class of a cell by its meaning.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Dim | Tone::Good => "",
        Tone::Busy => "chip wrap working",
        Tone::Waiting => "chip wrap waits",
        Tone::Alarm => "chip wrap danger",
    }
}

/// Draws the minutes of an agent. Height and colour tell them apart; the label counts them.
fn strip(minutes: &[Minute]) -> Html {
    let names = [
        (Minute::Working, "working"),
        (Minute::WaitingForYou, "waiting for you"),
        (Minute::WaitingForMail, "waiting for mail"),
    ];
    let counts = names.map(|(minute, name)| (minutes.iter().filter(|one| **one == minute).count(), name));
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} min {name}"));
    let counts: Vec<String> = counts.collect();
    let label = if counts.is_empty() { "quiet".to_owned() } else { counts.join(", ") };
    let bar = |minute: &Minute| match minute {
        Minute::Quiet => el("i").class("quiet").line(""),
        Minute::WaitingForMail => el("i").class("mail").line(""),
        Minute::WaitingForYou => el("i").class("you").line(""),
        Minute::Working => el("i").class("working").line(""),
    };
    el("span").class("strip").attr("role", "img").attr("aria-label", &label).with(minutes.iter().map(bar))
}
