//! The rooms, drawn from a snapshot.

use project::dashboard::{
    AgentRow, AgentState, CallRow, EventRow, Minute, Need, Room, Rooms, SessionRow, Snapshot, Urgency,
};
use project::span;

use super::html::{Html, button, el, hidden, line, link, remark};
use super::route::Route;
use super::table::{Cell, Kind, key, table};
use crate::rows::{self, Column, Row, Tone};

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

    /// Draws the rows of a room that hold a text.
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
        let heads: Vec<&str> =
            columns.iter().map(|column| column.title).chain(has_actions.then_some("actions")).collect();
        let cells = all.iter().take(ROWS).map(|row| {
            let cells = columns.iter().zip(&row.cells).map(|(column, cell)| self.cell(room, column, row, cell));
            cells.chain(has_actions.then(|| Cell { kind: Kind::Plain, content: self.actions(room, &row.id) })).collect()
        });
        let more = (all.len() > ROWS).then(|| el("p").class("help").line(&format!("{ROWS} of {} rows.", all.len())));
        [table(caption(room), &heads, cells)].into_iter().chain(more).collect()
    }

    /// Draws all cells of a row with their titles; `None` if the row is gone.
    pub(super) fn facts(&self, room: Room, id: &str) -> Option<Html> {
        let row = rows::rows(self.rooms(), room, self.now).into_iter().find(|row| row.id == id)?;
        let columns = rows::columns(room);
        let known = columns.iter().zip(&row.cells).filter(|(column, cell)| !column.is_head && !cell.text.is_empty());
        let fact = |(column, cell): (&Column, &rows::Cell)| {
            let value = self.cell(room, column, &row, cell).content;
            el("div").with([el("dt").line(column.title), el("dd").with([value])])
        };
        Some(el("dl").class("facts").all(known.map(fact)))
    }

    fn cell(&self, room: Room, column: &Column, row: &Row, cell: &rows::Cell) -> Cell {
        if column.is_head {
            let content = match self.route_to_row(room, &row.id) {
                Route::Room(_) => line(&cell.text),
                route => link(&route, &key(room.name(), &row.id), &cell.text),
            };
            return Cell { kind: Kind::Head, content };
        }
        let agent = || rows::agent(self.rooms(), &row.id);
        let is_short = class(cell.tone).is_empty() && column.width < 10;
        let content = match (room, column.title) {
            (Room::Agents, rows::STRIP) => agent().map(|agent| strip(&agent.strip)).unwrap_or_default(),
            _ if is_short => line(&cell.text),
            _ => el("span").class(class(cell.tone)).line(&cell.text),
        };
        Cell { kind: if is_short { Kind::Short } else { Kind::Plain }, content }
    }

    fn actions(&self, room: Room, id: &str) -> Html {
        let session = rows::session(self.rooms(), id).filter(|_| room == Room::Sessions);
        let call = self.rooms().activity.iter().find(|call| room == Room::Activity && rows::call_id(call) == id);
        let session = session.map(|session| self.session_actions("row", session));
        session.or(call.map(|call| self.call_actions(call))).unwrap_or_default()
    }

    /// Returns the route of a row; its room if it has no page.
    fn route_to_row(&self, room: Room, id: &str) -> Route {
        let id = id.to_owned();
        match room {
            Room::Questions => Route::Question(id),
            Room::Sessions => Route::Session(id),
            Room::Agents => Route::Agent(id),
            Room::Mail => match self.rooms().mail.iter().find(|mail| mail.id == id) {
                Some(mail) => Route::Thread(mail.thread.clone()),
                None => Route::Room(room),
            },
            room => Route::Room(room),
        }
    }

    /// Returns how long ago a time was.
    pub(super) fn age(&self, at: u64) -> String {
        span(self.now.saturating_sub(at) / 1000)
    }

    fn now_room(&self) -> Html {
        let needs: Vec<Html> = self.rooms().now.iter().take(ROWS).map(|need| self.need(need)).collect();
        let at_work =
            self.rooms().agents.iter().filter(|agent| agent.state == AgentState::Working || agent.doing.is_some());
        let running = self.rooms().sessions.iter().filter(|session| session.running_since.is_some());
        let running = running.map(|session| self.running(session));
        let at_work: Vec<Html> = at_work.map(|agent| self.working(agent)).chain(running).collect();
        let mut events: Vec<Html> = self.rooms().events.iter().map(|event| self.event(event)).collect();
        let earlier = events.split_off(EVENTS.min(events.len()));
        let summary = el("summary").line(&format!("{} earlier events", earlier.len()));
        let earlier = match earlier.is_empty() {
            true => Html::default(),
            false => el("details").id("earlier").with([summary, el("ul").class("lines").all(earlier)]),
        };
        let section = |id: &'static str, class: &'static str, title: &str, rows: Vec<Html>, empty: &str| {
            let empty = || el("p").class("empty").line(empty);
            let content = if rows.is_empty() { empty() } else { el("ul").class(class).all(rows) };
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
        let action = match session {
            Some(session) => self.session_actions("need", session),
            None => Html::default(),
        };
        el("li").with([
            el("span").class(class).line(urgency),
            el("span").class("what").with([link, remark(&format!("for {}", self.age(need.since)))]),
            action,
        ])
    }

    fn working(&self, agent: &AgentRow) -> Html {
        let doing = agent.doing.as_deref().unwrap_or("between two calls");
        let link = link(&Route::Agent(agent.id.clone()), &key("work", &agent.id), rows::name(agent));
        let what = [link, line(" "), el("code").line(doing), remark(&format!("for {}", self.age(agent.since)))];
        el("li").with([el("span").class("chip working").line("agent"), el("span").class("what").with(what)])
    }

    fn running(&self, session: &SessionRow) -> Html {
        let link = link(&Route::Session(session.id.clone()), &key("run", &session.id), &session.name);
        let number = session.eval.unwrap_or_default();
        let age = self.age(session.running_since.unwrap_or(self.now));
        let what = [link, line(" "), el("code").line(&session.code), remark(&format!("#{number} for {age}"))];
        el("li").with([
            el("span").class("chip working").line("session"),
            el("span").class("what").with(what),
            self.session_actions("work", session),
        ])
    }

    fn event(&self, event: &EventRow) -> Html {
        el("li").with([line(&event.text), remark(&format!("{} ago", self.age(event.at)))])
    }

    /// Draws the buttons of a session. A stop takes two steps, because it loses the session's state.
    pub(super) fn session_actions(&self, prefix: &str, session: &SessionRow) -> Html {
        let Some(token) = self.form_token else { return Html::default() };
        if session.is_server {
            return Html::default();
        }
        let act = |action: &'static str, title: String, class: &'static str| {
            button(action).id(&format!("{}-{action}", key(prefix, &session.id))).class(class).line(&title)
        };
        let eval = session.eval.map(|eval| hidden("eval", &eval.to_string())).unwrap_or_default();
        let interrupt = match session.running_since {
            Some(_) => act("interrupt", format!("Interrupt {}", session.name), "small"),
            None => Html::default(),
        };
        let stop = el("details").id(&format!("{}-more", key(prefix, &session.id))).with([
            el("summary").line(&format!("End {}…", session.name)),
            act("restart", format!("Restart {} and lose its state", session.name), "small danger"),
            act("stop", format!("Stop {} and lose its state", session.name), "small danger"),
        ]);
        el("form").class("actions").attr("method", "post").route("action", &Route::Act).with([
            hidden("token", token),
            hidden("session", &session.id),
            hidden("back", &self.here.url()),
            eval,
            interrupt,
            stop,
        ])
    }

    /// Draws the button that cancels an open call.
    fn call_actions(&self, call: &CallRow) -> Html {
        let Some(token) = self.form_token.filter(|_| call.outcome.is_none()) else { return Html::default() };
        let id = key("cancel", &rows::call_id(call));
        el("form").class("actions").attr("method", "post").route("action", &Route::Act).with([
            hidden("token", token),
            hidden("number", &call.number.to_string()),
            hidden("started", &call.started.to_string()),
            hidden("back", &self.here.url()),
            button("cancel").id(&id).class("small").line(&format!("Cancel {}", call.tool)),
        ])
    }
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
    let count = |minute: Minute| minutes.iter().filter(|one| **one == minute).count();
    let counts = [
        (count(Minute::Working), "working"),
        (count(Minute::WaitingForYou), "waiting for you"),
        (count(Minute::WaitingForMail), "waiting for mail"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} min {what}")).collect();
    let label = if counts.is_empty() { "quiet".to_owned() } else { counts.join(", ") };
    let bar = |minute: &Minute| {
        el("i")
            .class(match minute {
                Minute::Quiet => "quiet",
                Minute::WaitingForMail => "mail",
                Minute::WaitingForYou => "you",
                Minute::Working => "working",
            })
            .line("")
    };
    el("span").class("strip").attr("role", "img").attr("aria-label", &label).all(minutes.iter().map(bar))
}
