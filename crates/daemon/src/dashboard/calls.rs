//! The calls of agents as they begin and end: a bounded log in memory, and what each agent did in the last minutes.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use mcp::server::{CallEnd, OnEnd, Stopper};
use mcp::tool::{Context, Declaration};
use project::dashboard::{CallRow, Minute};
use project::{Caller, journal};
use serde_json::value::RawValue;
use tokio::sync::watch;

/// The number of ended calls in the log.
const KEPT: usize = 200;
/// The maximum number of agents in the log.
const AGENTS: usize = 100;
/// The length of shown arguments in characters.
const ARGUMENTS: usize = 400;
/// The number of minutes in a strip.
const MINUTES: usize = 15;
pub(crate) const MINUTE: u64 = 60_000;
/// The error of a call that a person stopped.
const STOPPED: &str =
    "Your user cancelled this call, in hob top or on hob's page. What it started in a session may still run.";

/// The log of calls.
#[derive(Default)]
pub(crate) struct CallLog {
    state: Mutex<State>,
    /// Counts changes.
    changes: watch::Sender<u64>,
    /// The tools whose calls wait for something other than work.
    waiting_tools: OnceLock<HashMap<&'static str, Minute>>,
}

#[derive(Default)]
struct State {
    last: u64,
    open: BTreeMap<u64, OpenCall>,
    ended: VecDeque<Call>,
    agents: HashMap<String, Agent>,
}

/// A call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The key of its agent.
    pub agent: String,
    pub kind: Minute,
    pub row: CallRow,
}

/// An open call.
struct OpenCall {
    call: Call,
    stopper: Option<Stopper>,
}

/// An agent, as its calls show it.
#[derive(Clone)]
pub(crate) struct Agent {
    pub caller: Arc<Caller>,
    /// The program, as it calls itself.
    pub program: String,
    pub strip: Strip,
    /// The time at which its last call began or ended.
    pub heard: u64,
}

/// The most telling state of each of the last minutes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Strip {
    /// By the number of the minute since 1970, in order.
    minutes: VecDeque<(u64, Minute)>,
}

impl CallLog {
    /// Sets the tools whose calls wait, and for what. Only the first call has an effect.
    pub(crate) fn set_waiting_tools(&self, tools: impl IntoIterator<Item = (&'static str, Minute)>) {
        self.waiting_tools.get_or_init(|| tools.into_iter().collect());
    }

    /// Records that a call began. The returned function records its end.
    pub(crate) fn begin(
        self: &Arc<Self>,
        cx: &Context,
        tool: &Declaration,
        arguments: Option<&RawValue>,
        stopper: Stopper,
    ) -> OnEnd {
        let Some(caller) = cx.caller::<Caller>() else { return Box::new(|_| {}) };
        let key = key(caller.run.as_deref(), caller.connection);
        let kind = self.waiting_tools.get().and_then(|tools| tools.get(tool.name.as_str()));
        let row = CallRow {
            tool: tool.name.clone(),
            arguments: arguments.map(|all| cut(all.get(), ARGUMENTS)).unwrap_or_default(),
            started: journal::now(),
            ..CallRow::default()
        };
        let call = Call { agent: key, kind: kind.copied().unwrap_or(Minute::Working), row };
        let program = cx.client().map(|client| client.name.clone());
        let number = self.state.lock().begin(call, Some(stopper), caller, program);
        self.note_change();
        let log = self.clone();
        Box::new(move |end| log.end(number, end))
    }

    fn end(&self, number: u64, end: CallEnd) {
        let outcome = match end {
            CallEnd::Done => "done",
            CallEnd::Error => "error",
            CallEnd::Internal => "internal",
            CallEnd::Cancelled => "cancelled",
        };
        self.state.lock().end(number, outcome, journal::now());
        self.note_change();
    }

    /// Stops an open call for a person. Returns false if the call is unknown.
    pub(crate) fn stop(&self, number: u64, started: u64) -> bool {
        let state = self.state.lock();
        // Another daemon's call may have had this number.
        let open = state.open.get(&number).filter(|open| open.call.row.started == started);
        let stopper = open.and_then(|open| open.stopper.clone());
        // Stopping may end the call, which takes the lock.
        drop(state);
        stopper.is_some_and(|stopper| stopper.stop(STOPPED))
    }

    /// Returns a receiver that is notified of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn note_change(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Returns the calls, newest first, and the agents by key.
    pub(crate) fn read(&self) -> (Vec<Call>, HashMap<String, Agent>) {
        let state = self.state.lock();
        let mut calls: Vec<Call> = state.open.values().map(|open| &open.call).chain(&state.ended).cloned().collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.row.number));
        (calls, state.agents.clone())
    }
}

impl State {
    fn begin(&mut self, mut call: Call, stopper: Option<Stopper>, caller: &Caller, program: Option<String>) -> u64 {
        self.last += 1;
        call.row.number = self.last;
        let started = call.row.started;
        if !self.agents.contains_key(&call.agent) && self.agents.len() >= AGENTS {
            let oldest = self.agents.iter().min_by_key(|(_, agent)| agent.heard).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.agents.remove(&key));
        }
        let agent = self.agents.entry(call.agent.clone()).or_insert_with(|| Agent {
            caller: Arc::new(caller.clone()),
            program: String::new(),
            strip: Strip::default(),
            heard: started,
        });
        if agent.caller.connection != caller.connection {
            agent.caller = Arc::new(caller.clone());
        }
        if let Some(program) = program.filter(|program| *program != agent.program) {
            agent.program = program;
        }
        agent.heard = started;
        self.open.insert(self.last, OpenCall { call, stopper });
        self.last
    }

    fn end(&mut self, number: u64, outcome: &str, now: u64) {
        let Some(OpenCall { mut call, .. }) = self.open.remove(&number) else { return };
        call.row.ended = Some(now);
        call.row.outcome = Some(outcome.to_owned());
        if let Some(agent) = self.agents.get_mut(&call.agent) {
            agent.strip.mark(call.row.started, now, call.kind);
            agent.heard = now;
        }
        if self.ended.len() == KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back(call);
    }
}

impl Strip {
    /// Marks the minutes from a time to another.
    pub(crate) fn mark(&mut self, from: u64, to: u64, kind: Minute) {
        let last = to / MINUTE;
        for minute in (from / MINUTE).max(last.saturating_sub(MINUTES as u64 - 1))..=last {
            match self.minutes.iter_mut().find(|(of, _)| *of == minute) {
                Some((_, known)) => *known = kind.max(*known),
                None => self.minutes.push_back((minute, kind)),
            }
        }
        self.minutes.make_contiguous().sort_unstable();
        while self.minutes.len() > MINUTES {
            self.minutes.pop_front();
        }
    }

    /// Adds the minutes of another one.
    pub(crate) fn add(&mut self, other: &Strip) {
        other.minutes.iter().for_each(|(minute, kind)| self.mark(minute * MINUTE, minute * MINUTE, *kind));
    }

    /// Returns the last minutes, oldest first.
    pub(crate) fn rows(&self, now: u64) -> Vec<Minute> {
        let last = now / MINUTE;
        let of = |minute: u64| self.minutes.iter().find(|(of, _)| *of == minute).map(|(_, kind)| *kind);
        (0..MINUTES as u64).rev().map(|back| of(last.saturating_sub(back)).unwrap_or_default()).collect()
    }
}

/// Returns the key of an agent: its run, which is the same over all its connections, or its connection.
pub(crate) fn key(run: Option<&str>, connection: u64) -> String {
    run.map_or_else(|| format!("connection {connection}"), str::to_owned)
}

/// Returns the first characters of a text.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_has_the_most_telling_state_of_each_minute() {
        let mut strip = Strip::default();
        let now = 100 * MINUTE + 30_000;
        strip.mark(97 * MINUTE, 98 * MINUTE, Minute::WaitingForMail);
        strip.mark(98 * MINUTE + 5, 98 * MINUTE + 9, Minute::Working);
        strip.mark(98 * MINUTE + 10, 98 * MINUTE + 11, Minute::WaitingForYou);
        let rows = strip.rows(now);
        assert_eq!(rows.len(), MINUTES);
        use Minute::*;
        assert_eq!(rows[11..], [WaitingForMail, Working, Quiet, Quiet]);
        // A call of a day marks no more than the strip has.
        strip.mark(0, now, WaitingForYou);
        assert_eq!((strip.minutes.len(), strip.rows(now)[12]), (MINUTES, Working));
        assert_eq!(strip.rows(now + 20 * MINUTE), [Quiet; MINUTES]);
    }

    #[test]
    fn the_log_is_bounded() {
        let root = tempfile::tempdir().unwrap();
        let project = project::Project::find(Some(root.path()), root.path()).unwrap();
        let hello = project::Hello::new(project::Role::Mcp, &project, root.path());
        let caller = Caller::new(&project, &hello, 1, 0);
        let mut state = State::default();
        for agent in 0..2 * AGENTS {
            let row = CallRow { started: agent as u64, ..CallRow::default() };
            let call = Call { agent: agent.to_string(), kind: Minute::Working, row };
            for _ in 0..3 {
                let number = state.begin(call.clone(), None, &caller, None);
                state.end(number, "done", agent as u64);
            }
        }
        assert_eq!((state.open.len(), state.ended.len(), state.agents.len()), (0, KEPT, AGENTS));
        assert!(!state.agents.contains_key("0"));
        assert_eq!((cut("aäb", 2), cut("aä", 2)), ("aä…".to_owned(), "aä".to_owned()));
    }
}
