//! The rows of each room as cells, for all faces: which columns there are, and what each says.

use project::rooms::{AgentState, CallRow, MailRow, Minute, QuestionRow, Room, Rooms, Urgency};
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
    /// True if it takes what the others leave.
    pub is_wide: bool,
    pub rank: u8,
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

const fn fixed(title: &'static str, width: usize, rank: u8) -> Column {
    Column { title, width, is_wide: false, rank, is_head: false }
}

const fn wide(title: &'static str, width: usize) -> Column {
    Column { title, width, is_wide: true, rank: 0, is_head: false }
}

const fn head(column: Column) -> Column {
    Column { is_head: true, ..column }
}

/// Returns the columns of a room.
pub(crate) fn columns(room: Room) -> &'static [Column] {
    const NOW: &[Column] = &[fixed("", 1, 0), head(wide("needs you", 20)), fixed("since", 7, 1), fixed("key", 12, 2)];
    const AGENTS: &[Column] = &[
        head(fixed("agent", 14, 0)),
        fixed("state", 14, 0),
        fixed("for", 7, 1),
        wide("doing", 16),
        fixed(STRIP, 15, 3),
        fixed("role", 10, 5),
        fixed("program", 12, 6),
        fixed("worktree", 18, 4),
    ];
    const SESSIONS: &[Column] = &[
        head(fixed("session", 12, 0)),
        fixed("state", 14, 0),
        fixed("for", 7, 1),
        wide("evaluates", 16),
        fixed("memory", 8, 2),
        fixed("profile", 8, 3),
        fixed("owner", 14, 4),
        fixed("worktree", 18, 5),
    ];
    const MAIL: &[Column] = &[
        fixed("from", 12, 0),
        fixed("to", 18, 0),
        head(wide("text", 16)),
        fixed("priority", 8, 2),
        fixed("age", 7, 1),
    ];
    const QUESTIONS: &[Column] = &[
        fixed("agent", 14, 0),
        head(wide("question", 20)),
        fixed("asked", 7, 1),
        fixed("left", 7, 0),
        fixed("danger", 12, 2),
    ];
    const ACTIVITY: &[Column] = &[
        fixed("agent", 14, 0),
        head(fixed("tool", 18, 0)),
        wide("arguments", 16),
        fixed("result", 10, 1),
        fixed("took", 7, 2),
        fixed("age", 7, 3),
    ];
    const WORK: &[Column] = &[
        head(fixed("worktree", 18, 0)),
        fixed("branch", 16, 0),
        wide("agents", 10),
        fixed("unfinished", 20, 1),
        fixed("pull request", 12, 4),
        fixed("checks", 8, 2),
        fixed("issue", 16, 3),
    ];
    const NODES: &[Column] = &[
        head(fixed("node", 16, 0)),
        fixed("model", 14, 1),
        fixed("calls", 6, 0),
        fixed("tokens", 8, 2),
        fixed("failed", 6, 0),
        wide("last", 10),
    ];
    match room {
        Room::Now => NOW,
        Room::Agents => AGENTS,
        Room::Sessions => SESSIONS,
        Room::Mail => MAIL,
        Room::Questions => QUESTIONS,
        Room::Activity => ACTIVITY,
        Room::Work => WORK,
        Room::Nodes => NODES,
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

/// Returns the rows of a room.
pub(crate) fn rows(rooms: &Rooms, room: Room, now: u64) -> Vec<Row> {
    let age = |since: u64| if since == 0 { String::new() } else { span(now.saturating_sub(since) / 1000) };
    let row = |id: &str, cells: Vec<Cell>| Row { id: id.to_owned(), cells };
    match room {
        Room::Now => {
            let of = |need: &project::rooms::Need| {
                let tone = match need.urgency {
                    Urgency::Critical => Tone::Alarm,
                    Urgency::High => Tone::Waiting,
                    Urgency::Normal => Tone::Alarm,
                    Urgency::Low => Tone::Plain,
                };
                let mark = match need.urgency {
                    Urgency::Critical => "!",
                    Urgency::High => "?",
                    Urgency::Normal => "×",
                    Urgency::Low => "·",
                };
                let cells = vec![toned(mark, tone), toned(&need.text, tone), dim(age(need.since)), dim(&need.action)];
                row(&need.id, cells)
            };
            rooms.now.iter().map(of).collect()
        }
        Room::Agents => {
            let of = |agent: &project::rooms::AgentRow| {
                let doing = agent.stuck.as_deref().or(agent.doing.as_deref()).unwrap_or_default();
                let tone = if agent.stuck.is_some() { Tone::Alarm } else { Tone::Plain };
                let cells = vec![
                    plain(&agent.name),
                    toned(agent.state.name(), state_tone(agent.state)),
                    dim(age(agent.since)),
                    toned(doing, tone),
                    dim(agent.strip.iter().map(|minute| strip_mark(*minute)).collect::<String>()),
                    dim(&agent.role),
                    dim(&agent.program),
                    dim(last_part(&agent.worktree)),
                ];
                row(&agent.id, cells)
            };
            rooms.agents.iter().map(of).collect()
        }
        Room::Sessions => {
            let of = |session: &project::rooms::SessionRow| {
                let about = session.stuck.as_deref().or(session.reason.as_deref()).unwrap_or(&session.code);
                let tone = match (session.stuck.is_some(), session.state.as_str()) {
                    (true, _) | (_, "crashed" | "killed" | "uninterruptible") => Tone::Alarm,
                    (_, "hung" | "cannot_start" | "over_budget") => Tone::Alarm,
                    (_, "running" | "interrupting" | "starting" | "loading") => Tone::Busy,
                    (_, "waiting_for_input") => Tone::Waiting,
                    (_, "idle" | "ready") => Tone::Good,
                    _ => Tone::Dim,
                };
                let eval = session.eval.map(|eval| format!("#{eval} ")).unwrap_or_default();
                let memory = session.memory_mib.map(|mib| format!("{mib} MiB")).unwrap_or_default();
                let cells = vec![
                    plain(&session.name),
                    toned(session.state.replace('_', " "), tone),
                    dim(age(session.running_since.unwrap_or(session.since))),
                    plain(format!("{eval}{about}")),
                    dim(memory),
                    dim(&session.profile),
                    dim(&session.owner),
                    dim(last_part(&session.worktree)),
                ];
                row(&session.id, cells)
            };
            rooms.sessions.iter().map(of).collect()
        }
        Room::Mail => {
            let of = |message: &project::rooms::MailRow| {
                let tone = match (message.stuck.is_some(), message.priority.as_str()) {
                    (true, _) => Tone::Alarm,
                    (_, "critical") => Tone::Waiting,
                    _ if message.is_unread_by_user() => Tone::Waiting,
                    _ => Tone::Plain,
                };
                let cells = vec![
                    plain(&message.from),
                    plain(recipients(message)),
                    toned(message.stuck.as_ref().unwrap_or(&message.text), tone),
                    dim(&message.priority),
                    dim(age(message.sent)),
                ];
                row(&message.id, cells)
            };
            rooms.mail.iter().map(of).collect()
        }
        Room::Questions => {
            let of = |question: &project::rooms::QuestionRow| {
                let tone = if question.danger == "high" || question.urgent { Tone::Alarm } else { Tone::Waiting };
                let danger =
                    if question.urgent { format!("{}, urgent", question.danger) } else { question.danger.clone() };
                let left = span(question.expires_at.saturating_sub(now) / 1000);
                let cells = vec![
                    plain(&question.agent),
                    toned(&question.title, tone),
                    dim(age(question.asked_at)),
                    plain(left),
                    toned(danger, if tone == Tone::Alarm { tone } else { Tone::Dim }),
                ];
                row(&question.id, cells)
            };
            rooms.questions.iter().map(of).collect()
        }
        Room::Activity => {
            let of = |call: &project::rooms::CallRow| {
                let (result, tone) = match (&call.stuck, call.outcome.as_deref()) {
                    (Some(_), _) => ("stuck", Tone::Alarm),
                    (None, None) => ("open", Tone::Busy),
                    (None, Some("done")) => ("done", Tone::Good),
                    (None, Some(other)) => (other, Tone::Waiting),
                };
                let took = call.ended.map(|ended| took(ended.saturating_sub(call.started))).unwrap_or_default();
                let cells = vec![
                    plain(&call.agent),
                    plain(&call.tool),
                    dim(&call.arguments),
                    toned(result, tone),
                    dim(took),
                    dim(age(call.started)),
                ];
                row(&call_id(call), cells)
            };
            rooms.activity.iter().map(of).collect()
        }
        Room::Work => {
            let of = |work: &project::rooms::WorkRow| {
                let cells = vec![
                    plain(last_part(&work.worktree)),
                    plain(&work.branch),
                    plain(work.agents.join(", ")),
                    plain(&work.unfinished),
                    dim(work.pull_request.as_deref().unwrap_or_default()),
                    dim(work.checks.as_deref().unwrap_or_default()),
                    dim(work.issue.as_deref().unwrap_or_default()),
                ];
                row(&work.worktree, cells)
            };
            rooms.work.iter().map(of).collect()
        }
        Room::Nodes => {
            let of = |node: &project::rooms::NodeRow| {
                let tone = if node.failures > 0 { Tone::Alarm } else { Tone::Dim };
                let cells = vec![
                    plain(&node.name),
                    dim(&node.model),
                    plain(node.calls.to_string()),
                    dim(node.tokens.to_string()),
                    toned(node.failures.to_string(), tone),
                    plain(node.last.as_deref().unwrap_or_default()),
                ];
                row(&format!("{} {}", node.worktree, node.name), cells)
            };
            rooms.nodes.iter().map(of).collect()
        }
    }
}

/// Returns the recipients of a message with their states.
pub(crate) fn recipients(message: &MailRow) -> String {
    let to = message.to.iter().map(|to| format!("{} ({})", to.name, to.state.replace('_', " ")));
    to.collect::<Vec<_>>().join(", ")
}

/// Returns the questions, sessions, latest calls and messages of an agent.
pub(crate) fn of_agent(rooms: &Rooms, id: &str) -> Rooms {
    let Some(agent) = rooms.agents.iter().find(|agent| agent.id == id) else { return Rooms::default() };
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

fn state_tone(state: AgentState) -> Tone {
    match state {
        AgentState::Working => Tone::Busy,
        AgentState::WaitingForYou => Tone::Waiting,
        AgentState::WaitingForMail | AgentState::Idle => Tone::Good,
        AgentState::Gone => Tone::Dim,
    }
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
