//! Verifies a machine: unreachable states, dead ends, transitions that compete or never fire, and states from which no
//! terminal state is reachable. Each finding carries a shortest path that shows it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use super::{Graph, Trigger};
use crate::diagnostic::{Code, Diagnostic, Span, code};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// The finding in one sentence.
    pub message: String,
    /// A shortest path from the initial state to the finding: states with the triggers between them.
    pub path: Vec<String>,
    pub span: Span,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A state that no path reaches.
    Unreachable,
    /// A state without an exit that is not terminal.
    Deadlock,
    /// Two transitions of one state that can fire at the same moment.
    Nondeterminism,
    /// A transition that can never fire.
    Dead,
    /// A state from which no terminal state is reachable, although the machine has one.
    NoTerminal,
    /// A timeout that cannot work.
    Timeout,
}

impl FindingKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Unreachable => "unreachable",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Nondeterminism => "nondeterminism",
            FindingKind::Dead => "dead_transition",
            FindingKind::NoTerminal => "no_terminal",
            FindingKind::Timeout => "timeout",
        }
    }

    fn code(self) -> Code {
        match self {
            FindingKind::Unreachable => code::UNREACHABLE_STATE,
            FindingKind::Deadlock => code::DEADLOCK,
            FindingKind::Nondeterminism => code::NONDETERMINISM,
            FindingKind::Dead => code::DEAD_TRANSITION,
            FindingKind::NoTerminal => code::NO_TERMINAL,
            FindingKind::Timeout => code::TIMEOUT,
        }
    }
}

impl Finding {
    /// As a warning of the compiler.
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let warning = Diagnostic::warning(self.kind.code(), self.span, self.message.clone());
        if self.path.len() > 1 { warning.hint(format!("the way there: {}", self.path.join(" "))) } else { warning }
    }
}

/// How the guards of a machine's transitions relate, by position.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    /// Guards that are never true.
    pub never: HashSet<usize>,
    /// Pairs of transitions whose guards can hold at once.
    pub overlap: HashSet<(usize, usize)>,
    /// Transitions whose guard implies that of an earlier one with the same trigger.
    pub covered: HashSet<usize>,
}

/// The maximal number of findings for a machine.
const MOST: usize = 1_000;
/// The maximal length of a path that is reported in full, in states and triggers.
const LONGEST: usize = 1_000;

/// Everything found.
pub(crate) fn verify(graph: &Graph, guards: &Guards) -> Vec<Finding> {
    let mut findings = Findings::default();
    let late = late_transitions(graph);
    let live: Vec<bool> = (0..graph.edges.len())
        .map(|at| !guards.never.contains(&at) && !guards.covered.contains(&at) && !late.contains(&at))
        .collect();
    let ways = Ways::new(graph, &live);
    let places = first_mentions(graph);
    let place = |state: &str| places.get(state).copied().unwrap_or(graph.span);
    let terminal: HashSet<&str> = graph.terminal.iter().map(|state| &**state).collect();
    for state in &graph.states {
        if !ways.reached.contains_key(&**state) {
            let message = format!("the state {state} of {} is never reached", graph.name);
            findings.push(FindingKind::Unreachable, message, place(state), Vec::new);
        } else if !ways.out.contains_key(&**state) && !terminal.contains(&**state) {
            let message = format!("the state {state} of {} has no exit and is not terminal", graph.name);
            findings.push(FindingKind::Deadlock, message, place(state), || ways.to(state));
        }
    }
    let mut overlap: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, other) in &guards.overlap {
        overlap.entry(*at).or_default().push(*other);
    }
    for (at, edge) in graph.edges.iter().enumerate() {
        let path = || ways.to(&edge.from);
        let label = edge.trigger.label();
        if guards.never.contains(&at) {
            let message = format!("the guard of {label} in {} is never true", edge.from);
            findings.push(FindingKind::Dead, message, edge.span, path);
        } else if guards.covered.contains(&at) {
            let message = format!("{label} in {} never gets here: earlier transitions take it", edge.from);
            findings.push(FindingKind::Dead, message, edge.span, path);
        } else if late.contains(&at) {
            let message = format!("{label} never comes in {}: a shorter timeout leaves it before", edge.from);
            findings.push(FindingKind::Timeout, message, edge.span, path);
        }
        let mut others = overlap.remove(&at).unwrap_or_default();
        others.sort_unstable();
        for other in others {
            let later = &graph.edges[other];
            let same = later.from == edge.from && later.trigger == edge.trigger;
            if same && !guards.covered.contains(&other) {
                let message = format!(
                    "in {}, {label} can go to {} and to {}; the first one written is taken",
                    edge.from, edge.to, later.to
                );
                findings.push(FindingKind::Nondeterminism, message, later.span, path);
            }
        }
        if edge.trigger == Trigger::Timeout(0) && edge.from == edge.to {
            let message = format!("a timeout of 0 ms from {} to itself never rests", edge.from);
            findings.push(FindingKind::Timeout, message, edge.span, path);
        }
    }
    if !graph.terminal.is_empty() {
        let ends = leads_to(graph, &live);
        for state in
            graph.states.iter().filter(|state| ways.reached.contains_key(&***state) && !ends.contains(&***state))
        {
            let message = format!("from the state {state} of {} no terminal state is reached", graph.name);
            findings.push(FindingKind::NoTerminal, message, place(state), || ways.to(state));
        }
    }
    findings.all()
}

/// Findings, up to a bound.
#[derive(Default)]
struct Findings {
    told: Vec<Finding>,
    more: usize,
}

impl Findings {
    fn push(&mut self, kind: FindingKind, message: String, span: Span, path: impl FnOnce() -> Vec<String>) {
        if self.told.len() < MOST {
            self.told.push(Finding { kind, message, path: path(), span });
        } else {
            self.more += 1;
        }
    }

    fn all(mut self) -> Vec<Finding> {
        if let (Some(last), 1..) = (self.told.last(), self.more) {
            let message = format!("{} more findings are not told", self.more);
            self.told.push(Finding { kind: last.kind, message, path: Vec::new(), span: last.span });
        }
        self.told
    }
}

/// Transitions that never fire because a shorter timeout without a guard always leaves the state earlier.
fn late_transitions(graph: &Graph) -> HashSet<usize> {
    let mut soonest: HashMap<&str, u64> = HashMap::new();
    for edge in graph.edges.iter().filter(|edge| edge.to != edge.from && edge.guard.is_none()) {
        if let Trigger::Timeout(after) = edge.trigger {
            soonest.entry(&edge.from).and_modify(|known| *known = after.min(*known)).or_insert(after);
        }
    }
    let is_late = |edge: &super::Edge| match edge.trigger {
        Trigger::Timeout(after) => soonest.get(&*edge.from).is_some_and(|soonest| *soonest < after),
        Trigger::Event(_) => false,
    };
    graph.edges.iter().enumerate().filter(|(_, edge)| is_late(edge)).map(|(at, _)| at).collect()
}

/// The first mention of each state.
fn first_mentions(graph: &Graph) -> HashMap<&str, Span> {
    let mut places = HashMap::new();
    for edge in &graph.edges {
        places.entry(&*edge.from).or_insert(edge.span);
        places.entry(&*edge.to).or_insert(edge.span);
    }
    places
}

/// The shortest paths to the reachable states.
struct Ways<'g> {
    /// Live transitions by source state.
    out: HashMap<&'g str, Vec<usize>>,
    /// The last transition of a shortest path; `None` for the initial state.
    reached: HashMap<&'g str, Option<usize>>,
    graph: &'g Graph,
}

impl<'g> Ways<'g> {
    fn new(graph: &'g Graph, live: &[bool]) -> Ways<'g> {
        let mut out: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, edge) in graph.edges.iter().enumerate().filter(|(at, _)| live[*at]) {
            out.entry(&edge.from).or_default().push(at);
        }
        let mut reached = HashMap::new();
        let mut open = VecDeque::new();
        if !graph.initial.is_empty() {
            reached.insert(&*graph.initial, None);
            open.push_back(&*graph.initial);
        }
        while let Some(state) = open.pop_front() {
            for at in out.get(state).into_iter().flatten() {
                let to = &*graph.edges[*at].to;
                if let Entry::Vacant(new) = reached.entry(to) {
                    new.insert(Some(*at));
                    open.push_back(to);
                }
            }
        }
        Ways { out, reached, graph }
    }

    /// The path to a state: states with the triggers between them. A very long path is shortened in the middle.
    fn to(&self, state: &str) -> Vec<String> {
        let mut path = Vec::new();
        let Some((mut state, _)) = self.reached.get_key_value(state) else { return path };
        while let Some(Some(at)) = self.reached.get(state) {
            let edge = &self.graph.edges[*at];
            path.push((*state).to_owned());
            path.push(format!("--{}-->", edge.trigger.label()));
            if path.len() > LONGEST {
                path.push("…".to_owned());
                state = self.reached.get_key_value(&*self.graph.initial).map_or(state, |(initial, _)| initial);
                break;
            }
            state = self.reached.get_key_value(&*edge.from).map_or(state, |(from, _)| from);
        }
        path.push((*state).to_owned());
        path.reverse();
        path
    }
}

/// The states from which a terminal state is reachable.
fn leads_to<'g>(graph: &'g Graph, live: &[bool]) -> HashSet<&'g str> {
    let mut before: HashMap<&str, Vec<&str>> = HashMap::new();
    for (_, edge) in graph.edges.iter().enumerate().filter(|(at, _)| live[*at]) {
        before.entry(&edge.to).or_default().push(&edge.from);
    }
    let mut ends: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = graph.terminal.iter().map(|state| &**state).collect();
    while let Some(state) = open.pop() {
        if ends.insert(state) {
            open.extend(before.remove(state).unwrap_or_default());
        }
    }
    ends
}
