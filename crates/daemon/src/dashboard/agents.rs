//! The rows of agents: a pure function of connections, calls, open questions and the agents registered for mail.

use std::collections::BTreeMap;

use project::dashboard::{AgentRow, AgentState, Minute, QuestionRow};

use super::calls::{Agent, Call, MINUTE};

/// The time after its last call for which an agent counts as working: its model thinks between two calls.
const THINKS: u64 = MINUTE;
/// The time after its last call for which an agent without a connection counts as connected: over HTTP.
const BETWEEN_REQUESTS: u64 = 5 * MINUTE;
/// The time for which an agent that left is listed, if it never registered a name.
const REMEMBERED: u64 = 60 * MINUTE;

/// An agent before its state is known.
#[derive(Clone)]
pub(crate) struct Presence {
    /// The key of its calls.
    pub key: String,
    pub name: Option<String>,
    pub worktree: String,
    pub pid: u32,
    /// The time of its connection; `None` if it is not connected.
    pub connected: Option<u64>,
    /// Its calls so far.
    pub agent: Option<Agent>,
}

impl Presence {
    /// Returns the id of its row.
    pub(crate) fn id(&self) -> String {
        self.name.clone().unwrap_or_else(|| match self.pid {
            0 => format!("run {}", super::calls::cut(&self.key, 8)),
            pid => format!("pid {pid}"),
        })
    }
}

/// Returns the rows: connected agents first, by name. `registered` are the agents that mail knows.
pub(crate) fn rows(
    now: u64,
    present: &[Presence],
    calls: &[Call],
    questions: &[QuestionRow],
    registered: Vec<AgentRow>,
) -> Vec<AgentRow> {
    let mut rows: BTreeMap<String, AgentRow> = registered.into_iter().map(|row| (row.id.clone(), row)).collect();
    let mut by_id: BTreeMap<String, Vec<&Presence>> = BTreeMap::new();
    present.iter().for_each(|agent| by_id.entry(agent.id()).or_default().push(agent));
    for (id, runs) in by_id {
        let known = rows.remove(&id);
        let is_known = known.is_some();
        let row = row(now, &id, &runs, calls, questions, known.unwrap_or_default());
        if row.state != AgentState::Gone || is_known || row.since + REMEMBERED > now {
            rows.insert(id, row);
        }
    }
    let mut rows: Vec<AgentRow> = rows.into_values().collect();
    rows.sort_by_key(|row| row.state == AgentState::Gone);
    rows
}

/// Returns the row of an agent with one or more runs.
fn row(now: u64, id: &str, runs: &[&Presence], calls: &[Call], questions: &[QuestionRow], known: AgentRow) -> AgentRow {
    let agents = || runs.iter().filter_map(|run| run.agent.as_ref());
    let mine: Vec<&Call> = calls.iter().filter(|call| runs.iter().any(|run| run.key == call.agent)).collect();
    let open = || mine.iter().filter(|call| call.row.ended.is_none());
    let pids: Vec<u32> = runs.iter().filter(|run| run.connected.is_some()).map(|run| run.pid).collect();
    let heard = agents().map(|agent| agent.heard).max();
    let connected = runs.iter().filter_map(|run| run.connected).min();
    let asks = questions.iter().filter(|question| question.pid != 0 && pids.contains(&question.pid));
    let asks = asks.map(|question| question.asked_at).min();
    let oldest = |kind: Minute| open().filter(|call| call.kind == kind).map(|call| call.row.started).min();
    let is_here = connected.is_some() || open().next().is_some();
    let (state, since) = match (asks, oldest(Minute::Working), oldest(Minute::WaitingForMail), heard) {
        (Some(asked), ..) => (AgentState::WaitingForYou, asked),
        (_, Some(began), ..) => (AgentState::Working, began),
        (_, _, Some(began), _) => (AgentState::WaitingForMail, began),
        (.., Some(heard)) if is_here && heard + THINKS > now => (AgentState::Working, heard),
        (.., Some(heard)) if is_here || (runs.iter().all(|run| run.pid == 0) && heard + BETWEEN_REQUESTS > now) => {
            (AgentState::Idle, heard)
        }
        (.., heard) => match connected {
            Some(connected) => (AgentState::Idle, connected),
            None => (AgentState::Gone, heard.unwrap_or(known.since)),
        },
    };
    let mut strip = super::calls::Strip::default();
    agents().for_each(|agent| strip.add(&agent.strip));
    open().for_each(|call| strip.mark(call.row.started, now, call.kind));
    let current = open().max_by_key(|call| call.row.number);
    let doing = current.map(|call| format!("{} {}", call.row.tool, super::calls::cut(&call.row.arguments, 120)));
    let program = agents().map(|agent| agent.program.clone()).find(|program| !program.is_empty());
    AgentRow {
        id: id.to_owned(),
        name: runs.iter().find_map(|run| run.name.clone()).unwrap_or_else(|| id.to_owned()),
        worktree: runs.iter().map(|run| run.worktree.clone()).find(|path| !path.is_empty()).unwrap_or(known.worktree),
        program: program.unwrap_or_default(),
        pids,
        state,
        since,
        doing: doing.map(|doing| doing.trim_end().to_owned()).or(known.doing),
        strip: strip.rows(now),
        stuck: None,
        role: known.role,
        has_mailbox: known.has_mailbox,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use project::dashboard::CallRow;

    const NOW: u64 = 1_000 * MINUTE;

    fn presence(name: &str, connected: Option<u64>) -> Presence {
        Presence {
            key: format!("run of {name}"),
            name: Some(name.to_owned()),
            worktree: "/w".to_owned(),
            pid: 7,
            connected,
            agent: None,
        }
    }

    fn call(name: &str, kind: Minute, started: u64, ended: Option<u64>) -> Call {
        let row = CallRow { number: started, tool: "t".to_owned(), started, ended, ..CallRow::default() };
        Call { agent: format!("run of {name}"), kind, row }
    }

    fn state(present: &[Presence], calls: &[Call], questions: &[QuestionRow]) -> Vec<(String, AgentState, u64)> {
        let rows = rows(NOW, present, calls, questions, Vec::new());
        rows.into_iter().map(|row| (row.name, row.state, row.since)).collect()
    }

    #[test]
    fn an_agent_s_state_comes_from_its_calls_and_questions() {
        let ann = || [presence("ann", Some(5))];
        let is = |state, since| vec![("ann".to_owned(), state, since)];
        assert_eq!(state(&ann(), &[], &[]), is(AgentState::Idle, 5));
        let works = call("ann", Minute::Working, 900, None);
        let waits = call("ann", Minute::WaitingForMail, 800, None);
        assert_eq!(state(&ann(), std::slice::from_ref(&waits), &[]), is(AgentState::WaitingForMail, 800));
        assert_eq!(state(&ann(), &[works.clone(), waits.clone()], &[]), is(AgentState::Working, 900));
        let question = QuestionRow { pid: 7, asked_at: 850, ..QuestionRow::default() };
        assert_eq!(state(&ann(), &[works, waits], &[question]), is(AgentState::WaitingForYou, 850));
        // Another agent's calls and questions are not its own.
        let other = QuestionRow { pid: 8, ..QuestionRow::default() };
        assert_eq!(state(&ann(), &[call("bob", Minute::Working, 1, None)], &[other]), is(AgentState::Idle, 5));
    }

    #[test]
    fn an_agent_that_left_is_gone_and_keeps_its_role() {
        let registered = AgentRow {
            id: "bob".to_owned(),
            name: "bob".to_owned(),
            role: "tester".to_owned(),
            state: AgentState::Gone,
            has_mailbox: true,
            ..AgentRow::default()
        };
        let listed = rows(NOW, &[presence("ann", None), presence("eve", Some(3))], &[], &[], vec![registered.clone()]);
        let names: Vec<_> = listed.iter().map(|row| (row.name.as_str(), row.state)).collect();
        assert_eq!(names, [("eve", AgentState::Idle), ("bob", AgentState::Gone)], "ann left long ago");
        let listed = rows(NOW, &[presence("bob", Some(3))], &[], &[], vec![registered]);
        assert_eq!((&*listed[0].role, listed[0].state, listed[0].has_mailbox), ("tester", AgentState::Idle, true));
    }
}
