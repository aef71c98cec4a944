//! The rows of each room as cells, for all faces: which columns there are, and what each says.

use project::dashboard::{
    AgentRow, AgentState, CallRow, MailRow, Minute, Need, NodeRow, QuestionRow, Room, Rooms, SessionRow, Urgency,
    WorkRow,
};
use project::span;

/// The title of the column with the last minutes, which a face may draw.
pub(crate) const STRIP: &str = "last 15 min";

/// The meaning of a cell, which decides its colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Dim,
    Good,
    Busy,
    Waiting,
    Alarm,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub text: String,
    pub tone: Tone,
}

/// A column. On a narrow screen the columns with the highest rank are left out first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub title: &'static str,
    pub width: usize,
    pub rank: u8,
    /// True if it takes what the others leave.
    pub is_wide: bool,
    /// True if its cells name their rows.
    pub is_head: bool,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The key of the row in its room.
    pub id: String,
    pub cells: Vec<Cell>,
}

impl Row {
    /// Returns true if a cell holds the text, in any case.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.cells.iter().any(|cell| cell.text.to_lowercase().contains(&text.to_lowercase()))
    }

    /// Returns all cells in one line.
    pub(crate) fn line(&self) -> String {
        let texts = self.cells.iter().map(|cell| cell.text.as_str()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("  ")
    }
}

/// A column with the way to its cell, which depends on the row and the time.
struct Drawn<R>(Column, fn(&R, u64) -> Cell);

const fn fixed<R>(title: &'static str, width: usize, rank: u8, cell: fn(&R, u64) -> Cell) -> Drawn<R> {
    Drawn(Column { title, width, rank, is_wide: false, is_head: false }, cell)
}

const fn wide<R>(title: &'static str, width: usize, cell: fn(&R, u64) -> Cell) -> Drawn<R> {
    Drawn(Column { title, width, rank: 0, is_wide: true, is_head: false }, cell)
}

/// Makes a column the one that names the rows.
const fn head<R>(drawn: Drawn<R>) -> Drawn<R> {
    Drawn(Column { is_head: true, ..drawn.0 }, drawn.1)
}

const NOW: &[Drawn<Need>] = &[
    fixed("", 1, 0, |need, _| toned(["!", "?", "×", "·"][need.urgency as usize], need_tone(need))),
    head(wide("needs you", 20, |need, _| toned(&need.text, need_tone(need)))),
    fixed("since", 7, 1, |need, now| age(need.since, now)),
    fixed("action", 12, 2, |need, _| dim(&need.action)),
];

const AGENTS: &[Drawn<AgentRow>] = &[
    head(fixed("agent", 14, 0, |agent, _| plain(name(agent)))),
    fixed("state", 14, 0, |agent, _| {
        let tone = match agent.state {
            AgentState::Working => Tone::Busy,
            AgentState::WaitingForYou => Tone::Waiting,
            AgentState::WaitingForMail | AgentState::Idle => Tone::Good,
            AgentState::Gone => Tone::Dim,
        };
        toned(agent.state.name(), tone)
    }),
    fixed("for", 7, 1, |agent, now| age(agent.since, now)),
    wide("doing", 16, |agent, _| match &agent.stuck {
        Some(why) => toned(why, Tone::Alarm),
        None => plain(agent.doing.as_deref().unwrap_or_default()),
    }),
    fixed(STRIP, 15, 3, |agent, _| dim(agent.strip.iter().map(|minute| strip_mark(*minute)).collect::<String>())),
    fixed("role", 10, 5, |agent, _| dim(&agent.role)),
    fixed("program", 12, 6, |agent, _| dim(&agent.program)),
    fixed("worktree", 18, 4, |agent, _| dim(last_part(&agent.worktree))),
];

const SESSIONS: &[Drawn<SessionRow>] = &[
    head(fixed("session", 14, 0, |session, _| plain(&session.name))),
    fixed("state", 14, 0, |session, _| {
        let tone = match session.state.as_str() {
            _ if session.stuck.is_some() => Tone::Alarm,
            "crashed" | "killed" | "uninterruptible" | "hung" | "cannot_start" | "over_budget" => Tone::Alarm,
            "running" | "interrupting" | "starting" | "loading" => Tone::Busy,
            "waiting_for_input" => Tone::Waiting,
            "idle" | "ready" => Tone::Good,
            _ => Tone::Dim,
        };
        toned(session.state.replace('_', " "), tone)
    }),
    fixed("for", 7, 1, |session, now| age(session.running_since.unwrap_or(session.since), now)),
    wide("evaluates", 16, |session, _| {
        let about = session.stuck.as_deref().or(session.reason.as_deref()).unwrap_or(&session.code);
        plain(session.eval.map(|eval| format!("#{eval} ")).unwrap_or_default() + about)
    }),
    fixed("memory", 8, 2, |session, _| dim(session.memory_mib.map(|mib| format!("{mib} MiB")).unwrap_or_default())),
    fixed("profile", 8, 3, |session, _| dim(&session.profile)),
    fixed("owner", 14, 4, |session, _| dim(&session.owner)),
    fixed("worktree", 18, 5, |session, _| dim(last_part(&session.worktree))),
];

const MAIL: &[Drawn<MailRow>] = &[
    fixed("from", 12, 0, |message, _| plain(&message.from)),
    fixed("to", 18, 0, |message, _| plain(recipients(message))),
    head(wide("text", 16, |message, _| match &message.stuck {
        Some(_) => toned(&message.text, Tone::Alarm),
        None if message.priority == "critical" || message.is_unread_by_user() => toned(&message.text, Tone::Waiting),
        None => plain(&message.text),
    })),
    fixed("priority", 8, 2, |message, _| dim(&message.priority)),
    fixed("age", 7, 1, |message, now| age(message.sent, now)),
];

const QUESTIONS: &[Drawn<QuestionRow>] = &[
    fixed("agent", 14, 0, |question, _| plain(&question.agent)),
    head(wide("question", 20, |question, _| toned(&question.title, question_tone(question)))),
    fixed("asked", 7, 1, |question, now| age(question.asked_at, now)),
    fixed("left", 7, 0, |question, now| plain(span(question.expires_at.saturating_sub(now) / 1000))),
    fixed("danger", 12, 2, |question, _| match question.urgent {
        true => toned(format!("{}, urgent", question.danger), Tone::Alarm),
        false if question.danger == "high" => toned("high", Tone::Alarm),
        false => dim(&question.danger),
    }),
];

const ACTIVITY: &[Drawn<CallRow>] = &[
    fixed("agent", 14, 0, |call, _| plain(&call.agent)),
    head(fixed("tool", 18, 0, |call, _| plain(&call.tool))),
    wide("arguments", 8, |call, _| dim(&call.arguments)),
    fixed("result", 16, 1, |call, _| match (&call.stuck, call.outcome.as_deref()) {
        (Some(_), _) => toned("stuck", Tone::Alarm),
        (None, None) => toned("open", Tone::Busy),
        (None, Some("done")) => toned("done", Tone::Good),
        (None, Some(other)) => toned(other, Tone::Waiting),
    }),
    fixed("took", 7, 2, |call, _| dim(call.ended.map(|at| took(at.saturating_sub(call.started))).unwrap_or_default())),
    fixed("age", 7, 3, |call, now| age(call.started, now)),
];

const WORK: &[Drawn<WorkRow>] = &[
    head(fixed("worktree", 18, 0, |work, _| plain(last_part(&work.worktree)))),
    fixed("branch", 16, 0, |work, _| plain(&work.branch)),
    wide("agents", 10, |work, _| plain(work.agents.join(", "))),
    fixed("unfinished", 20, 1, |work, _| plain(&work.unfinished)),
    fixed("pull request", 12, 4, |work, _| dim(work.pull_request.as_deref().unwrap_or_default())),
    fixed("checks", 8, 2, |work, _| dim(work.checks.as_deref().unwrap_or_default())),
    fixed("issue", 16, 3, |work, _| dim(work.issue.as_deref().unwrap_or_default())),
];

const NODES: &[Drawn<NodeRow>] = &[
    head(fixed("node", 16, 0, |node, _| plain(&node.name))),
    fixed("model", 14, 1, |node, _| dim(&node.model)),
    fixed("calls", 6, 0, |node, _| plain(node.calls.to_string())),
    fixed("tokens", 8, 2, |node, _| dim(node.tokens.to_string())),
    fixed("failed", 6, 0, |node, _| {
        toned(node.failures.to_string(), if node.failures > 0 { Tone::Alarm } else { Tone::Dim })
    }),
    wide("last", 10, |node, _| plain(node.last.as_deref().unwrap_or_default())),
];

/// Returns the columns of a room.
pub(crate) fn columns(room: Room) -> Vec<Column> {
    table(&Rooms::default(), room, 0).0
}

/// Returns the rows of a room.
pub(crate) fn rows(rooms: &Rooms, room: Room, now: u64) -> Vec<Row> {
    table(rooms, room, now).1
}

fn table(rooms: &Rooms, room: Room, now: u64) -> (Vec<Column>, Vec<Row>) {
    fn table<R>(rows: &[R], drawn: &[Drawn<R>], now: u64, id: impl Fn(&R) -> String) -> (Vec<Column>, Vec<Row>) {
        let row = |row| Row { id: id(row), cells: drawn.iter().map(|Drawn(_, cell)| cell(row, now)).collect() };
        (drawn.iter().map(|drawn| drawn.0).collect(), rows.iter().map(row).collect())
    }
    match room {
        Room::Now => table(&rooms.now, NOW, now, |need| need.id.clone()),
        Room::Agents => table(&rooms.agents, AGENTS, now, |agent| agent.id.clone()),
        Room::Sessions => table(&rooms.sessions, SESSIONS, now, |session| session.id.clone()),
        Room::Mail => table(&rooms.mail, MAIL, now, |message| message.id.clone()),
        Room::Questions => table(&rooms.questions, QUESTIONS, now, |question| question.id.clone()),
        Room::Activity => table(&rooms.activity, ACTIVITY, now, call_id),
        Room::Work => table(&rooms.work, WORK, now, |work| work.worktree.clone()),
        Room::Nodes => table(&rooms.nodes, NODES, now, |node| format!("{} {}", node.worktree, node.name)),
    }
}

fn plain(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), tone: Tone::Plain }
}

fn dim(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), tone: Tone::Dim }
}

fn toned(text: impl Into<String>, tone: Tone) -> Cell {
    Cell { text: text.into(), tone }
}

fn age(since: u64, now: u64) -> Cell {
    dim(if since == 0 { String::new() } else { span(now.saturating_sub(since) / 1000) })
}

fn need_tone(need: &Need) -> Tone {
    match need.urgency {
        Urgency::Critical | Urgency::Normal => Tone::Alarm,
        Urgency::High => Tone::Waiting,
        Urgency::Low => Tone::Plain,
    }
}

fn question_tone(question: &QuestionRow) -> Tone {
    if question.danger == "high" || question.urgent { Tone::Alarm } else { Tone::Waiting }
}

/// Returns the recipients of a message with their states.
pub(crate) fn recipients(message: &MailRow) -> String {
    let to = message.to.iter().map(|to| format!("{} ({})", to.name, to.state.replace('_', " ")));
    to.collect::<Vec<_>>().join(", ")
}

/// Returns the number of rows that the name of a room shows; 0 for rooms whose number tells nothing.
pub(crate) fn count(rooms: &Rooms, room: Room) -> usize {
    match room {
        Room::Now => rooms.now.len(),
        Room::Agents => rooms.agents.len(),
        Room::Sessions => rooms.sessions.len(),
        Room::Mail => rooms.mail.len(),
        Room::Questions => rooms.questions.len(),
        Room::Activity | Room::Work | Room::Nodes => 0,
    }
}

/// Returns the name of an agent, or its id.
pub(crate) fn name(agent: &AgentRow) -> &str {
    if agent.name.is_empty() { &agent.id } else { &agent.name }
}

/// Finds an agent.
pub(crate) fn agent<'a>(rooms: &'a Rooms, id: &str) -> Option<&'a AgentRow> {
    rooms.agents.iter().find(|agent| agent.id == id)
}

/// Finds a session.
pub(crate) fn session<'a>(rooms: &'a Rooms, id: &str) -> Option<&'a SessionRow> {
    rooms.sessions.iter().find(|session| session.id == id)
}

/// Returns the messages of a conversation, oldest first.
pub(crate) fn conversation<'a>(rooms: &'a Rooms, thread: &str) -> Vec<&'a MailRow> {
    let mut messages: Vec<_> = rooms.mail.iter().filter(|message| message.thread == thread).collect();
    messages.sort_by_key(|message| message.sent);
    messages
}

/// Returns the questions, sessions, latest calls and messages of an agent.
pub(crate) fn of_agent(rooms: &Rooms, id: &str) -> Rooms {
    let Some(agent) = agent(rooms, id) else { return Rooms::default() };
    let is_it = |other: &str| other == agent.id || (!agent.name.is_empty() && other == agent.name);
    let asks = |question: &&QuestionRow| agent.pids.contains(&question.pid) || is_it(&question.agent);
    let has_mail = |mail: &&MailRow| is_it(&mail.from) || mail.to.iter().any(|to| is_it(&to.name));
    Rooms {
        questions: rooms.questions.iter().filter(asks).cloned().collect(),
        sessions: rooms.sessions.iter().filter(|session| is_it(&session.owner)).cloned().collect(),
        activity: rooms.activity.iter().filter(|call| call.agent == agent.id).take(20).cloned().collect(),
        mail: rooms.mail.iter().filter(has_mail).cloned().collect(),
        ..Rooms::default()
    }
}

/// Returns the id of the row of a call. A number belongs to one daemon.
pub(crate) fn call_id(call: &CallRow) -> String {
    format!("{} {}", call.number, call.started)
}

fn strip_mark(minute: Minute) -> char {
    match minute {
        Minute::Quiet => '·',
        Minute::Working => '█',
        Minute::WaitingForYou => '?',
        Minute::WaitingForMail => '▁',
    }
}

/// Returns a duration in milliseconds in a few characters.
fn took(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => span(ms / 1000),
    }
}

/// Returns the last part of a path: a worktree's name.
fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}
