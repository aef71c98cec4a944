//! Rooms: what a person sees of a project, as rows of plain data. The daemon computes them, and every face (`hob top`,
//! `hob page`, `hob status`) only draws them, so that all show the same.
//!
//! All times are milliseconds since 1970, so that the rows are equal for all readers. All texts come from agents and
//! programs: a face must make them safe for its medium (`project::visible` for a terminal).

use serde::{Deserialize, Serialize};

/// The control method for watching: `{life, number, wait_ms}` answers a [`Snapshot`] as soon as it differs from the one
/// that the caller names, at the latest after `wait_ms` (at most 30,000), and then perhaps the same one. Without
/// `number` it answers immediately. A face that calls again after each answer gets every state that it has time for, at
/// most ten a second: the latest wins, and the daemon keeps nothing for a slow face.
pub const NEXT: &str = "rooms/next";

/// The control method that stops an open call: `{number, started}` of its row answers `{stopped}`. Its agent gets an error.
pub const STOP_CALL: &str = "calls/stop";

/// The name of the person in mail, which no agent can have.
pub const USER: &str = "user";

/// The rooms at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The id of the daemon process. Another id means a restart.
    pub life: String,
    /// The number of this state within the life. A gap means skipped states; nothing is missing from this one.
    pub number: u64,
    /// The time of the snapshot.
    pub at: u64,
    pub rooms: Rooms,
}

/// The rows of all rooms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rooms {
    /// Needs of a person, most urgent first.
    pub now: Vec<Need>,
    /// Notable events, newest first.
    pub events: Vec<EventRow>,
    pub agents: Vec<AgentRow>,
    pub sessions: Vec<SessionRow>,
    /// Messages, newest first.
    pub mail: Vec<MailRow>,
    /// Open questions, oldest first.
    pub questions: Vec<QuestionRow>,
    /// Calls and decisions on hooks, newest first.
    pub activity: Vec<CallRow>,
    pub work: Vec<WorkRow>,
    pub nodes: Vec<NodeRow>,
}

/// A room, in the order of the tabs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    #[default]
    Now,
    Agents,
    Sessions,
    Mail,
    Questions,
    Activity,
    Work,
    Nodes,
}

/// A need of a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Need {
    pub urgency: Urgency,
    /// The room with the row, and the row's id.
    pub room: Room,
    pub id: String,
    /// The time since when it waits.
    pub since: u64,
    pub text: String,
    /// The action that helps, as a verb: `answer`, `interrupt`, `read`, `open`.
    pub action: String,
}

/// The urgency of a need, most urgent first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// A dangerous or urgent question, or critical mail to the person.
    Critical,
    /// An agent waits for the person.
    High,
    /// Something is stuck or crashed.
    #[default]
    Normal,
    /// Mail to the person, or a grant that is missing.
    Low,
}

/// A notable event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventRow {
    /// The number in the daemon's journal.
    pub number: u64,
    pub at: u64,
    pub text: String,
}

/// An agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRow {
    /// A unique key: the name if it registered one.
    pub id: String,
    pub name: String,
    pub role: String,
    pub worktree: String,
    /// The program, by its own name.
    pub program: String,
    /// The process ids of its front-ends.
    pub pids: Vec<u32>,
    pub state: AgentState,
    /// The time since when it is in that state.
    pub since: u64,
    /// The open call, or what the agent said that it does.
    pub doing: Option<String>,
    /// The last 15 minutes, oldest first: the most telling state of each minute.
    pub strip: Vec<Minute>,
    /// The rule that calls it stuck, in words.
    pub stuck: Option<String>,
    /// True if it registered for mail, so that a message reaches it.
    pub has_mailbox: bool,
}

/// The state of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// A call is open, or the last one ended less than a minute ago.
    Working,
    /// A question of it is open.
    WaitingForYou,
    /// It waits for a message.
    WaitingForMail,
    /// It is connected.
    #[default]
    Idle,
    /// It is not connected.
    Gone,
}

/// The state of an agent in one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Minute {
    #[default]
    Quiet,
    WaitingForMail,
    WaitingForYou,
    Working,
}

/// A REPL session, or a language server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionRow {
    /// A unique key: worktree and name.
    pub id: String,
    pub name: String,
    pub worktree: String,
    pub profile: String,
    /// `starting`, `idle`, `running`, `waiting_for_input`, `interrupting`, `uninterruptible`, `exited`, `crashed`,
    /// `stopped` or `killed`; of a language server also `loading`, `ready`, `doubtful`, `parked`, `hung` and others.
    pub state: String,
    /// The reason of its end.
    pub reason: Option<String>,
    /// The caller that started it.
    pub owner: String,
    /// The start.
    pub since: u64,
    /// The evaluation that runs, or the last one.
    pub eval: Option<u64>,
    /// The first line of its code.
    pub code: String,
    /// The start of the running evaluation.
    pub running_since: Option<u64>,
    /// The number of queued evaluations.
    pub queued: u64,
    /// Resident memory in MiB, as last measured.
    pub memory_mib: Option<u64>,
    pub stuck: Option<String>,
    /// True if it is a language server, which hob starts and stops automatically.
    pub is_server: bool,
}

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MailRow {
    pub id: String,
    pub thread: String,
    pub from: String,
    pub to: Vec<Recipient>,
    /// `critical`, `high`, `normal` or `low`.
    pub priority: String,
    pub sent: u64,
    /// The text, cut to 2,000 characters.
    pub text: String,
    pub stuck: Option<String>,
}

/// A recipient of a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recipient {
    pub name: String,
    /// `waiting`, `handed_out`, `read`, `acked`, `rejected` or `dead`.
    pub state: String,
}

/// An open question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionRow {
    pub id: String,
    pub worktree: String,
    /// The name of the agent that asks, or of its program.
    pub agent: String,
    /// The process that asks, as the kernel reports it; 0 without one.
    pub pid: u32,
    pub title: String,
    /// `low`, `normal` or `high`.
    pub danger: String,
    pub urgent: bool,
    pub asked_at: u64,
    pub expires_at: u64,
    /// `open`: others are not listed.
    pub state: String,
}

/// A call of a tool, or a decision on a hook event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRow {
    /// The number within the daemon's life.
    pub number: u64,
    /// The id of the agent's row.
    pub agent: String,
    /// The name of the tool, or `hook EVENT`.
    pub tool: String,
    /// The arguments in one line, cut to 400 characters.
    pub arguments: String,
    pub started: u64,
    pub ended: Option<u64>,
    /// `done`, `error`, `internal` or `cancelled`; for a hook the decision and its rule. `None` while open.
    pub outcome: Option<String>,
    pub stuck: Option<String>,
}

/// The work in a worktree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkRow {
    /// The worktree, which is the key.
    pub worktree: String,
    pub branch: String,
    /// The unfinished work in words: changed files, commits that are not pushed.
    pub unfinished: String,
    /// The agents there, by name.
    pub agents: Vec<String>,
    /// The issue of the branch with its status.
    pub issue: Option<String>,
    pub pull_request: Option<String>,
    pub checks: Option<String>,
}

/// A node: a prompt with a typed input and output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeRow {
    pub name: String,
    pub worktree: String,
    pub model: String,
    /// Figures since the daemon started.
    pub calls: u64,
    pub tokens: u64,
    pub failures: u64,
    /// The outcome of the last call.
    pub last: Option<String>,
}

impl Room {
    pub const ALL: [Room; 8] =
        [Room::Now, Room::Agents, Room::Sessions, Room::Mail, Room::Questions, Room::Activity, Room::Work, Room::Nodes];

    /// Returns the name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Room::Now => "Now",
            Room::Agents => "Agents",
            Room::Sessions => "Sessions",
            Room::Mail => "Mail",
            Room::Questions => "Questions",
            Room::Activity => "Activity",
            Room::Work => "Work",
            Room::Nodes => "Nodes",
        }
    }

    /// Finds a room by its name, in any case.
    pub fn from_name(name: &str) -> Option<Room> {
        Room::ALL.into_iter().find(|room| room.name().eq_ignore_ascii_case(name))
    }

    /// Returns a sentence for the empty room, which says what fills it.
    pub fn when_empty(self) -> &'static str {
        match self {
            Room::Now => "Nothing waits for you.",
            Room::Agents => "No agent is connected. `hob init` sets one up.",
            Room::Sessions => "No session. `hob eval 'print(1)'` starts one.",
            Room::Mail => "No mail. Write to agents with `w` in `hob top` or with `hob send`.",
            Room::Questions => "No open question. Agents ask with confirm_action, select_option and request_guidance.",
            Room::Activity => "No call since the daemon started.",
            Room::Work => "No worktree has unfinished work.",
            Room::Nodes => "No nodes. Create one with `hob node new NAME`.",
        }
    }
}

impl MailRow {
    /// Returns true if the message waits for the person.
    pub fn is_unread_by_user(&self) -> bool {
        self.to.iter().any(|to| to.name == USER && ["waiting", "handed_out"].contains(&to.state.as_str()))
    }
}

impl AgentState {
    /// Returns the name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            AgentState::Working => "working",
            AgentState::WaitingForYou => "waits for you",
            AgentState::WaitingForMail => "waits for mail",
            AgentState::Idle => "idle",
            AgentState::Gone => "gone",
        }
    }
}

impl Rooms {
    /// Returns one line for a status bar, such as `2 working · 1 waits for you`.
    pub fn line(&self) -> String {
        let agents = |state: AgentState| self.agents.iter().filter(|agent| agent.state == state).count();
        // A question of a script or of an agent that left waits for the person too.
        let waiting = self.questions.len().max(agents(AgentState::WaitingForYou));
        let stuck = self.now.iter().filter(|need| need.urgency == Urgency::Normal).count();
        let unread = self.mail.iter().filter(|message| message.is_unread_by_user()).count();
        let wait = if waiting == 1 { "waits for you" } else { "wait for you" };
        let parts = [
            (agents(AgentState::Working), "working"),
            (waiting, wait),
            (unread, "to read"),
            (stuck, "stuck or crashed"),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, text)| format!("{count} {text}")).collect();
        if parts.is_empty() { "quiet".to_owned() } else { parts.join(" · ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_counts_what_a_person_asks_about() {
        let mut rooms = Rooms::default();
        assert_eq!(rooms.line(), "quiet");
        let agent = |state| AgentRow { state, ..AgentRow::default() };
        rooms.agents = [AgentState::Working, AgentState::Working, AgentState::WaitingForYou].map(agent).to_vec();
        rooms.questions = vec![QuestionRow::default()];
        assert_eq!(rooms.line(), "2 working · 1 waits for you");
        rooms.questions.push(QuestionRow::default());
        rooms.now = vec![Need::default()];
        let to = vec![Recipient { name: USER.to_owned(), state: "waiting".to_owned() }];
        rooms.mail = vec![MailRow { to, ..MailRow::default() }];
        assert_eq!(rooms.line(), "2 working · 2 wait for you · 1 to read · 1 stuck or crashed");
    }

    #[test]
    fn a_newer_daemon_may_send_more_and_an_older_one_less() {
        let rooms: Rooms = serde_json::from_str(r#"{"agents": [{"name": "ann", "mood": 3}], "zoo": []}"#).unwrap();
        assert_eq!((rooms.agents[0].name.as_str(), rooms.agents[0].state), ("ann", AgentState::Idle));
        assert_eq!(serde_json::from_str::<Rooms>(&serde_json::to_string(&rooms).unwrap()).unwrap(), rooms);
    }
}
