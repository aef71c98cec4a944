//! The rooms, drawn from a snapshot.

use project::rooms::{
    AgentRow, AgentState, CallRow, EventRow, MailRow, Minute, Need, NodeRow, QuestionRow, Recipient, Room, Rooms,
    SessionRow, Snapshot, Urgency, WorkRow,
};
use project::span;

use super::html::{Html, button, el, hidden, line, link, remark};
use super::route::Route;
use super::table::{Cell, key, table};

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

    /// Draws a room.
    pub(super) fn room(&self, room: Room) -> Html {
        match room {
            Room::Now => self.now_room(),
            Room::Agents => self.table(room, &self.rooms().agents, |row| self.agent(row)),
            Room::Sessions => self.table(room, &self.rooms().sessions, |row| self.session(row)),
            Room::Mail => self.table(room, &self.rooms().mail, |row| self.mail(row)),
            Room::Questions => self.table(room, &self.rooms().questions, |row| self.question(row)),
            Room::Activity => self.table(room, &self.rooms().activity, |row| self.call(row)),
            Room::Work => self.table(room, &self.rooms().work, work),
            Room::Nodes => self.table(room, &self.rooms().nodes, node),
        }
    }

    fn table<R>(&self, room: Room, rows: &[R], draw: impl Fn(&R) -> Vec<Cell>) -> Html {
        if rows.is_empty() {
            return el("p").class("empty").line(room.when_empty());
        }
        let (caption, heads) = columns(room);
        let cells = rows.iter().take(ROWS).map(draw);
        let more = (rows.len() > ROWS).then(|| el("p").class("help").line(&format!("{ROWS} of {} rows.", rows.len())));
        [table(caption, heads, cells)].into_iter().chain(more).collect()
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
        let events = self.rooms().events.iter().take(EVENTS).map(|event| self.event(event));
        let events: Vec<Html> = events.collect();
        let section = |id: &'static str, class: &'static str, title: &str, rows: Vec<Html>, empty: &str| {
            let empty = || el("p").class("empty").line(empty);
            let content = if rows.is_empty() { empty() } else { el("ul").class(class).all(rows) };
            el("section").attr("aria-labelledby", id).with([el("h2").id(id).line(title), content])
        };
        [
            el("p").class("headline").line(&self.rooms().line()),
            section("needs", "needs", "Waits for you", needs, Room::Now.when_empty()),
            section("at-work", "needs", "At work", at_work, "Nothing is at work."),
            section("events", "lines", "What happened", events, "Nothing happened yet."),
        ]
        .into_iter()
        .collect()
    }

    fn need(&self, need: &Need) -> Html {
        let session = self.rooms().sessions.iter().find(|session| need.room == Room::Sessions && session.id == need.id);
        let (class, urgency) = match need.urgency {
            Urgency::Normal if session.is_some_and(|session| !is_alive(session)) => ("chip danger", "ended"),
            Urgency::Critical => ("chip danger", "urgent"),
            Urgency::High => ("chip waits", "waits"),
            Urgency::Normal => ("chip stuck", "stuck"),
            Urgency::Low => ("chip", "to read"),
        };
        let message = self.rooms().mail.iter().find(|mail| need.room == Room::Mail && mail.id == need.id);
        let route = match message {
            Some(message) => Route::Thread(message.thread.clone()),
            None => route_to_row(need.room, &need.id),
        };
        let link = link(&route, &key("need", &need.id), &need.text);
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
        let link = link(&Route::Agent(agent.id.clone()), &key("work", &agent.id), name(agent));
        let what = [link, line(" "), el("code").line(doing), remark(&format!("for {}", self.age(agent.since)))];
        el("li").with([el("span").class("chip working").line("agent"), el("span").class("what").with(what)])
    }

    fn running(&self, session: &SessionRow) -> Html {
        let link = link(&Route::Session(session.id.clone()), &key("run", &session.id), &session.name);
        el("li").with([
            el("span").class("chip working").line("session"),
            el("span").class("what").with([link, line(" "), self.evaluation(session)]),
            self.session_actions("work", session),
        ])
    }

    pub(super) fn event(&self, event: &EventRow) -> Html {
        el("li").with([line(&event.text), remark(&format!("{} ago", self.age(event.at)))])
    }

    fn agent(&self, agent: &AgentRow) -> Vec<Cell> {
        let route = Route::Agent(agent.id.clone());
        let link = link(&route, &key("agent", &agent.id), name(agent));
        let role = if agent.role.is_empty() { Html::default() } else { remark(&agent.role) };
        let chip = el("span").class(state_class(agent.state)).line(agent.state.name());
        vec![
            Cell::head([link, role]),
            Cell::new([
                el("span").class("short").with([chip, remark(&self.age(agent.since))]),
                stuck(agent.stuck.as_deref()),
            ]),
            Cell::line(agent.doing.as_deref().unwrap_or_default()),
            Cell::line(&agent.program),
            Cell::line(&agent.worktree),
            Cell::new([strip(&agent.strip)]),
        ]
    }

    fn session(&self, session: &SessionRow) -> Vec<Cell> {
        let route = Route::Session(session.id.clone());
        let link = link(&route, &key("session", &session.id), &session.name);
        vec![
            Cell::head([link, remark(&session.profile)]),
            Cell::new([self.session_state(session), stuck(session.stuck.as_deref())]),
            Cell::new([self.evaluation(session)]),
            Cell::line(&session.owner),
            Cell::line(
                &session.memory_mib.filter(|_| is_alive(session)).map(|mib| format!("{mib} MiB")).unwrap_or_default(),
            ),
            Cell::new([self.session_actions("row", session)]),
        ]
    }

    pub(super) fn session_state(&self, session: &SessionRow) -> Html {
        let class = match session.state.as_str() {
            "running" | "starting" => "chip working",
            "waiting_for_input" | "interrupting" => "chip waits",
            "uninterruptible" | "crashed" | "killed" => "chip danger",
            _ => "chip",
        };
        let reason = session.reason.as_deref().map(remark);
        [el("span").class(class).line(&session.state.replace('_', " "))].into_iter().chain(reason).collect()
    }

    pub(super) fn evaluation(&self, session: &SessionRow) -> Html {
        let Some(number) = session.eval else { return Html::default() };
        let age = session.running_since.map(|since| format!(" for {}", self.age(since))).unwrap_or_default();
        let queued = if session.queued > 0 { format!(", {} queued", session.queued) } else { String::new() };
        [el("code").line(&session.code), remark(&format!("#{number}{age}{queued}"))].into_iter().collect()
    }

    /// Draws the buttons of a session. A stop takes two steps, because it loses the session's state.
    pub(super) fn session_actions(&self, prefix: &str, session: &SessionRow) -> Html {
        let Some(token) = self.form_token else { return Html::default() };
        if !is_alive(session) {
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
            el("summary").line(&format!("Stop {}…", session.name)),
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

    fn mail(&self, mail: &MailRow) -> Vec<Cell> {
        let link = link(&Route::Thread(mail.thread.clone()), &key("mail", &mail.id), &mail.text);
        vec![
            Cell::line(&mail.from),
            Cell::new([el("ul").class("plain").all(mail.to.iter().map(recipient))]),
            Cell::new([
                el("span").class(priority_class(&mail.priority)).line(&mail.priority),
                stuck(mail.stuck.as_deref()),
            ]),
            Cell::short(&format!("{} ago", self.age(mail.sent))),
            Cell::head([link]),
        ]
    }

    fn question(&self, question: &QuestionRow) -> Vec<Cell> {
        let route = Route::Question(question.id.clone());
        let link = link(&route, &key("question", &question.id), &question.title);
        vec![
            Cell::head([link, marks(question)]),
            Cell::line(&question.agent),
            Cell::line(&question.worktree),
            Cell::short(&format!("{} ago", self.age(question.asked_at))),
            Cell::short(&span(question.expires_at.saturating_sub(self.now) / 1000)),
        ]
    }

    fn call(&self, call: &CallRow) -> Vec<Cell> {
        let outcome = match (&call.outcome, call.ended) {
            (Some(outcome), Some(ended)) => format!("{outcome}, {}", duration(ended.saturating_sub(call.started))),
            (Some(outcome), None) => outcome.clone(),
            (None, _) => format!("running for {}", self.age(call.started)),
        };
        let class = match call.outcome.as_deref() {
            Some("done") => "",
            None => "chip wrap working",
            Some(_) => "chip wrap stuck",
        };
        vec![
            Cell::line(&call.agent),
            Cell::head([line(&call.tool)]),
            Cell::new([el("code").line(&call.arguments)]),
            Cell::short(&format!("{} ago", self.age(call.started))),
            Cell::new([el("span").class(class).line(&outcome), stuck(call.stuck.as_deref())]),
        ]
    }
}

/// Returns the caption and the columns of a room's table.
fn columns(room: Room) -> (&'static str, &'static [&'static str]) {
    match room {
        Room::Now => ("", &[]),
        Room::Agents => (
            "In the strip of 15 minutes, a tall bar is work, a middle one waits for you, and a low one waits for mail",
            &["Agent", "State", "Doing", "Program", "Worktree", "Last 15 minutes"],
        ),
        Room::Sessions => ("REPL sessions", &["Session", "State", "Evaluation", "Owner", "Memory", "Actions"]),
        Room::Mail => ("Messages, newest first", &["From", "To", "Priority", "Sent", "Text"]),
        Room::Questions => ("Open questions, oldest first", &["Question", "Agent", "Worktree", "Asked", "Left"]),
        Room::Activity => {
            ("Calls and decisions on hooks, newest first", &["Agent", "Tool", "Arguments", "Begun", "Outcome"])
        }
        Room::Work => ("Work in each worktree", &["Worktree", "Branch", "Unfinished", "Pull request", "Checks"]),
        Room::Nodes => ("Nodes and their calls", &["Node", "Model", "Calls", "Tokens", "Failures", "Last"]),
    }
}

/// Returns the route of a row.
fn route_to_row(room: Room, id: &str) -> Route {
    match room {
        Room::Questions => Route::Question(id.to_owned()),
        Room::Sessions => Route::Session(id.to_owned()),
        Room::Agents => Route::Agent(id.to_owned()),
        room => Route::Room(room),
    }
}

fn is_alive(session: &SessionRow) -> bool {
    !matches!(session.state.as_str(), "exited" | "crashed" | "stopped" | "killed")
}

fn work(work: &WorkRow) -> Vec<Cell> {
    vec![
        Cell::head([line(&work.worktree)]),
        Cell::line(&work.branch),
        Cell::line(&work.unfinished),
        Cell::line(work.pull_request.as_deref().unwrap_or_default()),
        Cell::line(work.checks.as_deref().unwrap_or_default()),
    ]
}

fn node(node: &NodeRow) -> Vec<Cell> {
    vec![
        Cell::head([line(&node.name)]),
        Cell::line(&node.model),
        Cell::line(&node.calls.to_string()),
        Cell::line(&node.tokens.to_string()),
        Cell::line(&node.failures.to_string()),
        Cell::line(node.last.as_deref().unwrap_or_default()),
    ]
}

pub(super) fn name(agent: &AgentRow) -> &str {
    if agent.name.is_empty() { &agent.id } else { &agent.name }
}

pub(super) fn state_class(state: AgentState) -> &'static str {
    match state {
        AgentState::Working => "chip working",
        AgentState::WaitingForYou => "chip waits",
        AgentState::WaitingForMail | AgentState::Idle | AgentState::Gone => "chip",
    }
}

/// Draws the rule by which something is stuck.
pub(super) fn stuck(rule: Option<&str>) -> Html {
    rule.map(|rule| el("p").class("chip stuck").line(&format!("stuck: {rule}"))).unwrap_or_default()
}

fn recipient(recipient: &Recipient) -> Html {
    el("li").with([line(&recipient.name), remark(&recipient.state.replace('_', " "))])
}

fn priority_class(priority: &str) -> &'static str {
    match priority {
        "critical" => "chip danger",
        "high" => "chip waits",
        _ => "",
    }
}

/// Draws danger and urgency of a question.
fn marks(question: &QuestionRow) -> Html {
    let danger = (question.danger == "high").then(|| el("span").class("chip danger").line("dangerous"));
    let urgent = question.urgent.then(|| el("span").class("chip waits").line("urgent"));
    danger.into_iter().chain(urgent).collect()
}

fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        ms => span(ms / 1000),
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
